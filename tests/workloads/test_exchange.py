"""The trading day has the published shape of the Shanghai trace, and is the same every time."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rheostat.workloads.exchange import (
    BLOCKS,
    DAILY_LIMIT,
    DAY,
    PUBLISHED_ORDERS,
    PUBLISHED_STOCKS,
    SCHEMA,
    START,
    Exchange,
)

OPENINGS = (0, DAY // 2)


@pytest.fixture(scope="module", params=[1, 2, 3])
def published(request: pytest.FixtureRequest) -> Exchange:
    return Exchange(seed=request.param)


@pytest.fixture(scope="module")
def small() -> pl.DataFrame:
    return Exchange(100_000).frame()


def quiet_seconds(per_second: np.ndarray) -> np.ndarray:
    """All but the first minute of each session."""
    return np.concatenate([per_second[o + 60 : o + DAY // 2] for o in OPENINGS])


def test_the_whole_day_has_the_published_numbers(published: Exchange) -> None:
    assert published.orders == PUBLISHED_ORDERS == 14_854_215
    assert published.stocks == PUBLISHED_STOCKS == 1_156
    assert published.per_second().sum() == published.orders
    assert published.per_second().size == 4 * 3_600


def test_sessions_open_with_a_burst(published: Exchange) -> None:
    per_second = published.per_second()
    for opening in OPENINGS:
        assert 70_000 <= per_second[opening] <= 80_000
        assert per_second[opening + 60] < 10_000
    assert 70 <= per_second.max() / per_second.mean() <= 80


def test_the_rest_of_the_day_has_hundreds_to_thousands_of_orders_a_second(published: Exchange) -> None:
    quiet = quiet_seconds(published.per_second())
    assert 100 <= quiet.min() < 500
    assert 2_000 < quiet.max() < 10_000
    assert published.per_second()[-300:].mean() > 1.2 * quiet.mean()  # more again towards the close


def test_orders_are_skewed_as_published(published: Exchange) -> None:
    shares = np.sort(published.counts().sum(axis=0) / published.orders)[::-1]
    assert 0.02 < shares[0] < 0.035
    assert 0.10 < shares[:11].sum() < 0.15
    assert shares[-1] > 0


def test_popularity_drifts_over_the_day(published: Exchange) -> None:
    popularity = published.popularity()
    assert popularity.shape == (BLOCKS, PUBLISHED_STOCKS)
    assert np.allclose(popularity.sum(axis=1), 1)
    heaviest = popularity[:, popularity.mean(axis=0).argsort()[-5:]]
    assert (heaviest.max(axis=0) > 2 * heaviest.min(axis=0)).all()
    assert len(set(popularity.argmax(axis=1))) > 1
    # A stock resembles itself five minutes ago more than two hours ago.
    logs = np.log(heaviest)
    near, far = np.abs(logs[1:] - logs[:-1]).mean(), np.abs(logs[24:] - logs[:-24]).mean()
    assert near < far


def test_counts_are_those_of_the_orders(small: pl.DataFrame) -> None:
    day = Exchange(100_000)
    second = (small["ts"].to_physical() - START) // 1_000_000
    assert np.array_equal(np.bincount(second, minlength=DAY), day.per_second())
    by_group = day.counts(groups=64)
    assert np.array_equal(by_group.sum(axis=1), day.per_second())
    assert np.array_equal(by_group.sum(axis=0), np.bincount(small["stock"] % 64, minlength=64))
    assert np.array_equal(day.counts().sum(axis=0), np.bincount(small["stock"], minlength=PUBLISHED_STOCKS))


def test_orders_are_well_formed(small: pl.DataFrame) -> None:
    assert small.columns == [column.split()[0] for column in SCHEMA.split(", ")]
    assert small["order"].to_list() == list(range(100_000))
    assert small["ts"].is_sorted()
    assert small.null_count().sum_horizontal().item() == 0
    assert set(small["side"].unique()) == {"B", "S"}
    assert 0.48 < (small["side"] == "B").mean() < 0.52  # type: ignore[operator]
    assert small["shares"].min() == 100
    assert (small["shares"] % 100 == 0).all()
    assert small["trader"].is_between(0, 99_999).all()


def test_prices_stay_within_the_daily_limit(small: pl.DataFrame) -> None:
    opening = Exchange(100_000).opening_prices()[small["stock"].to_numpy()]
    away = np.abs(small["price"].to_numpy() / opening - 1)
    assert away.max() <= DAILY_LIMIT + 1e-9
    assert away.max() > 0.05


def test_a_day_is_the_same_every_time(small: pl.DataFrame) -> None:
    assert Exchange(100_000).frame().equals(small)
    other = Exchange(100_000, seed=2).frame()
    assert all(not other[c].equals(small[c]) for c in ("ts", "stock", "side", "price", "shares", "trader"))


def test_a_shorter_day_is_the_same_in_time_lapse() -> None:
    hourly = Exchange(1_000_000).rates().reshape(4, -1).sum(axis=1)
    fast = Exchange(1_000_000, seconds=240).rates()
    assert np.allclose(fast.reshape(4, -1).sum(axis=1), hourly)
    frame = Exchange(10_000, seconds=240).frame()
    assert frame.height == 10_000
    assert frame["ts"].to_physical().max() < START + 240 * 1_000_000  # type: ignore[operator]


@pytest.mark.parametrize("files", [1, 7, 48, 100])
def test_files_hold_the_orders_in_equal_spans_of_time(files: int, tmp_path: Path) -> None:
    day = Exchange(20_000)
    written: list[int] = []
    day.write(tmp_path, files, written.append)
    paths = sorted(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime)
    assert [p.name for p in paths] == [f"{n:05d}.parquet" for n in range(files)]
    parts = [pl.read_parquet(p) for p in paths]
    assert pl.concat(parts).equals(day.frame())
    assert written == list(np.cumsum([p.height for p in parts]))
    span = DAY * 1_000_000 / files
    for number, part in enumerate(parts):
        into = (part["ts"].to_physical() - START) / span
        assert math.floor(into.min()) == math.floor(into.max()) == number  # type: ignore[arg-type]


@pytest.mark.parametrize(("orders", "seconds"), [(0, DAY), (3, DAY), (100, 1), (100, 30)])
def test_tiny_days_are_complete(orders: int, seconds: int, tmp_path: Path) -> None:
    day = Exchange(orders, seconds=seconds, stocks=5)
    assert day.frame().height == orders
    day.write(tmp_path, 4)
    assert sum(pl.read_parquet(p).height for p in tmp_path.iterdir()) == orders
