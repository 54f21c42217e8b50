"""One side of ``bench shuffle``: tweets that arrive live, on as many slots as the phase has.

``python -m benchmarks.tweet_side SPEC`` runs it. The side ``repartition`` is plain Spark, the others are ``apply`` with
a grouping. ``full_knowledge`` is POSG's rule with exact costs: it is told the kind of a tweet, which decides its cost,
and not only the entity.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

import rheostat as rh
from benchmarks.tweet_rows import KINDS, Phases
from rheostat.workloads.row_feeder import HOST, RowFeeder

CORES = 16
SCHEMA = "number bigint, entity bigint, kind bigint, arrived timestamp"

OPTIONS: dict[str, dict[str, Any]] = {
    "round_robin": {"grouping": "round_robin"},
    "posg": {"grouping": "posg", "cost_by": "entity"},
    "lpt": {"grouping": "lpt", "cost_by": "entity"},
    "full_knowledge": {"grouping": "posg", "cost_by": "kind"},
}
"""The options of ``apply``, by side."""

SIDES = ("repartition", *OPTIONS)

_START_UP = 120.0  # seconds that Spark may take until it asks for the first row
_DRAIN = 240.0  # seconds to wait for the rows that are left when the last was sent


def tweets(spark: Any, port: int) -> Any:
    """Return the stream of tweets that a row feeder sends."""
    lines = spark.readStream.format("socket").option("includeTimestamp", True)
    key, number = ("bigint(split_part(value, ',', 1))", "bigint(split_part(value, ',', 2))")
    return (
        lines.option("host", HOST)
        .option("port", port)
        .load()
        .selectExpr(
            f"{number} as number", f"{key} div {KINDS} as entity", f"{key} % {KINDS} as kind", "timestamp as arrived"
        )
    )


def run_phases(spark: Any, side: str, phases: Phases, home: Path) -> dict[str, Any]:
    """Run a side, and return the mean completion time of every phase: from the arrival of a row to its commit.

    Args:
        spark: the session.
        side: one of ``SIDES``.
        phases: the phases.
        home: folder for results and checkpoint; it must not exist.
    """
    home.mkdir(parents=True)
    with RowFeeder(phases.rows.times, phases.rows.keys, patience=_START_UP) as feed:
        start = _repartition if side == "repartition" else _apply
        job = start(spark, side, phases, home, feed.port)
        try:
            deadline = time.monotonic() + _START_UP + phases.length + _DRAIN
            while time.monotonic() < deadline and job.is_active():
                if feed.began is not None:
                    job.rescale(phases.slots_at(time.time() - feed.began))
                if feed.wait(0.1) and job.rows() >= feed.sent:
                    break
        finally:
            job.stop()
        if feed.began is None:
            raise rh.RheostatError(f"side {side} never asked for rows")
        return _figures(phases, home, job.commits, feed.began) | {"decisions": job.decisions()}


def _figures(phases: Phases, home: Path, commits: dict[int, float], began: float) -> dict[str, Any]:
    parts = [
        pl.read_parquet(str(file), hive_partitioning=False).with_columns(
            epoch=pl.lit(int(file.parent.name.removeprefix("epoch=")), dtype=pl.Int64)
        )
        for file in (home / "out").glob("epoch=*/*.parquet")
    ]
    output = pl.concat(parts).sort("number")
    keys = (output["entity"] * KINDS + output["kind"]).to_numpy()
    exact = np.array_equal(output["number"].to_numpy(), np.arange(len(phases.rows))) and np.array_equal(
        keys, phases.rows.keys
    )
    arrived = output["arrived"].dt.epoch("us").to_numpy() / 1e6 - began
    epochs = output["epoch"].to_numpy()
    completion = np.array([commits[epoch] for epoch in epochs.tolist()]) - began - arrived
    counted = [phases.counted(phase, arrived) for phase in range(len(phases.slots))]
    return {
        "completion": [float(completion[rows].mean()) for rows in counted],
        "epochs": [len(np.unique(epochs[rows])) for rows in counted],
        "rows": [len(rows) for rows in counted],
        "exact": bool(exact),
    }


class _Job:
    """What a side does while it runs.

    Args:
        query: Spark's query or Rheostat's.
        rows: returns the number of committed rows.
        rescale: called with the number of slots.
        commits: when each epoch was committed, in seconds since 1970.
        decisions: returns the decisions of the query in words.
    """

    def __init__(
        self,
        query: Any,
        rows: Callable[[], int],
        rescale: Callable[[int], None],
        commits: dict[int, float],
        decisions: Callable[[], list[str]] = list,
    ) -> None:
        self._query = query
        self.rows, self.rescale, self.commits, self.decisions = rows, rescale, commits, decisions

    def is_active(self) -> bool:
        """True until the query has ended."""
        active = self._query.is_active if isinstance(self._query, rh.Query) else self._query.isActive
        return bool(active)

    def stop(self) -> None:
        """Stop the query; raise the error that ended it, if any."""
        error = self._query.exception()
        self._query.stop()
        if error is not None:
            raise error


def _apply(spark: Any, side: str, phases: Phases, home: Path, port: int) -> _Job:
    costs, commits, first = phases.costs, dict[int, float](), phases.slots[0]

    def enrich(row: Any) -> tuple[Any, ...]:
        time.sleep(costs[row.kind])
        return row.number, row.entity, row.kind, row.arrived

    def committed(progress: rh.Progress) -> None:
        commits[progress.epoch] = time.time()

    t = rh.Topology("tweets")
    source = t.source(tweets(spark, port), event_time="arrived", name="tweets")
    enriched = source.apply("enrich", enrich, schema=SCHEMA, slots=first, **OPTIONS[side])
    enriched.sink(rh.sinks.parquet(str(home / "out")))
    query = t.start(str(home / "checkpoint"), on_progress=committed)

    def decisions() -> list[str]:
        return [f"epoch {d.epoch}: {d.action}; {', '.join(d.reasons)}" for d in query.decisions()]

    return _Job(query, lambda: query.status.rows, lambda slots: query.rescale(slots, "enrich"), commits, decisions)


def _repartition(spark: Any, side: str, phases: Phases, home: Path, port: int) -> _Job:  # noqa: ARG001
    """Plain Spark: ``repartition(k)``, and the same function over Arrow batches."""
    sleep = _sleeper(phases.costs)
    commits, state = dict[int, float](), {"slots": phases.slots[0], "rows": 0}

    def epoch(batch: Any, number: int) -> None:
        out = home / "out" / f"epoch={number}"
        dealt = batch.repartition(state["slots"]).mapInArrow(sleep, SCHEMA)
        dealt.write.mode("overwrite").parquet(str(out))
        commits[number] = time.time()
        state["rows"] += sum(pl.scan_parquet(f).select(pl.len()).collect().item() for f in out.glob("*.parquet"))

    # The settings that Rheostat's epochs have, too.
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    writer = tweets(session, port).writeStream.foreachBatch(epoch)
    query = writer.option("checkpointLocation", str(home / "checkpoint")).start()
    return _Job(query, lambda: state["rows"], lambda slots: state.update(slots=slots), commits)


def _sleeper(costs: Sequence[float]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def sleep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for kind in batch.column("kind").to_pylist():
                time.sleep(costs[kind])
            yield batch

    return sleep


def _main(spec: dict[str, Any]) -> dict[str, Any]:
    home = Path(spec["home"])
    phases = Phases(**{**spec["phases"], "slots": tuple(spec["phases"]["slots"])})
    spark = rh.session("bench", f"local[{CORES}]")
    try:
        return run_phases(spark, spec["side"], phases, home)
    finally:
        spark.stop()


if __name__ == "__main__":
    print(json.dumps(_main(json.loads(sys.argv[1]))))
