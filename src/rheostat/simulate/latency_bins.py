"""Counts of rows by latency bin, and the quantiles that they give. Both engines count rows in these bins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.jit import inlined

BINS = 224
"""Number of latency bins: one below ``FINEST_BIN``, then 8 for each doubling, up to about three quarters of an hour."""

BINS_PER_DOUBLING = 8
"""Latency bins of equal width between a latency and twice that latency."""

FINEST_BIN = 1e-5
"""Width of the first latency bin in seconds."""


@inlined
def bin_of(latency: float) -> int:
    """Return the latency bin of a latency in seconds; see ``BINS``."""
    if latency < FINEST_BIN:
        return 0
    part, doublings = math.frexp(latency / FINEST_BIN)
    # part is in [0.5, 1).
    within = int(2.0 * BINS_PER_DOUBLING * part - BINS_PER_DOUBLING)
    return min(BINS_PER_DOUBLING * (doublings - 1) + within + 1, BINS - 1)


def quantile(bins: Sequence[int] | npt.NDArray[np.int64], share: float) -> float:
    """Return a quantile of latency, in seconds, from counts by latency bin; exact to about 6 %, NaN without rows.

    Args:
        bins: rows by latency bin.
        share: the quantile, from 0 to 1.

    >>> counts = np.zeros(BINS, dtype=np.int64)
    >>> counts[81] = 100
    >>> round(quantile(counts, 0.99), 3)
    0.011
    """
    counts = np.asarray(bins, dtype=np.float64)
    if not counts.sum() > 0:
        return float("nan")
    place = int(np.searchsorted(np.cumsum(counts), share * counts.sum()))
    place = min(place, BINS - 2)
    return float((_EDGES[place] + _EDGES[place + 1]) / 2)


def _bin_edges() -> Floats:
    """Return the lowest latency of every bin, in seconds; see ``BINS``."""
    doublings, parts = np.divmod(np.arange(BINS - 1), BINS_PER_DOUBLING)
    edges: Floats = np.r_[0.0, FINEST_BIN * 2.0**doublings * (1 + parts / BINS_PER_DOUBLING)]
    return edges


_EDGES = _bin_edges()
