"""Plans on Spark: what is decided becomes the routing of the next epoch, with records of what changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.baselines.plain_balance import Balance
from rheostat.elastic.baselines.static import Static
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.routing.requests import Reassign, Rebalance, Request, Rescale
from rheostat.spark.actuator import compact
from rheostat.spark.stage.task_reports import PartReport
from tests.spark.loops import SHARDS, Epochs, report, slots

# Requests


def test_without_requests_nothing_changes() -> None:
    query = Epochs(Static())
    found = query.begin()
    assert (found.routing, found.changes, found.moved, found.hot) == (query.actuator.routing, (), {}, {})


def test_a_request_takes_effect_when_an_epoch_begins() -> None:
    query = Epochs(Static())
    query.inbox.rescale(4)
    query.epoch = 5
    assert slots(query.actuator.routing) == 2
    found = query.begin()
    assert found.routing == query.actuator.routing
    assert {name: slots(found.routing, name) for name in found.routing} == {"by area": 4, "by user @1": 4, "global": 1}
    assert [(c.component, c.kind, c.slots, c.epoch) for c in found.changes] == [
        ("by area", "rescale", (2, 4), 5),
        ("by user @1", "rescale", (2, 4), 5),
    ]
    assert query.begin().changes == ()


def test_an_epoch_is_told_the_shards_that_moved() -> None:
    query = Epochs(Static())
    before = query.actuator.routing["by area"]
    query.inbox.rescale(4, "by area")
    found = query.begin()
    after = found.routing["by area"]
    assert found.moved == {"by area": tuple(s for s in range(SHARDS) if before[s] != after[s])}
    assert found.changes[0].moved == len(found.moved["by area"])


def test_a_rebalance_evens_out_what_was_measured() -> None:
    query = Epochs(Static())
    query.end(report({0: 6.0, 1: 3.0, 2: 2.0, 7: 1.0}))
    query.inbox.rebalance(1.2, "by area")
    (change,) = query.begin().changes
    assert change.kind == "rebalance"
    assert change.imbalance[1] <= 1.2 < change.imbalance[0]
    assert slots(query.actuator.routing) == 2


def test_a_rebalance_that_was_asked_for_is_told_even_if_nothing_moves() -> None:
    query = Epochs(Static())
    query.inbox.rebalance(1.2, "by area")
    (change,) = query.begin().changes
    assert (change.moved, change.reason) == (0, "asked for; it is already the plan in force")


def test_requests_follow_each_other_from_epoch_to_epoch() -> None:
    """Each is observed when the next epoch begins, so no rest and no change in progress is in the way of the next."""
    query = Epochs(Static())
    for wanted in (3, 8, 1, 5):
        query.inbox.rescale(wanted)
        query.begin()
        assert slots(query.actuator.routing) == slots(query.actuator.routing, "by user @1") == wanted
        query.end()


def test_the_routing_that_is_given_out_is_a_copy() -> None:
    query = Epochs(Static())
    query.actuator.routing["by area"] = (9,) * SHARDS
    assert slots(query.actuator.routing) == 2


# Plain balancing


def test_balance_is_kept_only_when_it_is_wanted_and_lost() -> None:
    uneven, even = report({0: 5.0, 1: 5.0, 7: 1.0}), report({0: 5.0, 7: 5.0})
    cases: list[tuple[Policy, PartReport, bool]] = [
        (Static(), uneven, False),
        (Balance(), even, False),
        (Balance(), uneven, True),
    ]
    for policy, measured, moves in cases:
        query = Epochs(policy)
        query.end(measured)
        assert bool(query.begin().changes) == moves
        query.end()
        assert query.begin().changes == ()
    query = Epochs(Balance())
    query.end(uneven)
    (change,) = query.begin().changes
    assert (change.kind, change.reason) == ("rebalance", "the busiest slot had 1.82 times the mean")


def test_balance_that_cannot_be_had_is_no_change_but_the_reason_is_told() -> None:
    query = Epochs(Balance())
    for _ in range(5):
        query.end(report({0: 9.0}))
        found = query.begin()
        assert found.changes == ()
        assert found.hot == {"by area": "shard 0 alone carries 100% of the work: no placement is balanced"}


def test_a_request_comes_before_the_policy() -> None:
    query = Epochs(Balance())
    query.inbox.rebalance(2.0, "by area")
    query.end(report({0: 5.0, 1: 5.0, 7: 0.1}), report({0: 5.0, 1: 5.0, 7: 0.1}, "by user @1"))
    theirs, ours = sorted(query.begin().changes, key=lambda c: c.component)
    assert (theirs.component, theirs.reason) == ("by area", "asked for; it is already the plan in force")
    assert (ours.component, ours.reason) == ("by user @1", "the busiest slot had 1.98 times the mean")


def test_loads_that_a_checkpoint_remembers_count() -> None:
    query = Epochs(Balance(), remembered={"by area": ((0, 5.0), (1, 5.0), (7, 1.0))})
    assert query.observer.loads["by area"].seconds.tolist() == [5.0, 5.0, 0, 0, 0, 0, 0, 1.0]
    (change,) = query.begin().changes
    assert change.reason == "the busiest slot had 1.82 times the mean"
    fresh = Epochs(Balance())
    assert fresh.begin().changes == ()


def test_looking_ahead_balances_the_rows_that_come_by_what_they_cost() -> None:
    """Rows of shard 0 cost ten times as much. Of the coming epoch, shards 0 and 1 share slot 0, and 4 is in slot 1."""
    query = Epochs(Balance(ahead=True))
    for shard, seconds in ((0, 10.0), (1, 1.0), (4, 1.0)):
        counted = {"by area": {shard: 10}}
        query.begin(counted)
        query.end(report({shard: seconds}), counted=counted)
    found = query.begin({"by area": {0: 5, 1: 50, 4: 1}})
    (change,) = found.changes
    assert change.reason.startswith("the busiest slot will have")
    assert found.routing["by area"][0] != found.routing["by area"][1]
    expected = {slot: seconds for (name, slot), seconds in found.expected.items() if name == "by area"}
    assert sum(expected.values()) == pytest.approx(5 * 1.0 + 50 * 0.1 + 0.1, rel=1e-6)
    assert query.begin({"by area": {}}).changes == ()


@pytest.mark.parametrize("policy", [Static(), Balance()])
def test_the_hottest_key_is_named_when_no_placement_helps(policy: Policy) -> None:
    query = Epochs(policy)
    query.end(report({0: 9.0, 1: 1.0}, hottest=(0, "area='ny'", 0.9)))
    if policy.name == "static":
        query.inbox.rebalance(1.2, "by area")
    found = query.begin()
    assert found.hot == {"by area": "shard 0 (area='ny') alone carries 90% of the work: no placement is balanced"}
    assert found.changes[0].hot == found.hot["by area"]


def test_expected_seconds_follow_the_new_routing() -> None:
    query = Epochs(Static())
    query.end(report({0: 4.0, 1: 2.0, 7: 1.0}), report({3: 5.0}, "global"))
    assert query.begin().expected == {
        ("by area", 0): 6.0,
        ("by area", 1): 1.0,
        ("by user @1", 0): 0.0,
        ("by user @1", 1): 0.0,
        ("global", 0): 5.0,
    }


# Any sequence of requests


ASKED: st.SearchStrategy[Request] = st.one_of(
    st.integers(1, SHARDS).map(Rescale),
    st.sampled_from([1.0, 1.2, 3.0]).map(Rebalance),
    st.integers(1, SHARDS).flatmap(
        lambda n: st.permutations([*range(n), *[0] * (SHARDS - n)]).map(lambda r: Reassign(tuple(r)))
    ),
)
EPOCHS = st.lists(
    st.tuples(st.one_of(st.none(), ASKED), st.lists(st.integers(0, 9), min_size=SHARDS, max_size=SHARDS)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(EPOCHS, st.sampled_from([Static(), Balance()]))
def test_every_request_is_carried_out_once_in_the_next_epoch(
    epochs: list[tuple[Request | None, list[int]]], policy: Policy
) -> None:
    query = Epochs(policy)
    for request, seconds in epochs:
        before = query.actuator.routing
        if isinstance(request, Rescale):
            query.inbox.rescale(request.slots, "by area")
        elif isinstance(request, Rebalance):
            query.inbox.rebalance(request.threshold, "by area")
        elif isinstance(request, Reassign):
            query.inbox.reassign("by area", request.routing)
        found = query.begin()
        after = found.routing["by area"]
        assert sorted(set(after)) == list(range(max(after) + 1))
        assert compact(query.actuator.plan.operators["by area"]) == query.actuator.routing["by area"] == after
        moved = [s for s in range(SHARDS) if before["by area"][s] != after[s]]
        assert found.moved.get("by area", ()) == tuple(moved)
        records = [c for c in found.changes if c.component == "by area"]
        if request is not None:
            assert [c.kind for c in records] == [type(request).__name__.lower()]
            assert records[0].moved == len(moved)
        if isinstance(request, Rescale):
            assert len(set(after)) == request.slots
        if isinstance(request, Reassign):
            assert after == request.routing
        work = {slot: {s: float(seconds[s]) for s in range(SHARDS) if after[s] == slot} for slot in set(after)}
        query.end(*(report(shards, slot=slot) for slot, shards in work.items()))


# Plans with gaps


def test_slot_numbers_with_gaps_become_tasks_without() -> None:
    query = Epochs(Static())
    gaps = OperatorPlan(np.array([2, 2, 2, 2, 5, 5, 9, 9]), np.array([-1, -1, 0, -1, -1, 0, -1, -1, -1, 0]))
    query.actuator.apply(Plan({**query.actuator.plan.operators, "by area": gaps}, 1))
    found = query.begin()
    assert found.routing["by area"] == (0, 0, 0, 0, 1, 1, 2, 2)
    assert query.actuator.plan.operators["by area"] is gaps
    query.end(report({0: 1.0}, slot=0), report({4: 2.0}, slot=1), report({6: 3.0}, slot=2))
    assert query.observer.newest.operators["by area"].useful.tolist() == [0, 0, 1, 0, 0, 2, 0, 0, 0, 3]
    query.inbox.rescale(2, "by area")
    assert slots(query.begin().routing) == 2


def test_a_routing_that_a_user_asks_for_is_taken_as_it_is_although_slot_numbers_have_gaps() -> None:
    query = Epochs(Static())
    gaps = OperatorPlan(np.array([2, 2, 2, 2, 5, 5, 9, 9]), np.array([-1, -1, 0, -1, -1, 0, -1, -1, -1, 0]))
    query.actuator.apply(Plan({**query.actuator.plan.operators, "by area": gaps}, 1))
    query.begin()
    query.inbox.reassign("by area", (0, 0, 1, 1, 2, 2, 3, 3))
    found = query.begin()
    assert found.routing["by area"] == (0, 0, 1, 1, 2, 2, 3, 3)
    assert found.moved == {"by area": (2, 3, 4, 5, 6, 7)}


def test_compact_leaves_routings_without_gaps_alone() -> None:
    assert compact(OperatorPlan.even(6, 3)) == (0, 0, 1, 1, 2, 2)
