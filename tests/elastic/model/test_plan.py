"""Plans: even ones, which of them are the same, which are refused, and what they use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.observation import MAX_STRETCH, Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.errors import ConfigurationError


def plan(routing: list[int], nodes: list[int]) -> OperatorPlan:
    return OperatorPlan(np.array(routing), np.array(nodes))


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 9), st.integers(0, 9))
def test_an_even_plan_is_even(shards: int, slots: int, nodes: int, first: int) -> None:
    slots = min(slots, shards)
    found = OperatorPlan.even(shards, slots, nodes, first)
    counts = np.bincount(found.routing, minlength=slots)
    assert len(counts) == found.slots == slots
    assert counts.max() - counts.min() <= 1
    assert (np.diff(found.routing) >= 0).all()
    by_node = np.bincount(found.nodes, minlength=nodes)
    assert by_node.max() - by_node.min() <= 1
    assert found.nodes[0] == first % nodes
    found.check(shards, nodes)


@pytest.mark.parametrize(("shards", "slots", "nodes"), [(4, 5, 1), (4, 0, 1), (0, 0, 1), (4, 2, 0)])
def test_a_slot_without_shards_or_node_is_refused(shards: int, slots: int, nodes: int) -> None:
    with pytest.raises(ConfigurationError, match="slots must be between 1 and shards"):
        OperatorPlan.even(shards, slots, nodes)


def test_elastic_executors_own_neighbouring_shards_and_one_slot() -> None:
    found = OperatorPlan.elastic(shards=7, executors=3, nodes=2, room=5)
    assert found.subspaces is not None
    assert found.subspaces.executors.tolist() == found.routing.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert found.subspaces.owners.tolist() == [0, 1, 2, -1, -1]
    assert found.subspaces.homes.tolist() == [0, 1, 0]
    assert found.nodes.tolist() == [0, 1, 0, -1, -1]
    assert (found.slots, found.used.tolist()) == (3, [0, 1, 2])


def test_numbers_without_a_slot_at_the_end_make_no_difference() -> None:
    assert plan([0, 2], [0, -1, 1]).same(plan([0, 2], [0, -1, 1, -1, -1]))
    assert plan([0, 2], [0, -1, 1, -1]).same(plan([0, 2], [0, -1, 1]))


@pytest.mark.parametrize(
    "other", [plan([0, 1], [0, -1, 1]), plan([0, 2], [0, -1, 0]), plan([0, 2], [0, 0, 1]), plan([0, 2, 2], [0, -1, 1])]
)
def test_another_routing_node_or_slot_is_another_plan(other: OperatorPlan) -> None:
    here = plan([0, 2], [0, -1, 1])
    assert not here.same(other)
    assert not other.same(here)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (plan([0, 1, 1], [0, 0]), "2 shards"),
        (plan([0, 2], [0, 0]), "shard 1 to slot 2, which does not exist"),
        (plan([-1, 0], [0, 0]), "shard 0 to slot -1, which does not exist"),
        (plan([0, 1], [0, -1]), "shard 1 to slot 1, which does not exist: the slots are .0."),
        (plan([0, 1], [0, 3]), "node 3"),
        (plan([0, 0], [0, 3]), "node 3"),
    ],
)
def test_a_plan_that_drops_a_shard_or_invents_a_node_is_refused(wrong: OperatorPlan, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        wrong.check(shards=2, nodes=2)


def test_cores_are_counted_over_operators_and_unused_numbers_left_out() -> None:
    both = Plan({"a": plan([0, 2], [0, -1, 2]), "b": plan([0], [2])}, 4)
    assert both.cores(4).tolist() == [1, 0, 2, 0]
    assert both.slots() == {"a": 2, "b": 1}
    assert Plan({}, 2).cores(2).tolist() == [0, 0]


def test_a_revision_replaces_its_operator_only() -> None:
    old = Plan({"a": plan([0], [0]), "b": plan([0], [1])}, 2)
    new = plan([0], [1])
    revised = old.revised([Revision("a", new, Action.BALANCE, ())])
    assert revised.operators["a"] is new
    assert revised.operators["b"] is old.operators["b"]
    assert old.operators["a"].nodes.tolist() == [0]
    assert revised.nodes == 2


def test_what_changes_something() -> None:
    assert not STAY.changes
    assert not Proposal(reasons=("all is well",)).changes
    assert Proposal(nodes=0).changes
    assert Proposal((Revision("a", plan([0], [0]), Action.BALANCE, ()),)).changes


def observed(external: float, wanted: float) -> Observation:
    return Observation(time=1.0, seconds=1.0, operators={}, cores=np.array([4, 0, 2]), external=external, wanted=wanted)


@pytest.mark.parametrize(
    ("external", "wanted", "stretch"),
    [
        (100.0, 250.0, 2.5),
        (100.0, 100.0, 1.0),
        (100.0, 50.0, 1.0),
        (0.0, 50.0, MAX_STRETCH),
        (1.0, 1e9, MAX_STRETCH),
        (0.0, 0.0, 1.0),
        (np.nan, 50.0, 1.0),
        (100.0, np.nan, 1.0),
        (100.0, np.inf, 1.0),
        (-5.0, 50.0, 1.0),
        (np.inf, np.inf, 1.0),
    ],
)
def test_the_stretch_is_a_number_from_1_on(external: float, wanted: float, stretch: float) -> None:
    assert observed(external, wanted).stretch == stretch


def test_nodes_that_have_gone_are_not_counted() -> None:
    assert observed(1.0, 1.0).nodes == 2
