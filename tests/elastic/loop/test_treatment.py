"""Treat: proposals until they are observed, failures, time limits and rests, with a recording actuator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.loop import treatment as module
from rheostat.elastic.loop.treatment import Treatment, propose, record_failure
from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.model.policy import Waits
from rheostat.elastic.streamswitch.diagnose import diagnose, moved
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.readings import Metrics
from rheostat.errors import ConfigurationError

Routing = tuple[int, ...]
START: Routing = (0, 0, 1)


def plan(routing: Routing) -> OperatorPlan:
    slots = np.arange(max(routing) + 1)
    return OperatorPlan(np.array(routing), np.where(np.isin(slots, routing), 0, -1))


def wish(action: Action = Action.BALANCE, *moves: tuple[int, int]) -> Revision:
    return Revision("count", plan(moved(START, moves or ((0, 1),))), action, ("because",))


def step(state: Treatment, observed: Routing, now: float) -> tuple[Treatment, Routing | None]:
    state, request = module.step(state, plan(observed), now)
    return state, None if request is None else tuple(request.routing.tolist())


def treat(state: Treatment, actuator: Recording | Fluid, observed: Routing, now: float) -> Treatment:
    """One interval: step, and request what is to be requested."""
    state, request = module.step(state, plan(observed), now)
    if request is None:
        return state
    try:
        actuator.request(request)
    except OSError as error:
        return record_failure(state, str(error), now)
    return state


@dataclass
class Recording:
    """An actuator that writes down what it is asked, and fails when told to."""

    asked: list[Routing] = field(default_factory=list)
    failing: bool = False

    def request(self, plan: OperatorPlan) -> None:
        self.asked.append(tuple(plan.routing.tolist()))
        if self.failing:
            raise OSError("no such cluster")


def accepted(state: Treatment, proposal: Revision, now: float) -> Treatment:
    state, fine = propose(state, proposal, now)
    assert fine, state.notes
    return state


def test_a_proposal_is_requested_in_every_interval_until_it_is_observed() -> None:
    actuator, state = Recording(), accepted(Treatment(plan(START)), wish(), 0.0)
    for now in (0.0, 1.0, 2.0):
        state = treat(state, actuator, START, now)
        assert state.active
        assert state.requested is not None
        assert state.requested.times == now + 1
    state = treat(state, actuator, (1, 0, 1), 3.0)
    assert not state.active
    assert actuator.asked == [(1, 0, 1)] * 3
    assert "observed, 3 s after it was accepted" in state.notes[-1]
    # And nothing more.
    assert treat(state, actuator, (1, 0, 1), 4.0).notes == state.notes
    assert len(actuator.asked) == 3


def test_it_is_requested_on_top_of_what_is_observed() -> None:
    state = accepted(Treatment(plan(START)), wish(), 0.0)
    # Somebody else has moved shard 1 meanwhile.
    state, request = step(state, (0, 2, 1), 1.0)
    assert request == (1, 2, 1)
    state, request = step(state, (1, 2, 1), 2.0)
    assert (state.active, request) == (False, None)


def test_only_one_at_a_time() -> None:
    state = accepted(Treatment(plan(START)), wish(), 0.0)
    state, fine = propose(state, wish(Action.SCALE_OUT, (1, 2)), 100.0)
    assert not fine
    assert state.notes[-1] == "100 s: scale out refused: balance is in progress"


def test_what_is_not_observed_in_time_is_given_up() -> None:
    actuator, state = Recording(), accepted(Treatment(plan(START), Waits(limit=5)), wish(), 10.0)
    for now in range(10, 20):
        state = treat(state, actuator, START, float(now))
    assert not state.active
    assert len(actuator.asked) == 5
    assert state.notes[-1] == "15 s: balance given up: not observed within 5 s"


def test_failures_are_tried_again_and_then_given_up() -> None:
    actuator, state = Recording(failing=True), accepted(Treatment(plan(START), Waits(attempts=3)), wish(), 0.0)
    state = treat(state, actuator, START, 0.0)
    assert state.notes[-1] == "0 s: balance failed, 1 of 3: no such cluster"
    state = treat(state, actuator, START, 1.0)
    assert state.active
    state = treat(state, actuator, START, 2.0)
    assert not state.active
    assert "given up after failure 3 of 3" in state.notes[-1]
    # A failure in between is survived.
    actuator, state = Recording(failing=True), accepted(Treatment(plan(START)), wish(), 0.0)
    state = treat(state, actuator, START, 0.0)
    actuator.failing = False
    state = treat(treat(state, actuator, START, 1.0), actuator, (1, 0, 1), 2.0)
    assert (state.active, "observed" in state.notes[-1]) == (False, True)


def test_rest_after_a_change_and_longer_before_a_scale_in() -> None:
    waits = Waits(rest=2, calm=10)
    done, _ = step(accepted(Treatment(plan(START), waits), wish(), 0.0), (1, 0, 1), 5.0)
    inwards, again = wish(Action.SCALE_IN, (1, 1)), wish(Action.BALANCE, (1, 1))
    assert [propose(done, again, t)[1] for t in (5.0, 6.9, 7.0)] == [False, False, True]
    assert [propose(done, inwards, t)[1] for t in (7.0, 14.9, 15.0)] == [False, False, True]
    assert "ended 1.5 s ago, and balance waits 2 s" in propose(done, again, 6.5)[0].notes[-1]
    assert propose(done, replace(inwards, urgent=True), 5.0)[1]
    # The first of all does not wait, and giving up is followed by rest as well.
    given_up = record_failure(accepted(Treatment(plan(START), Waits(attempts=1, rest=2)), wish(), 0.0), "no", 1.0)
    assert [propose(given_up, again, t)[1] for t in (2.0, 3.0)] == [False, True]


def test_what_cannot_or_need_not_be_done_is_refused() -> None:
    state = Treatment(plan(START))
    after, fine = propose(state, replace(wish(), action=Action.NOTHING), 0.0)
    assert (fine, after.notes, after.active) == (False, (), False)
    assert "already the plan in force" in propose(state, wish(Action.BALANCE, (0, 0)), 0.0)[0].notes[-1]
    other = replace(wish(), plan=plan((0, 1, 1, 1)))
    assert "routes 4 shards, but the operator has 3" in propose(state, other, 0.0)[0].notes[-1]


def test_a_failure_while_nothing_is_in_progress_is_only_noted() -> None:
    state = record_failure(Treatment(plan(START)), "no such cluster", 3.0)
    assert (state.active, state.notes) == (False, ("3 s: a request failed: no such cluster",))
    assert step(state, START, 4.0)[1] is None


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": float("inf")}, {"attempts": 0}, {"rest": 20, "calm": 10}])
def test_waits_without_a_limit_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        Waits(**wrong)


def test_time_neither_goes_back_nor_stops_being_a_number() -> None:
    state = accepted(Treatment(plan(START), Waits(limit=5)), wish(), 10.0)
    for now in (3.0, float("nan"), float("inf"), -float("inf")):
        later, request = step(state, START, now)
        assert (later.time, later.active, request) == (10.0, True, (1, 0, 1))


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["propose", "step", "fail"]),
        st.floats(0, 3),
        st.tuples(st.integers(0, 2), st.integers(0, 2)),
        st.sampled_from([Action.SCALE_IN, Action.BALANCE, Action.SCALE_OUT]),
        st.booleans(),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_nothing_is_in_progress_for_longer_than_the_limit(
    events: list[tuple[str, float, tuple[int, int], Action, bool]],
) -> None:
    waits = Waits(limit=4, attempts=2, rest=1, calm=3)
    state, now, observed = Treatment(plan(START), waits), 0.0, START
    last_end = -float("inf")
    for kind, seconds, move, action, comes_true in events:
        now += seconds
        was = state
        if kind == "propose":
            state, fine = propose(state, wish(action, move), now)
            if fine:
                assert not was.active
                assert now - last_end >= (waits.calm if action == Action.SCALE_IN else waits.rest)
        elif kind == "step":
            state, request = step(state, observed, now)
            assert (request is not None) >= state.active
            if request is not None:
                assert len(request) == len(START)
                observed = request if comes_true else observed
            if state.requested is not None:
                assert now - state.requested.since < waits.limit
        else:
            state = record_failure(state, "no", now)
        assert (state.desired is None) == (state.requested is None)
        assert len(state.notes) <= 20
        if was.active and not state.active:
            last_end = now


class Fluid:
    """An operator whose rows flow: slots serve their shards in proportion to what waits, and obey an interval later."""

    def __init__(self, routing: tuple[int, ...], service: float) -> None:
        self.routing, self.service = routing, service
        self.arrived, self.completed = np.zeros(len(routing)), np.zeros(len(routing))
        self.next = routing

    def request(self, plan: OperatorPlan) -> None:
        self.next = tuple(plan.routing.tolist())

    def interval(self, end: float, seconds: float, arrival: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Metrics:
        self.arrived = self.arrived + arrival * seconds
        useful, place = {}, np.array(self.routing)
        for slot in set(self.routing):
            waits = np.where(place == slot, self.arrived - self.completed, 0.0)
            done = min(float(waits.sum()), self.service * seconds)
            self.completed = self.completed + (waits * done / waits.sum() if done else 0.0)
            useful[slot] = done / self.service
        routing, self.routing = self.routing, self.next
        return Metrics(end, self.arrived.copy(), self.completed.copy(), useful, routing)


@pytest.mark.parametrize(
    ("rate", "most", "fewest", "enough"), [(250.0, 64, 6, True), (40.0, 64, 1, True), (250.0, 3, 3, False)]
)
def test_examine_diagnose_and_treat_bound_the_latency_together(
    rate: float, most: int, fewest: int, enough: bool
) -> None:
    shards, limits = 16, Limits(max_slots=most)
    engine = Fluid((0,) * shards, 1000.0)
    state, treatment = Examination.start(shards), Treatment(plan(engine.routing), Waits(calm=2.0))
    arrival, story = np.full(shards, rate), []
    for i in range(1, 801):
        now = 0.1 * i
        # Six times as much for five seconds; then the load is what it was.
        state = advance(state, engine.interval(now, 0.1, arrival * (6.0 if 150 <= i < 200 else 1.0)))
        if not treatment.active:
            found = diagnose(readings(state), limits)
            revision = Revision("count", plan(tuple(found.routing)), found.action, found.reasons)
            treatment, fine = propose(treatment, revision, now)
            story += [(now, found.action)] if fine else []
        treatment = treat(treatment, engine, engine.routing, now)
        assert len(set(engine.routing)) <= most
    end = readings(state)
    assert story
    assert len(end.slots) >= fewest
    # It comes to rest, and with what is needed.
    assert all(now < 60 for now, _ in story)
    if enough:
        assert end.latency.max() <= limits.bound
        assert len(end.slots) <= 2 * fewest
        assert {Action.SCALE_OUT, Action.SCALE_IN} <= {action for _, action in story}
