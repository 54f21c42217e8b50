"""The scheduler's part of the protocol, message by message."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import CostSketch, Greedy, LptGrouping, Phase, Posg, RoundRobin, SketchReport, SyncReply
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)


def report(slot: int, number: int = 1, costs: tuple[float, ...] = (3.0, 1.0)) -> SketchReport:
    """Return the report of a slot in which items 0, 1, ... take these seconds."""
    return SketchReport(slot, number, CostSketch.empty().updated(np.arange(len(costs)), costs))


def ready(slots: int = 2, **options: Any) -> Posg:
    """Return a scheduler that has just received a report from every slot."""
    state = Posg(slots, **options)
    for slot in range(slots):
        state = state.receive(report(slot), now=0.0)
    return state


def waiting(slots: int = 2, **options: Any) -> Posg:
    """Return a scheduler that has just sent a request to every slot, with tuples of item 1."""
    _, state = ready(slots, **options).submit([1] * slots, now=0.0)
    return state


def loads(state: Posg) -> list[float]:
    assert state.work is not None
    return [float(load) for load in state.work.loads]


def reply(state: Posg, slot: int, difference: float, epoch: int = 1, now: float = 1.0) -> Posg:
    return state.receive(SyncReply(slot, epoch, difference), now)


def test_tuples_go_round_until_every_slot_has_reported() -> None:
    state = Posg(2).receive(report(0), now=0.0).receive(report(0, number=2), now=1.0)
    assert state.phase is Phase.ROUND_ROBIN
    submission, state = state.submit([0, 0, 0], now=2.0)
    assert (submission.slots.tolist(), submission.requests) == ([0, 1, 0], ())
    assert state.submit([0], now=2.0)[0].slots.tolist() == [1]
    assert state.receive(report(1), now=3.0).phase is Phase.SEND_ALL


def test_one_tuple_per_slot_carries_a_request_and_its_estimate() -> None:
    state = ready(3)
    submission, state = state.submit([0, 1], now=1.0)
    assert [(p, r.slot, r.epoch, r.estimate) for p, r in submission.requests] == [(0, 0, 1, 3.0), (1, 1, 1, 1.0)]
    assert state.phase is Phase.SEND_ALL
    submission, state = state.submit([1, 1, 0], now=2.0)
    assert [(p, r.slot, r.estimate) for p, r in submission.requests] == [(0, 2, 1.0)]
    assert (submission.slots.tolist(), state.phase) == ([2, 1, 2], Phase.WAIT_ALL)  # then the least loaded
    assert loads(state) == [3.0, 2.0, 4.0]


def test_loads_are_corrected_when_all_have_replied() -> None:
    state = reply(waiting(), 0, 0.5)
    assert (state.phase, loads(state)) == (Phase.WAIT_ALL, [1.0, 1.0])
    state = reply(state, 1, -0.25)
    assert (state.phase, loads(state)) == (Phase.RUN, [1.5, 0.75])


def test_a_reply_counts_once_and_only_in_its_epoch() -> None:
    state = reply(reply(reply(waiting(), 0, 0.5), 0, 9.0), 1, 9.0, epoch=2)
    assert (state.phase, dict(state.replies)) == (Phase.WAIT_ALL, {0: 0.5})
    state = reply(state, 1, 0.0)
    assert loads(reply(reply(state, 0, 0.5), 1, 9.0, epoch=0)) == [1.5, 1.0]


def test_a_lost_reply_is_waited_for_until_the_limit() -> None:
    state = reply(waiting(reply_limit=10.0), 0, 0.5)
    assert state.tick(9.9).phase is Phase.WAIT_ALL
    state = state.tick(10.0)
    assert (state.phase, loads(state)) == (Phase.RUN, [1.5, 1.0])
    late = reply(state, 1, 2.0, now=50.0)
    assert loads(late) == [1.5, 3.0]  # a late reply still counts
    assert loads(reply(late, 1, 2.0, now=51.0)) == [1.5, 3.0]
    submission, _ = reply(waiting(reply_limit=10.0), 0, 5.0).submit([1], now=11.0)
    assert submission.slots.tolist() == [1]  # submitting looks at the time as well


def test_a_slot_that_never_reports_is_estimated_by_the_others() -> None:
    state = Posg(3, report_limit=20.0)
    state = state.receive(report(0, costs=(2.0,)), now=5.0).receive(report(2, costs=(4.0,)), now=6.0)
    assert state.tick(24.9).phase is Phase.ROUND_ROBIN
    state = state.tick(25.0)
    assert state.phase is Phase.SEND_ALL
    assert state.work is not None
    assert [state.work.estimates.cost(slot, 0) for slot in range(3)] == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("phase", [Phase.SEND_ALL, Phase.WAIT_ALL, Phase.RUN])
def test_a_new_report_begins_an_epoch_in_every_phase(phase: Phase) -> None:
    state = ready() if phase is Phase.SEND_ALL else waiting()
    state = reply(reply(state, 0, 0.0), 1, 0.0) if phase is Phase.RUN else state
    assert state.phase is phase
    before = loads(state)
    state = state.receive(report(1, number=2, costs=(7.0,)), now=1.0)
    assert (state.phase, state.epoch, loads(state)) == (Phase.SEND_ALL, 2, before)
    assert state.work is not None
    assert state.work.estimates.cost(1, 0) == 7.0
    assert reply(state, 0, 9.0, epoch=2).replies == {}  # no request was sent yet


def test_an_old_or_repeated_report_is_ignored() -> None:
    state = waiting().receive(report(0, number=5, costs=(7.0,)), now=1.0)
    for number in (5, 4, 1):
        after = state.receive(report(0, number=number, costs=(1.0,)), now=2.0)
        assert (after.epoch, after.reports[0].number) == (state.epoch, 5)


def test_slots_are_asked_again_after_so_many_tuples() -> None:
    state = reply(reply(waiting(resync=4), 0, 0.0), 1, 0.0)
    assert state.undisturbed == 4
    _, state = state.submit([1, 1, 1], now=2.0)
    assert (state.phase, state.undisturbed) == (Phase.RUN, 1)
    _, state = state.submit([1, 1], now=2.0)  # a batch is not cut
    submission, state = state.submit([1, 1, 1], now=3.0)
    assert ([r.epoch for _, r in submission.requests], state.phase) == ([2, 2], Phase.WAIT_ALL)
    assert Posg(2).undisturbed == ready().undisturbed > 10**9


def test_whole_batches_are_placed_longest_first_by_all_sketches_together() -> None:
    state = Posg(2, longest_first=True)
    state = state.receive(report(0, costs=(2.0, 1.0)), now=0.0).receive(report(1, costs=(4.0, 1.0)), now=0.0)
    assert isinstance(state.work, LptGrouping)
    assert [state.work.estimates.cost(slot, 0) for slot in (0, 1)] == [3.0, 3.0]
    submission, _ = state.submit([1, 1, 1, 1, 1, 0], now=1.0)
    assert submission.slots.tolist() == [0, 1, 1, 1, 1, 0]
    assert type(ready().work) is Greedy


@QUICK
@given(st.lists(st.integers(0, 5), max_size=20), st.booleans(), st.booleans())
def test_slots_execute_the_shortest_first_behind_what_carries_requests(
    items: list[int], longest_first: bool, asking: bool
) -> None:
    options: dict[str, Any] = {"longest_first": longest_first, "reply_limit": 1.0}
    states = [
        (ready if asking else lambda *a, **o: waiting(*a, **o).tick(2.0))(3, shortest_inside=inside, **options)
        for inside in (False, True)
    ]
    (plain, _), (submission, after) = (state.submit(np.array(items, dtype=np.int64), now=0.5) for state in states)
    assert plain.order is None
    assert submission.slots.tolist() == plain.slots.tolist()  # where a tuple goes does not depend on it
    assert submission.order is not None
    order, carrying = submission.order.tolist(), len(submission.requests)
    assert sorted(order) == list(range(len(items)))
    assert order[:carrying] == [position for position, _ in submission.requests] == list(range(carrying))
    assert after.work is not None
    estimates = after.work.estimates.merged.costs(np.array(items, dtype=np.int64))[order[carrying:]]
    assert (np.diff(estimates) >= 0).all()


@QUICK
@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 40), st.sampled_from(list(Phase)))
def test_later_tuples_of_a_batch_do_not_change_earlier_ones(items: list[int], cut: int, phase: Phase) -> None:
    states = {Phase.ROUND_ROBIN: Posg(3), Phase.SEND_ALL: ready(3), Phase.WAIT_ALL: waiting(3)}
    state = states.get(phase, waiting(3, reply_limit=1.0).tick(2.0))
    assert state.phase is phase
    stream = np.array(items, dtype=np.int64)
    whole, _ = state.submit(stream, now=0.5)
    first, after = state.submit(stream[:cut], now=0.5)
    second, _ = after.submit(stream[cut:], now=0.5)
    assert whole.slots.tolist() == [*first.slots.tolist(), *second.slots.tolist()]
    assert [r for _, r in whole.requests] == [r for _, r in (*first.requests, *second.requests)]


def test_as_a_grouping_it_sends_no_requests() -> None:
    slots, after = ready().assign([0, 1, 1, 1, 0])
    assert (slots.tolist(), loads(after)) == ([0, 1, 1, 1, 0], [6.0, 3.0])
    assert [r.slot for _, r in after.submit([1, 1], now=1.0)[0].requests] == [0, 1]  # still to be asked
    assert Posg(2).assign([0, 0, 0])[0].tolist() == [0, 1, 0]


@QUICK
@given(st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=6), st.integers(1, 5), st.sampled_from(list(Phase)))
def test_as_a_grouping_it_is_greedy_in_every_phase(batches: list[list[int]], resync: int, phase: Phase) -> None:
    """Also if a synchronisation is due."""
    options: dict[str, Any] = {"resync": resync, "reply_limit": 10.0}
    states = {Phase.ROUND_ROBIN: Posg(3, **options), Phase.SEND_ALL: ready(3, **options)}
    state = states.get(phase, waiting(3, **options))
    state = state.tick(10.0) if phase is Phase.RUN else state
    assert state.phase is phase
    expected: Greedy | RoundRobin = state.work or RoundRobin(3)
    for batch in batches:
        slots, state = state.assign(np.array(batch, dtype=np.int64))
        plain, expected = expected.assign(np.array(batch, dtype=np.int64))
        assert slots.tolist() == plain.tolist()
        assert (state.phase, state.deadline) == (phase, 10.0 if phase is Phase.WAIT_ALL else math.inf)
    if phase is Phase.RUN:
        assert state.undisturbed == resync - sum(map(len, batches))


def test_unseen_items_cost_the_given_seconds() -> None:
    wide = CostSketch.empty(columns=997).updated([0, 1], [3.0, 1.0])
    for unseen, cost in ((None, 2.0), (0.0, 0.0), (5.0, 5.0)):
        for longest_first in (False, True):
            state = Posg(1, longest_first=longest_first, unseen=unseen).receive(SketchReport(0, 1, wide), now=0.0)
            assert state.work is not None
            assert [state.work.estimates.cost(0, item) for item in (0, 1, 7)] == [3.0, 1.0, cost]
    with pytest.raises(ConfigurationError, match="unseen=-1"):
        wide.cells(-1.0)


def test_invalid_arguments_are_refused() -> None:
    wrong: list[dict[str, Any]] = [{"slots": 0}, {"slots": 1, "reply_limit": 0.0}, {"slots": 1, "resync": -1}]
    for options in (*wrong, {"slots": 1, "report_limit": math.nan}):
        with pytest.raises(ConfigurationError, match="scheduler needs"):
            Posg(**options)
    with pytest.raises(ConfigurationError, match="has slots 0 to 1"):
        Posg(2).receive(report(2), now=0.0)
    with pytest.raises(ConfigurationError, match="difference of nan"):
        reply(waiting(), 0, math.nan)
