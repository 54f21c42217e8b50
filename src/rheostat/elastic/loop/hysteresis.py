"""Rules that keep cores and shards where they are although the model would now choose otherwise.

Measurements fluctuate, and every change has a cost. The papers have no such rules; without them cores and shards go
back and forth.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Flags, Floats, Ints

BUSY = 0.9
"""Load per core of the busiest executor above which more cores are worth a change."""

_CALM = 0.7
"""Load per remaining core up to which a single core is given back."""

_SPARE = 1.25
"""An executor gives cores back if it has more than this many times the cores it needs."""

WORTHWHILE = 0.05
"""Share by which a move of shards must lower the worse latency of its two slots; less is noise."""


def idle(have: Ints, wanted: Ints, load: Floats) -> Flags:
    """Return for every executor or operator True if it has so many spare cores that giving them back is worth a change.

    A single core is given back only if the others stay far from busy without it. Otherwise it would soon be needed
    again.

    Args:
        have: the number of cores that each has.
        wanted: the number of cores that each needs.
        load: the number of cores that each keeps busy.

    >>> idle(np.array([2, 2, 3]), np.array([1, 1, 1]), np.array([0.5, 0.8, 0.8])).tolist()
    [True, False, True]
    """
    limit = _SPARE * wanted
    flags: Flags = (have > np.ceil(limit)) | ((have > limit) & (load <= _CALM * wanted))
    return flags


def stays(wanted: Ints, met: bool, have: Ints, load: Floats, total: int, busy: float, steady: float) -> bool:
    """Return True if the present cores are nearly as good as the wanted ones.

    While the bound is kept, another core helps little until an executor is busy. Otherwise the busiest executor limits
    the throughput.

    Args:
        wanted: the number of cores that each executor should have.
        met: True if the latency bound is kept with the wanted cores.
        have: the number of cores that each executor has.
        load: the number of cores that each executor keeps busy.
        total: the number of cores in the cluster.
        busy: load per core that the busiest executor may have while the bound is kept.
        steady: how many times as busy the busiest executor may be as with the wanted cores; 1 accepts every new answer
            of the model.
    """
    if steady <= 1 or have.sum() > total or not (have > 0).all():
        return False
    now, then = (load / have).max(initial=0.0), (load / np.maximum(wanted, 1)).max(initial=0.0)
    if not met:
        return bool(now <= steady * then)
    return bool(now <= max(busy, steady * then)) and not idle(have, wanted, load).any()
