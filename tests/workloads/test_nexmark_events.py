"""Events as rows: proportions, ids, times and sizes are those of the benchmark, and a seed gives the same events."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rheostat.errors import ConfigurationError
from rheostat.workloads.nexmark_events import AUCTION, BID, PERSON, START, NexmarkEvents

EVENTS = NexmarkEvents(50_000, rate=1_000.0)


@pytest.fixture(scope="module")
def events() -> pl.DataFrame:
    frame = pl.from_arrow(EVENTS.table())
    assert isinstance(frame, pl.DataFrame)
    return frame.with_row_index("arrived")


def kind(events: pl.DataFrame, event_type: int, name: str) -> pl.DataFrame:
    """The events of one kind in the order in which they were made."""
    rows = events.filter(pl.col("event_type") == event_type)
    others = {"person", "auction", "bid"} - {name}
    assert rows.select(pl.any_horizontal(pl.col(other).is_not_null() for other in others).any()).item() is False
    return rows.select("arrived", "date_time", name).unnest(name)


def test_a_round_has_one_person_three_auctions_and_46_bids(events: pl.DataFrame) -> None:
    counts = dict(events.group_by("event_type").len().rows())
    assert counts == {PERSON: 1_000, AUCTION: 3_000, BID: 46_000}


def test_ids_count_upwards_from_a_thousand(events: pl.DataFrame) -> None:
    for event_type, name, count in ((PERSON, "person", 1_000), (AUCTION, "auction", 3_000)):
        made = kind(events, event_type, name).sort("id")
        assert made["id"].to_list() == list(range(1_000, 1_000 + count))
        assert made["date_time"].is_sorted(), "an id that is higher was made later"


def test_times_follow_the_rate_in_milliseconds(events: pl.DataFrame) -> None:
    times = events["date_time"].dt.epoch("us").sort().to_numpy() - START
    assert times.tolist() == [number * 1_000 for number in range(50_000)]
    fast = pl.from_arrow(NexmarkEvents(1_000, rate=10_000.0).table())
    assert isinstance(fast, pl.DataFrame)
    assert fast["date_time"].n_unique() == 100, "ten events in every millisecond"


def test_a_tenth_arrives_up_to_three_seconds_late(events: pl.DataFrame) -> None:
    times = events["date_time"].dt.epoch("us").to_numpy()
    behind = np.maximum.accumulate(times) - times
    assert 0.08 < (behind > 0).mean() < 0.11
    assert 2_500_000 < behind.max() <= 3_000_000
    punctual = pl.from_arrow(NexmarkEvents(5_000, delayed=0).table())
    assert isinstance(punctual, pl.DataFrame)
    assert punctual["date_time"].is_sorted()


def test_bids_are_for_hot_and_for_recent_auctions(events: pl.DataFrame) -> None:
    bids = kind(events, BID, "bid")
    number = (bids["date_time"].dt.epoch("us").to_numpy() - START) // 1_000
    last = number // 50 * 3 + 2
    auction, bidder = bids["auction"].to_numpy() - 1_000, bids["bidder"].to_numpy() - 1_000
    hot = auction == last // 100 * 100
    assert hot.mean() == pytest.approx(0.5, abs=0.02)
    assert (auction[~hot] >= np.maximum(last[~hot] - 100, 0)).all()
    assert (auction <= last + 10).all()
    assert (auction > last).any(), "some auctions are opened only later"
    person = number // 50
    assert (bidder == person // 100 * 100 + 1).mean() == pytest.approx(0.75, abs=0.02)
    assert (bidder <= np.maximum(person + 10, person // 100 * 100 + 1)).all()


def test_prices_are_uniform_in_their_logarithm(events: pl.DataFrame) -> None:
    digits = np.log10(kind(events, BID, "bid")["price"].to_numpy())
    assert 2 <= digits.min() < 2.01
    assert 7.99 < digits.max() <= 8
    assert np.histogram(digits, bins=6)[0] / len(digits) == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_auctions_expire_after_a_while_and_have_a_reserve(events: pl.DataFrame) -> None:
    auctions = kind(events, AUCTION, "auction")
    seconds = (auctions["expires"] - auctions["date_time"]).dt.total_milliseconds().to_numpy() / 1_000
    horizon = 100 * 50 / 3 / 1_000
    assert seconds.mean() == pytest.approx(horizon, rel=0.05)
    assert 0 < seconds.min() < seconds.max() <= 2 * horizon
    assert (auctions["reserve"] > auctions["initial_bid"]).all()
    assert sorted(auctions["category"].unique()) == [10, 11, 12, 13, 14]
    assert ((auctions["seller"].to_numpy() - 1_000) % 100 == 0).mean() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(("event_type", "name", "size"), [(PERSON, "person", 200), (AUCTION, "auction", 500)])
def test_events_have_the_size_of_the_benchmark(events: pl.DataFrame, event_type: int, name: str, size: int) -> None:
    rows = kind(events, event_type, name).drop("arrived", "date_time")
    texts = rows.select(pl.sum_horizontal(pl.col(pl.String).str.len_bytes()).mean()).item()
    numbers = 8 * sum(not isinstance(t, pl.String) for t in rows.dtypes)
    assert texts + numbers == pytest.approx(size, rel=0.1)


def test_the_padding_of_bids_brings_them_to_a_hundred_bytes(events: pl.DataFrame) -> None:
    padding = kind(events, BID, "bid")["extra"].str.len_bytes().mean()
    assert isinstance(padding, float)
    assert padding + 4 * 8 == pytest.approx(100, rel=0.03), "channel and address are not counted"


def test_most_channels_have_an_id_in_their_address(events: pl.DataFrame) -> None:
    bids = kind(events, BID, "bid")
    hot = bids.filter(pl.col("channel").is_in(["Apple", "Google", "Facebook", "Baidu"]))
    assert len(hot) / len(bids) == pytest.approx(0.5, abs=0.02)
    assert not hot["url"].str.contains("channel_id").any()
    others = bids.filter(pl.col("channel").str.starts_with("channel-"))
    assert others["url"].str.contains(r"&channel_id=\d+$").mean() == pytest.approx(0.9, abs=0.02)


def test_a_seed_gives_the_same_events() -> None:
    assert NexmarkEvents(500, seed=3).table().equals(NexmarkEvents(500, seed=3).table())
    assert not NexmarkEvents(500, seed=3).table().equals(NexmarkEvents(500, seed=4).table())


def test_files_have_every_event_once_in_the_order_of_arrival(tmp_path: Path) -> None:
    NexmarkEvents(3_000, rate=200.0).write(tmp_path, files=4)
    files = sorted(tmp_path.iterdir())
    assert [file.stat().st_mtime for file in files] == sorted({file.stat().st_mtime for file in files})
    frames = [pl.read_parquet(file) for file in files]
    rows = pl.concat(frames)
    number = (rows["date_time"].dt.epoch("us").to_numpy() - START) // 5_000
    assert sorted(number) == list(range(3_000))
    assert (np.maximum.accumulate(number) - number).max() <= 600
    times = [frame["date_time"].dt.epoch("us").to_numpy() for frame in frames]
    assert any(after.min() < before.max() for before, after in pairwise(times)), "a late event is in the next file"


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: NexmarkEvents(0), "events"),
        (lambda: NexmarkEvents(10, rate=0), "rate"),
        (lambda: NexmarkEvents(10, delay=-1), "delay"),
        (lambda: NexmarkEvents(10, delayed=1.5), "delayed"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        make()
