"""Groupings: each against a plain loop, and within its bound of the best assignment."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import CostSketch, Estimates, FullKnowledge, Greedy, Grouping, LptGrouping, RoundRobin
from rheostat.elastic.posg.exchanges import even_out
from rheostat.elastic.posg.hashing import Items
from rheostat.elastic.posg.sketch import Costs
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)

COSTS = st.lists(st.integers(1, 30).map(float), min_size=1, max_size=7)
SLOTS = st.integers(1, 3)


def exact_estimates(costs: list[float], slots: int) -> Estimates:
    """Estimates that equal the true costs of items 0, 1, ...: no two items share a cell."""
    sketch = CostSketch.empty(columns=997, seed=1).updated(np.arange(len(costs)), costs)
    assert sketch.costs(np.arange(len(costs))).tolist() == costs
    return Estimates.of([sketch] * slots)


def noisy_estimates(slots: int, seed: int = 0) -> Estimates:
    """Estimates that differ from slot to slot, with many items in each cell."""
    rng = np.random.default_rng(seed)
    drawn = [(rng.integers(0, 40, 200), rng.integers(1, 64, 200).astype(np.float64)) for _ in range(slots)]
    return Estimates.of([CostSketch.empty(rows=3, columns=7, seed=2).updated(*d) for d in drawn])


def largest(slots: list[int], costs: list[float], count: int) -> float:
    return float(np.bincount(slots, weights=costs, minlength=count).max())


def best(costs: list[float], slots: int) -> float:
    """The smallest possible largest load, by trying everything."""
    return min(largest(list(choice), costs, slots) for choice in product(range(slots), repeat=len(costs)))


@QUICK
@given(COSTS, SLOTS)
def test_greedy_is_within_two_minus_one_over_k_of_the_best(costs: list[float], slots: int) -> None:
    """Theorem 4.2, for estimates that are true."""
    chosen, after = Greedy.start(exact_estimates(costs, slots)).assign(np.arange(len(costs)))
    assert largest(chosen.tolist(), costs, slots) <= (2 - 1 / slots) * best(costs, slots) + 1e-9
    assert after.loads.sum() == pytest.approx(sum(costs))


@QUICK
@given(COSTS, SLOTS)
def test_longest_first_is_within_four_thirds_of_the_best(costs: list[float], slots: int) -> None:
    """And exchanges never make it worse."""
    start, ideal = LptGrouping.start(exact_estimates(costs, slots)), best(costs, slots)
    found = []
    for grouping in (replace(start, exchange=False), start):
        chosen, after = grouping.assign(np.arange(len(costs)))
        found.append(largest(chosen.tolist(), costs, slots))
        assert after.loads.tolist() == pytest.approx(np.bincount(chosen, weights=costs, minlength=slots).tolist())
    longest, exchanged = found
    assert ideal - 1e-9 <= exchanged <= longest + 1e-9
    assert longest <= (4 / 3 - 1 / (3 * slots)) * ideal + 1e-9


@QUICK
@given(
    st.lists(st.integers(1, 30).map(float), min_size=1, max_size=40),
    st.lists(st.integers(0, 60).map(float), min_size=1, max_size=4),
    st.integers(0, 1_000),
)
def test_no_single_exchange_with_the_least_loaded_slot_would_help(
    costs: list[float], backlog: list[float], seed: int
) -> None:
    """For any assignment of the tuples, and any earlier work of the slots."""
    costs, count = sorted(costs, reverse=True), len(backlog)
    slots = np.random.default_rng(seed).integers(0, count, len(costs))
    loads: Costs = np.array(backlog) + np.bincount(slots, weights=costs, minlength=count)
    busiest = max(loads[slot] for slot in slots)
    for _ in range(40):
        even_out(slots, np.array(costs), loads)
    assert loads.tolist() == pytest.approx((np.bincount(slots, weights=costs, minlength=count) + backlog).tolist())
    most, least = max(loads[slot] for slot in slots), loads.min()
    assert most <= busiest + 1e-9
    held = [[c for c, s in zip(costs, slots.tolist(), strict=True) if s == slot] for slot in range(count)]
    ends = [
        (full, empty)
        for full, load in zip(held, loads, strict=True)
        for empty, other in zip(held, loads, strict=True)
        if full and load == most and other == least
    ]
    assert any(all(not 1e-5 < i - j < most - least - 1e-5 for i in a for j in [*b, 0.0]) for a, b in ends)


def test_exchanges_even_out_what_does_not_divide_evenly() -> None:
    """Seven tuples that hardly differ in two slots: four in one, but the shorter ones."""
    costs = [33.0, 32.0, 31.0, 30.0, 29.0, 28.0, 27.0]
    known = exact_estimates(costs, 2)
    longest, exchanged = (
        largest(replace(LptGrouping.start(known), exchange=swaps).assign(np.arange(7))[0].tolist(), costs, 2)
        for swaps in (False, True)
    )
    assert (longest, exchanged) == (118.0, 114.0)
    apart = Estimates.of([known.merged, known.merged.merged([])])  # slots that might differ exchange nothing
    assert largest(LptGrouping.start(apart).assign(np.arange(7))[0].tolist(), costs, 2) == longest


@pytest.mark.parametrize("slots", [2, 3, 4])
def test_greedy_reaches_its_bound_where_the_longest_comes_last(slots: int) -> None:
    """Section IV-A's example; longest first places it perfectly."""
    costs = [1.0] * (slots * (slots - 1)) + [float(slots)]
    items = np.arange(len(costs))
    greedy, _ = Greedy.start(exact_estimates(costs, slots)).assign(items)
    longest, _ = LptGrouping.start(exact_estimates(costs, slots)).assign(items)
    assert largest(greedy.tolist(), costs, slots) == pytest.approx((2 - 1 / slots) * slots)
    assert largest(longest.tolist(), costs, slots) == slots


