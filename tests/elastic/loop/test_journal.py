"""Events and decisions: the real loop with a recording actuator and a clock set by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.loop.events import Event, EventKind, decisions_of, parsed
from rheostat.elastic.loop.journal import KEPT_DECISIONS, Journal, TurnRecord
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.loop.stored_proposal import Setting
from rheostat.elastic.model.observation import LatencySummary, Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from tests.elastic.loop.test_guarded_loop import LOADS, PLAN, SHARDS, Asks, Recorder

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SETTING = Setting("asks")


class Run:
    """A run of a query without Spark: a loop, an actuator that records, a journal, and a log that is a list."""

    def __init__(self, wanted: list[Any], log: list[Any] | None = None, committed: int = -1, **setting: Any) -> None:
        self.log = [] if log is None else log
        self.epoch = committed + 1
        self.actuator = Recorder()
        self.journal = Journal(parsed(json.loads(json.dumps(self.log))))
        events, resumed = self.journal.resume(PLAN, Setting(**{"policy": "asks", **setting}), committed, BEGIN)
        self._store(events)
        self.loop = PolicyLoop(Asks(wanted), PLAN, self.actuator, resumed=resumed)

    def turn(self, **seen: Any) -> list[Event]:
        """One turn before an epoch; what there was to say about it."""
        now = BEGIN + timedelta(seconds=self.epoch)
        observation = Observation(
            time=float(self.epoch),
            seconds=1.0,
            operators={},
            cores=np.array([4]),
            epoch=self.epoch - 1,
            **{"busy": 0.5, "latency": LatencySummary(10, 0.7, 0.6, 0.9), **seen},
        )
        found: list[Event] = []
        plan = self.actuator.plan

        def store(result: Any) -> None:
            found.extend(self.journal.after_turn(TurnRecord(result, observation, plan, self.epoch, now)))
            self._store(found)

        self.loop.turn(observation, plan, LOADS, store)
        self.epoch += 1
        return found

    def turns(self, number: int) -> list[Event]:
        return [event for _ in range(number) for event in self.turn()]

    def _store(self, events: Sequence[Event]) -> None:
        self.log += [event.to_json() for event in events]


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.kind.value for event in events]


def test_a_quiet_turn_says_nothing() -> None:
    assert Run([]).turns(5) == []


def test_a_decision_its_outcome_and_what_then_happened() -> None:
    run = Run([4])
    (made,) = run.turn()
    assert made.kind == EventKind.DECISION
    assert len(made.detail["routing"]) == SHARDS
    (decision,) = run.journal.decisions
    assert (decision.component, decision.action, decision.policy, decision.slots) == ("a", "scale out", "asks", (2, 4))
    assert (decision.reasons, decision.outcome, decision.epoch) == (("because",), "accepted", 0)
    assert decision.moved > 0
    assert decision.time == BEGIN
    assert run.turn() == []  # observed, and nobody knows yet what came of it
    assert run.journal.decisions[0].outcome == "observed after 1 s"
    assert isnan(run.journal.decisions[0].latency)
    (outcome,) = run.turn(latency=LatencySummary(5, 0.25, 0.2, 0.3), busy=0.125)
    assert outcome.kind == EventKind.OUTCOME
    (decision,) = run.journal.decisions
    assert (decision.latency, decision.seconds) == (0.25, 0.125)
    assert run.turns(3) == []
    assert decisions_of(parsed(run.log)) == run.journal.decisions


def test_a_user_is_named_and_so_is_a_refusal() -> None:
    run = Run([])
    run.loop.inbox.rescale(5, "a")
    run.turns(3)
    run.loop.inbox.rescale(5, "a")
    run.turns(2)
    first, second = run.journal.decisions
    assert (first.policy, first.slots, first.reasons) == ("user", (2, 5), ("asked for",))
    assert first.outcome.startswith("observed after")
    assert second.outcome == "refused: it is already the plan in force"


def test_what_a_policy_repeats_in_vain_is_told_once() -> None:
    run = Run([2, 2, 2, 4, None, None, 4])
    # two slots, evenly loaded, are the plan in force
    run.loop.control = replace(run.loop.control, allowed=(3, 8))
    events = run.turns(10)
    refused = [e for e in events if e.kind == EventKind.DECISION and e.values["outcome"].startswith("refused")]
    assert [e.values["slots"] for e in refused] == [(2, 2), (4, 4)]


def test_overload_is_said_when_it_begins_and_when_it_ends() -> None:
    run = Run([])
    hopeless = Proposal(reasons=("needs 9 slots, and 4 are allowed",), feasible=False)
    says = [Proposal(), hopeless, hopeless, hopeless, Proposal(reasons=("all is well",)), Proposal()]
    object.__setattr__(run.loop.control.policy, "decide", lambda history, plan: says.pop(0))
    events = run.turns(6)
    assert [(e.epoch, e.values["feasible"], e.values["reasons"]) for e in events] == [
        (1, False, ("needs 9 slots, and 4 are allowed",)),
        (4, True, ("all is well",)),
    ]
    assert [d.action for d in run.journal.decisions] == ["nothing", "nothing"]


def test_a_decision_that_says_the_promise_cannot_be_kept_is_enough() -> None:
    run = Run([])
    after = OperatorPlan.even(SHARDS, 4)
    best = Revision("a", after, Action.SCALE_OUT, ("the most there is",), feasible=False, expected=3.0)
    says = [Proposal((best,), feasible=False), Proposal(feasible=False), Proposal(feasible=False)]
    object.__setattr__(run.loop.control.policy, "decide", lambda history, plan: says.pop(0))
    events = run.turns(3)
    assert kinds(events) == ["decision", "outcome"]
    assert (events[0].values["feasible"], events[0].values["expected_latency"]) == (False, 3.0)


def test_failures_are_told_ever_more_rarely_and_the_end_is_told() -> None:
    run = Run([ZeroDivisionError("no")] * 20)
    events = run.turns(22)
    assert kinds(events) == ["policy failed"] * 5 + ["policy recovered"]
    assert [e.values["times"] for e in events] == [1, 2, 4, 8, 16, 20]
    assert events[0].values["why"] == "ZeroDivisionError: no"


def test_a_proposal_that_was_not_committed_is_resumed() -> None:
    killed = Run([None, None, 4])
    killed.turns(3)  # the decision is for epoch 2, which is never committed
    run = Run([], killed.log, committed=1)
    assert kinds(run.turns(1)) == []
    assert run.actuator.slots == [4]
    assert kinds(parsed(run.log)) == ["decision", "proposal resumed"]
    run.turns(2)
    (decision,) = run.journal.decisions
    assert decision.outcome == "observed after 1 s"
    assert (decision.epoch, decision.seconds) == (2, 0.5)
    assert decisions_of(parsed(run.log)) == [decision]


def test_a_proposal_is_resumed_as_often_as_it_takes() -> None:
    log: list[Any] = []
    Run([4], log).turn()
    for _ in range(3):
        run = Run([], log)
        run.turn()
        assert run.actuator.slots == [4]


def test_a_decision_that_was_committed_is_not_resumed() -> None:
    killed = Run([4])
    killed.turn()
    run = Run([], killed.log, committed=0)
    run.turns(2)
    assert run.actuator.slots == []
    assert run.journal.decisions[0].outcome == "applied, and the query ended before that was observed"
    assert Run([], run.log, committed=1).journal.decisions == run.journal.decisions


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"policy": "drs"}, "asks decided it, and the policy is drs now"),
        ({"slots": 3}, "it has 4 slots, and the query was started with slots=3"),
        ({"allowed": (1, 3)}, "it has 4 slots, and the query may have 1 to 3"),
    ],
)
def test_a_proposal_that_does_not_fit_is_dropped_with_a_reason(setting: dict[str, Any], why: str) -> None:
    killed = Run([4])
    killed.turn()
    run = Run([], killed.log, **setting)
    run.turns(2)
    assert run.actuator.slots == []
    assert [d.outcome for d in run.journal.decisions] == [f"dropped: {why}"]


def test_a_proposal_for_other_shards_or_components_is_dropped() -> None:
    killed = Run([4])
    killed.turn()
    for plan, why in (
        (Plan({"a": OperatorPlan.even(2 * SHARDS, 2)}, 1), "it routes 8 shards, but the component has 16"),
        (Plan({"b": OperatorPlan.even(SHARDS, 2)}, 1), "the topology has no such component any more"),
    ):
        journal = Journal(parsed(killed.log))
        events, revisions = journal.resume(plan, SETTING, -1, BEGIN)
        assert (kinds(events), revisions) == (["proposal dropped"], ())
        assert journal.decisions[0].outcome == f"dropped: {why}"


def test_a_users_request_is_resumed_under_any_policy_and_the_newest_counts() -> None:
    killed = Run([])
    killed.loop.inbox.rescale(5, "a")
    killed.turn()
    again = Run([], killed.log)  # killed again before epoch 0 was committed; meanwhile the user wants 6
    again.loop.inbox.rescale(6, "a")
    again.turn()
    run = Run([], again.log, policy="drs")
    run.turn()
    assert run.actuator.slots == [6]
    assert [d.outcome.partition(":")[0] for d in run.journal.decisions] == ["dropped", "accepted"]


def test_only_so_many_decisions_are_kept() -> None:
    run = Run([4, None, None, 2, None, None] * (KEPT_DECISIONS // 2 + 20))
    run.turns(6 * (KEPT_DECISIONS // 2 + 20))
    decisions = run.journal.decisions
    assert len(decisions) == KEPT_DECISIONS
    assert [d.number for d in decisions] == sorted(d.number for d in decisions)
    assert len(Journal(parsed(run.log)).decisions) == KEPT_DECISIONS


numbers = st.one_of(st.floats(0, 1e6), st.just(nan), st.just(inf))


@given(st.integers(0, 10**12), numbers, numbers, st.lists(st.text()), st.booleans(), st.text())
def test_a_decision_survives_json(
    number: int, latency: float, seconds: float, reasons: list[str], feasible: bool, component: str
) -> None:
    decision = Decision(
        number=number,
        epoch=number + 1,
        time=BEGIN + timedelta(microseconds=number),
        component=component,
        action="balance",
        policy="p",
        reasons=tuple(reasons),
        feasible=feasible,
        latency=latency,
        expected_seconds=seconds,
    )
    text = json.dumps(decision.to_json(), allow_nan=False)
    back = Decision.from_json(json.loads(text))
    assert back.to_json() == decision.to_json()
    assert back.time == decision.time


def test_an_event_of_a_newer_version_is_left_out() -> None:
    event = Event(number=1, epoch=0, time=BEGIN, kind=EventKind.PAUSED).to_json()
    assert kinds(parsed([{**event, "kind": "foretold"}, event, {**event, "who": "x"}, {}])) == ["policy paused"]


def test_a_decision_made_outside_the_loop_is_done_when_it_is_told() -> None:
    """It is read again after a restart, and nothing is left to resume."""
    journal = Journal()
    event = journal.state(7, BEGIN, component="enrich", action="deal by cost", policy="lpt", reasons=("costs differ",))
    again = Journal(parsed([json.loads(json.dumps(event.to_json()))]))
    events, revisions = again.resume(PLAN, SETTING, 3, BEGIN)
    assert (events, revisions) == ([], ())
    (decision,) = again.decisions
    assert (decision.epoch, decision.component, decision.outcome) == (7, "enrich", "applied")
    assert isnan(decision.expected_latency)
