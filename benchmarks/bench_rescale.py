"""``rheostat bench rescale``: 2 -> 4 -> 8 -> 2 slots under steady load, against Spark's stop, repartition and restart.

``python -m benchmarks.bench_rescale SPEC`` runs one of the sides.
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
"""Numbers of slots, one after the other."""

SKIPPED = 4
"""Epochs at the start that do not count: the first one fills the state, the others warm up."""

WARM_UP_KEYS, WARM_UP_EPOCHS = 10_000, 3
"""Keys of the warm-up, and its epochs with each number of slots."""


def run(keys: int, rows: int, epochs: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run both sides on the same files, each in a new process, and return the figures.

    Args:
        keys: number of keys in state, from the first epoch on.
        rows: rows of each further epoch.
        epochs: number of epochs with each number of slots.
        say: called with each step.
    """
    with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        home = Path(folder)
        say("generating rows")
        _write(home / "data", keys, rows, (epochs + 1) * len(SIZES) + SKIPPED)
        _write(home / "warm_up", WARM_UP_KEYS, rows, (WARM_UP_EPOCHS + 1) * len(SIZES) + SKIPPED)
        sides = {}
        for side in ("native", "rheostat"):
            say(f"running {side}")
            sides[side] = run_side("benchmarks.bench_rescale", {"side": side, "home": folder, "epochs": epochs}, 1800.0)
        say("comparing results")
        ours, theirs = (_final(home / side / "run" / "out") for side in ("rheostat", "native"))
        equal = ours.equals(theirs)
    pauses = {side: figures["pause"] for side, figures in sides.items()}
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
    """Warm up and measure one side; return its figures."""
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    work = _native if side == "native" else _rheostat
    work(spark, home / "warm_up", home / side / "warm", WARM_UP_EPOCHS)
    figures = work(spark, home / "data", home / side / "run", epochs)
    if side == "rheostat":
        figures["moving_half"] = _moving_half(spark, home / "data", home / side / "half")
    return figures


def _native(spark: Any, data: Path, scratch: Path, epochs: int) -> dict[str, Any]:
    """Run on plain Spark; return the gaps between its micro-batches and the seconds of each change."""
    from benchmarks.native_rescale import rescale  # noqa: PLC0415 - pandas, which it needs, takes long to load

    result = rescale(spark, data=data, schema=SCHEMA, scratch=scratch, sizes=SIZES, batches=epochs)
    changes = [{"partitions": c.partitions, "seconds": round(c.stop + c.finish + c.repartition + c.restart, 3)}
               for c in result.changes]  # fmt: skip
    return {**_gaps(result.completions), "changes": changes}


def _rheostat(spark: Any, data: Path, scratch: Path, epochs: int) -> dict[str, Any]:
    """Run on Rheostat; return the gaps between its epochs, the shards moved and the bytes fetched."""
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
    """Swap half of all shards between two slots of one node in every third epoch; return what that adds to an epoch."""
    queries: list[rh.Query] = []
    seconds: dict[bool, list[float]] = {True: [], False: []}
    sizes: list[int] = []  # of the last epoch with moves: bytes of state that changed slots, fetched, migrated

    def committed(progress: rh.Progress) -> None:
        if progress.epoch > SKIPPED:
            seconds[bool(progress.changes)].append(progress.seconds)
            if progress.changes:
                sizes[:] = [progress.state_bytes // 2, progress.fetched_bytes, progress.migrated_bytes]
        if queries and progress.epoch % 3 == 0:
            (component, routing), *_ = queries[0].routing.items()
            # The slots swap every other shard: both have as many shards as before, and half of them are new.
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
        "state_bytes_that_changed_slots": sizes[0],
        "bytes_copied": sizes[1],
        "bytes_migrated": sizes[2],
    }


def _gaps(completions: Sequence[float]) -> dict[str, float]:
    """Return the median and the longest gap between completed epochs in seconds, and the pause: their difference."""
    gaps = np.diff(np.array(completions))[SKIPPED:]
    return {
        "pause": float(gaps.max() - np.median(gaps)),
        "median": float(np.median(gaps)),
        "longest": float(gaps.max()),
    }


def _write(folder: Path, keys: int, rows: int, files: int) -> None:
    """Write one file with all keys, then files with random ones."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    every = np.arange(keys)
    write_rows(folder / "00000.parquet", START + every, every, every % 1_000, 0)
    for epoch in range(1, files + 1):
        some = rng.integers(0, keys, rows)
        write_rows(
            folder / f"{epoch:05d}.parquet", START + epoch * 1_000_000 + np.arange(rows), some, some % 1_000, epoch
        )


def _final(out: Path) -> pl.DataFrame:
    """Return the last totals of each key."""
    return rheostat_totals.results(out).group_by("key").agg(pl.col("n").max(), pl.col("s").max()).sort("key")


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_side(spec["side"], Path(spec["home"]), spec["epochs"])))
