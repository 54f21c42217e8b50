"""Keys are drawn as the benchmark's generator draws them; compared with a walk through its events one by one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import hash_shards
from rheostat.workloads.nexmark import Nexmark, Query

SHARDS = 64


def events() -> Iterator[tuple[str, int, int]]:
    """Kind of every event of the generator, and the latest person and auction then; the event's own counts."""
    person = auction = -1
    while True:
        for place in range(50):
            if place < 1:
                person += 1
                yield "person", person, auction
            elif place < 4:
                auction += 1
                yield "auction", person, auction
            else:
                yield "bid", person, auction


def chances(query: Query, kind: str, person: int, auction: int) -> dict[int, float]:
    """Probability of every key of an event, numbered from 0."""
    found: dict[int, float] = defaultdict(float)
    if query == "q8" and kind == "person":
        return {person: 1.0}
    if query == "q8":
        newest, active, cold = person, min(person + 1, 1_000), 1 / 4
    else:
        newest, active, cold = auction, min(auction + 1, 101), 1 / 2
    for key in range(newest + 1 - active, newest + 1 + 10):
        found[key] += cold / (active + 10)
    found[newest - newest % 100] += 1 - cold
    return found


def walk(query: Query, rows: int) -> list[dict[int, float]]:
    """Probabilities of the key of every one of the first rows that enter the query."""
    wanted = ("person", "auction") if query == "q8" else ("bid",)
    made: list[dict[int, float]] = []
    for kind, person, auction in events():
        if len(made) == rows:
            return made
        if kind in wanted:
            made.append(chances(query, kind, person, auction))
    raise AssertionError


def by_shard(keys: dict[int, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    shards = hash_shards(np.array(list(keys)) + 1_000, SHARDS)
    return np.bincount(shards, list(keys.values()), SHARDS).astype(np.float64)


@pytest.mark.parametrize("query", ["q2", "q5", "q8"])
def test_expected_rows_are_those_of_the_generator(query: Query) -> None:
    workload = Nexmark(query, base=1.0, amplitude=0, shards=SHARDS)
    made = walk(query, 5_000)
    for begin, end in ((0, 1), (0, 50), (3, 4), (37, 1_533), (4_500, 5_000), (4_999, 5_000)):
        expected = sum(by_shard(keys) for keys in made[begin:end]) / (end - begin)
        assert workload.rates(begin, end) == pytest.approx(expected, abs=1e-12)
    half = workload.rates(1_000.5, 1_001.25) * 0.75
    assert half == pytest.approx(0.5 * by_shard(made[1_000]) + 0.25 * by_shard(made[1_001]), abs=1e-12)


@pytest.mark.parametrize("query", ["q2", "q5", "q8"])
def test_even_rows_have_the_keys_of_the_generator(query: Query) -> None:
    made = walk(query, 4_000)
    workload = Nexmark(query, base=1_000.0, amplitude=0, shards=SHARDS, poisson=False)
    drawn = workload.between(0.0, 4.0).shards
    assert len(drawn) == 4_000
    chance = np.array([by_shard(keys) for keys in made])
    assert (chance[np.arange(4_000), drawn] > 0).all()
    # Over many seeds, every row's shard has the probability that the walk gives it.
    rows = [5, 777, 3_998, 3_999]
    seeds = 2_000
    seen = np.zeros((len(rows), SHARDS))
    for seed in range(seeds):
        seen[np.arange(len(rows)), workload._place(np.random.default_rng(seed), 0, np.array(rows, float))] += 1
    expected = seeds * chance[rows]
    assert (np.abs(seen - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def test_the_hot_shard_moves_as_auctions_are_opened() -> None:
    bids = Nexmark("q5", base=30_000, amplitude=0)
    hot = []
    for hundred in (10, 11, 12, 13, 14, 15):
        begin = hundred * 100 / 3 * 46 / 30_000  # when so many hundred auctions were opened
        arrived = bids.between(begin + 0.002, begin + 0.05).shards
        share = np.bincount(arrived, minlength=64) / len(arrived)
        hot.append(int(share.argmax()))
        assert hot[-1] == hash_shards(1_000 + hundred * 100, 64)[0]
        assert 0.45 < share.max() < 0.6
    assert len(set(hot)) > 3


def test_three_quarters_of_auctions_are_of_the_hot_seller() -> None:
    """A quarter of the rows are persons, each once."""
    joined = Nexmark("q8", base=4_000, amplitude=0, shards=8192)
    arrived = joined.between(2.105, 2.195).shards  # persons 2105 to 2195
    hot = (arrived == hash_shards(1_000 + 2_100, 8192)[0]).mean()
    assert hot == pytest.approx(0.75 * 0.75, abs=0.1)


def test_bids_are_drawn_alike_for_both_queries() -> None:
    filtered, windowed = Nexmark("q2").between(0, 1), Nexmark("q5").between(0, 1)
    assert np.array_equal(filtered.shards, windowed.shards)
    assert np.array_equal(filtered.times, windowed.times)


def test_the_total_is_a_sine() -> None:
    bids = Nexmark("q8", 30_000, 30_000, 600)
    for begin, rate in ((149.5, 60_000), (299.5, 30_000), (449.5, 0)):
        assert len(bids.between(begin, begin + 1)) == pytest.approx(rate, abs=5 * math.sqrt(rate) + 10)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Nexmark("q3"), "query"),  # type: ignore[arg-type]
        (lambda: Nexmark(base=0), "base"),
        (lambda: Nexmark(amplitude=40_000), "amplitude"),
        (lambda: Nexmark(period=-1), "period"),
        (lambda: Nexmark(shards=0), "shards"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        make()
