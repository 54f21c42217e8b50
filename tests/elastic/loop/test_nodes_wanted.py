"""Another number of nodes: within its range, a user before the policy, and told of until it is observed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.loop.events import Event, EventKind
from rheostat.elastic.loop.inbox import Inbox
from rheostat.elastic.loop.journal import Journal, TurnRecord
from rheostat.elastic.loop.stored_proposal import Setting
from rheostat.elastic.loop.turn import Control, Turn, turn
from rheostat.elastic.model.node_range import NodeRange
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import OperatorPlan, Plan, Proposal
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.errors import ConfigurationError

PLAN = Plan({"sums": OperatorPlan.even(8, 2)}, nodes=2)
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Wants:
    """A policy that always wants the same number of nodes."""

    nodes: int | None = None
    name: str = "wants"
    pause: Pause = Pause.NONE
    waits: Waits = Waits()
    on_spark: bool = True
    ahead: bool = False

    def begin(self, plan: Plan) -> None:
        return None

    def learn(self, history: Any, observation: Observation) -> Any:
        return history

    def decide(self, history: Any, plan: Plan) -> Proposal:
        return Proposal(nodes=self.nodes, reasons=("it is busy",))


def seen(nodes: int, epoch: int = 0) -> Observation:
    cores = np.ones(nodes, dtype=np.int64)
    return Observation(time=float(epoch), seconds=1.0, operators={}, cores=cores, epoch=epoch)


def turned(wants: int | None, *, asked: int | None = None, allowed: NodeRange | None = None, fixed: str = "") -> Turn:
    control = Control.start(Wants(wants), PLAN, None, allowed, fixed)
    return turn(control, seen(2), PLAN, asked_nodes=asked)


def test_a_number_of_nodes_is_requested_until_the_plan_has_it() -> None:
    first = turned(4, allowed=NodeRange(1, 8))
    assert first.request is not None
    assert first.request.nodes == 4
    still = turn(replace(first.control, policy=Wants(None)), seen(2), PLAN)
    assert still.request is not None
    assert still.request.nodes == 4
    assert still.node_change is None
    assert turn(still.control, seen(2), replace(PLAN, nodes=4)).request is None


def test_a_number_out_of_range_becomes_the_nearest() -> None:
    result = turned(20, allowed=NodeRange(1, 3))
    assert result.request is not None
    assert result.request.nodes == 3
    assert result.node_change is not None
    assert result.node_change.reasons[-1] == "20 nodes would be needed, and the query may have 1 to 3"


def test_a_user_comes_before_the_policy() -> None:
    result = turned(4, asked=1, allowed=NodeRange(1, 8))
    assert result.request is not None
    assert result.request.nodes == 1
    assert result.node_change is not None
    assert result.node_change.asked


def test_a_fixed_number_is_refused_and_follows_the_plan() -> None:
    result = turned(4, fixed="local[2] is one node")
    assert result.request is None
    assert result.node_change is not None
    assert result.node_change.refused == "local[2] is one node"
    grown = turn(result.control, seen(3), replace(PLAN, nodes=3))
    assert grown.request is None


def test_the_inbox_keeps_the_newest_number() -> None:
    inbox = Inbox({"sums": 8})
    inbox.rescale_nodes(3)
    inbox.rescale_nodes(5)
    assert inbox.take_nodes() == 5
    assert inbox.take_nodes() is None
    with pytest.raises(ConfigurationError, match="nodes=0: a query needs at least 1 node"):
        inbox.rescale_nodes(0)


class Told:
    """A journal that is told of turns, one per second."""

    def __init__(self, events: list[Event] | None = None) -> None:
        self.journal = Journal(events or [])
        self.events = list(events or [])
        self.epoch = 0

    def turn(self, result: Turn, there: int) -> list[Event]:
        self.epoch += 1
        at = START + timedelta(seconds=self.epoch)
        told = self.journal.after_turn(TurnRecord(result, seen(there, self.epoch), PLAN, self.epoch, at))
        self.events += told
        return told

    @property
    def last(self) -> Decision:
        return self.journal.decisions[-1]


def test_a_decision_is_open_until_its_nodes_are_there() -> None:
    told, quiet = Told(), turned(None)
    told.turn(turned(4, allowed=NodeRange(1, 8)), there=2)
    assert (told.last.nodes, told.last.action, told.last.outcome) == ((2, 4), "scale out", "accepted")
    told.turn(quiet, there=3)
    assert told.last.outcome == "accepted"
    told.turn(quiet, there=4)
    assert told.last.outcome == "observed after 2 s"
    (event,) = told.turn(quiet, there=4)
    assert (event.kind, event.values["outcome"]) == (EventKind.OUTCOME, "observed after 2 s")


def test_a_decision_that_another_one_overtakes_is_told_as_replaced() -> None:
    told = Told()
    told.turn(turned(4, allowed=NodeRange(1, 8)), there=2)
    told.turn(turned(1, allowed=NodeRange(1, 8)), there=3)
    first, second = told.journal.decisions
    assert first.outcome == "replaced: 3 of 4 nodes were there when 1 were wanted"
    assert second.nodes == (2, 1)


def test_a_refused_number_is_told_once() -> None:
    told = Told()
    refused = turned(4, fixed="local[2] is one node")
    assert [event.values["outcome"] for event in told.turn(refused, there=1)] == ["refused: local[2] is one node"]
    assert told.turn(refused, there=1) == []
    assert told.journal.nodes is None


@pytest.mark.parametrize(
    ("allowed", "kind", "nodes"),
    [
        (NodeRange(1, 8), EventKind.RESUMED, 4),
        (NodeRange(1, 3), EventKind.DROPPED, None),
        (None, EventKind.DROPPED, None),
    ],
)
def test_a_new_run_goes_on_with_the_number_if_it_may(
    allowed: NodeRange | None, kind: EventKind, nodes: int | None
) -> None:
    told = Told()
    told.turn(turned(4, allowed=NodeRange(1, 8)), there=2)
    again = Journal([Event.from_json(event.to_json()) for event in told.events])
    assert again.nodes == 4
    events, revisions = again.resume(PLAN, Setting("wants", nodes=allowed), 0, START)
    assert [event.kind for event in events] == [kind]
    assert revisions == ()
    assert again.nodes == nodes


def test_a_new_run_begins_with_the_number_that_was_observed_last() -> None:
    told = Told()
    told.turn(turned(4, allowed=NodeRange(1, 8)), there=2)
    told.turn(turned(None), there=4)
    told.turn(turned(None), there=4)
    again = Journal(told.events)
    events, _ = again.resume(PLAN, Setting("wants", nodes=NodeRange(1, 8)), 3, START)
    assert (events, again.nodes) == ([], 4)
