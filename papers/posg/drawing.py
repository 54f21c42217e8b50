"""The pictures and tables of POSG's sweeps: mean, smallest and largest over the streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.posg.streams import Trials
from papers.run import Run
from rheostat.arrays import Floats
from rheostat.plots import COLOURS

Sweep = Mapping[float, Trials]
"""Trials by the value of the parameter that is varied."""

NAMES = {"round robin": "blind", "POSG": "posg", "Full Knowledge": "known"}
"""The groupings, as they are called and where ``Trials`` has them."""


def draw_bars(axis: Any, labels: Sequence[str], found: Sweep) -> None:
    """Mean, and smallest to largest over the streams, of the three groupings side by side."""
    for place, (name, of) in enumerate(NAMES.items()):
        x = np.arange(len(labels), dtype=np.float64) + (place - 1) * 0.22
        interval(axis, x, [getattr(t, of) for t in found.values()], name, place)
    axis.set_xticks(range(len(labels)), labels, rotation=45)
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right", fontsize=7)


def interval(axis: Any, x: Floats, values: Sequence[Floats], name: str, colour: int, fmt: str = "o") -> None:
    """Means with bars from the smallest to the largest."""
    mean = np.array([v.mean() for v in values])
    # The mean of equal values may differ from them in the last bit.
    ends = np.array([[v.mean() - v.min(), v.max() - v.mean()] for v in values]).T.clip(min=0.0)
    axis.errorbar(x, mean, yerr=ends, fmt=fmt, ms=4, capsize=2, lw=1, label=name, color=COLOURS[colour])


def draw_completion(run: Run, name: str, title: str, label: str, found: Sweep) -> None:
    """Completion times of round robin and POSG over the parameter."""
    with run.figure(name, title) as axes:
        axis = axes[0, 0]
        for place, (series, of) in enumerate({"round robin": "blind", "POSG": "posg"}.items()):
            x = np.array(list(found)) * (1.0 + 0.06 * place)
            interval(axis, x, [getattr(t, of) for t in found.values()], series, place, "o-")
        axis.set(xlabel=label, ylabel="seconds", xscale="log", yscale="log")
        axis.legend()
    write(run, name, label, found)


def draw_speedup(run: Run, name: str, title: str, label: str, found: Sweep, logarithmic: bool = False) -> None:
    """Speed-up of POSG over the parameter."""
    with run.figure(name, title) as axes:
        axis = axes[0, 0]
        interval(axis, np.array(list(found)), [t.speedup for t in found.values()], "POSG over round robin", 1, "o-")
        axis.axhline(1.0, color=COLOURS[5], lw=0.8)
        axis.set(xlabel=label, ylabel="speed-up", **({"xscale": "log"} if logarithmic else {}))
        axis.legend()
    write(run, name, label, found)


def write(run: Run, name: str, label: str, found: Sweep) -> None:
    """Every mean, smallest and largest that the figure shows, and the speed-ups."""
    header = [label]
    for series in ("round_robin", "posg", "full_knowledge", "speedup"):
        header += [f"{series}_{what}" for what in ("mean", "min", "max")]
    rows = [
        [value, *(f"{f(v):.5f}" for v in (t.blind, t.posg, t.known, t.speedup) for f in (np.mean, np.min, np.max))]
        for value, t in found.items()
    ]
    run.table(name, header, rows)
