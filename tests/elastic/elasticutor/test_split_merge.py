"""Splitting and merging executors: no shard is lost, what is done helps, and it is not undone the next time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.split_merge import (
    MERGE_BELOW,
    SPLIT_ABOVE,
    ExecutorMerge,
    ExecutorSplit,
    Reshaping,
    reshape,
)
from rheostat.elastic.routing.balance import slot_loads

CORES = 8


def cases(load: st.SearchStrategy[float], most: int = 60) -> st.SearchStrategy[tuple[list[int], list[float]]]:
    return st.integers(1, most).flatmap(
        lambda n: st.tuples(st.lists(st.integers(0, 6), min_size=n, max_size=n), st.lists(load, min_size=n, max_size=n))
    )


def by_executor(routing: tuple[int, ...] | list[int], loads: list[float]) -> dict[int, float]:
    sums = slot_loads(routing, np.array(loads), max(routing) + 1)
    return {e: float(sums[e]) for e in sorted(set(routing))}


def check(routing: list[int], found: Reshaping) -> None:
    """The moves lead from the old routing to the new one, new executors are new, merged ones are gone."""
    followed = list(routing)
    changes: list[ExecutorSplit | ExecutorMerge] = [*found.splits, *found.merges]
    for change in changes:
        for shard, executor in change.moves:
            assert followed[shard] == change.executor
            followed[shard] = executor
    assert tuple(followed) == found.routing
    assert all(set(split.into).isdisjoint(routing) for split in found.splits)
    assert {merge.executor for merge in found.merges}.isdisjoint(found.routing)
    assert {merge.executor for merge in found.merges} <= set(routing)


@settings(max_examples=200, deadline=None)
@given(cases(st.floats(0, 3)), st.integers(1, 3))
def test_no_shard_is_lost_and_every_change_helps(case: tuple[list[int], list[float]], fewest: int) -> None:
    routing, loads = case
    found = reshape(routing, loads, CORES, fewest=fewest)
    check(routing, found)
    before, after = by_executor(routing, loads), by_executor(found.routing, loads)
    assert len(after) >= min(fewest, len(before))
    for split in found.splits:
        assert before[split.executor] > SPLIT_ABOVE * CORES
        assert split.loads[1] == pytest.approx(max(after[e] for e in (split.executor, *split.into)))
        assert split.loads[1] <= 0.95 * split.loads[0]
    for merge in found.merges:
        assert before[merge.executor] < MERGE_BELOW * CORES
        assert merge.loads[1] < SPLIT_ABOVE * CORES
    for executor, load in before.items():
        large = load > SPLIT_ABOVE * CORES
        assert large == (executor in found.stuck or executor in {s.executor for s in found.splits})
    assert reshape(routing, loads, CORES, fewest=fewest) == found


@settings(max_examples=100, deadline=None)
@given(cases(st.floats(0, 0.5), most=100))
def test_nothing_is_undone_the_next_time(case: tuple[list[int], list[float]]) -> None:
    """Shards that are small beside a node leave executors that are neither too large nor, if they were split, idle."""
    routing, loads = case
    once = reshape(routing, loads, CORES)
    twice = reshape(once.routing, loads, CORES)
    assert not twice.splits
    assert not twice.stuck
    parts = {e for split in once.splits for e in (split.executor, *split.into)}
    assert parts.isdisjoint(e for merge in twice.merges for e in (merge.executor, merge.into))


def test_a_trace_to_follow_by_hand() -> None:
    """Executor 0 keeps 12 of 8 cores busy: three parts of 4, for which two of its shards go. 1 and 3 are idle."""
    routing = [0, 0, 0, 0, 1, 2, 3, 3]
    loads = [4.0, 4.0, 2.0, 2.0, 1.0, 4.0, 0.25, 0.5]
    found = reshape(routing, loads, CORES)
    assert found.routing == (4, 5, 0, 0, 1, 2, 1, 1)
    assert [(s.executor, s.into, s.moves, s.loads) for s in found.splits] == [
        (0, (4, 5), ((0, 4), (1, 5)), (12.0, 4.0))
    ]
    assert [(m.executor, m.into, m.moves, m.loads) for m in found.merges] == [(3, 1, ((6, 1), (7, 1)), (1.0, 1.75))]
    assert reshape(found.routing, loads, CORES) == Reshaping(found.routing, (), (), ())


def test_a_shard_that_is_nearly_everything_cannot_be_split() -> None:
    assert reshape([0, 0, 1], [9.0, 0.1, 4.0], CORES) == Reshaping((0, 0, 1), (), (), (0,))
    assert reshape([0], [9.0], CORES).stuck == (0,)
    # With as much again beside it, it is left alone at least.
    alone = reshape([0, 0, 0], [9.0, 4.0, 4.0], CORES)
    assert len(set(alone.routing)) == 3
    assert reshape(alone.routing, [9.0, 4.0, 4.0], CORES).stuck == (alone.routing[0],)


def test_many_idle_executors_become_few() -> None:
    found = reshape(list(range(50)), [0.1] * 50, CORES)
    assert len(set(found.routing)) == 2
    assert max(by_executor(found.routing, [0.1] * 50).values()) <= CORES * (SPLIT_ABOVE + MERGE_BELOW) / 2
    assert len(set(reshape(list(range(50)), [0.1] * 50, CORES, fewest=20).routing)) == 20
    assert len(set(reshape(list(range(50)), [0.0] * 50, CORES).routing)) == 1


def test_numbers_of_merged_executors_are_used_again() -> None:
    found = reshape([0, 0, 3, 3], [4.0, 4.0, 4.0, 4.0], CORES)
    assert sorted(e for split in found.splits for e in split.into) == [1, 2]


def test_nodes_of_different_sizes() -> None:
    found = reshape([0, 0, 1, 1], [3.0, 3.0, 3.0, 3.0], [16, 4])
    assert [split.executor for split in found.splits] == [1]
    # Executors on a node of unknown size stay as they are.
    assert reshape([0, 0, 1], [99.0, 99.0, 0.0], [math.nan, 0.0]) == Reshaping((0, 0, 1), (), (), ())


@settings(max_examples=150, deadline=None)
@given(
    cases(st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 0.0, 5e-324, 1.0, 1e16, 1e300]), most=20),
    st.sampled_from([math.nan, math.inf, -1.0, 0.0, 1e-300, 1.0, 8.0, 1e300]),
)
def test_absurd_measurements_lose_no_shard(case: tuple[list[int], list[float]], cores: float) -> None:
    check(case[0], reshape(*case, cores))


def test_nothing_to_do() -> None:
    assert reshape([], [], CORES) == Reshaping((), (), (), ())
