"""The loop of a query whose policy fails, is paused or asks for too much; and what is stored before it is requested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.loop.turn import PolicyError, Turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits

SHARDS = 8
LOADS = {"a": np.ones(SHARDS), "b": np.ones(SHARDS)}
PLAN = Plan({"a": OperatorPlan.even(SHARDS, 2), "b": OperatorPlan.even(SHARDS, 1)}, 1)


@dataclass
class Recorder:
    """An actuator that records what is requested, and has it in force at once."""

    plan: Plan = PLAN
    requested: list[Plan] = field(default_factory=list)

    def apply(self, plan: Plan) -> None:
        self.requested.append(plan)
        self.plan = plan

    @property
    def slots(self) -> list[int]:
        return [plan.operators["a"].slots for plan in self.requested]


@dataclass
class Asks:
    """Asks for slots of one of two operators, in every turn for the next number; an error is raised."""

    wanted: list[Any]
    waits: Waits = Waits(rest=0.0, calm=0.0)
    name: str = "asks"
    pause: Pause = Pause.NONE
    on_spark: bool = True
    ahead: bool = False
    learned: list[int] = field(default_factory=list)

    def begin(self, plan: Plan) -> int:
        return 0

    def learn(self, history: int, observation: Observation) -> int:
        self.learned.append(observation.epoch)
        return history + 1

    def decide(self, history: int, plan: Plan) -> Proposal:
        wanted = self.wanted.pop(0) if self.wanted else None
        if isinstance(wanted, BaseException):
            raise wanted
        if wanted is None:
            return Proposal()
        after = OperatorPlan.even(SHARDS, wanted)
        action = Action.between(plan.operators["a"].slots, wanted)
        return Proposal((Revision("a", after, action, ("because",)),))


def seen(epoch: int) -> Observation:
    return Observation(time=float(epoch), seconds=1.0, operators={}, cores=np.array([4]), epoch=epoch)


def made(wanted: list[Any], **options: Any) -> tuple[PolicyLoop, Recorder, Callable[[int], Turn]]:
    recorder = Recorder()
    loop = PolicyLoop(Asks(wanted), PLAN, recorder, **options)
    return loop, recorder, lambda epoch: loop.turn(seen(epoch), recorder.plan, LOADS)


def test_a_policy_that_raises_is_left_out_and_users_are_served() -> None:
    loop, recorder, turn = made([ZeroDivisionError("no rows"), 4])
    loop.inbox.rescale(3, "a")
    result = turn(1)
    assert str(result.policy_error) == "ZeroDivisionError: no rows"
    assert result.policy_error is not None
    assert "decide" in result.policy_error.trace
    assert recorder.slots == [3]
    assert not result.decided
    assert loop.control.history == 1  # it has learned, and failed to decide
    assert turn(2).policy_error is None  # nothing is remembered against it
    assert recorder.slots == [3, 4]


def test_a_policy_that_returns_nonsense_is_left_out() -> None:
    loop, recorder, turn = made([])
    object.__setattr__(loop.control.policy, "decide", lambda history, plan: "more, please")
    loop.inbox.rescale(3, "a")
    failure = turn(1).policy_error
    assert failure is not None
    assert str(failure).startswith("AttributeError")
    assert recorder.slots == [3]


def test_a_change_in_progress_is_carried_on_without_the_policy() -> None:
    @dataclass
    class Slow(Recorder):
        def apply(self, plan: Plan) -> None:
            self.requested.append(plan)

    recorder = Slow()
    loop = PolicyLoop(Asks([4, None, None]), PLAN, recorder)
    loop.turn(seen(1), PLAN, LOADS)
    object.__setattr__(loop.control.policy, "learn", None)
    assert loop.turn(seen(2), PLAN, LOADS).policy_error is not None
    assert recorder.slots == [4, 4]
    done = loop.turn(seen(3), recorder.requested[0], LOADS)
    assert done.control.treatments["a"].ended is not None
    assert done.control.treatments["a"].ended.outcome == "observed after 2 s"


def test_what_a_guard_refuses_is_not_what_the_policy_said_later() -> None:
    late: list[Turn] = []

    def guard(run: Callable[[], Turn]) -> Turn:
        late.append(run())  # it came too late
        raise PolicyError("too slow")

    loop, recorder, turn = made([4], guard=guard)
    result = turn(1)
    assert [r.plan.slots for r in late[0].accepted] == [4]
    assert loop.control.history == 0
    assert (recorder.slots, str(result.policy_error)) == ([], "too slow")
    assert not loop.control.treatments["a"].active


def test_a_paused_policy_learns_and_decides_nothing() -> None:
    loop, recorder, turn = made([4, 5])
    loop.paused = True
    loop.inbox.rescale(3, "a")
    assert not turn(1).decided
    turn(2)
    assert recorder.slots == [3]
    assert loop.control.history == 2
    loop.paused = False
    assert turn(3).decided
    assert recorder.slots == [3, 4]


def test_a_policy_stays_within_its_range_and_a_user_may_leave_it() -> None:
    loop, recorder, turn = made([1, 7, 4], allowed=(2, 6))
    assert [r.why for r in turn(1).refused] == ["it has 1 slots, and the query may have 2 to 6"]
    assert [r.why for r in turn(2).refused] == ["it has 7 slots, and the query may have 2 to 6"]
    turn(3)
    loop.inbox.rescale(8, "a")
    turn(4)
    assert recorder.slots == [4, 8]


def test_what_is_not_stored_is_not_requested() -> None:
    loop, recorder, _ = made([4])

    def full(result: Turn) -> None:
        assert recorder.requested == []
        assert [r.plan.slots for r in result.accepted] == [4]
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        loop.turn(seen(1), PLAN, LOADS, full)
    assert recorder.requested == []


def test_stored_revisions_come_before_the_policy_and_after_users() -> None:
    stored = Revision("a", OperatorPlan.even(SHARDS, 5), Action.SCALE_OUT, ("stored",), urgent=True)
    _, recorder, turn = made([4, 3], resumed=[stored])
    result = turn(1)
    assert [r.reasons for r in result.accepted] == [("stored",)]
    assert recorder.slots == [5]
    turn(2)
    turn(3)
    assert recorder.slots == [5, 3]
    loop, recorder, turn = made([], resumed=[stored])
    loop.inbox.rescale(3, "a")
    refused = turn(1).refused
    assert recorder.slots == [3]
    assert [(r.revision, r.why) for r in refused] == [
        (stored, "another change of the same operator was accepted in this turn")
    ]
