"""Draw the runs of ``rheostat bench slo``: latency, bound and slots over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.live_side import LiveRun
from rheostat.arrays import Floats
from rheostat.elastic.model.promise import Latency
from rheostat.plots import figure

_BIN = 1.0  # seconds of a point


def draw(path: Path, runs: Mapping[str, Mapping[str, LiveRun]], promise: Latency, warm_up: int) -> None:
    """Draw one column per workload: mean latency of the rows committed in every second above, slots below.

    Args:
        path: the file, .svg or .png.
        runs: by workload and side.
        promise: the promise; its bound is a dashed line.
        warm_up: seconds at the begin that do not count; they are shaded.
    """
    with figure(path, f"Promise: {promise}", rows=2, columns=len(runs)) as axes:
        for column, (workload, sides) in enumerate(runs.items()):
            above, below = cast(Any, axes[0, column]), cast(Any, axes[1, column])
            above.set_title(workload)
            for side, run in sides.items():
                above.plot(*_latency(run), label=side, linewidth=1.0)
                below.step(run.commits, run.slots, where="pre", label=side, linewidth=1.0)
            above.axhline(promise.seconds, color="black", linestyle="--", linewidth=0.8)
            for axis in (above, below):
                axis.axvspan(0, warm_up, color="#eeeeee")
                axis.set_xlim(left=0)
            above.set_ylim(0, promise.seconds * 3)
            above.set_ylabel("mean latency, s")
            below.set_ylabel("slots")
            below.set_xlabel("s")
        cast(Any, axes[0, 0]).legend(fontsize=7)


def _latency(run: LiveRun) -> tuple[Floats, Floats]:
    """Return seconds since the begin, and the mean latency of the rows committed in each; NaN where none was."""
    rows = run.committed
    done = np.isfinite(rows.committed)
    second = (rows.committed[done] / _BIN).astype(np.int64)
    counts = np.bincount(second)
    sums = np.bincount(second, weights=rows.latency[done])
    means = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    at = np.flatnonzero(counts)
    return np.asarray(at * _BIN, dtype=np.float64), np.asarray(means[at])
