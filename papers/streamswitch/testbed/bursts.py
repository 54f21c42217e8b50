"""The trading day with bursts of single stocks.

``rheostat.workloads.exchange`` generates a day with the published totals, skew and drift of popularity, but within five
minutes every stock has a constant share of the orders. Recorded stocks have bursts. We measured Amazon's orders
(LOBSTER's sample, 2012-06-21) and IBM's trades (2013-10-08) within spans of five minutes. Beyond chance, the variance
of the count is about 5 times the squared mean for counts per second, 1.5 times for 5 seconds and 0.3 to 0.6 times for
20 seconds, for busy and for quiet stocks.

Here the share of a stock is multiplied by two random numbers: a gamma one, drawn every second, and a lognormal one that
lasts for about eight seconds. Together they have variances of 5.0, 1.5 and 0.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.workloads.exchange import BLOCKS
from rheostat.workloads.market import TradingDay

SUDDEN = 2.33
"""Variance of the multiplier that is drawn every second. Its mean is 1."""

LASTING = 0.8
"""Variance of the multiplier that lasts. Its mean is 1."""

MEMORY = float(np.exp(-1 / 8))
"""Correlation of the lasting multiplier's logarithm from one second to the next."""

_BURSTS = 106  # second number of the seed, so that bursts have random numbers of their own


@dataclass(frozen=True, eq=False)
class BurstyDay(TradingDay):
    """A trading day whose stocks have bursts. Every second has as many orders in all as without bursts.

    >>> from rheostat.workloads.exchange import Exchange
    >>> day = Exchange(20_000, seconds=60)
    >>> [len(kind(day).between(0.0, 60.0)) for kind in (TradingDay, BurstyDay)]
    [20000, 20000]
    """

    @cached_property
    def _counts(self) -> npt.NDArray[np.int32]:
        """Number of orders by second (row) and shard (column)."""
        rng = np.random.default_rng([self.seed, _BURSTS])
        day = self.day
        rates, popularity = day.per_second(), day.popularity()
        edges = np.arange(BLOCKS + 1) * day.seconds // BLOCKS
        lasting = rng.standard_normal(day.stocks)
        counts = []
        for block, seconds in enumerate(np.diff(edges).tolist()):
            slow, lasting = _wander(rng, lasting, seconds)
            weights = popularity[block] * slow * rng.gamma(1 / SUDDEN, SUDDEN, slow.shape)
            shares = _grouped(weights, self.shards)
            counts.append(
                rng.multinomial(rates[edges[block] : edges[block + 1]], shares / shares.sum(axis=1, keepdims=True))
            )
        return np.concatenate(counts).astype(np.int32)

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """Number of orders by second (row) and shard (column)."""
        return self._counts


def _wander(rng: np.random.Generator, last: Floats, seconds: int) -> tuple[Floats, Floats]:
    """Draw the lasting multipliers by second (row) and stock (column).

    Args:
        rng: source of random numbers.
        last: logarithms of the multipliers in the second before, divided by their standard deviation.
        seconds: how many seconds to draw.

    Returns:
        The multipliers, and ``last`` for the next call.
    """
    steps = np.sqrt(1 - MEMORY**2) * rng.standard_normal((seconds, len(last)))
    for second in range(seconds):
        last = steps[second] = MEMORY * last + steps[second]
    spread = np.log1p(LASTING)
    return np.exp(np.sqrt(spread) * steps - spread / 2), last


def _grouped(values: Floats, groups: int) -> Floats:
    """Return the sums of columns whose numbers are equal modulo ``groups``.

    >>> _grouped(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[4.0, 2.0]]
    """
    rows, columns = values.shape
    padded = np.zeros((rows, -(-columns // groups) * groups))
    padded[:, :columns] = values
    summed: Floats = padded.reshape(rows, -1, groups).sum(axis=1)
    return summed
