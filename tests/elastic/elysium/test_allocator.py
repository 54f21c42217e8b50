"""Allocators: slots are spread evenly, none is lost, and balanced placement keeps its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.elysium.allocator import Allocator, BalancedAllocator, RoundRobinAllocator, allocate_config
from rheostat.elastic.elysium.configuration import Config, Parallelism
from rheostat.errors import ConfigurationError

parallelisms = st.dictionaries(
    st.sampled_from(("t", "u", "v")),
    st.dictionaries(st.sampled_from(("a", "b", "c", "d")), st.integers(1, 9), min_size=1),
    min_size=1,
)


@given(parallelisms, st.integers(1, 12))
def test_round_robin_spreads_every_operator_and_the_whole_evenly(parallelism: Parallelism, nodes: int) -> None:
    found = RoundRobinAllocator().allocate(parallelism, nodes, {})
    for topology, operators in parallelism.items():
        assert found.counts[topology].sum(axis=1).tolist() == list(operators.values())
        assert np.ptp(found.counts[topology], axis=1).max() <= 1
    assert np.ptp(found.per_node) <= 1


def test_round_robin_is_one_slot_to_each_node_in_turn() -> None:
    parallelism = {"t": {"a": 3, "b": 4}, "u": {"c": 2}}
    expected = np.zeros((3, 4), dtype=np.int64)
    slots = [0, 0, 0, 1, 1, 1, 1, 2, 2]
    for turn, row in enumerate(slots):
        expected[row, turn % 4] += 1
    found = RoundRobinAllocator().allocate(parallelism, 4, {})
    np.testing.assert_array_equal(np.vstack([found.counts["t"], found.counts["u"]]), expected)


@given(parallelisms, st.integers(1, 6), st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4))
def test_balanced_placement_keeps_all_slots_and_grahams_bound(
    parallelism: Parallelism, nodes: int, sizes: list[float]
) -> None:
    weights = {t: dict(zip("abcd", sizes, strict=True)) for t in parallelism}
    found = BalancedAllocator().allocate(parallelism, nodes, weights)
    load, heaviest, total = np.zeros(nodes), 0.0, 0.0
    for topology, operators in parallelism.items():
        assert found.counts[topology].sum(axis=1).tolist() == list(operators.values())
        for row, (name, slots) in enumerate(operators.items()):
            load += weights[topology][name] * found.counts[topology][row]
            heaviest, total = max(heaviest, weights[topology][name]), total + slots * weights[topology][name]
    # The busiest node got its last slot when its load was the lowest, so at most the mean.
    slots_in_all = sum(sum(operators.values()) for operators in parallelism.values())
    if slots_in_all <= nodes:
        assert load.max() == pytest.approx(heaviest)
    assert load.max() <= total / nodes + (1 - 1 / nodes) * heaviest + 1e-9


def test_separate_topologies_share_no_node() -> None:
    config = Config({"t": {"a": 3}, "u": {"b": 2, "c": 2}}, nodes=3, own={"t": 1, "u": 2})
    found = allocate_config(config, RoundRobinAllocator(), {})
    assert found.counts["t"].tolist() == [[3, 0, 0]]
    assert found.counts["u"].tolist() == [[0, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize("allocator", [RoundRobinAllocator(), BalancedAllocator()])
def test_without_nodes_nothing_is_allocated(allocator: Allocator) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        allocator.allocate({"t": {"a": 1}}, 0, {})
