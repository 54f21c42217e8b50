"""Requests for another routing: held until an epoch begins, refused if they cannot be met, safe from any thread."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import pytest

from rheostat.elastic.routing.requests import Change
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import even_routing
from rheostat.errors import TopologyError
from rheostat.planning.tables import Component
from rheostat.spark.epoch.control import Control
from rheostat.spark.stage.task_reports import PartReport

SHARDS = 8
COMPONENTS = [
    Component("by area", 0, ("area",), ("a",)),
    Component("by user @1", 1, ("user",), ("b",)),
    Component("global", 0, (), ("c",)),
]


def control(balance: float | None = None, slots: int = 2) -> Control:
    routing = {c.name: even_routing(SHARDS, slots if c.attributes else 1) for c in COMPONENTS}
    return Control(COMPONENTS, routing, {c.name: ShardLoads.none(SHARDS) for c in COMPONENTS}, balance)


def report(shards: dict[int, float], component: str = "by area", **more: Any) -> PartReport:
    return PartReport(component, 0, shards=shards, **more)


def slots(routing: Any, component: str = "by area") -> int:
    return len(set(routing[component]))


def refused(message: str) -> Any:
    return pytest.raises(TopologyError, match=message)


def test_without_requests_nothing_changes() -> None:
    asked = control()
    turn = asked.turn(0)
    assert (turn.routing, turn.changes, turn.moved) == (asked.routing, (), {})


def test_a_request_takes_effect_when_an_epoch_begins() -> None:
    asked = control()
    asked.rescale(4)
    assert slots(asked.routing) == 2
    turn = asked.turn(5)
    assert turn.routing == asked.routing
    assert {name: slots(turn.routing, name) for name in turn.routing} == {"by area": 4, "by user @1": 4, "global": 1}
    assert [(c.component, c.kind, c.slots, c.epoch) for c in turn.changes] == [
        ("by area", "rescale", (2, 4), 5),
        ("by user @1", "rescale", (2, 4), 5),
    ]
    assert asked.turn(6).changes == ()


def test_a_turn_names_the_shards_that_moved() -> None:
    asked = control()
    before = asked.routing["by area"]
    asked.rescale(4, "by area")
    turn = asked.turn(0)
    after = turn.routing["by area"]
    assert turn.moved == {"by area": tuple(s for s in range(SHARDS) if before[s] != after[s])}
    assert turn.changes[0].moved == len(turn.moved["by area"])


def test_one_component_may_be_changed_alone() -> None:
    asked = control()
    asked.rescale(3, "by user @1")
    turn = asked.turn(0)
    assert (slots(turn.routing), slots(turn.routing, "by user @1")) == (2, 3)


def test_the_last_number_of_slots_counts() -> None:
    asked = control()
    for n in (3, 8, 5):
        asked.rescale(n)
    (change, _) = asked.turn(0).changes
    assert change.slots == (2, 5)


@pytest.mark.parametrize("first", ["rescale", "rebalance"])
def test_a_rescale_wins_over_a_rebalance(first: str) -> None:
    asked = control()
    for what in (first, "rebalance" if first == "rescale" else "rescale"):
        if what == "rescale":
            asked.rescale(4, "by area")
        else:
            asked.rebalance(1.2, "by area")
    (change,) = asked.turn(0).changes
    assert (change.kind, change.slots) == ("rescale", (2, 4))


def test_a_rebalance_evens_out_what_was_measured() -> None:
    asked = control()
    asked.observe([report({0: 6.0, 1: 3.0, 2: 2.0, 7: 1.0})])
    asked.rebalance(1.2, "by area")
    (change,) = asked.turn(1).changes
    assert change.kind == "rebalance"
    assert change.imbalance[1] <= 1.2 < change.imbalance[0]
    assert slots(asked.routing) == 2


def test_a_rebalance_that_was_asked_for_is_told_even_if_nothing_moves() -> None:
    asked = control()
    asked.rebalance(1.2, "by area")
    (change,) = asked.turn(0).changes
    assert (change.moved, change.reason) == (0, "asked for")


@pytest.mark.parametrize("component", ["by zip", "global", "a", ""])
def test_components_that_cannot_be_routed_are_refused(component: str) -> None:
    message = f"no component '{component}' can be routed anew; there are by area, by user @1"
    with refused(message):
        control().rescale(2, component)
    with refused(message):
        control().rebalance(1.2, component)


def test_a_topology_without_keys_says_so() -> None:
    only = Control(COMPONENTS[2:], {"global": (0,) * SHARDS}, {"global": ShardLoads.none(SHARDS)})
    only.rescale(4)
    assert only.turn(0).changes == ()
    with refused("there are none"):
        only.rescale(4, "global")


@pytest.mark.parametrize("wanted", [0, -3, SHARDS + 1])
def test_slots_out_of_range_are_refused_and_leave_no_request(wanted: int) -> None:
    asked = control()
    with refused(f"slots={wanted}: a component has between 1 and {SHARDS} slots, one per shard at most"):
        asked.rescale(wanted)
    assert asked.turn(0).changes == ()


@pytest.mark.parametrize("threshold", [0.99, 0, -1])
def test_thresholds_below_one_are_refused(threshold: float) -> None:
    with refused(f"threshold={threshold}: the most loaded slot never has less than the mean, which is 1"):
        control().rebalance(threshold)


def test_balance_is_kept_only_when_it_is_wanted_and_lost() -> None:
    uneven, even = [report({0: 5.0, 1: 5.0, 7: 1.0})], [report({0: 5.0, 7: 5.0})]
    for balance, reports, moves in ((None, uneven, False), (1.2, even, False), (1.2, uneven, True)):
        asked = control(balance)
        asked.observe(reports)
        assert bool(asked.turn(1).changes) == moves
        assert asked.turn(2).changes == ()
    asked = control(1.2)
    asked.observe(uneven)
    (change,) = asked.turn(1).changes
    assert change.reason == "the busiest slot had 1.82 times the mean"


def test_balance_that_cannot_be_had_is_no_change_but_the_reason_is_told() -> None:
    asked = control(1.2)
    for epoch in range(5):
        asked.observe([report({0: 9.0})])
        turn = asked.turn(epoch)
        assert turn.changes == ()
        assert turn.hot == {"by area": "shard 0 alone carries 100% of the work: no placement is balanced"}


def test_a_request_of_the_users_is_not_replaced_by_a_wish_for_balance() -> None:
    asked = control(1.2)
    asked.rebalance(2.0, "by area")
    asked.observe([report({0: 5.0, 1: 5.0, 7: 0.1})])
    (change,) = asked.turn(0).changes
    assert change.reason == "asked for"


def test_loads_are_summed_over_the_slots_of_a_component() -> None:
    asked = control()
    asked.observe([report({0: 1.0, 1: 2.0}), report({1: 3.0}), report({1: 7.0}, "by user @1")])
    assert asked.loads["by area"].to_pairs() == ((0, 1.0), (1, 5.0))
    assert asked.loads["by user @1"].to_pairs() == ((1, 7.0),)
    assert asked.loads["global"].to_pairs() == ()


def test_the_hottest_key_is_that_with_most_work_of_all() -> None:
    asked = control()
    asked.observe(
        [
            report({0: 1.0}, hottest=(0, "area='small'", 1.0)),
            report({5: 3.0}, hottest=(5, "area='large'", 0.5)),
            report({6: 1.0}),
        ]
    )
    key, share = asked.hottest["by area"]
    assert key == "area='large'"
    assert share == pytest.approx(0.3)
    asked.observe([report({0: 1.0})])
    assert asked.hottest == {}


def test_the_hottest_key_is_named_when_no_placement_helps() -> None:
    asked = control()
    asked.observe([report({0: 9.0, 1: 1.0}, hottest=(0, "area='ny'", 0.9))])
    asked.rebalance(1.2, "by area")
    turn = asked.turn(1)
    assert turn.hot == {"by area": "shard 0 (area='ny') alone carries 90% of the work: no placement is balanced"}
    assert turn.changes[0].hot == turn.hot["by area"]


def test_the_routing_that_is_given_out_is_a_copy() -> None:
    asked = control()
    asked.routing["by area"] = (9,) * SHARDS
    assert slots(asked.routing) == 2


def test_requests_from_many_threads_and_turns_do_not_get_lost() -> None:
    asked = control()
    begin = threading.Barrier(5)
    changes: list[Change] = []

    def ask(number: int) -> None:
        begin.wait()
        for i in range(60):
            if i % 2:
                asked.rescale(1 + (i + number) % SHARDS)
            else:
                asked.rebalance(1.2)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    begin.wait()
    epoch = 0
    while any(t.is_alive() for t in threads):
        changes += asked.turn(epoch).changes
        epoch += 1
    for thread in threads:
        thread.join()
    asked.rescale(3)
    changes += asked.turn(epoch).changes
    assert slots(asked.routing) == slots(asked.routing, "by user @1") == 3
    for name in ("by area", "by user @1"):
        rescales = [c.slots for c in changes if c.component == name and c.kind == "rescale"]
        assert all(a[1] == b[0] for a, b in pairwise(rescales))
