"""The compiled market of cores against a plain version with dictionaries, and its trees and heaps."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.core_market import choose_homes, sift
from rheostat.elastic.elasticutor.cores import Cores, fill, migration
from rheostat.elastic.elasticutor.placement import HORIZON, LOCALITY, place
from tests.elastic.elasticutor.plain_placement import Assignment, Plain

Round = tuple[list[int], list[int], list[float]]


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[int], list[float], float, list[Round]]:
    """Homes, state, horizon, and rounds of demand, nodes and traffic; nodes are lost, and come back of other sizes."""
    nodes, executors = draw(st.integers(1, 6)), draw(st.integers(1, 8))

    def some(values: st.SearchStrategy[int], size: int) -> list[int]:
        return draw(st.lists(values, min_size=size, max_size=size))

    homes = some(st.integers(-1, max(draw(st.sampled_from([1, nodes])) - 1, 0)), executors)
    sizes = st.sampled_from([0.0, 1.0, 1e6, 3e6, 7e7])
    state = draw(st.lists(sizes, min_size=executors, max_size=executors))
    flows = st.lists(st.sampled_from([0.0, 1e5, 1e6, 4e6, 3e7]), min_size=executors, max_size=executors)
    rounds = [
        (some(st.integers(0, 9), executors), some(st.integers(0, 8), nodes), draw(flows))
        for _ in range(draw(st.integers(1, 6)))
    ]
    return homes, state, draw(st.sampled_from([0.0, HORIZON, 1e3])), rounds


def as_dict(cores: Cores) -> Assignment:
    return {(executor, node): count for executor, node, count in cores.entries()}


@settings(max_examples=250, deadline=None)
@given(stories(), st.sampled_from([LOCALITY, 2e6]))
def test_placements_are_those_of_looking_at_everything(
    story: tuple[list[int], list[float], float, list[Round]], threshold: float
) -> None:
    homes, state, horizon, rounds = story
    current = Cores.of([])
    for wanted, nodes, traffic in rounds:
        plain = Plain(wanted, nodes, homes, as_dict(current), state, traffic, threshold, horizon)
        before = Cores.of((e, n, c) for (e, n), c in plain.cores.items())
        expected = plain.solve()
        found = place(wanted, nodes, homes, current, state, traffic, threshold, horizon)
        assert as_dict(found.cores) == expected
        assert found.homes.tolist() == plain.homes
        assert found.migrated == pytest.approx(migration(before, found.cores, state))
        current = found.cores


@pytest.mark.parametrize("seed", range(60))
def test_crowded_homes_and_long_stories(seed: int) -> None:
    """Few homes for many executors of few sizes: executors of one home trade with each other, often at equal prices."""
    rng = np.random.default_rng(seed)
    size, nodes = int(rng.integers(6, 14)), int(rng.integers(2, 7))
    homes = rng.integers(0, rng.integers(1, 3), size).tolist()
    state = rng.choice([1.0, 1e6, 2e6], size).tolist()
    capacity = rng.integers(4, 9, nodes).tolist()
    current = Cores.of([])
    for _ in range(8):
        wanted = rng.integers(0, rng.integers(2, 8), size).tolist()
        traffic = rng.choice([0.0, 1e5, 3e7], size).tolist()
        plain = Plain(wanted, capacity, homes, as_dict(current), state, traffic, LOCALITY, HORIZON)
        found = place(wanted, capacity, homes, current, state, traffic)
        assert as_dict(found.cores) == plain.solve()
        current = found.cores


@pytest.mark.parametrize("sizes", [np.random.default_rng(3).permutation(60), np.ones(60)])
def test_many_donors_at_one_home_are_ranked_by_price(sizes: npt.NDArray[np.int64]) -> None:
    """Sixty executors have a core at home, node 0, and one elsewhere: those with least state give, then the first."""
    rich = range(60)
    old = Cores.of([(e, node, 1) for e in rich for node in (0, 1 + e % 3)])
    wanted, state = [*[1] * 60, 25], np.append(sizes * 1e6, 0.0)
    found = place(wanted, [60, 20, 20, 20], [0] * 61, old, state, [*[0.0] * 60, 25 * 8e6])
    entries = found.cores.entries()
    assert [entry for entry in entries if entry[0] == 60] == [(60, 0, 25)]
    assert [e for e in rich if (e, 0, 1) not in entries] == sorted(np.argsort(sizes, kind="stable")[:25].tolist())


def test_a_donor_that_has_given_all_it_offers_gives_no_core_at_home() -> None:
    """0 finds nothing at home and takes the remote core of 2; so 3, a neighbour of 2, has to take that of 4."""
    old = Cores.of([(1, 0, 2), (2, 1, 2), (2, 2, 1), (3, 1, 1), (4, 3, 1), (4, 2, 1)])
    state, traffic = [1e6, 1e6, 1e6, 1e6, 9e7], [3e7, 0.0, 0.0, 2e7, 0.0]
    found = place([1, 2, 2, 2, 1], [2, 3, 2, 1], [0, 0, 1, 1, 3], old, state, traffic, horizon=0)
    assert found.cores.entries() == [(0, 2, 1), (1, 0, 2), (2, 1, 2), (3, 1, 1), (3, 2, 1), (4, 3, 1)]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), st.lists(st.integers(0, 60), max_size=40))
def test_a_heap_stays_a_heap(values: list[int], rises: list[int]) -> None:
    heap, other = np.sort(np.array(values)), sorted(values)
    for rise in rises:
        assert heap[0] == other[0]
        heap[0] += rise
        heapq.heapreplace(other, other[0] + rise)
        sift(heap, len(heap))
    assert sorted(heap.tolist()) == sorted(other)


@given(st.lists(st.integers(-5, 9), min_size=1, max_size=9), st.lists(st.integers(0, 5), max_size=20))
def test_homes_are_where_most_room_is_left(rooms: list[int], wanted: list[int]) -> None:
    nodes = len(rooms)
    heap = np.sort(-np.array(rooms) * nodes + np.arange(nodes))
    for executor, node in enumerate(choose_homes(heap, nodes, np.array(wanted, dtype=np.int64))):
        assert node == max(range(nodes), key=lambda n: (rooms[n], -n))
        rooms[node] -= max(wanted[executor], 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=20), st.lists(st.integers(-1, 9), min_size=4))
def test_room_is_filled_first_come_first_served(asked: list[tuple[int, int]], room: list[int]) -> None:
    groups, amounts = (np.array([a[i] for a in asked], dtype=np.int64) for i in (0, 1))
    left, before = np.array(room), list(room)
    for (group, amount), got in zip(asked, fill(groups, amounts, left), strict=True):
        assert got == max(min(amount, room[group]), 0)
        room[group] -= int(got)
    assert left.tolist() == before


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-1, 4)), max_size=20), st.booleans())
def test_entries_for_the_same_place_add_up(entries: list[tuple[int, int, int]], large: bool) -> None:
    shift = 2**61 if large else 0
    expected: Assignment = {}
    for executor, node, cores in entries:
        if cores > 0:
            place_of = executor + shift, node + shift
            expected[place_of] = expected.get(place_of, 0) + cores
    found = Cores.of((executor + shift, node + shift, cores) for executor, node, cores in entries)
    assert found.entries() == [(*place_of, cores) for place_of, cores in sorted(expected.items())]
