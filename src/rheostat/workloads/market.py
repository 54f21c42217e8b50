"""Orders of a stock exchange as arrivals: the trading day as it is, and stocks that compete for a saturated system."""

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
    hash_shards,
    in_order,
    mixed_up,
    not_negative,
    on_clock,
    positive,
    random,
    shares,
    summed,
    whole,
)
from rheostat.workloads.exchange import BLOCKS, Exchange

ORDER_BYTES, TRANSACTION_BYTES = 96, 160
"""Of an order and of a transaction (Elasticutor section 5.4)."""

BURST_HEIGHT = 4.0
"""How many times its usual rate a stock gains when a burst begins, on average."""

BURST_SECONDS = 15.0
"""After which a burst has fallen to 1/e."""

_ORDERS, _BURSTS = 104, 105  # purposes of random numbers


@dataclass(frozen=True, eq=False)
class TradingDay(Cells):
    """The orders of a trading day (StreamSwitch section 6.1, Elasticutor section 5.4).

    With a scale of 1, every second has exactly the orders that ``day.counts`` says. Any other scale multiplies these
    numbers, and rounds them up or down at random so that they are right on average.

    Attributes:
        day: the orders.
        shards: StreamSwitch has 64, Elasticutor 8192.
        hashed: a stock's shard is a hash of its number; if not, the number modulo ``shards``, as ``day.counts`` groups.
        speed: how many seconds of the day go by in one second of the run.
        scale: multiplies the number of orders.
        poisson: orders come at random moments of their second; if not, at equal distances. Their order is random.
        seed: everything random follows from it.
        seconds: follows from the day and the speed.

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
        positive(speed=self.speed)
        whole(1, shards=self.shards)
        _check_day(self.day)
        object.__setattr__(self, "seconds", self.day.seconds * self._length)
        self._check()

    @property
    def _length(self) -> float:
        return 1 / self.speed

    def _draw(self, index: int) -> Arrivals:
        rng = random(self.seed, _ORDERS, index)
        counts = self._counts[index].astype(np.int64)
        if self.scale != 1:
            counts = np.floor(counts * self.scale + rng.random(len(counts))).astype(np.int64)
        shards = mixed_up(rng, counts, self._labels)
        ends = np.array([0.0, float(len(shards))])
        rows = in_order(rng, len(shards), *ends) if self.poisson else np.arange(len(shards), dtype=np.float64)
        return Arrivals(on_clock(rows, ends, np.array([self._edge(index), self._edge(index + 1)])), shards)

    def _rows(self, begin: float, end: float) -> Floats:
        first, last = begin / self._length, min(end / self._length, self.day.seconds)
        seconds = range(math.floor(first), math.ceil(last))
        parts = np.diff(np.arange(seconds.start, seconds.stop + 1, dtype=np.float64).clip(first, last))
        counts: Floats = np.dot(parts, self._counts[seconds.start : seconds.stop])
        return summed(self._labels, counts, self.shards)

    @cached_property
    def _counts(self) -> npt.NDArray[np.int32]:
        """Orders of every second (rows) by shard, or by stock where shards are hashes or outnumber the stocks."""
        by_stock = self.hashed or self.shards > self.day.stocks
        return self.day.counts(None if by_stock else self.shards).astype(np.int32)

    @cached_property
    def _labels(self) -> Shards:
        """The shard of every column of the counts."""
        if self.hashed:
            return hash_shards(np.arange(self.day.stocks), self.shards)
        return np.arange(min(self.shards, self.day.stocks), dtype=np.int32)


class _Bursts(NamedTuple):
    """The bursts of single stocks, in order of time.

    Attributes:
        begins: when each begins, in seconds.
        stocks: the stock of each.
        heights: how many times its usual rate the stock gains at first.
    """

    begins: Floats
    stocks: npt.NDArray[np.int64]
    heights: Floats


@dataclass(frozen=True, eq=False)
class SaturatedMarket(Eras):
    """A constant rate of orders, among which stocks come and go in popularity (Elasticutor section 5.4).

    The paper prints throughputs, for which a system needs more orders than it can take, and no rate; hence ``rate``. It
    shows (Fig. 15) that the rates of the five most popular stocks change strongly. Here popularity goes through the 48
    blocks of the exchange's day, in the time lapse that ``block`` says. On top of that, and invented here, single
    stocks have bursts: they begin at random, the more often the more popular the stock, with a height that is
    exponentially distributed, and fade away.

    Attributes:
        rate: orders per second.
        block: seconds for which the exchange's popularity stays; it is 300 on the day itself.
        bursts: that begin in a minute, over all stocks.
        largest: share of the orders at which a stock is cut off, also in a burst, before shares are made to add up to
            one again: a stock cannot be divided, so what one core can do for it bounds everybody.
        day: the exchange whose popularities are used.
        shards: of the operator that the rows enter.
        scale: multiplies all rates.
        poisson: orders arrive at random moments; if not, at equal distances.
        seed: everything random follows from it.
        seconds: follows from the block.

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
        not_negative(rate=self.rate, bursts=self.bursts)
        positive(block=self.block, largest=self.largest)
        whole(1, shards=self.shards)
        _check_day(self.day)
        object.__setattr__(self, "seconds", BLOCKS * float(self.block))
        self._check()

    def popularity(self, time: float) -> Floats:
        """Every stock's share of the orders at a time."""
        if not 0 <= time < self.seconds:
            raise ConfigurationError(f"time={time}: give seconds from 0 to below {self.seconds}")
        return self._stocks(self._index(time) // self._per_era)

    @cached_property
    def shard_of(self) -> Shards:
        """The shard of every stock."""
        return hash_shards(np.arange(self.day.stocks), self.shards)

    @property
    def _peak(self) -> float:
        return self.rate

    @cached_property
    def _era(self) -> float:
        return self.block / self._eras_per_block

    @cached_property
    def _eras_per_block(self) -> int:
        """Bursts fade by the second, or faster where blocks are shorter."""
        return math.ceil(self.block)

    def _expected(self, times: Floats) -> Floats:
        return self.rate * times

    def _weights(self, era: int) -> Floats:
        return summed(self.shard_of, self._stocks(era), self.shards)

    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        # By stock, since most shards have none.
        stocks = self._stocks(index // self._per_era)
        return mixed_up(rng, rng.multinomial(len(rows), stocks), self.shard_of)

    def _stocks(self, era: int) -> Floats:
        since = (era + 0.5) * self._era - self._all_bursts.begins
        begun = since >= 0
        heights = self._all_bursts.heights[begun] * np.exp(-since[begun] / BURST_SECONDS)
        gained = summed(self._all_bursts.stocks[begun], heights, self.day.stocks)
        popularity = self._drift[min(era // self._eras_per_block, BLOCKS - 1)] * (1 + gained)
        popularity = shares("popularity", popularity)
        return shares("popularity", np.minimum(popularity, max(self.largest, 1 / self.day.stocks)))

    @cached_property
    def _drift(self) -> Floats:
        return self.day.popularity()

    @cached_property
    def _all_bursts(self) -> _Bursts:
        rng = random(self.seed, _BURSTS, 0)
        begins = in_order(rng, int(rng.poisson(self.bursts * self.seconds / 60)), 0.0, self.seconds)
        stocks = rng.choice(self.day.stocks, len(begins), p=self._drift.mean(axis=0))
        return _Bursts(begins, stocks, BURST_HEIGHT * rng.standard_exponential(len(begins)))


def _check_day(day: Exchange) -> None:
    if day.seconds < 1 or day.stocks < 1 or day.orders < 0:
        raise ConfigurationError(f"day={day}: a day needs at least 1 second, 1 stock and 0 orders")
