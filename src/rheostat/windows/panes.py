"""Panes: the largest intervals of which every requested window consists."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from rheostat.durations import label
from rheostat.errors import TopologyError
from rheostat.windows.window import Window

MAX_PANES_PER_WINDOW = 50_000
"""A week of 20-second panes. More than that is nearly always a slide that was meant to be rounder."""


def pane_of(windows: Iterable[Window]) -> Window:
    """The pane of a window set: a tumbling window of the greatest common divisor of sizes, slides and offsets.

    >>> from rheostat.windows.window import sliding, tumbling
    >>> pane_of(tumbling("10 minutes", "15 minutes")).label
    '5 minutes'
    >>> pane_of(sliding("1 hour", every="7 milliseconds"))
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: window '1 hour every 7 milliseconds' needs 3600000 panes of 1 millisecond ...
    """
    windows = tuple(windows)
    if not windows:
        raise TopologyError("a consolidate operator needs at least one window")
    base = windows[0].offset
    size = gcd(*(part for w in windows for part in (w.size, w.slide, w.offset - base)))
    for w in windows:
        if w.size // size > MAX_PANES_PER_WINDOW:
            raise TopologyError(
                f"window {w.label!r} needs {w.size // size} panes of {label(size)} (at most {MAX_PANES_PER_WINDOW}): "
                "choose sizes, slides and offsets with a larger common divisor, "
                "or put windows that do not fit together on compute operators of their own"
            )
    return Window(size, size, base % size)
