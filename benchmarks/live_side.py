"""One run against the clock: rows that are sent when they are due, and what became of each of them.

``python -m benchmarks.live_side SPEC`` runs it. The rows with their arrival are in the output of the job; the time of
every commit and the number of slots come from ``on_progress``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rheostat as rh
from benchmarks.latency_truth import CommittedRows
from benchmarks.live_loads import KEYS, ROW_SECONDS, SHARDS, SLOTS, rows_of
from rheostat.arrays import Floats, Ints
from rheostat.demo.sleeping_totals import COMPONENT, job
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.routing.table import shard_sql
from rheostat.workloads.live_rows import LiveRows
from rheostat.workloads.row_feeder import RowFeeder

_START_UP = 120.0  # seconds that Spark may take until it asks for the first row
_WARM_UP = 8  # seconds of rows before the run
_DRAIN = 180.0  # seconds to wait for the rows that are left when the last was sent

Turn = Callable[[rh.Query, float], None]
"""Called several times per second with the query and the seconds since the first row."""


def run_live(spark: Any, rows: LiveRows, home: Path, turn: Turn | None = None, **options: Any) -> dict[str, Any]:
    """Run the job on rows that are sent when they are due; leave in a folder what ``LiveRun`` reads.

    Args:
        spark: the session.
        rows: the rows.
        home: folder for results, checkpoint and figures; it must not exist.
        turn: what to do while the query runs.
        **options: passed to ``Topology.start``.
    """
    home.mkdir(parents=True)
    shards = spark.range(KEYS).selectExpr("id", f"{shard_sql('xxhash64(id)', SHARDS)} as shard").sort("id").collect()
    np.save(home / "shards.npy", np.array([row["shard"] for row in shards], dtype=np.int64))
    epochs: list[dict[str, Any]] = []

    def committed(progress: rh.Progress) -> None:
        epochs.append(
            {
                "epoch": progress.epoch,
                "committed": time.time(),
                "rows": progress.rows,
                "slots": len(progress.slot_seconds.get(COMPONENT, ())),
                "seconds": progress.seconds,
                "decide": progress.steps.get("decide", 0.0),
            }
        )

    with RowFeeder(rows.times, rows.keys, patience=_START_UP) as feed:
        query = job(spark, feed.port, ROW_SECONDS, home / "out").start(
            str(home / "checkpoint"), shards=SHARDS, on_progress=committed, **options
        )
        deadline = time.monotonic() + _START_UP + float(rows.times[-1]) + 1.0
        while not feed.wait(0.1) and time.monotonic() < deadline and query.is_active:
            if turn is not None and feed.began is not None:
                turn(query, time.time() - feed.began)
        drained = _drained(query, len(rows))
        query.stop()
        figures = {
            "began": feed.began,
            "sent": feed.sent,
            "feed_lag": feed.lag,
            "drained": drained,
            "epochs": epochs,
            "decisions": [d.to_json() for d in query.decisions()],
            "slo": query.slo().to_dict(),
        }
    if (error := query.exception()) is not None:
        raise error
    (home / "run.json").write_text(json.dumps(figures))
    return {"drained": drained, "epochs": len(epochs)}


def in_session(home: Path, work: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Call a function with a Spark session that has a core for each slot and is warm, and stop the session.

    Args:
        home: folder of the run; the warm-up has one beside it.
        work: the function.
    """
    spark = rh.session("bench", f"local[{SLOTS}]")
    try:
        # Code is compiled and a worker started for each slot, before anything is learned or counted.
        run_live(spark, rows_of("wander", 0, _WARM_UP), home.with_name(f"{home.name}-warm-up"), slots=SLOTS)
        return work(spark)
    finally:
        spark.stop()


def _drained(query: rh.Query, rows: int) -> bool:
    """Wait for the last row. True if it was committed in time."""
    deadline = time.monotonic() + _DRAIN
    while query.is_active and time.monotonic() < deadline:
        if query.status.rows >= rows:
            return True
        time.sleep(0.1)
    return False


