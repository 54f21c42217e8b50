"""What the loop keeps when the components of a query change, and what the journal says of layouts."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from rheostat.elastic.baselines.static import Static
from rheostat.elastic.loop.events import Event, EventKind, decisions_of
from rheostat.elastic.loop.journal import Journal, TurnRecord
from rheostat.elastic.loop.loop import PolicyLoop
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.errors import ConfigurationError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Recorded:
    """An actuator that remembers what was requested."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def apply(self, plan: Plan) -> None:
        self.plans.append(plan)


def plan(*names: str) -> Plan:
    return Plan({name: OperatorPlan.even(4, 2) for name in names}, 1)


def seen(time: float) -> Observation:
    return Observation(time=time, seconds=1.0, operators={}, cores=np.array([2]))


def test_the_loop_goes_on_with_new_components() -> None:
    actuator = Recorded()
    loop = PolicyLoop(Static(), plan("old", "stays"), actuator)
    loop.inbox.rescale(3, "old")
    loop.inbox.rescale(4, "stays")
    loop.follow(plan("stays", "new"))
    with pytest.raises(ConfigurationError, match="no component 'old'"):
        loop.inbox.rescale(2, "old")
    loads = {name: np.ones(4) for name in ("stays", "new")}
    turn = loop.turn(seen(1.0), plan("stays", "new"), loads)
    assert [(r.operator, r.plan.slots) for r in turn.accepted] == [("stays", 4)]
    assert set(actuator.plans[0].operators) == {"stays", "new"}


def test_decisions_in_progress_are_dropped_with_the_components_they_are_about() -> None:
    journal, loop = Journal(), PolicyLoop(Static(), plan("old"), Recorded())
    loop.inbox.rescale(3)
    first = loop.turn(seen(1.0), plan("old"), {"old": np.ones(4)})
    journal.after_turn(TurnRecord(first, seen(1.0), plan("old"), 5, NOW))
    assert [d.outcome for d in journal.decisions] == ["accepted"]
    (event,) = journal.abandon(6, NOW, "operators are fused anew")
    assert event.kind == EventKind.DROPPED
    assert journal.decisions[0].outcome == "dropped: operators are fused anew"
    loop.follow(plan("new"))
    second = loop.turn(seen(2.0), plan("new"), {"new": np.ones(4)})
    assert journal.after_turn(TurnRecord(second, seen(2.0), plan("new"), 6, NOW)) == []
    assert journal.abandon(7, NOW, "again") == []


def test_a_layout_is_told_once() -> None:
    journal = Journal()
    reasons = ("table t", "0.9 partials per row")
    event = journal.change_form("combined", "by key", 7, NOW, 3, reasons)
    assert event is not None
    stored = Event.from_json(event.to_json())
    again = Journal([stored])
    assert again.change_form("combined", "by key", 7, NOW, 3, reasons) is None, "the epoch is repeated after a crash"
    assert again.change_form("split", "by key", 9, NOW, 3, ("table t", "0.1")) is not None
    (decision,) = decisions_of([stored])
    assert (decision.action, decision.policy, decision.outcome) == ("combined", "layout", "applied")
    assert (decision.epoch, decision.slots, decision.reasons) == (7, (3, 3), reasons)
