"""A histogram of latencies of fixed size, for quantiles since the start of a query."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats

_SHORTEST = 1e-4
"""Latencies below it, in seconds, count as this long."""

_DECADES, _PER_DECADE = 10, 100
"""Range and resolution of the bins: neighbouring bins differ by a factor of 1.023."""


class LatencyHistogram:
    """Counts rows in bins of latency with equal ratios. Quantiles are exact to about one percent.

    >>> histogram = LatencyHistogram()
    >>> histogram.add(np.array([0.1, 2.0]), np.array([98.0, 2.0]))
    >>> round(histogram.quantile(0.5), 2), round(histogram.quantile(0.99), 1)
    (0.1, 2.0)
    """

    def __init__(self) -> None:
        self._rows = np.zeros(_DECADES * _PER_DECADE)

    @property
    def rows(self) -> float:
        """The number of rows added."""
        return float(self._rows.sum())

    def add(self, latencies: Floats, rows: Floats) -> None:
        """Add rows.

        Args:
            latencies: latencies in seconds; NaN is ignored.
            rows: the number of rows with each latency.
        """
        known = np.isfinite(latencies) & (rows > 0)
        if not known.any():
            return
        bins = np.floor(np.log10(np.maximum(latencies[known], _SHORTEST) / _SHORTEST) * _PER_DECADE).astype(np.int64)
        bins = np.clip(bins, 0, len(self._rows) - 1)
        self._rows += np.bincount(bins, weights=rows[known], minlength=len(self._rows))

    def quantile(self, share: float) -> float:
        """Return the latency in seconds that this share of rows does not exceed; NaN without rows.

        Args:
            share: between 0 and 1.
        """
        reached = np.cumsum(self._rows)
        if not reached[-1]:
            return float("nan")
        number = int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))
        return float(_SHORTEST * 10 ** ((min(number, len(reached) - 1) + 0.5) / _PER_DECADE))
