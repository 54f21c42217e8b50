"""``rheostat bench migration``: half of the shards move under load, by Enorm's three strategies (sections 4.5 and 7.2).

Enorm's simple job: one windowed aggregation, here with ``emit="update"``, so that every epoch reads the state of its
shards. *Instant* is what Rheostat does: the next epoch has another routing, and a slot reads its shards where they
lie. *Disruptive*: the epoch that moves shards first writes all state again, each slot its own. *Smooth*: the move waits
until the open window has ended. ``python -m benchmarks.bench_migration SPEC`` runs one size of state.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rheostat as rh
from benchmarks.side_process import run_side
from benchmarks.skewed_files import START, stream, write_rows
from rheostat.state import compaction
from rheostat.state.inspection import inspect
from rheostat.state.segments import Segment

STRATEGIES = ("instant", "smooth", "disruptive")

SECOND = 1_000_000
WINDOW = 12
"""Seconds of a window, and epochs in it: the first of them has all keys, the others some."""

WINDOWS = 4
"""Windows of a run. Shards move in each but the first, which warms up."""

ASKED = 6
"""The epoch in a window before which a move is asked for."""

_TIMEOUT = 1800.0


def run(keys: Sequence[int], rows: int, rounds: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run all strategies by turns, for every size of state in a new process, and return the figures.

    Args:
        keys: numbers of keys in state.
        rows: rows of an epoch.
        rounds: how often each strategy runs.
        say: called with each step.
    """
    sizes = []
    for size in keys:
        say(f"{size:,} keys")
        with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
            write(Path(folder) / "data", size, rows)
            found = run_side("benchmarks.bench_migration", {"home": folder, "rounds": rounds}, _TIMEOUT)
        sizes.append({"keys": size, **{s: found[s] for s in STRATEGIES}, "results_equal": found["results_equal"]})
    return {
        "rows_per_epoch": rows,
        "rounds": rounds,
        "instant_worst_over_median": max(size["instant"]["longest_over_median"] for size in sizes),
        "sizes": sizes,
        "results_equal": all(size["results_equal"] for size in sizes),
    }


def write(folder: Path, keys: int, rows: int) -> None:
    """Write one file per epoch: all keys at the start of every window, then random ones.

    Args:
        folder: the folder of the files.
        keys: number of keys.
        rows: rows of all other epochs.
    """
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for epoch in range(WINDOW * WINDOWS):
        chosen = np.arange(keys) if epoch % WINDOW == 0 else rng.integers(0, keys, rows)
        times = START + epoch * SECOND + np.arange(len(chosen)) % SECOND
        write_rows(folder / f"{epoch:05d}.parquet", np.sort(times), chosen, chosen % 1_000, epoch)


def _side(spec: dict[str, Any]) -> dict[str, Any]:
    """Run all strategies by turns; return the figures of each."""
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    home = Path(spec["home"])
    runs: dict[str, list[dict[str, float]]] = {strategy: [] for strategy in STRATEGIES}
    truth, equal = None, True
    for number in range(spec["rounds"]):
        for strategy in STRATEGIES if number % 2 == 0 else reversed(STRATEGIES):
            scratch = home / f"{number} {strategy}"
            runs[strategy].append(one_run(spark, home / "data", scratch, strategy))
            result = _results(scratch / "out")
            truth = result if truth is None else truth
            equal = equal and result.equals(truth)
    figures = {
        strategy: {name: round(statistics.median(r[name] for r in each), 4) for name in each[0]}
        for strategy, each in runs.items()
    }
    return {**figures, "results_equal": equal}


def one_run(spark: Any, data: Path, scratch: Path, strategy: str) -> dict[str, float]:
    """Move half of the shards in every window but the first; return what that does to epochs.

    Args:
        spark: the session.
        data: folder of the input files.
        scratch: folder for results (``out``) and the checkpoint.
        strategy: one of ``STRATEGIES``.
    """
    t = rh.Topology("simple")
    source = t.source(stream(spark, data), event_time="ts")
    counted = source.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"))
    counted.consolidate("windows", rh.tumbling(f"{WINDOW} seconds"), emit="update").sink(
        rh.sinks.parquet(str(scratch / "out"))
    )
    moves = {window * WINDOW + ASKED + (WINDOW - ASKED + 1 if strategy == "smooth" else 0) for window in range(1, 4)}
    queries: list[rh.Query] = []
    usual = compaction.choose

    def everything(segments: Sequence[Segment]) -> tuple[Segment, ...]:
        return tuple(segments)

    def committed(progress: rh.Progress) -> None:
        moving = progress.epoch + 1 in moves
        compaction.choose = everything if moving and strategy == "disruptive" else usual
        if moving and queries:
            (component, routing), *_ = queries[0].routing.items()
            queries[0].reassign(component, [1 - slot if shard % 2 else slot for shard, slot in enumerate(routing)])

    try:
        queries.append(
            t.start(
                str(scratch / "checkpoint"),
                trigger=rh.AVAILABLE_NOW,
                on_progress=committed,
                slots=2,
                retain=1_000,
                layout="split",
            )
        )
        queries[0].await_termination()
    finally:
        compaction.choose = usual
    return _figures(queries[0].progress, str(scratch / "checkpoint"), strategy)


def _figures(progress: Sequence[rh.Progress], checkpoint: str, strategy: str) -> dict[str, float]:
    """What moves did to epochs: those with a move, beside those without one and without all keys."""
    written = {e["epoch"]: e["written_bytes"] for e in inspect(checkpoint)["epochs"]}
    counted = [p for p in progress if p.epoch >= WINDOW and p.epoch % WINDOW]
    moved = [p for p in counted if p.changes]
    still = [p for p in counted if not p.changes]
    median = statistics.median(p.seconds for p in still)
    longest = statistics.median(p.seconds for p in moved)
    return {
        "epoch_seconds": median,
        "moving_epoch_seconds": longest,
        "longest_over_median": longest / median,
        "pause_s": max(longest - median, 0.0),
        "bytes_written": float(statistics.median(written[p.epoch] for p in moved)),
        "bytes_written_without": float(statistics.median(written[p.epoch] for p in still)),
        "epochs_waited": float(WINDOW - ASKED + 1 if strategy == "smooth" else 0),
        "moves": float(len(moved)),
    }


def _results(out: Path) -> pl.DataFrame:
    """The last value of every window and key, sorted."""
    frame = pl.read_parquet(str(out / "epoch=*/*.parquet"), hive_partitioning=False)
    return frame.group_by("window_start", "key").agg(pl.col("n").max(), pl.col("s").max()).sort("window_start", "key")


if __name__ == "__main__":
    print(json.dumps(_side(json.loads(sys.argv[1]))))
