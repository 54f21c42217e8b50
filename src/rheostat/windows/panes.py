"""Panes: the largest intervals that divide all requested windows evenly."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from rheostat.durations import label
from rheostat.errors import TopologyError
from rheostat.windows.window import Window

MAX_PANES_PER_WINDOW = 50_000
"""A window that needs more panes nearly always has a mistyped slide, such as 1001 milliseconds."""


def pane_of(windows: Iterable[Window]) -> Window:
    """The pane of some windows: a tumbling window, as long as the greatest common divisor of sizes, slides and offsets.

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
        raise TopologyError("a consolidate operator needs at least one window, as in rh.tumbling('1 hour')")
    base = windows[0].offset
    size = gcd(*(part for w in windows for part in (w.size, w.slide, w.offset - base)))
    for w in windows:
        if w.size // size > MAX_PANES_PER_WINDOW:
            raise TopologyError(
                f"window {w.label!r} needs {w.size // size} panes of {label(size)} (at most {MAX_PANES_PER_WINDOW}): "
                "choose sizes, slides and offsets with a larger common divisor, "
                "or give windows that do not fit together compute operators of their own"
            )
    return Window(size, size, base % size)
