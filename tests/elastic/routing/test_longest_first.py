"""Placing longest first: within 4/3 of the best; over the same slots never worse, over others with few moves."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import slot_loads
from rheostat.elastic.routing.longest_first import lower_bound, place_longest_first, spread, spread_over

Case = tuple[tuple[int, ...], Floats, int]

WHOLE = st.integers(0, 1000).map(float)
ABSURD = st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.3, 1.0, 1e9, 1e16]) | st.floats(0, 1e200)
THRESHOLDS = st.sampled_from([1.0, 1.05, 1.2, 2.0])


def cases(loads: st.SearchStrategy[float], most: int = 40, slots: int = 40) -> st.SearchStrategy[Case]:
    """A routing in which every slot has a shard, the loads of the shards, and the number of slots."""

    def of(size: tuple[int, int]) -> st.SearchStrategy[Case]:
        shards, used = size
        more = st.lists(st.integers(0, used - 1), min_size=shards - used, max_size=shards - used)
        routing = more.map(lambda m: (*range(used), *m)).flatmap(st.permutations).map(tuple)
        return st.tuples(routing, st.lists(loads, min_size=shards, max_size=shards).map(np.array), st.just(used))

    return st.integers(1, most).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, min(n, slots)))).flatmap(of)


def largest(routing: tuple[int, ...], loads: Floats, slots: int) -> float:
    return float(slot_loads(routing, loads, slots).max())


@settings(max_examples=300, deadline=None)
@given(cases(WHOLE) | cases(ABSURD), THRESHOLDS)
def test_never_worse_than_now_and_no_slot_is_left_empty(case: Case, threshold: float) -> None:
    routing, loads, slots = case
    found = place_longest_first(routing, loads, slots, threshold)
    assert largest(found.routing, loads, slots) <= largest(routing, loads, slots)
    assert found.after <= found.before
    assert set(found.routing) == set(range(slots))
    assert not any(loads[shard] == 0.0 for shard in found.moved(routing))


@settings(max_examples=300, deadline=None)
@given(cases(WHOLE, most=7, slots=3))
def test_within_four_thirds_of_the_best_placement(case: Case) -> None:
    routing, loads, slots = case
    best = min(largest(other, loads, slots) for other in product(range(slots), repeat=len(loads)))
    found = largest(place_longest_first(routing, loads, slots, 1.0).routing, loads, slots)
    assert lower_bound(loads, slots) * (1 - 1e-12) <= best <= found <= best * (4 / 3 - 1 / (3 * slots)) + 1e-9


@settings(max_examples=200, deadline=None)
@given(cases(WHOLE), THRESHOLDS)
def test_nothing_moves_if_the_slots_are_even_or_cannot_be_better(case: Case, threshold: float) -> None:
    routing, loads, slots = case
    found = place_longest_first(routing, loads, slots, threshold)
    if found.before <= threshold or largest(routing, loads, slots) <= lower_bound(loads, slots):
        assert found.routing == routing


@settings(max_examples=200, deadline=None)
@given(cases(WHOLE))
def test_a_second_time_nothing_moves(case: Case) -> None:
    routing, loads, slots = case
    once = place_longest_first(routing, loads, slots, 1.05)
    again = place_longest_first(once.routing, loads, slots, 1.05)
    assert largest(again.routing, loads, slots) <= largest(once.routing, loads, slots)
    if largest(once.routing, loads, slots) <= lower_bound(loads, slots):
        assert again.routing == once.routing


def test_a_shard_that_decides_the_epoch_has_its_slot_alone() -> None:
    rng = np.random.default_rng(3)
    loads = rng.uniform(0.5, 1.5, 1024)
    loads[700] = 1.3 * loads.sum() / 16
    routing = np.arange(1024) // 64
    found = place_longest_first(tuple(routing.tolist()), loads, 16, 1.05)
    beside = [s for s, slot in enumerate(found.routing) if slot == found.routing[700]]
    assert beside == [700]
    assert found.routing[700] == routing[700], "the others leave, the hot one stays"
    assert largest(found.routing, loads, 16) == loads[700] == lower_bound(loads, 16)
    assert found.hot == 700
    assert len(found.moved(tuple(routing.tolist()))) < 2 * 64, "only its neighbours, and what they displace"


def test_thousands_of_shards_come_within_a_thousandth_of_an_even_share() -> None:
    rng = np.random.default_rng(5)
    loads = rng.pareto(2.0, 8192)
    found = place_longest_first(tuple((np.arange(8192) * 16 // 8192).tolist()), loads, 16, 1.0)
    assert largest(found.routing, loads, 16) <= 1.001 * lower_bound(loads, 16)


@given(st.integers(1, 12), st.integers(1, 12), st.lists(st.floats(0, 100), min_size=12, max_size=80))
def test_other_slots_are_within_four_thirds_of_the_best_too(before: int, after: int, loads: list[float]) -> None:
    work, routing = np.array(loads), np.arange(len(loads)) % before
    found = spread(routing, work, after)
    assert found.min() >= 0
    assert found.max() < after
    heaviest = np.sort(work)[::-1]
    best = max(work.sum() / after, heaviest[0], heaviest[after - 1] + heaviest[after] if len(work) > after else 0.0)
    assert np.bincount(found, weights=work).max() <= 4 / 3 * best * 1.02 + 1e-12


@given(st.integers(2, 16))
def test_slots_that_are_even_stay_as_they_are(slots: int) -> None:
    routing = np.arange(slots * 8) % slots
    assert spread(routing, np.ones(slots * 8), slots).tolist() == routing.tolist()


def test_a_new_slot_takes_only_its_share() -> None:
    routing = np.arange(1024) % 8
    found = spread(routing, np.ones(1024), 9)
    assert (found != routing).sum() <= 1024 / 9 + 9
    assert np.bincount(found).max() <= np.ceil(1024 / 9) + 1


def test_idle_shards_are_spread_too() -> None:
    assert np.bincount(spread(np.zeros(64, dtype=np.int64), np.zeros(64), 4)).tolist() == [16, 16, 16, 16]


@given(
    st.sets(st.integers(0, 30), min_size=1), st.lists(st.tuples(st.integers(0, 30), st.floats(0.1, 100)), min_size=1)
)
def test_the_numbers_of_slots_do_not_matter(numbers: set[int], shards: list[tuple[int, float]]) -> None:
    routing, loads = np.array([slot for slot, _ in shards]), np.array([load for _, load in shards])
    slots = sorted(numbers)
    found = spread_over(routing, loads, np.array(slots), threshold=0.0)
    dense = np.array([slots.index(slot) if slot in numbers else len(slots) for slot in routing.tolist()])
    assert found.tolist() == [slots[i] for i in spread(dense, loads, len(slots)).tolist()]
