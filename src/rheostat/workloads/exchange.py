"""Limit orders of a trading day with the published shape of the Shanghai trace.

Elasticutor (section 5.4) and StreamSwitch (section 6) replay orders of the Shanghai Stock Exchange, which are not
public. The orders here match what the papers say about them: 14,854,215 orders of 1,156 stocks in 4 trading hours;
70,000 to 80,000 orders per second when a session opens, hundreds to thousands otherwise, and more again towards the
close; more than 2 % of the orders for the most popular stock, and more than 10 % for the first 11; and a popularity of
stocks that changes over the day.

Prices are whole ticks. The price of a stock is a random walk within 10 % of its opening price, the exchange's daily
limit. Buy and sell orders are placed around it, so most of them are matched sooner or later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.arrays import Floats, Ints

SCHEMA = "order bigint, ts timestamp, stock int, side string, price bigint, shares bigint, trader bigint"
START = 1_767_576_600_000_000
"""Event time of the first order in microseconds: 2026-01-05 09:30 in Shanghai. There is no break between sessions."""

PUBLISHED_ORDERS = 14_854_215
PUBLISHED_STOCKS = 1_156
DAY = 14_400
"""Seconds of trading, in two sessions of equal length."""

OPENING_RATE = 75_000
"""Orders per second when a session opens, in a day of ``PUBLISHED_ORDERS``."""

DAILY_LIMIT = 0.1
"""Largest change of a price from its opening price, as a share of it."""

BLOCKS = 48
"""Number of blocks of the day; the popularity of stocks is constant within a block."""

_OPENING_SECONDS = 8.0  # seconds in which the burst at an opening falls to 1/e
_SKEW = 0.6  # exponent of the power law of popularity
_DRIFT = 0.5  # standard deviation of the logarithm of a stock's popularity over the day
_MEMORY = 0.8  # correlation of popularity from one block to the next
_WALK_STEP = 10  # seconds between two steps of a price
_WALK = 0.0006  # standard deviation of one step of a typical stock; about 2 % over the day
_DISTANCE = 0.001  # standard deviation of an order's price from the stock's price, as a share of it


@dataclass(frozen=True)
class Exchange:
    """A day of limit orders, sorted by time; see ``SCHEMA`` for their columns.

    Attributes:
        orders: number of orders. With fewer orders the day has the same shape at lower rates.
        seconds: event time from the first order to the last. With fewer seconds the same day passes faster.
        stocks: number of stocks.
        traders: number of traders.
        seed: seed of all random numbers.

    >>> day = Exchange(1_000)
    >>> day.frame().select("order", "stock", "side", "price", "shares").row(0)
    (0, 492, 'S', 2439, 300)
    >>> int(day.per_second().sum())
    1000
    """

    orders: int = PUBLISHED_ORDERS
    seconds: int = DAY
    stocks: int = PUBLISHED_STOCKS
    traders: int = 100_000
    seed: int = 1

    def rates(self) -> Floats:
        """Return the expected orders of each second."""
        return self.orders * self._curve

    def per_second(self) -> Ints:
        """Return the orders of each second."""
        return self._rng(1).multinomial(self.orders, self._curve).astype(np.int64)

    def popularity(self) -> Floats:
        """Return the share of each stock (column) of the orders in each block of the day (row)."""
        rng = self._rng(2)
        weights = rng.permutation(np.arange(1.0, self.stocks + 1) ** -_SKEW)  # popular stocks get random numbers
        drift = _wander(rng, BLOCKS, _MEMORY, self.stocks)
        shares = weights * np.exp(_DRIFT * drift)
        orders = np.diff(np.concatenate([[0.0], np.cumsum(self._curve)])[self._edges])[:, None]
        for _ in range(3):  # make the whole day follow the power law again, in spite of the drift within the day
            shares *= weights / weights.sum() / (orders * shares).sum(axis=0)
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def counts(self, groups: int | None = None) -> Ints:
        """Return the orders of each second (row) and stock (column); with ``groups``, of stocks modulo ``groups``.

        >>> Exchange(1_000, seconds=60).counts(groups=64).shape
        (60, 64)
        """
        columns = groups or self.stocks
        cells = [second * columns + stock % columns for second, stock in map(self._draw_stocks, range(BLOCKS))]
        return np.bincount(np.concatenate(cells), minlength=self.seconds * columns).reshape(self.seconds, columns)

    def opening_prices(self) -> Ints:
        """Return the opening price of each stock, in ticks."""
        return np.exp(self._rng(3).normal(7.2, 0.7, self.stocks)).clip(300, 50_000).astype(np.int64)

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Yield the orders, one frame per block of the day."""
        first = 0
        for number in range(BLOCKS):
            block = self._block(number, first)
            first += block.height
            yield block

    def frame(self) -> pl.DataFrame:
        """Return all orders. The full day needs about 1 GB of memory; ``blocks`` and ``write`` need far less."""
        return pl.concat(self.blocks())

    def write(self, folder: Path, files: int = 48, done: Callable[[int], None] = lambda _: None) -> None:
        """Write the orders as Parquet files, each with an equal span of time.

        The modification times of the files are in the order of the orders, because Spark reads files in that order.

        Args:
            folder: where to write; created if it does not exist.
            files: number of files.
            done: called after each file with the number of orders written so far.
        """
        folder.mkdir(parents=True, exist_ok=True)
        written = 0
        for number, orders in enumerate(self._spans(files)):
            path = folder / f"{number:05d}.parquet"
            orders.write_parquet(path)
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
            written += orders.height
            done(written)

    def _spans(self, count: int) -> Iterator[pl.DataFrame]:
        """Yield the orders of each of ``count`` equal spans of time."""
        ends = [START + self.seconds * 1_000_000 * n // count for n in range(1, count)]
        pending: list[pl.DataFrame] = []
        for block in self.blocks():
            rest, times = block, block["ts"].to_physical().to_numpy()
            while ends and times.size and times[-1] >= ends[0]:
                cut = int(np.searchsorted(times, ends.pop(0)))
                yield pl.concat([*pending, rest[:cut]])
                pending, rest, times = [], rest[cut:], times[cut:]
            pending.append(rest)
        yield pl.concat(pending)

    def _block(self, number: int, first: int) -> pl.DataFrame:
        """Return the orders of a block; the first one has the number ``first``."""
        rng = self._rng(5, number)
        second, stock = self._draw_stocks(number)
        times = np.sort(START + second * 1_000_000 + rng.integers(0, 1_000_000, second.size))
        prices, opening = self._prices[self._step(second), stock], self._opening[stock]
        asked = np.rint(prices * (1 + _DISTANCE * rng.standard_normal(second.size)))
        lots = np.ceil(np.exp(rng.standard_normal(second.size)))
        columns = {
            "order": np.arange(first, first + second.size),
            "ts": pl.Series(times).cast(pl.Datetime("us", "UTC")),
            "stock": stock.astype(np.int32),
            "side": rng.random(second.size) < 0.5,
            "price": _within_limits(asked, opening).astype(np.int64),
            "shares": (100 * lots).astype(np.int64),
            # The square makes a few traders far more active than most.
            "trader": (self.traders * rng.random(second.size) ** 2).astype(np.int64),
        }
        side = pl.when(pl.col("side")).then(pl.lit("B")).otherwise(pl.lit("S"))
        return pl.DataFrame(columns).with_columns(side=side)

    def _draw_stocks(self, number: int) -> tuple[Ints, Ints]:
        """Return the second and the stock of each order of a block."""
        seconds = np.arange(*self._edges[number : number + 2])
        second = np.repeat(seconds, self._per_second[seconds])
        upto = np.cumsum(self._popularity[number])
        drawn = np.searchsorted(upto, self._rng(4, number).random(second.size))
        return second, drawn.clip(0, self.stocks - 1)

    def _step(self, second: Ints) -> Ints:
        """Return the step of the random walk of prices at a second."""
        return second * DAY // self.seconds // _WALK_STEP

    @cached_property
    def _curve(self) -> Floats:
        """The share of each second of the day's orders."""
        second = np.arange(DAY)
        since_opening = second % (DAY // 2)
        rng = self._rng(0)
        base = np.exp(0.35 * _wander(rng, DAY // 20, 0.9).repeat(20) + rng.normal(0, 0.15, DAY))
        base *= 1 + 1.5 * np.exp(-since_opening / 600) + 3 * np.exp((second - DAY) / 300)
        burst = OPENING_RATE / PUBLISHED_ORDERS * np.exp(-since_opening / _OPENING_SECONDS)
        so_far = np.concatenate([[0.0], np.cumsum(burst + base * (1 - burst.sum()) / base.sum())])
        edges = np.linspace(0, DAY, self.seconds + 1)
        return np.diff(np.interp(edges, np.arange(DAY + 1), so_far / so_far[-1]))

    @cached_property
    def _edges(self) -> Ints:
        """The first second of each block, and the end."""
        return np.arange(BLOCKS + 1) * self.seconds // BLOCKS

    @cached_property
    def _per_second(self) -> Ints:
        return self.per_second()

    @cached_property
    def _popularity(self) -> Floats:
        return self.popularity()

    @cached_property
    def _opening(self) -> Ints:
        return self.opening_prices()

    @cached_property
    def _prices(self) -> Floats:
        """The price of each stock (column) at each step of its random walk (row)."""
        rng = self._rng(6)
        volatility = _WALK * np.exp(rng.normal(0, 0.5, self.stocks))
        moves = volatility * rng.standard_normal((DAY // _WALK_STEP, self.stocks))
        return _within_limits(np.exp(np.cumsum(moves, axis=0)) * self._opening, self._opening)

    def _rng(self, *purpose: int) -> np.random.Generator:
        """Return the random number generator of a purpose; each part of the data can be made without the others."""
        return np.random.default_rng([self.seed, *purpose])


def _wander(rng: np.random.Generator, steps: int, memory: float, columns: int = 1) -> Floats:
    """Return standard normal numbers whose successive rows have the correlation ``memory``."""
    noise = rng.normal(size=(steps, columns))
    for i in range(1, steps):
        noise[i] = memory * noise[i - 1] + (1 - memory**2) ** 0.5 * noise[i]
    return noise


def _within_limits(prices: Floats, opening: Ints) -> Floats:
    """Return the prices, clipped to the daily limit around the opening prices."""
    lowest, highest = np.ceil(opening * (1 - DAILY_LIMIT)), np.floor(opening * (1 + DAILY_LIMIT))
    return np.clip(prices, lowest, highest)
