"""``rheostat bench layouts``: windows that are split, combined, and whichever Rheostat chooses, on the same files.

Every epoch is one file with one pane of rows. A cell of the grid has a number of keys per pane and an overlap of
windows. The sides run by turns in one process, after a warm-up with both layouts; the automatic one begins with a new
checkpoint each time, so what it learns is part of its seconds. ``python -m benchmarks.bench_layouts SPEC`` runs a cell.
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
import polars as pl

import rheostat as rh
from benchmarks.side_process import run_side
from benchmarks.skewed_files import SLACK, START, stream, write_rows
from rheostat.choices import LayoutChoice
from rheostat.windows.window import sliding, tumbling

KEYS = (100, 10_000, 100_000, 0)
"""Keys per pane of the grid; 0 stands for keys that are nearly unique."""

OVERLAPS = {1: tumbling("1 minute"), 12: sliding("12 minutes", every="1 minute")}
"""Windows by the number of windows that each row belongs to."""

SIDES: tuple[LayoutChoice, ...] = ("split", "combined", "auto")

_PANE = 60_000_000
_UNIQUE = 1 << 40
_WARM_UP = 4
_TIMEOUT = 1800.0


def run(rows: int, epochs: int, rounds: int, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run all cells of the grid, each in a new process, and return the figures.

    Args:
        rows: rows per epoch.
        epochs: epochs of a run.
        rounds: how often each side runs.
        say: called with each step.
    """
    cells = []
    for keys in KEYS:
        for overlap in OVERLAPS:
            say(f"{keys or 'unique'} keys per pane, overlap {overlap}")
            with tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
                home = Path(folder)
                write(home / "data", rows, epochs, keys)
                write(home / "warm_up", rows, _WARM_UP, keys)
                spec = {"home": folder, "overlap": overlap, "rounds": rounds}
                found = run_side("benchmarks.bench_layouts", spec, _TIMEOUT)
            cells.append({"keys_per_pane": keys or "unique", "overlap": overlap, **_figures(found)})
    return {
        "rows_per_epoch": rows,
        "epochs": epochs,
        "rounds": rounds,
        "worst_over_better": max(cell["over_better"] for cell in cells),
        "cells": cells,
        "results_equal": all(cell["results_equal"] for cell in cells),
    }


def write(folder: Path, rows: int, epochs: int, keys: int) -> None:
    """Write one file per epoch, each with a minute of event time and uniformly distributed keys.

    Args:
        folder: the folder of the files.
        rows: rows per file.
        epochs: number of files.
        keys: number of keys; 0 for nearly unique ones.
    """
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for epoch in range(epochs):
        times = START + epoch * _PANE + np.sort(rng.integers(0, _PANE, rows))
        chosen = rng.integers(0, keys or _UNIQUE, rows)
        write_rows(folder / f"{epoch:05d}.parquet", times, chosen, rng.integers(0, 1_000, rows), epoch)


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    """The figures of a cell, from the seconds of all rounds by side."""
    seconds = {side: statistics.median(found["seconds"][side]) for side in SIDES}
    better = min(seconds["split"], seconds["combined"])
    return {
        "seconds": {side: round(value, 3) for side, value in seconds.items()},
        "over_better": round(seconds["auto"] / better, 3),
        "combined_epochs": found["combined_epochs"],
        "results_equal": found["results_equal"],
    }


def _side(spec: dict[str, Any]) -> dict[str, Any]:
    """Run all sides of a cell by turns; return the seconds of their epochs, by side and round."""
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    home = Path(spec["home"])
    for layout in ("split", "combined"):
        one_run(spark, home / "warm_up", home / f"warm {layout}", spec["overlap"], layout)
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    truth, equal, combined = None, True, 0
    for number in range(spec["rounds"]):
        for layout in SIDES if number % 2 == 0 else reversed(SIDES):
            scratch = home / f"{number} {layout}"
            figures = one_run(spark, home / "data", scratch, spec["overlap"], layout)
            seconds[layout].append(figures["seconds"])
            combined = figures["combined_epochs"] if layout == "auto" else combined
            result = _results(scratch / "out")
            truth = result if truth is None else truth
            equal = equal and result.equals(truth)
    return {"seconds": seconds, "results_equal": equal, "combined_epochs": combined}


def one_run(spark: Any, data: Path, scratch: Path, overlap: int, layout: LayoutChoice) -> dict[str, Any]:
    """Run one side; return the seconds of all its epochs and how many of them were combined.

    Args:
        spark: the session.
        data: folder of the input files.
        scratch: folder for results (``out``) and the checkpoint.
        overlap: number of windows that each row belongs to.
        layout: the layout.
    """
    t = rh.Topology("bench")
    rows = t.source(stream(spark, data), event_time="ts", slack=SLACK)
    counted = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    counted.consolidate("windows", OVERLAPS[overlap]).sink(rh.sinks.parquet(str(scratch / "out")))
    query = t.start(str(scratch / "checkpoint"), trigger=rh.AVAILABLE_NOW, layout=layout)
    query.await_termination()
    changes = {d.epoch: d.action for d in query.decisions() if d.policy == "layout"}
    form: str = "split" if layout == "auto" else layout
    combined = 0
    for progress in query.progress:
        form = changes.get(progress.epoch, form)
        combined += form == "combined"
    return {
        "seconds": sum(p.seconds for p in query.progress),
        "ingest": [round(p.steps["ingest"], 4) for p in query.progress],
        "combined_epochs": combined,
    }


def _results(out: Path) -> pl.DataFrame:
    columns = ["window", "window_start", "window_end", "key", "n", "s", "m"]
    return pl.read_parquet(str(out / "epoch=*/*.parquet"), hive_partitioning=False).select(columns).sort(columns)


if __name__ == "__main__":
    print(json.dumps(_side(json.loads(sys.argv[1]))))