@pytest.mark.parametrize("slots", [2, 3])
def test_longest_first_reaches_its_bound_too(slots: int) -> None:
    """Graham's example: two each of the lengths 2k-1 down to k+1, and three of length k."""
    costs = [float(c) for c in range(2 * slots - 1, slots, -1) for _ in range(2)] + [float(slots)] * 3
    start, items = LptGrouping.start(exact_estimates_by_value(costs, slots)), np.array(costs, dtype=np.int64)
    chosen, _ = replace(start, exchange=False).assign(items)
    assert best(costs, slots) == 3 * slots
    assert largest(chosen.tolist(), costs, slots) == 4 * slots - 1


def exact_estimates_by_value(costs: list[float], slots: int) -> Estimates:
    """Estimates of items that are numbered by what they cost."""
    items = np.unique(np.array(costs, dtype=np.int64))
    return Estimates.of([CostSketch.empty(columns=997).updated(items, items.astype(np.float64))] * slots)


@QUICK
@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 6), st.integers(0, 3))
def test_greedy_is_the_listing(items: list[int], slots: int, seed: int) -> None:
    """Listing III.2 written out, one tuple after the other, with every slot's own sketch."""
    known = noisy_estimates(slots, seed)
    loads, expected = [0.0] * slots, []
    for item in items:
        slot = loads.index(min(loads))
        loads[slot] += known.cost(slot, item)
        expected.append(slot)
    chosen, after = Greedy.start(known).assign(np.array(items, dtype=np.int64))
    assert chosen.tolist() == expected
    assert after.loads.tolist() == pytest.approx(loads)


