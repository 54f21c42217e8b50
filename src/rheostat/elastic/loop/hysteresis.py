"""When things stay as they are although the model would now choose otherwise.

Measurements fluctuate, and every change costs. The papers have no such rules; without them cores and shards go back and
forth.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Flags, Floats, Ints

BUSY = 0.9
"""Load of the busiest cores from which on adding some is worth a change."""

_CALM = 0.7
"""Load of the remaining cores up to which a single core is given back."""

_SPARE = 1.25
"""An executor with more than this times the cores it needs gives the others back."""

WORTHWHILE = 0.05
"""Share by which a move of shards must lower the worse latency of its two slots: less is noise."""


def idle(have: Ints, wanted: Ints, load: Floats) -> Flags:
    """Which executors or operators have so many cores too many that giving them back is worth a change.

    A single core only if the others are far from busy without it: otherwise it would soon be wanted back.

    Args:
        have: how many cores each has.
        wanted: how many each needs.
        load: how many cores each keeps busy.

    >>> idle(np.array([2, 2, 3]), np.array([1, 1, 1]), np.array([0.5, 0.8, 0.8])).tolist()
    [True, False, True]
    """
    most = _SPARE * wanted
    found: Flags = (have > np.ceil(most)) | ((have > most) & (load <= _CALM * wanted))
    return found


def stays(wanted: Ints, met: bool, have: Ints, load: Floats, total: int, busy: float, steady: float) -> bool:
    """True if the cores that are there are nearly as good as those that are wanted.

    Within the bound another core helps little until somebody is busy; above it the busiest decides the throughput.

    Args:
        wanted: how many cores each should have.
        met: True if the latency bound is kept with them.
        have: how many cores each has.
        load: how many cores each keeps busy.
        total: how many cores there are.
        busy: how busy the busiest may be if the bound is kept.
        steady: how many times as busy as with the wanted cores the busiest may be; 1 takes every new answer.
    """
    if steady <= 1 or have.sum() > total or not (have > 0).all():
        return False
    now, then = (load / have).max(initial=0.0), (load / np.maximum(wanted, 1)).max(initial=0.0)
    if not met:
        return bool(now <= steady * then)
    return bool(now <= max(busy, steady * then)) and not idle(have, wanted, load).any()
