"""``rheostat bench growth``: the cost of an epoch while state grows and the input stays the same.

``python -m benchmarks.bench_growth SPEC`` measures one size of state.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.side_process import run_side
from benchmarks.skewed_files import START, stream, write_rows
from rheostat.choices import Emit

EPOCHS = 24
"""Number of epochs that are measured, after a first one that fills the state."""

CHANGED = 10_000
"""Keys that change in each of these epochs."""

SETTLING = EPOCHS // 4
"""Measured epochs at the start that do not count."""

KINDS = ("append", "update", "keyed")
"""Kinds of state: windows that are emitted once, windows that are emitted in every epoch, or keyed state."""


def run(sizes: list[int], kind: str, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Measure each number of keys in a new process and return the figures.

    Args:
        sizes: numbers of keys in state, smallest first.
        kind: one of ``KINDS``.
        say: called with each step.
    """
    measured = []
    for keys in sizes:
        say(f"{keys:,} keys in state")
        with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
            measured.append(run_side("benchmarks.bench_growth", {"keys": keys, "folder": folder, "kind": kind}, 1800.0))
    return {
        "kind": kind,
        "changed_keys": CHANGED,
        "sizes": measured,
        "slowdown": round(measured[-1]["epoch_seconds"] / measured[0]["epoch_seconds"], 2),
        "more_bytes": round(measured[-1]["written_bytes"] / measured[0]["written_bytes"], 2),
    }


def _measure(keys: int, folder: Path, kind: str) -> dict[str, Any]:
    """Return the figures for a number of keys in state: medians over the epochs that count."""
    _write_input(folder / "data", keys)
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    query = rheostat_totals.start(spark, folder / "data", folder) if kind == "keyed" else _windows(spark, folder, kind)
    written = []
    for epoch in range(EPOCHS + 1):
        query.await_epoch(epoch, 600)
        state = (folder / "checkpoint" / "state").glob(f"*/{epoch:012d}-*.arrow")
        written.append(sum(f.stat().st_size for f in state))
    query.await_termination()
    steady = [p for p in query.progress if p.rows == CHANGED][SETTLING:]
    return {
        "keys": keys,
        "epoch_seconds": round(statistics.median(p.seconds for p in steady), 4),
        "worst_epoch_seconds": round(max(p.seconds for p in steady), 4),
        "slot_seconds": round(statistics.median(max(p.slot_seconds["by key"]) for p in steady), 4),
        "written_bytes": round(statistics.median(written[1 + SETTLING :])),
        "state_bytes": steady[-1].state_bytes,
        "state_rows": steady[-1].state_rows,
    }


def _windows(spark: Any, folder: Path, kind: str) -> rh.Query:
    """Start a query with a window that is as long as the day, so that all keys stay in state."""
    emit: Emit = "update" if kind == "update" else "append"
    t = rh.Topology("growth")
    rows = t.source(stream(spark, folder / "data"), event_time="ts")
    counted = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    counted.consolidate("day", rh.tumbling("24 hours"), emit=emit).sink(rh.sinks.parquet(str(folder / "out")))
    return t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW)


def _write_input(folder: Path, keys: int) -> None:
    """Write one file with all keys, then files that all have the same few keys."""
    folder.mkdir(parents=True)
    every = np.arange(keys)
    write_rows(folder / "00000.parquet", START + every % 1_000_000, every, every % 1_000, 0)
    few = np.arange(0, keys, max(keys // CHANGED, 1))[:CHANGED]
    for epoch in range(1, EPOCHS + 1):
        times = START + epoch * 1_000_000 + np.arange(len(few))
        write_rows(folder / f"{epoch:05d}.parquet", times, few, few % 1_000, epoch)


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_measure(spec["keys"], Path(spec["folder"]), spec["kind"])))
