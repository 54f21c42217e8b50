"""``rheostat bench rescale``: 2 -> 4 -> 8 -> 2 slots under steady load, beside Spark's stop, repartition and restart.

Run as ``python -m benchmarks.bench_rescale SPEC`` it is one of the sides, in a process of its own.
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
import polars as pl

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SCHEMA, START, write_rows

SIZES = (2, 4, 8, 2)
SKIPPED = 4
"""Epochs at the beginning that do not count: the first one brings all keys, the next ones compile and settle."""


def run(keys: int, rows: int, epochs: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Both sides on the same files.

    Args:
        keys: keys in state from the first epoch on.
        rows: rows in every further epoch.
        epochs: epochs with each number of slots.
    """
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        say("generating rows")
        _write(home / "data", keys, rows, (epochs + 1) * len(SIZES) + SKIPPED)
        _write(home / "warm_up", 10_000, rows, 4 * len(SIZES) + SKIPPED)
        sides = {}
        for side in ("native", "rheostat"):
            say(f"running {side}")
            sides[side] = run_side("benchmarks.bench_rescale", {"side": side, "home": folder, "epochs": epochs}, 1800.0)
        say("comparing results")
        ours, theirs = (_final(home / side / "run" / "out") for side in ("rheostat", "native"))
        equal = ours.equals(theirs)
    pauses = {side: found["pause"] for side, found in sides.items()}
    return {
        "keys": keys,
        "rows_per_epoch": rows,
        "slots": list(SIZES),
        "rheostat_pause_s": round(pauses["rheostat"], 3),
        "native_pause_s": round(pauses["native"], 3),
        "pause_ratio": round(pauses["native"] / max(pauses["rheostat"], 1e-3), 1),
        "results_equal": equal,
        "rheostat_median_gap_s": round(sides["rheostat"]["median"], 3),
        "native_median_gap_s": round(sides["native"]["median"], 3),
        "native_changes": sides["native"]["changes"],
        "rheostat_moved_shards": sides["rheostat"]["moved"],
        "rheostat_fetched_bytes": sides["rheostat"]["fetched_bytes"],
        "moving_half": sides["rheostat"]["moving_half"],
    }


def _side(side: str, home: Path, epochs: int) -> dict[str, Any]:
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    work = _native if side == "native" else _rheostat
    work(spark, home / "warm_up", home / side / "warm", 3)
    found = work(spark, home / "data", home / side / "run", epochs)
    if side == "rheostat":
        found["moving_half"] = _moving_half(spark, home / "data", home / side / "half")
    return found


def _native(spark: Any, data: Path, scratch: Path, epochs: int) -> dict[str, Any]:
    from benchmarks.native_rescale import rescale  # noqa: PLC0415 - pandas, which it needs, takes long to load

    done = rescale(spark, data=data, schema=SCHEMA, scratch=scratch, sizes=SIZES, batches=epochs)
    changes = [{"partitions": c.partitions, "seconds": round(c.stop + c.finish + c.repartition + c.restart, 3)}
               for c in done.changes]  # fmt: skip
    return {**_gaps(done.completions), "changes": changes}


def _rheostat(spark: Any, data: Path, scratch: Path, epochs: int) -> dict[str, Any]:
    completions: list[float] = []
    queries: list[rh.Query] = []
    moved = fetched = 0

    def committed(progress: rh.Progress) -> None:
        nonlocal moved, fetched
        completions.append(time.monotonic())
        moved += sum(c.moved for c in progress.changes)
        fetched += progress.fetched_bytes
        stage, rest = divmod(progress.epoch - SKIPPED, epochs)
        if queries and rest == 0 and 0 < stage < len(SIZES):
            queries[0].rescale(slots=SIZES[stage])

    queries.append(rheostat_totals.start(spark, data, scratch, committed, slots=SIZES[0]))
    queries[0].await_termination()
    return {**_gaps(completions), "moved": moved, "fetched_bytes": fetched}


def _moving_half(spark: Any, data: Path, scratch: Path) -> dict[str, Any]:
    """Every third epoch half of all shards change places between two slots of one node: what does it add?"""
    queries: list[rh.Query] = []
    seconds: dict[bool, list[float]] = {True: [], False: []}
    sizes: list[int] = []

    def committed(progress: rh.Progress) -> None:
        if progress.epoch > SKIPPED:
            seconds[bool(progress.changes)].append(progress.seconds)
            sizes.extend(
                [progress.state_bytes // 2, progress.fetched_bytes, progress.migrated_bytes] if progress.changes else ()
            )
        if queries and progress.epoch % 3 == 0:
            (component, routing), *_ = queries[0].routing.items()
            # The slots swap every other shard: as many shards each as before, half of them new.
            swapped = tuple(1 - slot if shard % 2 else slot for shard, slot in enumerate(routing))
            queries[0].reassign(component, swapped)

    queries.append(rheostat_totals.start(spark, data, scratch, committed, slots=2))
    queries[0].await_termination()
    still, moving = (statistics.median(seconds[changed]) for changed in (False, True))
    return {
        "epoch_seconds": round(still, 4),
        "moving_epoch_seconds": round(moving, 4),
        "overhead": round(moving / still - 1, 4),
        "epochs": len(seconds[True]),
        "state_bytes_that_changed_slots": sizes[-3],
        "bytes_copied": sizes[-2],
        "bytes_migrated": sizes[-1],
    }


def _gaps(completions: Sequence[float]) -> dict[str, float]:
    gaps = np.diff(np.array(completions))[SKIPPED:]
    return {
        "pause": float(gaps.max() - np.median(gaps)),
        "median": float(np.median(gaps)),
        "longest": float(gaps.max()),
    }


def _write(folder: Path, keys: int, rows: int, files: int) -> None:
    """A file that touches every key, then files that touch some."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    everyone = np.arange(keys)
    write_rows(folder / "00000.parquet", START + everyone, everyone, everyone % 1_000, 0)
    for epoch in range(1, files + 1):
        some = rng.integers(0, keys, rows)
        write_rows(
            folder / f"{epoch:05d}.parquet", START + epoch * 1_000_000 + np.arange(rows), some, some % 1_000, epoch
        )


def _final(out: Path) -> pl.DataFrame:
    """The last totals of every key."""
    return rheostat_totals.results(out).group_by("key").agg(pl.col("n").max(), pl.col("s").max()).sort("key")


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_side(spec["side"], Path(spec["home"]), spec["epochs"])))
