"""A trading day has the orders of the exchange; in a saturated market, the popularity of stocks changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheostat.errors import ConfigurationError
from rheostat.workloads.arrivals import Arrivals
from rheostat.workloads.draws import hash_shards
from rheostat.workloads.exchange import BLOCKS, Exchange
from rheostat.workloads.market import BURST_HEIGHT, BURST_SECONDS, SaturatedMarket, TradingDay

DAY = Exchange(50_000, seconds=300)


def by_second(arrived: Arrivals, market: TradingDay) -> np.ndarray[Any, np.dtype[np.int64]]:
    second = np.floor(arrived.times * market.speed + 1e-9).astype(np.int64)
    cells = second * market.shards + arrived.shards
    return np.bincount(cells, minlength=market.day.seconds * market.shards).reshape(-1, market.shards)


@pytest.mark.parametrize("poisson", [True, False])
@pytest.mark.parametrize("shards", [1, 64, 100, 2_000])
def test_every_second_and_shard_has_the_orders_of_the_exchange(shards: int, poisson: bool) -> None:
    market = TradingDay(DAY, shards, poisson=poisson)
    assert np.array_equal(by_second(market.between(0.0, 300.0), market), DAY.counts(shards))


def test_hashed_stocks_have_the_orders_of_the_exchange() -> None:
    market = TradingDay(DAY, 8192, hashed=True)
    by_stock = DAY.counts()
    expected = np.zeros((300, 8192), np.int64)
    for stock, shard in enumerate(hash_shards(np.arange(DAY.stocks), 8192)):
        expected[:, shard] += by_stock[:, stock]
    assert np.array_equal(by_second(market.between(0.0, 300.0), market), expected)
    assert np.allclose(market.rates(7.0, 9.0), expected[7:9].mean(axis=0))


@pytest.mark.parametrize("hashed", [True, False])
def test_rates_are_those_of_the_day(hashed: bool) -> None:
    market = TradingDay(DAY, 64, hashed)
    arrived = by_second(market.between(0.0, 300.0), market)
    for begin, end in ((0, 1), (17, 40), (299, 300), (0, 300)):
        assert market.rates(begin, end) == pytest.approx(arrived[begin:end].mean(axis=0))
    assert market.rates(10.25, 11.5) * 1.25 == pytest.approx(0.75 * arrived[10] + 0.5 * arrived[11])


@pytest.mark.parametrize("speed", [0.5, 3.0, 10.0])
def test_a_faster_market_has_the_same_orders_sooner(speed: float) -> None:
    market, usual = TradingDay(DAY, speed=speed), TradingDay(DAY)
    fast, slow = market.between(0.0, math.inf), usual.between(0.0, math.inf)
    assert market.seconds == pytest.approx(300 / speed)
    assert np.array_equal(fast.shards, slow.shards)
    assert np.allclose(fast.times * speed, slow.times)
    assert market.rates(6 / speed, 9 / speed) == pytest.approx(speed * usual.rates(6, 9))


def test_a_whole_scale_multiplies_every_number() -> None:
    market = TradingDay(DAY, 64, scale=3.0)
    assert np.array_equal(by_second(market.between(0.0, 300.0), market), 3 * DAY.counts(64))


@pytest.mark.parametrize("scale", [0.3, 1.5])
def test_any_scale_is_right_on_average(scale: float) -> None:
    market = TradingDay(DAY, 64, scale=scale)
    arrived, usual = by_second(market.between(0.0, 300.0), market), DAY.counts(64)
    assert (np.floor(scale * usual) <= arrived).all()
    assert (arrived <= np.ceil(scale * usual)).all()
    assert arrived.sum() == pytest.approx(scale * 50_000, rel=0.01)


def test_orders_spread_over_their_second() -> None:
    arrived = TradingDay(DAY).between(0.0, 300.0).times % 1
    counts, _ = np.histogram(arrived, 50, (0, 1))
    assert ((counts - 1_000) ** 2 / 1_000).sum() < 50 + 4 * math.sqrt(100)
    even = TradingDay(DAY, poisson=False).between(5.0, 6.0).times
    assert np.diff(even) == pytest.approx(np.full(len(even) - 1, 1 / len(even)))


def test_an_empty_day_has_no_orders() -> None:
    market = TradingDay(Exchange(0, seconds=10))
    assert len(market.between(0.0, 10.0)) == 0
    assert market.rates(0.0, 10.0).sum() == 0


def test_a_saturated_market_keeps_its_rate() -> None:
    market = SaturatedMarket(20_000.0)
    assert market.shards == 8192
    assert market.seconds == 48 * 30
    for begin in (0.0, 500.0, 1_430.0):
        assert market.rates(begin, begin + 3).sum() == pytest.approx(20_000)
        assert len(market.between(begin, begin + 3)) == pytest.approx(60_000, abs=5 * math.sqrt(60_000))


@pytest.mark.parametrize("block", [0.7, 30.0, 300.0])
def test_without_bursts_popularity_is_the_exchanges(block: float) -> None:
    market, drift = SaturatedMarket(100.0, block, bursts=0.0, largest=1.0), Exchange().popularity()
    for number in (0, 1, 20, BLOCKS - 1):
        for time in (number * block, (number + 0.5) * block, (number + 1) * block * (1 - 1e-9)):
            assert np.allclose(market.popularity(time), drift[number], rtol=1e-9)


def test_shards_have_the_popularity_of_their_stocks() -> None:
    market = SaturatedMarket(1_000.0, shards=500)
    expected = np.bincount(market.shard_of, market.popularity(100.5), 500) * 1_000
    assert market.rates(100.0, 101.0) == pytest.approx(expected)


def test_bursts_rise_at_once_and_fade() -> None:
    """One stock after the other: what it gains falls by the second as an exponential does."""
    market, calm = SaturatedMarket(100.0, 300.0, bursts=0.2), SaturatedMarket(100.0, 300.0, bursts=0.0)
    times = np.arange(0.5, 300.0)
    ratio = np.array([market.popularity(t) / calm.popularity(t) for t in times])
    gained = ratio / np.median(ratio, axis=1, keepdims=True) - 1
    gained[np.abs(gained) < 1e-9] = 0
    stocks = np.flatnonzero(gained.any(axis=0))
    assert 1 <= len(stocks) <= 4
    for stock in stocks:
        begun = np.flatnonzero(np.diff(gained[:, stock], prepend=0) > 0)
        after = gained[begun[-1] : begun[-1] + 30, stock]
        assert after[1:] / after[:-1] == pytest.approx(math.exp(-1 / BURST_SECONDS))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_popular_stocks_vary_strongly_within_minutes(seed: int) -> None:
    swings = {}
    for block, bursts in ((30.0, 30.0), (300.0, 30.0), (300.0, 0.0)):
        market = SaturatedMarket(1_000.0, block, bursts, seed=seed)
        shares = np.array([market.popularity(t) for t in np.arange(0.0, 600.0, 5.0)])
        five = shares[:, shares.mean(axis=0).argsort()[-5:]].reshape(5, 24, 5)  # two minutes, times, stocks
        swings[block, bursts] = five.max(axis=1) / five.min(axis=1)
        assert 0.01 < shares.max(axis=1).mean() < 0.1  # no stock dominates
    assert np.median(swings[30.0, 30.0]) > 1.5
    assert swings[30.0, 30.0].max() > 3
    # Bursts alone do it too, in a block in which nothing drifts.
    assert swings[300.0, 30.0][0].max() > 2
    assert swings[300.0, 0.0][0].max() == pytest.approx(1)


def test_bursts_have_the_height_that_they_should() -> None:
    """The orders that bursts bring, over all stocks: as many as begin, times height, times how long they last."""
    gains = []
    for seed in range(20):
        market, calm = (SaturatedMarket(1.0, 30.0, bursts, seed=seed) for bursts in (2.0, 0.0))
        for time in np.arange(100.0, 1_440.0, 10.0):
            ratio = market.popularity(time) / calm.popularity(time)
            gains.append((ratio / np.median(ratio) - 1).sum())
    assert np.mean(gains) == pytest.approx(2 / 60 * BURST_HEIGHT * BURST_SECONDS, rel=0.15)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: TradingDay(DAY, 0), "shards"),
        (lambda: TradingDay(DAY, speed=0.0), "speed"),
        (lambda: TradingDay(DAY, scale=-1.0), "scale"),
        (lambda: TradingDay(Exchange(seconds=0)), "day"),
        (lambda: TradingDay(Exchange(stocks=0)), "day"),
        (lambda: TradingDay(DAY, seed=-1), "seed"),
        (lambda: SaturatedMarket(-1.0), "rate"),
        (lambda: SaturatedMarket(1.0, 0.0), "block"),
        (lambda: SaturatedMarket(1.0, bursts=-1.0), "bursts"),
        (lambda: SaturatedMarket(1.0, shards=0), "shards"),
        (lambda: SaturatedMarket(1.0).popularity(-1.0), "time"),
        (lambda: SaturatedMarket(1.0).popularity(1_440.0), "time"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        make()


def test_bursts_are_cut_off() -> None:
    """What is cut off goes to all in proportion, so shares end up above it, but far below what they would be."""
    cut, free = (SaturatedMarket(100.0, 30.0, bursts=60.0, largest=share) for share in (0.03, 1.0))
    shares = [max(market.popularity(t).max() for t in np.arange(0.0, 120.0, 1.0)) for market in (cut, free)]
    assert shares[0] <= 0.03 * 1.5 < shares[1]
