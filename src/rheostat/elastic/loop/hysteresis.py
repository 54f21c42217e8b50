"""When things stay as they are, although the model would now have them otherwise.

What is measured wavers, and every change costs. The papers have no such rules; without them cores and shards go to and
fro.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.allocation import Allocation

BUSY = 0.9
"""Load of the busiest cores from which on more of them are worth a change."""

_CALM = 0.7
"""Load of those that are left, up to which a single core is given back."""

_SPARE = 1.25
"""Whoever has more than this times the cores it needs gives back what it does not."""

WORTHWHILE = 0.05
"""Share by which a move of shards has to lower the worse latency of its two slots: less is noise."""


def idle(have: Ints, wanted: Ints, load: Floats) -> npt.NDArray[np.bool_]:
    """Who has so many cores too many that it is worth a change to be rid of them.

    A single one only if the others are far from busy without it: else it would soon be wanted back.

    Args:
        load: how many cores each keeps busy.

    >>> idle(np.array([2, 2, 3]), np.array([1, 1, 1]), np.array([0.5, 0.8, 0.8])).tolist()
    [True, False, True]
    """
    most = _SPARE * wanted
    found: npt.NDArray[np.bool_] = (have > np.ceil(most)) | ((have > most) & (load <= _CALM * wanted))
    return found


def stays(found: Allocation, have: Ints, load: Floats, total: int, busy: float, steady: float) -> bool:
    """Whether the cores that are there are nearly as good as those that were found.

    Under the bound a core more does little, until somebody is busy; above it the busiest decides what gets through.

    Args:
        have: how many cores each has; ``load``, how many it keeps busy.
        total: how many there are.
        busy: how busy the busiest may be if the bound is kept.
        steady: how much busier than with the new cores the busiest may be; 1 takes every new answer.
    """
    if steady <= 1 or have.sum() > total or not (have > 0).all():
        return False
    now, then = (load / have).max(initial=0.0), (load / np.maximum(found.cores, 1)).max(initial=0.0)
    if not found.met:
        return bool(now <= steady * then)
    return bool(now <= max(busy, steady * then)) and not idle(have, found.cores, load).any()