@dataclass(frozen=True, eq=False)
class LiveRun:
    """What a run left in its folder.

    Attributes:
        home: the folder.
        rows: the rows that were sent.
    """

    home: Path
    rows: LiveRows

    @cached_property
    def figures(self) -> dict[str, Any]:
        """What the run wrote at its end."""
        found: dict[str, Any] = json.loads((self.home / "run.json").read_text())
        return found

    @cached_property
    def output(self) -> pl.DataFrame:
        """The rows of the output with their epoch, sorted by number."""
        parts = [
            pl.read_parquet(str(file), hive_partitioning=False).with_columns(
                epoch=pl.lit(int(file.parent.name.removeprefix("epoch=")), dtype=pl.Int64)
            )
            for file in (self.home / "out").glob("epoch=*/*.parquet")
        ]
        return pl.concat(parts).sort("number")

    @property
    def is_exact(self) -> bool:
        """True if every row was counted once, and each key's last totals are those of its rows."""
        keys = self.rows.keys
        numbers = np.arange(len(keys))
        counts, sums = np.bincount(keys, minlength=KEYS), np.bincount(keys, weights=numbers, minlength=KEYS)
        last = self.output.group_by("key").agg(pl.col("n").max(), pl.col("s").max()).sort("key")
        seen = np.flatnonzero(counts)
        return bool(
            np.array_equal(self.output["number"].to_numpy(), numbers)
            and np.array_equal(self.output["key"].to_numpy(), keys)
            and np.array_equal(last["key"].to_numpy(), seen)
            and np.array_equal(last["n"].to_numpy(), counts[seen])
            and np.array_equal(last["s"].to_numpy(), sums[seen].astype(np.int64))
        )

    @property
    def commits(self) -> Floats:
        """When each epoch was committed, in seconds since the first row was due."""
        return np.array([e["committed"] - self.figures["began"] for e in self.figures["epochs"]])

    @property
    def slots(self) -> Ints:
        """The slots of each epoch; those of the epoch before, or of the next, where none ran."""
        found = np.array([e["slots"] for e in self.figures["epochs"]], dtype=np.int64)
        ran = np.flatnonzero(found)
        return found[ran[np.searchsorted(ran, np.arange(len(found)), side="right").clip(1) - 1]] if len(ran) else found

    @cached_property
    def committed(self) -> CommittedRows:
        """Every row with the arrival that Spark noted and the commit of its epoch; infinite if it was left over."""
        numbers, epochs = self.output["number"].to_numpy(), self.output["epoch"].to_numpy()
        first = self.figures["epochs"][0]["epoch"]
        arrived, committed = self.rows.times.copy(), np.full(len(self.rows), np.inf)
        stamps = self.output["arrived"].dt.epoch("us").to_numpy() / 1e6
        arrived[numbers] = stamps - self.figures["began"]
        committed[numbers] = self.commits[epochs - first]
        shards = np.load(self.home / "shards.npy")
        return CommittedRows(arrived, committed, shards[self.rows.keys])

    @property
    def arrival_lag(self) -> float:
        """The 99th percentile of the seconds from when a row was due to the arrival that Spark noted."""
        return float(np.quantile(self.committed.arrived - self.rows.times, 0.99))


def _main(spec: dict[str, Any]) -> dict[str, Any]:
    rows = rows_of(spec["workload"], spec["warm_up"], spec["seconds"])
    slots = tuple(spec["slots"]) if isinstance(spec["slots"], list) else spec["slots"]
    promise = Latency(timedelta(seconds=spec["bound"]), over=timedelta(seconds=spec["over"]))
    options = {"policy": spec["policy"], "slots": slots, "slo": promise}
    home = Path(spec["home"])
    if spec["record"]:
        options["record"] = f"{home}.jsonl"
    return in_session(home, lambda spark: run_live(spark, rows, home, **options))


if __name__ == "__main__":
    print(json.dumps(_main(json.loads(sys.argv[1]))))
