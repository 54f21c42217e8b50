"""The load of ``rheostat demo``: it surges, and a hot key wanders."""

from __future__ import annotations

import math

import numpy as np

from rheostat.arrays import Floats
from rheostat.workloads.live_rows import HotKey, LiveRows, live_rows

ROW_SECONDS = 0.004
"""Seconds that a row sleeps in its slot."""

KEYS = 4_096
SHARDS = 64
HOT = HotKey(share=0.08, every=10.0)
CALM, PEAK = 1.0, 4.5
"""Slots that the load would keep busy all the time, before the surge and at its height."""


def surge(seconds: int) -> Floats:
    """Return the load of each second, in slots: calm, a steep rise at a quarter of the time, a slow decay.

    >>> surge(8).round(1).tolist()
    [1.0, 1.0, 4.5, 4.5, 3.9, 3.2, 2.5, 1.7]
    """
    at = np.arange(seconds) / seconds
    return np.interp(at, [0.2, 0.25, 0.4, 1.0], [CALM, PEAK, PEAK, CALM])


def usual_slots(seconds: int) -> int:
    """Return half as many slots again as the mean load needs: what one may choose who does not know of the surge.

    >>> usual_slots(40)
    4
    """
    return math.ceil(1.5 * float(surge(seconds).mean()))


def surging_rows(seconds: int) -> LiveRows:
    """Return the rows of the demo, which are the same for every side."""
    return live_rows(surge(seconds) / ROW_SECONDS, keys=KEYS, hot=HOT)
