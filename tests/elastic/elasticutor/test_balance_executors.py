"""Balancing many executors at once: the same result as balancing one at a time, and what it never does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.balance_executors import balance_executors
from rheostat.elastic.routing.balance import THRESHOLD, balance

WHOLE = st.integers(0, 50).map(float)
"""Loads whose sums are exact, so that both rules see the same ties."""


@st.composite
def one_executor(draw: st.DrawFn) -> tuple[list[int], list[float], int]:
    slots = draw(st.integers(1, 6))
    shards = draw(st.integers(1, 24))
    routing = draw(st.lists(st.integers(0, slots - 1), min_size=shards, max_size=shards))
    return routing, draw(st.lists(WHOLE, min_size=shards, max_size=shards)), slots


@settings(max_examples=200, deadline=None)
@given(one_executor(), st.sampled_from([1.0, 1.05, 1.2, 1.5]))
@example(([0] * 10 + [1] * 3, [50.0] * 8 + [45.0, 39.0, 31.0, 40.0, 50.0], 6), 1.2)  # 121 is 1.2 times the mean
def test_with_one_executor_it_is_the_plain_rule(case: tuple[list[int], list[float], int], threshold: float) -> None:
    routing, loads, slots = case
    slow = balance(routing, np.array(loads), slots, threshold)
    fast = balance_executors(
        np.array(routing),
        np.array(loads),
        np.zeros(len(routing), dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        threshold,
        even=threshold,
    )
    assert fast.tolist() == list(slow.routing)


@st.composite
def several(draw: st.DrawFn, lost: bool = False) -> tuple[Any, Any, Any, Any]:
    """Routing, loads, the executor of every shard and the owner of every slot."""
    count = draw(st.integers(1, 4))
    owners = [*range(count), *draw(st.lists(st.integers(-1, count - 1), max_size=6))]
    owners = draw(st.permutations(owners))
    executors = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=30))
    places = {e: [s for s, owner in enumerate(owners) if owner == e] for e in range(count)}
    routing = [
        draw(st.integers(-1, len(owners) + 1)) if lost and draw(st.booleans()) else draw(st.sampled_from(places[e]))
        for e in executors
    ]
    loads = draw(st.lists(WHOLE, min_size=len(executors), max_size=len(executors)))
    return np.array(routing), np.array(loads), np.array(executors), np.array(owners)


def largest(routing: Any, loads: Any, owners: Any, executor: int) -> float:
    return float(np.bincount(routing, weights=loads, minlength=len(owners))[owners == executor].max(initial=0.0))


@settings(max_examples=150, deadline=None)
@given(several())
def test_each_executor_is_balanced_as_if_it_were_alone(case: tuple[Any, Any, Any, Any]) -> None:
    routing, loads, executors, owners = case
    found = balance_executors(routing, loads, executors, owners)
    for executor in np.unique(executors):
        mine, places = executors == executor, np.flatnonzero(owners == executor)
        number = {slot: place for place, slot in enumerate(places.tolist())}
        alone = np.array([number[slot] for slot in routing[mine].tolist()])
        zeros = np.zeros(len(alone), dtype=np.int64), np.zeros(len(places), dtype=np.int64)
        assert places[balance_executors(alone, loads[mine], *zeros)].tolist() == found[mine].tolist()


@settings(max_examples=150, deadline=None)
@given(several(lost=True))
def test_shards_stay_with_their_executor_and_lost_ones_come_back(case: tuple[Any, Any, Any, Any]) -> None:
    routing, loads, executors, owners = case
    before = routing.copy()
    found = balance_executors(routing, loads, executors, owners)
    assert (routing == before).all()
    assert (owners[found] == executors).all()


@settings(max_examples=150, deadline=None)
@given(several(lost=True), st.sampled_from([1.0, 1.05, 1.5]), st.lists(st.integers(0, 2), min_size=10, max_size=10))
def test_staying_nearby_keeps_the_other_rules(case: tuple[Any, Any, Any, Any], nearby: float, nodes: list[int]) -> None:
    """Shards stay with their executor, no slot becomes busier than the busiest was, and again nothing changes."""
    routing, loads, executors, owners = case
    where = np.array(nodes)[: len(owners)]
    first = balance_executors(routing, loads, executors, owners, threshold=1e9, nodes=where, nearby=nearby)
    found = balance_executors(first, loads, executors, owners, nodes=where, nearby=nearby)
    assert (owners[found] == executors).all()
    for executor in np.unique(executors):
        assert largest(found, loads, owners, executor) <= largest(first, loads, owners, executor)
    assert balance_executors(found, loads, executors, owners, nodes=where, nearby=nearby).tolist() == found.tolist()


def test_a_shard_stays_on_its_node_if_that_is_nearly_as_good() -> None:
    """Slots 0 and 1 of node 0 have 8 and 3, slot 2 of node 1 has 2. Moving 3 leaves 6 on node 0, or 5 on node 1."""
    routing, loads = np.array([0, 0, 1, 2]), np.array([5.0, 3.0, 3.0, 2.0])
    zeros, owners, nodes = np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64), np.array([0, 0, 1])
    assert balance_executors(routing, loads, zeros, owners, 1.2, 1.2, nodes, nearby=1.0).tolist() == [0, 2, 1, 2]
    assert balance_executors(routing, loads, zeros, owners, 1.2, 1.2, nodes, nearby=1.19).tolist() == [0, 2, 1, 2]
    assert balance_executors(routing, loads, zeros, owners, 1.2, 1.4, nodes, nearby=1.21).tolist() == [0, 1, 1, 2]


@settings(max_examples=150, deadline=None)
@given(several())
def test_the_largest_load_never_grows_and_balancing_again_changes_nothing(case: tuple[Any, Any, Any, Any]) -> None:
    routing, loads, executors, owners = case
    found = balance_executors(routing, loads, executors, owners)
    for executor in np.unique(executors):
        after, slots = largest(found, loads, owners, executor), np.count_nonzero(owners == executor)
        assert after <= largest(routing, loads, owners, executor)
        mean, mine = loads[executors == executor].sum() / slots, loads[executors == executor]
        # Greedy single moves end at worst with one shard more than the mean on the busiest slot.
        assert after <= max(THRESHOLD * mean, mean + mine.max())
    assert balance_executors(found, loads, executors, owners).tolist() == found.tolist()


def test_an_executor_within_the_threshold_is_left_alone() -> None:
    loads = np.array([6.0, 4.0, 1.0, 5.0, 4.0])  # 11 and 9: 1.1 times the mean
    routing, zeros = np.array([0, 0, 0, 1, 1]), np.zeros(5, dtype=np.int64)
    assert balance_executors(routing, loads, zeros, np.zeros(2, dtype=np.int64)).tolist() == [0, 0, 0, 1, 1]
    assert balance_executors(routing, loads, zeros, np.zeros(2, dtype=np.int64), 1.0, 1.0).tolist() == [0, 0, 1, 1, 1]


def test_an_uneven_executor_is_made_more_even_than_the_threshold() -> None:
    """By hand: loads 8 and 0 of mean 4; moving one shard of 1 after the other ends at 4 and 4, not at 1.2 times 4."""
    zeros = np.zeros(8, dtype=np.int64)
    found = balance_executors(zeros, np.ones(8), zeros, np.zeros(2, dtype=np.int64))
    assert np.bincount(found).tolist() == [4, 4]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -5.0])
def test_loads_that_are_not_finite_count_as_0(wrong: float) -> None:
    loads, zeros = np.array([wrong, 4.0, 4.0, 4.0]), np.zeros(4, dtype=np.int64)
    found = balance_executors(zeros, loads, zeros, np.zeros(3, dtype=np.int64))
    assert np.bincount(found, weights=np.array([0.0, 4.0, 4.0, 4.0])).tolist() == [4.0, 4.0, 4.0]
    assert found[0] == 0


def test_lost_shards_go_to_the_least_loaded_slot_heaviest_first() -> None:
    """Slots 0 and 1 have 5 and 1; of the lost ones 4 goes to slot 1, then 3 to slot 0, the first of two with 5."""
    loads, executors = np.array([5.0, 1.0, 3.0, 4.0]), np.zeros(4, dtype=np.int64)
    found = balance_executors(np.array([0, 1, 7, -1]), loads, executors, np.zeros(2, dtype=np.int64), threshold=9.0)
    assert found.tolist() == [0, 1, 0, 1]


def test_without_any_load_lost_shards_still_find_a_slot() -> None:
    zeros = np.zeros(3, dtype=np.int64)
    found = balance_executors(np.array([5, 0, 5]), np.zeros(3), zeros, np.array([0, 0]))
    assert set(found.tolist()) <= {0, 1}
