"""Users' requests: kept until the next turn, refused if they cannot be met, safe from any thread."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from rheostat.elastic.loop.inbox import Inbox
from rheostat.elastic.routing.requests import Reassign, Rebalance, Request, Rescale
from rheostat.errors import ConfigurationError

SHARDS = 8


def inbox() -> Inbox:
    return Inbox({"by area": SHARDS, "by user @1": SHARDS})


def refused(message: str) -> Any:
    return pytest.raises(ConfigurationError, match=message)


def test_nobody_asked_for_anything() -> None:
    assert inbox().take() == {}


def test_requests_are_taken_once() -> None:
    asked = inbox()
    asked.rescale(4)
    assert asked.take() == {"by area": Rescale(4), "by user @1": Rescale(4)}
    assert asked.take() == {}


def test_one_operator_may_be_changed_alone() -> None:
    asked = inbox()
    asked.rescale(3, "by user @1")
    asked.rebalance(1.5, "by area")
    assert asked.take() == {"by user @1": Rescale(3), "by area": Rebalance(1.5)}


def test_the_last_number_of_slots_counts() -> None:
    asked = inbox()
    for slots in (3, 8, 5):
        asked.rescale(slots, "by area")
    assert asked.take() == {"by area": Rescale(5)}


@pytest.mark.parametrize("first", ["rescale", "rebalance"])
def test_a_rescale_wins_over_a_rebalance(first: str) -> None:
    asked = inbox()
    for what in (first, "rebalance" if first == "rescale" else "rescale"):
        if what == "rescale":
            asked.rescale(4, "by area")
        else:
            asked.rebalance(1.2, "by area")
    assert asked.take() == {"by area": Rescale(4)}


def test_a_routing_may_be_given() -> None:
    asked = inbox()
    asked.reassign("by area", (0, 1) * 4)
    assert asked.take() == {"by area": Reassign((0, 1) * 4)}


@pytest.mark.parametrize("wrong", [(0,) * 7, (0,) * 9, (0, 2) * 4, (1,) * 8, (), (-1, 0) * 4])
def test_routings_with_gaps_or_of_another_length_are_refused(wrong: tuple[int, ...]) -> None:
    asked = inbox()
    with refused("the routing of 'by area' needs a slot for each of its 8 shards, and slot numbers without gaps"):
        asked.reassign("by area", wrong)
    assert asked.take() == {}


@pytest.mark.parametrize("operator", ["by zip", "global", "a", ""])
def test_operators_that_cannot_be_routed_are_refused(operator: str) -> None:
    message = f"no component '{operator}' can be routed anew; there are by area, by user @1"
    with refused(message):
        inbox().rescale(2, operator)
    with refused(message):
        inbox().rebalance(1.2, operator)
    with refused(message):
        inbox().reassign(operator, (0,) * 8)


def test_a_topology_without_keys_says_so() -> None:
    asked = Inbox({})
    asked.rescale(4)
    assert asked.take() == {}
    with refused("there are none"):
        asked.rescale(4, "global")


@pytest.mark.parametrize("wanted", [0, -3, SHARDS + 1])
def test_slots_out_of_range_are_refused_and_leave_no_request(wanted: int) -> None:
    asked = inbox()
    with refused(f"slots={wanted}: a component has between 1 and {SHARDS} slots, one per shard at most"):
        asked.rescale(wanted)
    assert asked.take() == {}


def test_slots_that_only_one_operator_can_have_are_refused_for_all() -> None:
    asked = Inbox({"large": 16, "small": 4})
    with refused("slots=8: a component has between 1 and 4 slots"):
        asked.rescale(8)
    assert asked.take() == {}


def test_slots_that_are_not_a_whole_number_are_refused_and_leave_no_request() -> None:
    asked = inbox()
    with refused("slots=4.0: must be a whole number"):
        asked.rescale(4.0)  # type: ignore[arg-type]
    assert asked.take() == {}


@pytest.mark.parametrize("threshold", [0.99, 0, -1, float("nan")])
def test_thresholds_below_one_are_refused(threshold: float) -> None:
    with refused(f"threshold={threshold}: must be 1 or more, since the most loaded slot never has less than the mean"):
        inbox().rebalance(threshold)


def test_a_request_that_came_too_early_waits_for_the_next_turn() -> None:
    asked = inbox()
    asked.put_back({"by area": Rescale(3)})
    assert asked.take() == {"by area": Rescale(3)}


def test_a_request_that_has_come_since_is_newer_than_one_that_came_too_early() -> None:
    asked = inbox()
    asked.rescale(4, "by area")
    asked.rebalance(1.2, "by user @1")
    asked.put_back({"by area": Rescale(3), "by user @1": Rescale(5)})
    assert asked.take() == {"by area": Rescale(4), "by user @1": Rescale(5)}


def test_a_request_for_all_operators_is_taken_as_a_whole() -> None:
    """Another thread takes or asks while a request is being added: it never sees a part of it."""
    names = [str(i) for i in range(200)]
    asked = Inbox(dict.fromkeys(names, SHARDS))

    def ask(slots: int) -> None:
        for _ in range(30):
            asked.rescale(slots)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(slots,)) for slots in (2, 3)]
        for thread in threads:
            thread.start()
        taken = []
        while any(t.is_alive() for t in threads):
            taken.append(asked.take())
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    taken.append(asked.take())
    assert {len(requests) for requests in taken} <= {0, len(names)}
    assert all(len(set(requests.values())) <= 1 for requests in taken)


def test_requests_from_many_threads_do_not_get_lost() -> None:
    asked = inbox()
    begin = threading.Barrier(5)
    taken: list[dict[str, Request]] = []

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
    while any(t.is_alive() for t in threads):
        taken.append(asked.take())
    for thread in threads:
        thread.join()
    asked.rescale(3)
    taken.append(asked.take())
    assert taken[-1] == {"by area": Rescale(3), "by user @1": Rescale(3)}
    assert asked.take() == {}
