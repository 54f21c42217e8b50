"""``rheostat bench nexmark``: NEXMark's queries on Rheostat and on plain Spark, over the same events.

All sides are Spark queries that write a commit log, so throughput is the rows of the epochs after the warm-up, divided
by the time between the commits of the first and the last of them.
``python -m benchmarks.bench_nexmark SPEC`` runs one query on one side.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from benchmarks.bench_floor import commit_gaps
from benchmarks.side_process import run_side
from rheostat.workloads.nexmark_events import NexmarkEvents

NAMES = tuple(f"q{i}" for i in range(23))
WINDOWED = ("q5", "q7", "q8", "q11", "q12")

FILES_PER_EPOCH = 2
"""As many as the benchmark machine has cores, so that reading is no bottleneck on any side."""

WARM_UP = 10
"""Epochs at the start that do not count."""

ENDS = {"q5": "window_end", "q7": "window_end", "q8": "window_end", "q11": "end_time"}
"""Queries with results that end at a time, and the column with it. Near the end of the input they are not complete."""

INCOMPLETE = timedelta(seconds=30)
"""Results that end within so much event time of the last event are not compared: slack, sessions, chained operators."""

RHEOSTAT, NATIVE, READING = "rheostat", "native", "reading"
"""The sides. The third reads the rows of the query and drops them: nothing on Spark's epochs can be faster."""


def run(
    names: Sequence[str],
    events: int,
    epochs: int,
    rounds: int,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run queries on both sides, each in a new process, and return the figures.

    Args:
        names: the queries.
        events: events per epoch.
        epochs: epochs that count, after the warm-up; at most 60, because Spark keeps the commits of 100 epochs.
        rounds: how often each side runs; the medians count.
        say: called with each step.
    """
    from benchmarks.native_nexmark import IMPOSSIBLE  # noqa: PLC0415 - PySpark takes long to load

    found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    different = []
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        say("generating events")
        NexmarkEvents(events * (WARM_UP + epochs)).write(home / "data", files=FILES_PER_EPOCH * (WARM_UP + epochs))
        for name in names:
            sides = [RHEOSTAT, READING] if name in IMPOSSIBLE else [NATIVE, RHEOSTAT, READING]
            for number in range(rounds):
                for side in sides if number % 2 == 0 else reversed(sides):
                    say(f"{name}: {side}, round {number + 1}")
                    spec = {"query": name, "side": side, "home": folder, "epochs": epochs, "round": number}
                    seconds = run_side("benchmarks.bench_nexmark", spec, 1800.0)["seconds"]
                    found[name].setdefault(side, []).append(events * epochs / seconds)
            if NATIVE in sides and not _equal(name, home):
                different.append(name)
    rates = {
        side: {n: round(statistics.median(f[side])) for n, f in found.items() if side in f}
        for side in (RHEOSTAT, NATIVE, READING)
    }
    ratios = {n: round(statistics.median(_over_native(f, RHEOSTAT)), 2) for n, f in found.items() if NATIVE in f}
    limits = {n: round(statistics.median(_over_native(f, READING)), 2) for n, f in found.items() if NATIVE in f}
    windowed = [ratio for name, ratio in ratios.items() if name in WINDOWED]
    return {
        "events_per_epoch": events,
        "epochs": epochs,
        "rounds": rounds,
        "min_ratio": min(ratios.values(), default=None),
        "windows_min_ratio": min(windowed, default=None),
        "ratios": ratios,
        "limits": limits,
        "rheostat_rows_per_s": rates[RHEOSTAT],
        "native_rows_per_s": rates[NATIVE],
        "reading_rows_per_s": rates[READING],
        "not_native": {name: IMPOSSIBLE[name] for name in names if name in IMPOSSIBLE},
        "different": different,
        "results_equal": not different,
    }


def _over_native(sides: dict[str, list[float]], side: str) -> list[float]:
    """The rate of a side over Spark's, for each round."""
    return [ours / theirs for ours, theirs in zip(sides[side], sides[NATIVE], strict=True)]


def _equal(name: str, home: Path) -> bool:
    """True if both sides gave the same rows in the first round, and some."""
    newest = pl.read_parquet(home / "data" / "*.parquet", columns=["date_time"])["date_time"].max()
    ours, theirs = (results(name, home / side / name / "0" / "out", newest) for side in (RHEOSTAT, NATIVE))
    columns = sorted(set(ours.columns) & set(theirs.columns))
    return len(ours) > 0 and ours.select(columns).sort(columns).equals(theirs.select(columns).sort(columns))


def results(name: str, out: Path, newest: Any) -> pl.DataFrame:
    """The final results of a query, as both sides must have them.

    Args:
        name: name of the query.
        out: folder of the results, with a folder per epoch if results are updated.
        newest: the newest event time.
    """
    from examples.nexmark import QUERIES  # noqa: PLC0415 - PySpark takes long to load

    if name == "q10":
        return pl.concat(_logged(file) for file in sorted(out.glob("**/dt=*/hm=*/*.csv")))
    folders = sorted(out.glob("epoch=*"), key=lambda folder: int(folder.name.removeprefix("epoch=")))
    patterns = [f"{folder}/*.parquet" for folder in folders] or [f"{out}/*.parquet"]
    frames = [pl.read_parquet(p, hive_partitioning=False) for p in patterns]
    found = QUERIES[name].final(pl.concat(f for f in frames if len(f)))
    if name == "q12":  # whichever windows the epochs fell into
        return found.group_by("bidder").agg(pl.col("bids").sum())
    if name in ENDS:
        found = found.filter(pl.col(ENDS[name]).dt.replace_time_zone("UTC") <= newest - INCOMPLETE)
    times = [column for column, dtype in found.schema.items() if isinstance(dtype, pl.Datetime)]
    return found.with_columns(pl.col(times).dt.replace_time_zone(None)).drop("window", "window_start", strict=False)


def _logged(file: Path) -> pl.DataFrame:
    """The rows of a file of query 10; day and minute are in its path."""
    names = ["date_time", "auction", "bidder", "price", "extra"]
    frame = pl.read_csv(file, has_header=False, new_columns=names, schema_overrides={"date_time": pl.String})
    day, minute = (part.split("=")[1] for part in file.parts[-3:-1])
    return frame.with_columns(dt=pl.lit(day), hm=pl.lit(minute))


def _side(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one query on one side; return the seconds of the epochs that count."""
    from benchmarks import native_nexmark, rheostat_nexmark  # noqa: PLC0415 - PySpark takes long to load

    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    home, side, name = Path(spec["home"]), spec["side"], spec["query"]
    scratch = home / side / name / str(spec["round"])
    runs = {NATIVE: native_nexmark.run, RHEOSTAT: rheostat_nexmark.run, READING: rheostat_nexmark.read}
    runs[side](spark, name, data=home / "data", scratch=scratch, files_per_epoch=FILES_PER_EPOCH)
    (commits,) = (scratch / "checkpoint").glob("**/commits")
    return {"seconds": sum(commit_gaps(commits, WARM_UP, WARM_UP + spec["epochs"]))}


if __name__ == "__main__":
    print(json.dumps(_side(json.loads(sys.argv[1]))))
