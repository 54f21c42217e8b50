"""``rheostat bench skew``: skewed keys whose frequencies are permuted from time to time, with rows of 1 ms.

It compares static hashing, Rheostat, and the lower bound of any placement: an even share of all work, or the work of
the most frequent key. Each row sleeps instead of computing, so that 16 slots can work at once on any machine.

There are two bounds. One takes the seconds of a slot per row, which include what a task spends on reading and writing.
The other takes only what rows really slept, which no placement and no runtime can save.
``python -m benchmarks.bench_skew SPEC`` runs one of the sides.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.side_process import run_side
from benchmarks.skewed_files import START, write_rows

SLOTS = 16
KEYS = 100_000
SHARDS = 1024
ROW_SECONDS = 0.001
"""Seconds that a row sleeps."""

WARM_UP = 4
"""Epochs at the start that do not count."""


def run(
    skew: float, bound: float, periods: int, period: float, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run static hashing and Rheostat on the same files, each in a new process, and return the figures.

    Args:
        skew: exponent of the Zipf distribution of keys.
        bound: approximate lower bound of the seconds of an epoch; decides the rows per epoch.
        periods: number of periods; between them, the frequencies of keys are permuted.
        period: seconds of a period; each epoch counts as ``bound`` seconds.
        say: called with each step.
    """
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        rows, files = _write(home / "data", skew, bound, periods, period)
        sides = {}
        for side in ("static", "rheostat"):
            say(f"Zipf {skew}: {side}")
            spec = {"side": side, "home": folder, "slots": SLOTS}
            sides[side] = run_side("benchmarks.bench_skew", spec, 3600.0)
        equal = rheostat_totals.results(home / "static" / "out").equals(
            rheostat_totals.results(home / "rheostat" / "out")
        )
        longest = [_longest(home / "data" / f"{i:05d}.parquet") for i in range(WARM_UP, files)]
    static, rheostat = (statistics.mean(sides[s]["epochs"][WARM_UP:]) for s in ("static", "rheostat"))
    row_seconds, slept = sides["rheostat"]["row_seconds"], sides["rheostat"]["slept"]
    bound_rows = statistics.mean(longest)
    lower, least = bound_rows * row_seconds, bound_rows * slept
    return {
        "skew": skew,
        "slots": SLOTS,
        "keys": KEYS,
        "rows_per_epoch": rows,
        "epochs": files - WARM_UP,
        "permutations": periods - 1,
        "row_ms": round(row_seconds * 1000, 4),
        "slept_ms": round(slept * 1000, 4),
        "static_epoch_s": round(static, 3),
        "rheostat_epoch_s": round(rheostat, 3),
        "bound_epoch_s": round(lower, 3),
        "slept_bound_epoch_s": round(least, 3),
        "static_over_rheostat": round(static / rheostat, 3),
        "rheostat_over_bound": round(rheostat / lower, 3),
        "rheostat_over_slept_bound": round(rheostat / least, 3),
        "results_equal": equal,
        "moved_shards": sides["rheostat"]["moved"],
    }


def slow_totals(slept: Path) -> Callable[[pl.DataFrame, pl.DataFrame], tuple[pl.DataFrame, pl.DataFrame]]:
    """Return a function that sleeps for each row, notes how long that took, and returns the running totals.

    Args:
        slept: a folder; every process that calls the function adds lines to a file there: seconds and rows of a call.
    """

    def logic(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        began = time.perf_counter()
        for _ in range(len(rows)):
            time.sleep(ROW_SECONDS)
        with (slept / str(os.getpid())).open("a") as file:
            file.write(f"{time.perf_counter() - began} {len(rows)}\n")
        return rheostat_totals.totals(rows, state)

    return logic


def _side(side: str, home: Path, slots: int) -> dict[str, Any]:
    """Run one side; return the seconds of its epochs, of a slot per row, and that a row slept, and the shards moved."""
    slept = home / f"{side} slept"
    slept.mkdir()
    spark = rh.session("bench", f"local[{slots}]")
    options: dict[str, Any] = {"policy": rh.policies.Balance(threshold=1.05, ahead=True)} if side == "rheostat" else {}
    query = rheostat_totals.start(
        spark, home / "data", home / side, logic=slow_totals(slept), slots=slots, shards=SHARDS, **options
    )
    query.await_termination()
    progress = query.progress[WARM_UP:]
    slot_seconds = sum(sum(seconds) for p in progress for seconds in p.slot_seconds.values())
    return {
        "epochs": [p.seconds for p in query.progress],
        "row_seconds": slot_seconds / sum(p.rows for p in progress),
        "slept": _row_sleep(slept),
        "moved": sum(c.moved for p in query.progress for c in p.changes),
    }


def _row_sleep(folder: Path) -> float:
    """Return the seconds that a row really slept: the median of all calls."""
    calls = [line.split() for file in folder.iterdir() for line in file.read_text().splitlines()]
    return statistics.median(float(seconds) / int(rows) for seconds, rows in calls)


def _longest(file: Path) -> float:
    """Return the rows that the busiest slot has at least: an even share of all rows, or those of the heaviest key."""
    rows = pl.read_parquet(file).group_by("key").len()["len"].to_numpy()
    return float(max(rows.sum() / SLOTS, rows.max()))


def _write(folder: Path, skew: float, bound: float, periods: int, period: float) -> tuple[int, int]:
    """Write files of skewed rows, and permute the frequencies of keys after each period.

    Returns:
        Rows per file, and the number of files.
    """
    folder.mkdir(parents=True)
    rng = np.random.default_rng(7)
    weights = 1 / np.arange(1, KEYS + 1) ** skew
    share = weights / weights.sum()
    rows = int(bound / ROW_SECONDS / max(share[0], 1 / SLOTS))
    files = max(round(periods * period / bound), WARM_UP + 2)
    names = rng.permutation(KEYS)
    for number in range(files):
        if int(number * bound / period) != int((number - 1) * bound / period):
            names = rng.permutation(KEYS)
        keys = names[rng.choice(KEYS, rows, p=share)]
        write_rows(
            folder / f"{number:05d}.parquet", START + number * 1_000_000 + np.arange(rows), keys, keys % 1_000, number
        )
    return rows, files


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_side(spec["side"], Path(spec["home"]), spec["slots"])))
