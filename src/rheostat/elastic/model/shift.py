"""Tells a shift of keys from chance: whether rows come from other shards than before."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats

_SHIFT = 1.5
"""Keys have shifted if two intervals differ by more than this many times what chance explains."""

_SHIFT_SHARE = 0.01
"""Share of rows that must come from other shards, besides what chance explains, to be a shift."""


def shifted(counts: Floats, before: Floats, intervals: float) -> bool:
    """Return True if rows come from other shards than before, by more than chance explains.

    Compares how rows are spread over shards, by half the sum of absolute differences, with what two samples of the same
    distribution differ by on average.

    Args:
        counts: rows of the newest interval, by shard.
        before: mean rates so far, by shard.
        intervals: the number of intervals that the mean rates are worth as a sample.

    >>> before, rng = np.full(100, 10.0), np.random.default_rng(1)
    >>> shifted(rng.poisson(before), before, 3.0), shifted(np.roll(np.arange(100.0), 50), np.arange(100.0), 3.0)
    (False, True)
    """
    rows, total = counts.sum(), before.sum()
    if not (rows >= 1 and total > 0):
        return False
    old = before / total
    chance = np.sqrt(2 * old * (1 + 1 / max(intervals, 1.0)) / (np.pi * rows)).sum() / 2
    return bool(np.abs(counts / rows - old).sum() / 2 > _SHIFT * chance + _SHIFT_SHARE)
