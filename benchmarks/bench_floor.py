"""``rheostat bench floor``: what an epoch costs when it has next to nothing to do, on Rheostat and on plain Spark.

Many tiny epochs, one small file each, of windows and of keyed state. Spark's side runs in each way that it offers; the
fastest counts. All sides are Spark queries and write a commit log, so an epoch's seconds are the time between the
commits of two epochs, read from the files of that log in the same way for all.
``python -m benchmarks.bench_floor SPEC`` runs one of the sides.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SkewedFiles
from rheostat.windows.window import tumbling

RHEOSTAT = "rheostat"
WAYS = {
    "windows": ("in memory", "RocksDB"),
    "keyed": ("applyInPandasWithState", "transformWithStateInPandas"),
}
"""By kind of state, Spark's ways: its stores for windows, its Python interfaces for keyed state."""

WINDOW = tumbling("10 seconds")
"""One epoch in ten closes a window: an epoch has a second of event time."""

WARM_UP = 40
"""Epochs at the start that do not count."""


def run(rows: int, epochs: int, keys: int, rounds: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run the sides by turns on the same files, each in a new process, and return the figures.

    The first round runs all of Spark's ways, later rounds only the fastest.

    Args:
        rows: rows per epoch.
        epochs: epochs that count, after the warm-up; at most 60, because Spark keeps the commits of 100 epochs.
        keys: number of keys.
        rounds: how often each side runs.
        say: called with each step.
    """
    files = WARM_UP + epochs
    found: dict[str, dict[str, list[list[float]]]] = {kind: {} for kind in WAYS}
    equal = True
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        seconds = files * 1_000_000
        SkewedFiles(rows * files, files, keys, minutes=seconds / 60_000_000).write(home / "data")
        ways = {kind: _ways(kind) for kind in WAYS}
        for number in range(rounds):
            for kind, known in found.items():
                sides = [*ways[kind], RHEOSTAT]
                for way in sides if number % 2 == 0 else reversed(sides):
                    say(f"round {number + 1}: {kind}, {way}")
                    scratch = home / f"{number}" / kind / way
                    spec = {"kind": kind, "way": way, "data": str(home / "data"), "scratch": str(scratch)}
                    side = run_side("benchmarks.bench_floor", {**spec, "epochs": epochs}, 1800.0)
                    known.setdefault(way, []).append(side["seconds"])
                results = {way: _results(kind, way, home / f"{number}" / kind / way / "out") for way in sides}
                equal = equal and all(r.equals(results[RHEOSTAT]) and len(r) for r in results.values())
                ways[kind] = (min(ways[kind], key=lambda way: _typical(known[way])),)
    figures = {kind: _compare(sides, ways[kind][0]) for kind, sides in found.items()}
    return {
        "rows_per_epoch": rows,
        "epochs": epochs,
        "keys": keys,
        "rounds": rounds,
        "windows_ratio": figures["windows"]["ratio"],
        "keyed_ratio": figures["keyed"]["ratio"],
        "windows": figures["windows"],
        "keyed": figures["keyed"],
        "results_equal": equal,
    }


def _ways(kind: str) -> tuple[str, ...]:
    """Spark's ways that can run here; those with ``transformWithState`` need protobuf."""
    return tuple(w for w in WAYS[kind] if not w.startswith("transform") or importlib.util.find_spec("google.protobuf"))


def typical(seconds: list[float]) -> float:
    """The mean of the middle half of the values. Times of files are in steps of some milliseconds, and so is a median.

    >>> typical([0.2, 0.2, 0.3, 0.9])
    0.25
    """
    ordered = sorted(seconds)
    quarter = len(ordered) // 4
    return statistics.fmean(ordered[quarter : len(ordered) - quarter])


def _typical(runs: list[list[float]]) -> float:
    """The median over runs of each run's typical epoch."""
    return statistics.median(typical(r) for r in runs)


def _mean(runs: list[list[float]]) -> float:
    """The median over runs of each run's mean epoch."""
    return statistics.median(statistics.fmean(r) for r in runs)


def _compare(sides: dict[str, list[list[float]]], best: str) -> dict[str, Any]:
    """Rheostat beside Spark's fastest way, for one kind of state."""
    ours, theirs = sides[RHEOSTAT], sides[best]
    pairs = [typical(o) / typical(t) for o, t in zip(ours, theirs, strict=True)]
    return {
        "ratio": round(statistics.median(pairs), 3),
        "pair_ratios": sorted(round(p, 3) for p in pairs),
        "mean_ratio": round(_mean(ours) / _mean(theirs), 3),
        "rheostat_epoch_s": round(_typical(ours), 4),
        "native_epoch_s": {way: round(_typical(runs), 4) for way, runs in sides.items() if way != RHEOSTAT},
        "best": best,
    }


def _results(kind: str, way: str, out: Path) -> pl.DataFrame:
    """The results of a side, sorted."""
    if kind == "keyed":
        return rheostat_totals.results(out)
    columns = ["window_start", "window_end", "key", "n", "s", "m"]
    pattern = "epoch=*/*.parquet" if way == RHEOSTAT else "*/*.parquet"
    frame = pl.read_parquet(str(out / pattern), hive_partitioning=False).select(columns)
    return frame.with_columns(pl.col("window_start", "window_end").dt.replace_time_zone(None)).sort(columns)


def _side(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one side; return the seconds of the epochs that count."""
    from benchmarks import native_state, native_windows, rheostat_windows  # noqa: PLC0415 - PySpark takes long to load
    from benchmarks.native_settings import ROCKSDB  # noqa: PLC0415

    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    kind, way, data, scratch = spec["kind"], spec["way"], Path(spec["data"]), Path(spec["scratch"])
    if kind == "windows" and way == RHEOSTAT:
        rheostat_windows.run(spark, list(WINDOW), data=data, scratch=scratch)
    elif kind == "windows":
        store = ROCKSDB if way == "RocksDB" else {}
        native_windows.run(spark, list(WINDOW), data=data, scratch=scratch, store=store)
    elif way == RHEOSTAT:
        rheostat_totals.timed(spark, data, scratch)
    else:
        native_state.run(spark, way, data=data, scratch=scratch)
    (commits,) = (scratch / "checkpoint").glob("**/commits")
    return {"seconds": commit_gaps(commits, WARM_UP, WARM_UP + spec["epochs"])}


def commit_gaps(commits: Path, first: int, end: int) -> list[float]:
    """The seconds between the commits of consecutive epochs, by the times of the files in Spark's commit log.

    Args:
        commits: folder of the log.
        first: the first epoch whose seconds are returned; the one before it must be in the log.
        end: the epoch after the last.
    """
    times = [(commits / str(epoch)).stat().st_mtime_ns for epoch in range(first - 1, end)]
    return [(b - a) / 1e9 for a, b in pairwise(times)]


if __name__ == "__main__":
    print(json.dumps(_side(json.loads(sys.argv[1]))))
