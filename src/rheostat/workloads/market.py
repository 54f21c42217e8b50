"""Orders of a stock exchange as arrivals in a simulation: a trading day, and a constant rate to saturate a system."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.cells import Arrivals, Cells, Eras
from rheostat.workloads.draws import (
    Shards,
    check_not_negative,
    check_positive,
    check_whole,
    generator,
    hash_shards,
    normalize,
    positions_to_times,
    shuffled_shards,
    sorted_uniform,
    sum_by_index,
)
from rheostat.workloads.exchange import BLOCKS, Exchange

ORDER_BYTES, TRANSACTION_BYTES = 96, 160
"""Sizes of an order and of a transaction in bytes (Elasticutor section 5.4)."""

BURST_HEIGHT = 4.0
"""Mean height of a burst: the rate that a stock gains when it begins, as a multiple of its usual rate."""

BURST_SECONDS = 15.0
"""Seconds after which a burst has fallen to 1/e of its height."""

_ORDERS, _BURSTS = 104, 105  # purposes of random numbers


@dataclass(frozen=True, eq=False)
class TradingDay(Cells):
    """The orders of a trading day (StreamSwitch section 6.1, Elasticutor section 5.4).

    With a scale of 1, each second has exactly the orders of ``day.counts``. With another scale, these numbers are
    multiplied and then rounded up or down at random, so that they are right on average.

    Attributes:
        day: the orders.
        shards: number of shards; StreamSwitch has 64, Elasticutor 8192.
        hashed: True if a stock's shard is a hash of its number, False if it is the number modulo ``shards``.
        speed: seconds of the day per second of the run.
        scale: multiplies the number of orders.
        poisson: True if orders arrive at random times of their second, False if at equal distances. Their sequence is
            random in both cases.
        seed: seed of all random numbers.
        seconds: length of the workload, ``day.seconds / speed``.

    >>> market = TradingDay(Exchange(orders=100_000))
    >>> len(market.between(0.0, 1.0)), int(market.day.per_second()[0])
    (516, 516)
    """

    day: Exchange = field(default_factory=Exchange)
    shards: int = 64
    hashed: bool = False
    speed: float = 1.0
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_positive(speed=self.speed)
        check_whole(1, shards=self.shards)
        _check_day(self.day)
        object.__setattr__(self, "seconds", self.day.seconds * self._length)
        self._check()

    @property
    def _length(self) -> float:
        return 1 / self.speed

    def _draw(self, index: int) -> Arrivals:
        rng = generator(self.seed, _ORDERS, index)
        counts = self._counts[index].astype(np.int64)
        if self.scale != 1:
            counts = np.floor(counts * self.scale + rng.random(len(counts))).astype(np.int64)
        shards = shuffled_shards(rng, counts, self._labels)
        ends = np.array([0.0, float(len(shards))])
        rows = sorted_uniform(rng, len(shards), *ends) if self.poisson else np.arange(len(shards), dtype=np.float64)
        return Arrivals(positions_to_times(rows, ends, np.array([self._edge(index), self._edge(index + 1)])), shards)

    def _rows(self, begin: float, end: float) -> Floats:
        first, last = begin / self._length, min(end / self._length, self.day.seconds)
        seconds = range(math.floor(first), math.ceil(last))
        parts = np.diff(np.arange(seconds.start, seconds.stop + 1, dtype=np.float64).clip(first, last))
        counts: Floats = np.dot(parts, self._counts[seconds.start : seconds.stop])
        return sum_by_index(self._labels, counts, self.shards)

    @cached_property
    def _counts(self) -> npt.NDArray[np.int32]:
        """Orders of each second (row) by shard, or by stock if shards are hashes or outnumber the stocks."""
        by_stock = self.hashed or self.shards > self.day.stocks
        return self.day.counts(None if by_stock else self.shards).astype(np.int32)

    @cached_property
    def _labels(self) -> Shards:
        """The shard of each column of the counts."""
        if self.hashed:
            return hash_shards(np.arange(self.day.stocks), self.shards)
        return np.arange(min(self.shards, self.day.stocks), dtype=np.int32)


class _Bursts(NamedTuple):
    """The bursts of single stocks, sorted by time.

    Attributes:
        begins: when each burst begins, in seconds.
        stocks: the stock of each burst.
        heights: the rate that the stock gains at first, as a multiple of its usual rate.
    """

    begins: Floats
    stocks: npt.NDArray[np.int64]
    heights: Floats


@dataclass(frozen=True, eq=False)
class SaturatedMarket(Eras):
    """A constant rate of orders, with stocks whose popularity changes (Elasticutor section 5.4).

    The paper reports throughputs of a saturated system but no input rate, so ``rate`` is a parameter. Its figure 15
    shows that the rates of the five most popular stocks change strongly. Here the popularity of stocks goes through the
    48 blocks of the exchange's day, and a block takes ``block`` seconds. In addition, single stocks have bursts, which
    are our invention. A burst begins at a random time, more often for popular stocks, with an exponentially distributed
    height, and then fades.

    Attributes:
        rate: orders per second.
        block: seconds of a block, in which the exchange's popularity is constant; 300 in a real day.
        bursts: bursts per minute, over all stocks.
        largest: largest share of the orders that a stock may have, also in a burst, before shares are normalized. A
            stock cannot be divided, so one core has to keep up with it.
        day: the exchange whose popularities are used.
        shards: number of shards.
        scale: multiplies all rates.
        poisson: True if orders arrive at random times, False if at equal distances.
        seed: seed of all random numbers.
        seconds: length of the workload, 48 blocks.

    >>> market = SaturatedMarket(rate=1_000.0)
    >>> market.seconds, round(float(market.rates(0.0, 60.0).sum()))
    (1440.0, 1000)
    """

    rate: float
    block: float = 30.0
    bursts: float = 30.0
    largest: float = 0.03
    day: Exchange = field(default_factory=Exchange)
    shards: int = 8192
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_not_negative(rate=self.rate, bursts=self.bursts)
        check_positive(block=self.block, largest=self.largest)
        check_whole(1, shards=self.shards)
        _check_day(self.day)
        object.__setattr__(self, "seconds", BLOCKS * float(self.block))
        self._check()

    def popularity(self, time: float) -> Floats:
        """Return each stock's share of the orders at a time."""
        if not 0 <= time < self.seconds:
            raise ConfigurationError(f"time={time}: must be at least 0 and below {self.seconds}, the workload's end")
        return self._stocks(self._index(time) // self._per_era)

    @cached_property
    def shard_of(self) -> Shards:
        """The shard of each stock."""
        return hash_shards(np.arange(self.day.stocks), self.shards)

    @property
    def _peak(self) -> float:
        return self.rate

    @cached_property
    def _era(self) -> float:
        return self.block / self._eras_per_block

    @cached_property
    def _eras_per_block(self) -> int:
        """Eras per block: shares change every second because bursts fade, or once per block if it is shorter."""
        return math.ceil(self.block)

    def _expected(self, times: Floats) -> Floats:
        return self.rate * times

    def _weights(self, era: int) -> Floats:
        return sum_by_index(self.shard_of, self._stocks(era), self.shards)

    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        # Draw by stock rather than by shard: there are far fewer stocks.
        stocks = self._stocks(index // self._per_era)
        return shuffled_shards(rng, rng.multinomial(len(rows), stocks), self.shard_of)

    def _stocks(self, era: int) -> Floats:
        """Return each stock's share of the orders in an era."""
        since = (era + 0.5) * self._era - self._all_bursts.begins
        begun = since >= 0
        heights = self._all_bursts.heights[begun] * np.exp(-since[begun] / BURST_SECONDS)
        gained = sum_by_index(self._all_bursts.stocks[begun], heights, self.day.stocks)
        popularity = self._block_popularity[min(era // self._eras_per_block, BLOCKS - 1)] * (1 + gained)
        popularity = normalize("popularity", popularity)
        return normalize("popularity", np.minimum(popularity, max(self.largest, 1 / self.day.stocks)))

    @cached_property
    def _block_popularity(self) -> Floats:
        return self.day.popularity()

    @cached_property
    def _all_bursts(self) -> _Bursts:
        rng = generator(self.seed, _BURSTS, 0)
        begins = sorted_uniform(rng, int(rng.poisson(self.bursts * self.seconds / 60)), 0.0, self.seconds)
        stocks = rng.choice(self.day.stocks, len(begins), p=self._block_popularity.mean(axis=0))
        return _Bursts(begins, stocks, BURST_HEIGHT * rng.standard_exponential(len(begins)))


def _check_day(day: Exchange) -> None:
    if day.seconds < 1 or day.stocks < 1 or day.orders < 0:
        raise ConfigurationError(f"day={day}: needs at least 1 second and 1 stock; orders must not be negative")
