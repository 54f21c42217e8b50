"""``rheostat bench observations``: which share of an epoch goes into measuring it.

A query keeps running totals, and the functions that observe its epochs are timed: on the driver before the commit, on
the driver after it (while Spark chooses the rows of the next epoch), and in a task.
``python -m benchmarks.bench_observations SPEC`` runs one number of shards.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SkewedFiles

WARM_UP = 40
"""Epochs at the start that do not count."""

BEFORE_COMMIT = ("observe", "before", "expected")
"""Functions of the observer that an epoch waits for."""

AFTER_COMMIT = ("commit",)
"""Functions of the observer that run while Spark chooses the rows of the next epoch."""


def run(
    rows: int, epochs: int, keys: int, shards: Sequence[int], say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run a query for each number of shards, each in a new process, and return the figures.

    Args:
        rows: rows per epoch.
        epochs: epochs that count, after the warm-up.
        keys: number of keys.
        shards: numbers of shards.
        say: called with each step.
    """
    files = WARM_UP + epochs
    sizes = []
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        SkewedFiles(rows * files, files, keys, minutes=files / 60).write(home / "data")
        for count in shards:
            say(f"{count:,} shards")
            spec = {"data": str(home / "data"), "scratch": str(home / str(count)), "rows": rows, "shards": count}
            sizes.append(run_side("benchmarks.bench_observations", spec, 900.0))
    return {
        "rows_per_epoch": rows,
        "epochs": epochs,
        "keys": keys,
        "share": sizes[0]["share"],
        "worst_share": max(size["share"] for size in sizes),
        "sizes": sizes,
    }


class Stopwatch:
    """Adds up the seconds that some methods of a class take, epoch by epoch.

    >>> class Slow:
    ...     def work(self):
    ...         return 7
    >>> watch = Stopwatch()
    >>> watch.time(Slow, ["work"])
    >>> Slow().work(), watch.lap() > 0, watch.lap()
    (7, True, 0.0)
    """

    def __init__(self) -> None:
        self._seconds = 0.0

    def time(self, kind: type, names: Sequence[str]) -> None:
        """Time methods of a class from now on."""
        for name in names:
            setattr(kind, name, self._timed(getattr(kind, name)))

    def lap(self) -> float:
        """Return the seconds since the last call, and begin anew."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*args, **options)
            finally:
                self._seconds += time.perf_counter() - began

        return timed


def task_seconds(rows: int, shards: int, slots: int, repeats: int = 50) -> float:
    """Return the seconds that a task takes to count rows, work and arrivals by shard.

    Args:
        rows: rows of the task.
        shards: number of shards.
        slots: number of slots; a task has the shards of one of them.
        repeats: how often it is timed; the median counts.
    """
    from rheostat.spark.stage.shard_tally import ShardTally  # noqa: PLC0415 - PySpark takes long to load

    random = np.random.default_rng(1)
    found, arrival = random.integers(0, shards // slots, rows) * slots, random.uniform(0.0, 1e6, rows)
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        tally = ShardTally()
        tally.receive("rows", found, arrival=arrival, size=24 * rows)
        tally.spend(found, 0.1)
        tally.spread(seconds=0.1, size=8 * rows)
        tally.records()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _side(data: Path, scratch: Path, rows: int, shards: int) -> dict[str, Any]:
    """Run the query with one number of shards."""
    from rheostat.spark.epoch.epoch import Epoch  # noqa: PLC0415 - PySpark takes long to load
    from rheostat.spark.observer import Observer  # noqa: PLC0415

    waited, beside = Stopwatch(), Stopwatch()
    waited.time(Observer, BEFORE_COMMIT)
    waited.time(Epoch, ["_batch_starts"])
    beside.time(Observer, AFTER_COMMIT)
    laps: list[tuple[float, float, float]] = []
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})

    def epoch_done(progress: rh.Progress) -> None:
        laps.append((progress.seconds, waited.lap(), beside.lap()))

    rheostat_totals.timed(spark, data, scratch, on_progress=epoch_done, shards=shards, policy="balance")
    slots = spark.sparkContext.defaultParallelism
    epoch, driver, after = (statistics.median(column) for column in zip(*laps[WARM_UP:], strict=True))
    task = task_seconds(rows // slots, shards, slots)
    return {
        "shards": shards,
        "epoch_ms": round(1000 * epoch, 2),
        "driver_ms": round(1000 * driver, 3),
        "after_commit_ms": round(1000 * after, 3),
        "task_ms": round(1000 * task, 3),
        "share": round((driver + task) / epoch, 4),
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(_side(Path(given["data"]), Path(given["scratch"]), given["rows"], given["shards"])))
