"""The cycle of a recorded load, if it has one: what repeats needs no longer history than two cycles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.elastic.elysium.forecasts.series import Series

_REPEATS = 0.5
"""Least correlation of a load with itself one cycle earlier."""

_DIFFERS = 0.2
"""By how much that correlation must exceed the one with some shorter time earlier."""


def cycles_of(load: Series) -> tuple[float, ...]:
    """Return the length in seconds of the shortest cycle that a load repeats; nothing if there is none.

    >>> wave = Series(np.tile([100.0] * 6 + [400.0] * 6, 4), step=10.0)
    >>> cycles_of(wave), cycles_of(Series(np.arange(40.0), step=10.0))
    ((120.0,), ())
    """
    longest = len(load) // 2
    if longest < 4:
        return ()
    lags = np.arange(1, longest)
    likeness = np.array([np.corrcoef(load.values[lag:], load.values[:-lag])[0, 1] for lag in _varying(load, lags)])
    if not len(likeness):
        return ()
    # A slow load resembles itself a step ago, which is no cycle: in between it must have been different.
    inner, least = likeness[1:-1], np.minimum.accumulate(likeness)[1:-1]
    higher = (inner >= likeness[:-2]) & (inner > likeness[2:]) & (inner >= least + _DIFFERS)
    peaks = np.flatnonzero(higher & (inner >= _REPEATS)) + 1
    if not len(peaks):
        return ()
    good = peaks[likeness[peaks] >= 0.9 * likeness[peaks].max()]
    return (float(lags[good[0]] * load.step),)


def _varying(load: Series, lags: npt.NDArray[np.int64]) -> list[int]:
    """Return the lags, up to the first whose parts do not vary: a constant has no correlation."""
    found = []
    for lag in lags.tolist():
        if not (np.ptp(load.values[lag:]) > 0 and np.ptp(load.values[:-lag]) > 0):
            break
        found.append(lag)
    return found
