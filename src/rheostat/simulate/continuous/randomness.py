"""Random numbers inside compiled loops. The state is an argument, so simulations do not share random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rheostat.jit import inlined

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_TINY = 2.0**-53


@inlined
def uniform(state: Any) -> float:
    """Return a uniform number in [0, 1) and advance the state.

    The generator is SplitMix64: one 64-bit word of state, and every seed is good.

    >>> state = np.array([1], dtype=np.uint64)
    >>> [round(uniform(state), 4) for _ in range(3)]
    [0.5666, 0.7458, 0.971]
    """
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * _TINY


@inlined
def exponential(state: Any) -> float:
    """Return an exponentially distributed number of mean 1 and advance the state."""
    return -math.log1p(-uniform(state))
