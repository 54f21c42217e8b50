"""``rheostat bench growth``: what an epoch costs as state grows while its input stays the same."""

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
"""Epochs with the same input after the state has been built up."""
CHANGED = 10_000
"""Keys that change in each of them."""
KINDS = ("append", "update", "keyed")
"""What is kept: windows that are emitted once, windows that are refreshed every epoch, or keyed state."""


def run(sizes: list[int], kind: str, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """The median cost of an epoch that changes 10,000 keys, for every number of keys in state."""
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
    _write_input(folder / "data", keys)
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    query = rheostat_totals.start(spark, folder / "data", folder) if kind == "keyed" else _windows(spark, folder, kind)
    written = []
    for epoch in range(EPOCHS + 1):
        query.await_epoch(epoch, 600)
        state = (folder / "checkpoint" / "state").glob(f"*/{epoch:012d}-*.arrow")
        written.append(sum(f.stat().st_size for f in state))
    query.await_termination()
    steady = [p for p in query.progress if p.rows == CHANGED][EPOCHS // 4 :]
    return {
        "keys": keys,
        "epoch_seconds": round(statistics.median(p.seconds for p in steady), 4),
        "worst_epoch_seconds": round(max(p.seconds for p in steady), 4),
        "slot_seconds": round(statistics.median(max(p.slot_seconds["by key"]) for p in steady), 4),
        "written_bytes": round(statistics.median(written[1 + EPOCHS // 4 :])),
        "state_bytes": steady[-1].state_bytes,
        "state_rows": steady[-1].state_rows,
    }


def _windows(spark: Any, folder: Path, kind: str) -> rh.Query:
    emit: Emit = "update" if kind == "update" else "append"
    t = rh.Topology("growth")
    rows = t.source(stream(spark, folder / "data"), event_time="ts")
    counted = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    counted.consolidate("day", rh.tumbling("24 hours"), emit=emit).sink(rh.sinks.parquet(str(folder / "out")))
    return t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW)


def _write_input(folder: Path, keys: int) -> None:
    """One file that touches every key, then files that touch the same few."""
    folder.mkdir(parents=True)
    everyone = np.arange(keys)
    write_rows(folder / "00000.parquet", START + everyone % 1_000_000, everyone, everyone % 1_000, 0)
    few = np.arange(0, keys, max(keys // CHANGED, 1))[:CHANGED]
    for epoch in range(1, EPOCHS + 1):
        times = START + epoch * 1_000_000 + np.arange(len(few))
        write_rows(folder / f"{epoch:05d}.parquet", times, few, few % 1_000, epoch)


if __name__ == "__main__":
    spec = json.loads(sys.argv[1])
    print(json.dumps(_measure(spec["keys"], Path(spec["folder"]), spec["kind"])))
