"""Requests: the revision that one leads to, and the record of what changed, in numbers and words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.routing.balance import imbalance, slot_loads
from rheostat.elastic.routing.requests import Change, Reassign, Rebalance, Request, Rescale, plan_of, revision_of
from rheostat.elastic.routing.table import even_routing

REQUESTS: st.SearchStrategy[Request] = st.one_of(
    st.integers(1, 12).map(Rescale), st.sampled_from([1.0, 1.2, 3.0]).map(Rebalance)
)
LOADS = st.lists(st.integers(0, 50).map(float), min_size=12, max_size=12).map(np.array)


def asked(request: Request, before: tuple[int, ...], loads: Floats, hottest: str = "") -> tuple[Revision, Change]:
    """What comes of a request, in an engine whose slots are numbered without gaps."""
    plan = OperatorPlan(np.array(before), np.zeros(max(before) + 1, dtype=np.int64))
    revision = revision_of(request, "by a", plan, loads, hottest)
    return revision, Change.between(before, tuple(revision.plan.routing.tolist()), revision, loads, 7)


@settings(max_examples=150, deadline=None)
@given(REQUESTS, st.integers(1, 12), LOADS)
def test_a_change_tells_what_happened_to_the_routing(request_: Request, slots: int, loads: Floats) -> None:
    before = even_routing(12, slots)
    revision, change = asked(request_, before, loads)
    after = revision.plan.routing
    wanted = request_.slots if isinstance(request_, Rescale) else slots
    assert revision.urgent
    assert (revision.operator, revision.plan.slots, len(revision.plan.nodes)) == ("by a", wanted, max(wanted, slots))
    assert revision.action == Action.between(slots, wanted)
    assert (change.epoch, change.component, change.slots) == (7, "by a", (slots, wanted))
    assert change.kind == revision.asked == type(request_).__name__.lower()
    assert change.moves == tuple((s, before[s], after[s]) for s in range(12) if before[s] != after[s])
    assert change.moved == len(change.moves)
    assert change.reason == "asked for"
    if isinstance(request_, Rebalance):
        measured = imbalance(slot_loads(after, loads, wanted))
        assert change.imbalance[1] == pytest.approx(measured, abs=1e-3)
        assert change.imbalance[1] <= change.imbalance[0]


@settings(max_examples=100, deadline=None)
@given(REQUESTS, st.integers(1, 12), LOADS)
def test_a_change_survives_a_way_through_json(request_: Request, slots: int, loads: Floats) -> None:
    _, change = asked(request_, even_routing(12, slots), loads)
    assert Change.from_json(json.loads(json.dumps(change.to_json()))) == change


def test_only_the_first_moves_are_listed() -> None:
    revision, change = asked(Rescale(2), (0,) * 256, np.zeros(256))
    assert change.moved == revision.plan.routing.sum() > 64
    assert len(change.moves) == 64


def test_a_routing_that_was_decided_on_elsewhere_is_taken_as_it_is() -> None:
    revision, change = asked(Reassign((0, 1, 2, 0)), (0, 0, 1, 1), np.array([3.0, 1.0, 1.0, 1.0]))
    assert revision.plan.routing.tolist() == [0, 1, 2, 0]
    assert (change.kind, change.slots, change.imbalance) == ("reassign", (2, 3), (1.333, 2.0))


def test_a_shard_that_no_placement_helps_is_named_with_its_key() -> None:
    loads = np.array([9.0, 1.0, 1.0, 1.0])
    revision, change = asked(Rebalance(), (0, 0, 1, 1), loads, hottest="area='ny'")
    assert revision.hot == change.hot == "shard 0 (area='ny') alone carries 75% of the work: no placement is balanced"
    assert change.reason == "asked for"
    _, nameless = asked(Rebalance(reason="uneven"), (0, 0, 1, 1), loads)
    assert nameless.hot == "shard 0 alone carries 75% of the work: no placement is balanced"
    _, quiet = asked(Rebalance(), (0, 0, 1, 1), np.ones(4), hottest="area='ny'")
    assert quiet.hot == ""


def test_a_request_that_is_refused_says_so_in_its_record() -> None:
    revision, _ = asked(Rebalance(), (0, 1), np.ones(2))
    change = Change.between((0, 1), (0, 1), revision, np.ones(2), 3, refused="it is already the plan in force")
    assert (change.kind, change.moved, change.reason) == ("rebalance", 0, "asked for; it is already the plan in force")


@pytest.mark.parametrize(("action", "kind"), [(Action.BALANCE, "rebalance"), (Action.SCALE_IN, "rescale")])
def test_what_a_policy_wants_has_a_kind_as_well(action: Action, kind: str) -> None:
    revision = Revision("by a", OperatorPlan.even(2, 2), action, ("because",))
    assert Change.between((0, 0), (0, 1), revision, np.ones(2), 0).kind == kind


# Plans with gaps in their slot numbers, and nodes


PLAN = OperatorPlan(np.array([1, 1, 4, 4, 4, 4]), np.array([-1, 0, -1, -1, 2, 2]))
"""Slots 1 on node 0 and 4 on node 2; slot 5 has no shard."""


def test_slots_keep_their_numbers_and_nodes_and_new_ones_get_higher_numbers() -> None:
    wanted = revision_of(Rescale(4), "a", PLAN, np.ones(6)).plan
    wanted.check(6, 3)
    assert wanted.used.tolist() == [1, 4, 6, 7]
    assert wanted.nodes[wanted.used].tolist() == [0, 2, 0, 0]  # node 2 had two slots, with the empty one


def test_scaling_in_leaves_the_first_slots() -> None:
    wanted = revision_of(Rescale(1), "a", PLAN, np.ones(6)).plan
    assert wanted.routing.tolist() == [1] * 6
    assert wanted.used.tolist() == [1]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_routing_becomes_a_plan_without_slots_that_have_no_shard(data: st.DataObject) -> None:
    nodes = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=1, max_size=6)))
    used = np.flatnonzero(nodes >= 0)
    if not len(used):
        return
    before = np.array(data.draw(st.lists(st.sampled_from(used.tolist()), min_size=8, max_size=8)))
    numbers = np.unique(before)
    slots = data.draw(st.integers(1, 8))
    routing = np.array(data.draw(st.permutations([*range(slots), *[0] * (8 - slots)])))
    found = plan_of(routing, OperatorPlan(before, nodes), numbers)
    found.check(8, 3)
    assert found.used.tolist() == np.unique(found.routing).tolist()
    assert len(np.unique(found.routing)) == slots
    kept = numbers[: min(slots, len(numbers))]
    assert found.nodes[kept].tolist() == nodes[kept].tolist()
    assert np.unique(found.routing, return_inverse=True)[1].tolist() == routing.tolist()
