"""Deciding again over a recording: the same policy gives the same decisions, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.loop.actuation import RequestError
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.loop.turn import Turn
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.policies import Balance, Static
from rheostat.elastic.record.decision_replay import first_difference, replay_decisions
from rheostat.elastic.record.recording import Header, LineWriter, RecordedComponent, RecordedTurn, Recording
from rheostat.errors import ConfigurationError
from tests.elastic.situations import EVERY, crossed, world


@dataclass
class Cluster:
    """Obeys every plan at once, but fails now and then."""

    plan: Plan
    fails: tuple[int, ...] = ()
    calls: int = field(default=0)

    def apply(self, plan: Plan) -> None:
        self.calls += 1
        if self.calls in self.fails:
            raise RequestError("no room")
        self.plan = plan


def recorded_run(policy: Policy, turns: int = 12, fails: tuple[int, ...] = ()) -> Recording:
    """A run with a load that grows, users' requests and failures, written as lines and read back."""
    fluid = world(policy, 30.0, operators=("a", "b"))
    cluster = Cluster(fluid.plan, fails)
    loop, lines = PolicyLoop(policy, fluid.plan, cluster), LineWriter()
    text = [lines.header(header_of(policy, fluid.plan))]
    for number in range(turns):
        fluid.rates["a"][:4] *= 1.2
        if number == 5:
            loop.inbox.rescale(3, "a")
        seen, plan = fluid.step(), cluster.plan
        result = loop.turn(seen, plan, {name: np.ones(len(p.routing)) for name, p in plan.operators.items()})
        text.append(lines.turn(turn_of(number, seen, plan, result)))
        fluid.plan = cluster.plan
    return Recording.of(text)


def header_of(policy: Policy, plan: Plan) -> Header:
    components = tuple(RecordedComponent(name, len(part.routing)) for name, part in plan.operators.items())
    return Header(topology="test", components=components, plan=plan, policy=policy.name)


def turn_of(number: int, seen: Any, plan: Plan, result: Turn) -> RecordedTurn:
    return RecordedTurn(
        epoch=number,
        observation=seen,
        plan=plan,
        asked=result.asked,
        accepted=result.accepted,
        refused=result.refused,
        proposal=result.proposal,
        request=result.request,
        failure=result.failure,
    )


@crossed()
def test_the_same_policy_decides_the_same(name: str) -> None:
    recording = recorded_run(EVERY[name](), fails=(1, 3))
    assert any(t.accepted for t in recording.turns)
    assert any(t.failure for t in recording.turns)
    again = replay_decisions(recording, EVERY[name]())
    assert first_difference(recording.turns, again) is None


def test_another_policy_differs_and_the_first_difference_is_named() -> None:
    recording = recorded_run(Balance())
    first = next(n for n, t in enumerate(recording.turns) if t.proposal.revisions)
    difference = first_difference(recording.turns, replay_decisions(recording, Static()))
    assert difference is not None
    assert (difference.turn, difference.epoch) == (first, first)
    assert difference.recorded != difference.again


def test_one_bit_is_a_difference() -> None:
    recording = recorded_run(Balance(), turns=2)
    plan = Plan({"a": OperatorPlan(np.array([0]), np.array([0]))}, 1)
    other = Plan({"a": OperatorPlan(np.array([0]), np.array([1]))}, 1)
    one, two = (replace(recording.turns[0], request=p) for p in (plan, other))
    assert first_difference([one], [two]) is not None
    assert first_difference([one], [one]) is None


def test_a_recording_from_the_middle_cannot_be_decided_again() -> None:
    recording = recorded_run(Static(), turns=1)
    partial = Recording(replace(recording.header, complete=False), recording.turns)
    with pytest.raises(ConfigurationError, match="began in the middle of a run"):
        replay_decisions(partial, Static())
