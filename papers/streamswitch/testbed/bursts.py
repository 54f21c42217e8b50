"""The exchange's day with stocks that are restless: each has bursts of its own, from second to second.

The day as it is drawn has the published totals, skew and drift of popularity, but within five minutes every stock has
a constant share of the orders. Recorded stocks are not like that. Of Amazon's orders (LOBSTER's sample, 2012-06-21) and
IBM's trades (2013-10-08), within spans of five minutes, the variance beyond chance is about 5 times the squared mean
by seconds, 1.5 times by 5 seconds and 0.3 to 0.6 times by 20 seconds, whether the stock is busy or not. Here a stock's
share is multiplied by a gamma number of every second and by a lognormal one that lasts for about eight seconds, which
together have variances of 5.0, 1.5 and 0.6.
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
"""Variance of the multiplier of every second, whose mean is 1."""

LASTING = 0.8
"""Variance of the multiplier that lasts, whose mean is 1."""

MEMORY = float(np.exp(-1 / 8))
"""Of its logarithm, from one second to the next."""

_BURSTS = 106  # purpose of random numbers


@dataclass(frozen=True, eq=False)
class Restless(TradingDay):
    """The orders of a trading day whose stocks have bursts; every second has as many orders as without.

    >>> from rheostat.workloads.exchange import Exchange
    >>> day = Exchange(20_000, seconds=60)
    >>> [len(kind(day).between(0.0, 60.0)) for kind in (TradingDay, Restless)]
    [20000, 20000]
    """

    @cached_property
    def _counts(self) -> npt.NDArray[np.int32]:
        """Orders of every second (rows) by shard."""
        rng = np.random.default_rng([self.seed, _BURSTS])
        day = self.day
        rates, popularity = day.per_second(), day.popularity()
        edges = np.arange(BLOCKS + 1) * day.seconds // BLOCKS
        lasting = rng.standard_normal(day.stocks)
        found = []
        for block, seconds in enumerate(np.diff(edges).tolist()):
            slow, lasting = _wander(rng, lasting, seconds)
            weights = popularity[block] * slow * rng.gamma(1 / SUDDEN, SUDDEN, slow.shape)
            shares = _grouped(weights, self.shards)
            found.append(
                rng.multinomial(rates[edges[block] : edges[block + 1]], shares / shares.sum(axis=1, keepdims=True))
            )
        return np.concatenate(found).astype(np.int32)

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """Orders of every second (rows) by shard."""
        return self._counts


def _wander(rng: np.random.Generator, last: Floats, seconds: int) -> tuple[Floats, Floats]:
    """Multipliers of all stocks (columns) in the seconds that follow, and the logarithms they end with, unscaled."""
    steps = np.sqrt(1 - MEMORY**2) * rng.standard_normal((seconds, len(last)))
    for second in range(seconds):
        last = steps[second] = MEMORY * last + steps[second]
    spread = np.log1p(LASTING)
    return np.exp(np.sqrt(spread) * steps - spread / 2), last


def _grouped(values: Floats, groups: int) -> Floats:
    """Columns summed, those whose numbers are the same modulo ``groups``.

    >>> _grouped(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[4.0, 2.0]]
    """
    rows, columns = values.shape
    padded = np.zeros((rows, -(-columns // groups) * groups))
    padded[:, :columns] = values
    summed: Floats = padded.reshape(rows, -1, groups).sum(axis=1)
    return summed
