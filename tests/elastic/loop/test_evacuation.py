"""Shards leave nodes that have gone, whatever the plan: none is dropped, and no node has more slots than cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.loop.evacuation import evacuate
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan


def part(routing: list[int], nodes: list[int]) -> OperatorPlan:
    return OperatorPlan(np.array(routing), np.array(nodes))


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, Any]:
    """Two operators on three nodes with room for all of them, and the cores after some nodes have gone."""
    parts = {}
    for name in ("a", "b"):
        nodes = draw(st.lists(st.integers(-1, 2), min_size=1, max_size=6).filter(lambda n: max(n) >= 0))
        used = [slot for slot, node in enumerate(nodes) if node >= 0]
        parts[name] = part(draw(st.lists(st.sampled_from(used), min_size=1, max_size=12)), nodes)
    plan = Plan(parts, 3)
    cores = plan.cores(3) + np.array(draw(st.lists(st.integers(0, 3), min_size=3, max_size=3)))
    left = draw(st.lists(st.booleans(), min_size=3, max_size=3))
    return plan, np.where(left, cores, 0)


@settings(max_examples=300, deadline=None)
@given(plans())
def test_no_shard_is_dropped_and_what_runs_fits(case: tuple[Plan, Any]) -> None:
    plan, cores = case
    found = evacuate(plan, cores)
    after = plan.revised(found.revisions)
    assert found.stuck == bool(found.reasons)
    for name, new in after.operators.items():
        new.check(len(plan.operators[name].routing), 3)
        old = plan.operators[name]
        stays = np.flatnonzero((old.nodes >= 0) & (new.nodes[: len(old.nodes)] >= 0))
        assert (old.nodes[stays] == new.nodes[stays]).all()  # no number changes its node
    if not found.stuck:
        assert (after.cores(3) <= cores).all()
    elif (cores > 0).any():
        # Somebody is helpless only if those who lost slots left no core.
        lost = {name for name, p in plan.operators.items() if (cores[p.nodes[p.used]] == 0).any()}
        moved = plan.revised(r for r in found.revisions if r.operator in lost)
        assert (moved.cores(3) >= cores)[cores > 0].all()


def test_an_operator_without_any_slot_comes_before_one_that_has_some() -> None:
    """Three slots of a and the only ones of b and c have gone; two cores are free."""
    plan = Plan({"a": part([0, 1, 2, 3], [0, 1, 1, 1]), "b": part([0], [1]), "c": part([0, 1], [1, 1])}, 2)
    found = evacuate(plan, np.array([3, 0]))
    assert not found.stuck
    assert plan.revised(found.revisions).slots() == {"a": 1, "b": 1, "c": 1}


def test_nothing_happens_while_all_nodes_are_there_or_nothing_is_known() -> None:
    plan = Plan({"a": OperatorPlan.even(4, 2, 2)}, 2)
    for cores in (np.array([1, 1]), np.zeros(0, dtype=np.int64)):
        found = evacuate(plan, cores)
        assert (found.revisions, found.reasons, found.stuck) == ((), (), False)


def test_without_any_core_nothing_is_proposed_and_that_is_said() -> None:
    found = evacuate(Plan({"a": OperatorPlan.even(4, 2, 2)}, 2), np.array([0, 0]))
    assert (found.revisions, found.reasons) == ((), ("no node has a core left",))


def test_a_node_beyond_those_that_are_known_has_gone() -> None:
    found = evacuate(Plan({"a": part([0, 1], [0, 5])}, 6), np.array([2, 2]))
    assert found.revisions[0].plan.nodes.tolist() == [0, -1, 1]


def test_the_slot_with_most_shards_gets_the_free_core_and_the_others_go_where_fewest_are() -> None:
    """Slots 2 and 3 go; one core is free. Slot 3 has three shards and gets it; the shard of slot 2 goes to slot 1."""
    plan = Plan({"a": part([0, 0, 1, 2, 3, 3, 3], [0, 0, 1, 1])}, 2)
    (revision,) = evacuate(plan, np.array([3, 0])).revisions
    assert revision.plan.nodes.tolist() == [0, 0, -1, -1, 0]
    assert revision.plan.routing.tolist() == [0, 0, 1, 1, 4, 4, 4]
    assert (revision.action, revision.urgent) == (Action.SCALE_IN, True)


def test_an_operator_that_has_no_slot_left_gets_the_core_of_one_that_has_several() -> None:
    plan = Plan({"a": part([0, 0], [1]), "b": part([0, 0, 1], [0, 0])}, 2)
    cores = np.array([2, 0])
    first = evacuate(plan, cores)
    assert first.stuck
    assert [(r.operator, r.action) for r in first.revisions] == [("b", Action.SCALE_IN)]
    assert first.revisions[0].plan.routing.tolist() == [0, 0, 0]
    second = evacuate(plan.revised(first.revisions), cores)
    assert [(r.operator, r.plan.nodes.tolist()) for r in second.revisions] == [("a", [-1, 0])]
    assert not second.stuck


def test_slots_without_shards_get_no_new_core() -> None:
    (revision,) = evacuate(Plan({"a": part([0], [0, 1])}, 2), np.array([4, 0])).revisions
    assert revision.plan.nodes.tolist() == [0, -1]
