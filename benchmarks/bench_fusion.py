"""``rheostat bench fusion``: Enorm's fast job with 0, 2, 3 and 4 of its operators fused (section 7.7, Figure 16).

Four operators aggregate the same rows by the same key, over windows of 1, 5, 10 and 20 minutes. Fused ones share the
partials of their rows, the exchange and the slots; each of the others aggregates the rows and has slots of its own.
``python -m benchmarks.bench_fusion SPEC`` runs one side.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SLACK, SkewedFiles, stream

MINUTES = (1, 5, 10, 20)
"""The windows of the four operators."""

FUSED = (0, 2, 3, 4)
"""How many operators are fused, by side."""

_FILES = 8
_TIMEOUT = 1800.0


def run(rows: int, keys: int, rounds: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run the sides by turns on the same files, each in a new process, and return the figures.

    Args:
        rows: rows in all files together.
        keys: number of keys.
        rounds: how often each side runs.
        say: called with each step.
    """
    seconds: dict[int, list[float]] = {fused: [] for fused in FUSED}
    shuffles: dict[int, int] = {}
    truth: dict[str, pl.DataFrame] | None = None
    equal = True
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        SkewedFiles(rows, _FILES, keys, minutes=80).write(home / "data")
        SkewedFiles(max(rows // 8, 2_000), _FILES, keys, minutes=80, seed=2).write(home / "warm_up")
        for number in range(rounds):
            for fused in FUSED if number % 2 == 0 else reversed(FUSED):
                say(f"round {number + 1}: {fused} fused")
                scratch = home / f"{number} {fused}"
                found = run_side("benchmarks.bench_fusion", _spec(home, scratch, fused), _TIMEOUT)
                seconds[fused].append(found["seconds"])
                shuffles[fused] = found["shuffles"]
                results = _results(scratch / "run")
                truth = truth or results
                equal = equal and all(results[name].equals(truth[name]) for name in truth)
    return {
        "rows": rows,
        "keys": keys,
        "rounds": rounds,
        "rows_per_s": {str(f): round(rows / statistics.median(s)) for f, s in seconds.items()},
        "shuffles": {str(f): shuffles[f] for f in FUSED},
        "ratio": round(statistics.median(a / b for a, b in zip(seconds[0], seconds[FUSED[-1]], strict=True)), 2),
        "results_equal": equal,
    }


def _spec(home: Path, scratch: Path, fused: int) -> dict[str, Any]:
    return {"data": str(home / "data"), "warm_up": str(home / "warm_up"), "scratch": str(scratch), "fused": fused}


def fast_job(spark: Any, data: Path, scratch: Path, fused: int) -> rh.Topology:
    """The fast job over all files of a folder, one file per epoch.

    Args:
        spark: the session.
        data: folder of the input files.
        scratch: folder for the results, in one folder per operator.
        fused: how many operators are fused, the first ones.
    """
    t = rh.Topology("fast")
    rows = t.source(stream(spark, data), event_time="ts", slack=SLACK)
    for number, minutes in enumerate(MINUTES):
        fuse: bool | str = False if number >= fused else "op1" if number else True
        name = f"op{number + 1}"
        computed = rows.compute(name, by="key", fuse=fuse, n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
        windows = computed.consolidate(f"{name}_windows", rh.tumbling(f"{minutes} minutes"))
        windows.sink(rh.sinks.parquet(str(scratch / name)))
    return t


def _results(out: Path) -> dict[str, pl.DataFrame]:
    """By operator, its results, sorted."""
    columns = ["window_start", "window_end", "key", "n", "s", "m"]
    names = [f"op{number + 1}" for number in range(len(MINUTES))]
    read = {n: pl.read_parquet(str(out / n / "epoch=*/*.parquet"), hive_partitioning=False) for n in names}
    return {name: frame.select(columns).sort(columns) for name, frame in read.items()}


def _side(spec: dict[str, Any]) -> dict[str, Any]:
    """Warm up and measure one side; return its seconds."""
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    scratch, seconds, shuffles = Path(spec["scratch"]), 0.0, 0
    for data, folder in ((spec["warm_up"], scratch / "warm"), (spec["data"], scratch / "run")):
        t = fast_job(spark, Path(data), folder, spec["fused"])
        began = time.perf_counter()
        query = t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW)
        query.await_termination()
        seconds, shuffles = time.perf_counter() - began, query.view.shuffles
    return {"seconds": seconds, "shuffles": shuffles}


if __name__ == "__main__":
    print(json.dumps(_side(json.loads(sys.argv[1]))))