@QUICK
@given(st.lists(st.integers(0, 60), max_size=80), st.integers(1, 6))
def test_longest_first_is_greedy_in_another_order(items: list[int], slots: int) -> None:
    known = noisy_estimates(slots)
    estimates = dict(zip(items, known.merged.costs(np.array(items, dtype=np.int64)).tolist(), strict=True))
    order = sorted(range(len(items)), key=lambda p: (-estimates[items[p]], items[p]))
    in_order, expected = Greedy.start(known).assign(np.array([items[p] for p in order], dtype=np.int64))
    chosen, after = LptGrouping.start(known).assign(np.array(items, dtype=np.int64))
    assert chosen[order].tolist() == in_order.tolist()
    assert after.loads.tolist() == expected.loads.tolist()


@QUICK
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 6))
def test_full_knowledge_takes_the_least_loaded_slot(items: list[int], slots: int) -> None:
    rng = np.random.default_rng(3)
    seconds = rng.integers(1, 9, (10, slots)).astype(np.float64)
    loads, expected = [0.0] * slots, []
    for item in items:
        slot = loads.index(min(loads))
        loads[slot] += seconds[item, slot]
        expected.append(slot)
    chosen, after = FullKnowledge.start(slots, lambda of: seconds[of]).assign(np.array(items, dtype=np.int64))
    assert chosen.tolist() == expected
    assert after.loads.tolist() == loads


@QUICK
@given(st.lists(st.integers(0, 30), max_size=60), st.integers(0, 60), st.integers(1, 5))
def test_online_groupings_do_not_depend_on_batches(items: list[int], cut: int, slots: int) -> None:
    costs = np.arange(31.0)[:, None] + np.arange(slots)

    def cost(of: Items) -> Costs:
        found: Costs = costs[of]
        return found

    groupings: list[Grouping] = [
        RoundRobin(slots, 1 % slots),
        FullKnowledge.start(slots, cost),
        Greedy.start(noisy_estimates(slots)),
    ]
    stream = np.array(items, dtype=np.int64)
    for grouping in groupings:
        whole, _ = grouping.assign(stream)
        first, after = grouping.assign(stream[:cut])
        second, _ = after.assign(stream[cut:])
        assert whole.tolist() == [*first.tolist(), *second.tolist()]


@QUICK
@given(st.integers(0, 50), st.integers(1, 6), st.integers(0, 5))
def test_round_robin_gives_every_slot_its_turn(count: int, slots: int, turn: int) -> None:
    chosen, after = RoundRobin(slots, turn % slots).assign(np.zeros(count, dtype=np.int64))
    assert chosen.tolist() == [(turn + i) % slots for i in range(count)]
    assert after.turn == (turn + count) % slots


@QUICK
@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.integers(1, 6))
def test_longest_first_spreads_each_item_evenly(items: list[int], slots: int) -> None:
    """So that the error of an item's estimate is the same for all slots."""
    known = exact_estimates([8.0, 4.0, 2.0, 1.0], slots)
    alike = np.full(len(items), items[0])
    counts = np.bincount(LptGrouping.start(known).assign(alike)[0], minlength=slots)
    assert counts.max() - counts.min() <= 1
    chosen, after = LptGrouping.start(known).assign(np.array(items, dtype=np.int64))
    longest = max(8.0 / 2**item for item in items)
    assert after.loads.max() - after.loads.min() <= longest
    assert len(chosen) == len(items)


def test_shared_estimates_are_those_of_all_slots_together() -> None:
    known = noisy_estimates(3)
    shared = known.shared()
    for slot in range(3):
        assert shared.cost(slot, 5) == known.merged.costs([5])[0]
    assert len({known.cost(slot, 5) for slot in range(3)}) > 1


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="one slot or more"):
        RoundRobin(0)
    with pytest.raises(ConfigurationError, match="one slot or more"):
        FullKnowledge.start(0, lambda items: np.zeros((len(items), 1)))
    with pytest.raises(ConfigurationError, match="for 2 items and 3 slots"):
        FullKnowledge.start(3, lambda items: np.zeros((len(items), 2))).assign([1, 2])
    with pytest.raises(ConfigurationError, match="one slot or more"):
        Estimates.of([])
