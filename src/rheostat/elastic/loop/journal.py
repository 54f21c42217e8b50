"""The journal of a query: turns the results of the loop's turns into events, and keeps the recent decisions.

It writes nothing itself, and time enters through parameters: ``rheostat.spark.decision_log`` stores the events before
the plan of the turn is requested. A turn in which nothing happened gives no event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite, isnan, nan
from typing import Any

import numpy as np

from rheostat.elastic.loop.acceptance import Refusal
from rheostat.elastic.loop.decision import ACCEPTED, APPLIED, LAYOUT, USER, Decision, to_number
from rheostat.elastic.loop.events import Event, EventKind, apply
from rheostat.elastic.loop.forecast import settled_length
from rheostat.elastic.loop.node_wish import NodeWish, newest_wish
from rheostat.elastic.loop.pace import sustained
from rheostat.elastic.loop.stored_proposal import Setting, StoredProposal, newest_by_component
from rheostat.elastic.loop.turn import Turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Revision

KEPT_DECISIONS = 1000
"""How many decisions a journal keeps."""


@dataclass(frozen=True, eq=False)
class TurnRecord:
    """A turn of the loop, with what it was given.

    Attributes:
        result: the result of the turn.
        seen: the observation that the turn was given.
        plan: the plan in force before the turn.
        epoch: the epoch that is about to begin.
        time: when the turn was made, in UTC.
    """

    result: Turn
    seen: Observation
    plan: Plan
    epoch: int
    time: datetime


_UNSEEN = "applied, and the query ended before that was observed"


class Journal:
    """Makes events, numbered in order, and keeps the decisions that follow from them.

    Args:
        events: the events of earlier runs, oldest first.

    >>> journal = Journal()
    >>> event = journal.note(EventKind.PAUSED, epoch=3, time=datetime(2026, 1, 1), reason="maintenance")
    >>> event.number, dict(event.values), journal.decisions
    (1, {'reason': 'maintenance'}, [])
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._number = 0
        self._decisions: dict[int, Decision] = {}
        self._stored: dict[int, StoredProposal] = {}  # accepted in earlier runs, outcome unknown
        self._revisions: dict[int, Revision] = {}  # by decision of this run, if it is in progress
        self._watched: dict[int, int] = {}  # by observed decision, the epoch that shows what happened
        self._refused: set[tuple[str, str, int]] = set()
        self._refused_nodes = 0
        self._feasible = True
        self._failures = 0
        for event in events:
            self._replay(event)
        self._wish = newest_wish(self._decisions)

    @property
    def decisions(self) -> list[Decision]:
        """The newest decisions, oldest first."""
        return list(self._decisions.values())

    @property
    def nodes(self) -> int | None:
        """The number of nodes that was wanted last; None if nobody ever wanted another one."""
        return None if self._wish is None else self._wish.nodes

    def note(self, kind: EventKind, epoch: int, time: datetime, **values: Any) -> Event:
        """Return the next event, of a given kind."""
        return self._add(Event(number=self._number + 1, epoch=epoch, time=time, kind=kind, values=values))

    def state(self, epoch: int, time: datetime, **values: Any) -> Event:
        """Return the next event, of a decision that was made outside the loop and is carried out at once.

        Args:
            epoch: the epoch that is about to begin.
            time: the time, in UTC.
            values: fields of the decision.

        >>> event = Journal().state(3, datetime(2026, 1, 1), component="enrich", action="deal by cost", policy="lpt")
        >>> event.values["outcome"]
        'applied'
        """
        return self._decision_event(epoch, time, {}, outcome=APPLIED, **values)

    def resume(
        self, plan: Plan, setting: Setting, committed: int, time: datetime
    ) -> tuple[list[Event], tuple[Revision, ...]]:
        """Settle what earlier runs left open.

        A decision whose epoch was committed has been carried out. A decision for the next epoch is resumed or dropped.

        Args:
            plan: the plan with which the run begins.
            setting: what the run was started with.
            committed: the newest epoch that was committed.
            time: the time, in UTC.

        Returns:
            The events, and the revisions to carry out in the first turn.
        """
        epoch, events = committed + 1, []
        done = [number for number, stored in self._stored.items() if stored.decision.epoch <= committed]
        for number in done:
            del self._stored[number]
            events.append(self._outcome(number, _UNSEEN, nan, nan, epoch, time))
        newest = newest_by_component(self._stored)
        for number, stored in sorted(self._stored.items()):
            component = stored.decision.component
            newer = newest[component] != number
            why = "a newer decision replaced it" if newer else stored.objection(plan, setting)
            if why:
                events.append(self.note(EventKind.DROPPED, epoch, time, decision=number, component=component, why=why))
            else:
                events.append(self.note(EventKind.RESUMED, epoch, time, decision=number, component=component))
                self._revisions[number] = stored.revision()
        self._stored = {}
        events += self._resume_nodes(setting, epoch, time)
        return events, tuple(self._revisions.values())

    def _resume_nodes(self, setting: Setting, epoch: int, time: datetime) -> list[Event]:
        """Resume or drop the number of nodes that an earlier run wanted."""
        if self._wish is None:
            return []
        number, why = self._wish.decision, self._wish.objection(setting.nodes)
        is_open, kept = not self._wish.observed, self._wish
        if why:
            self._wish = None
        if not is_open:
            return []
        if why:
            return [self.note(EventKind.DROPPED, epoch, time, decision=number, component="", why=why)]
        self._wish = replace(kept, since=time)
        return [self.note(EventKind.RESUMED, epoch, time, decision=number, component="")]

    def after_turn(self, turn: TurnRecord) -> list[Event]:
        """Return what there is to say about a turn; usually nothing."""
        events = [*self._outcomes(turn), *self._health(turn)]
        made = [self._decide(turn, revision, ACCEPTED) for revision in turn.result.accepted]
        made += [self._refuse(turn, refusal) for refusal in turn.result.refused]
        decided = [event for event in made if event is not None] + self._node_decision(turn)
        return [*events, *decided, *self._verdict(turn, decided)]

    def abandon(self, epoch: int, time: datetime, why: str) -> list[Event]:
        """Return the events of decisions in progress that nobody carries out any more.

        Args:
            epoch: the epoch that is about to begin.
            time: the time, in UTC.
            why: the reason, in words.
        """
        dropped, self._revisions, self._watched = self._revisions, {}, {}
        return [
            self.note(EventKind.DROPPED, epoch, time, decision=number, component=revision.operator, why=why)
            for number, revision in dropped.items()
        ]

    def change_form(
        self, form: str, component: str, epoch: int, time: datetime, slots: int, reasons: tuple[str, ...]
    ) -> Event | None:
        """Return the event of a table that is split or combined from an epoch on; None if a run before told of it.

        Args:
            form: ``split`` or ``combined``.
            component: the component of the table.
            epoch: the first epoch with the form.
            time: the time, in UTC.
            slots: number of slots of the component, which stays the same.
            reasons: which table it is and why, in words and numbers.
        """
        told = (epoch, component, reasons)
        if any((d.epoch, d.component, d.reasons) == told for d in self._decisions.values()):
            return None
        decision = Decision(
            number=self._number + 1,
            epoch=epoch,
            time=time,
            component=component,
            action=form,
            policy=LAYOUT,
            slots=(slots, slots),
            reasons=reasons,
            outcome="applied",
        )
        values = {n: v for n, v in decision.to_json().items() if n not in ("number", "epoch", "time")}
        return self.note(EventKind.DECISION, epoch, time, **values)

    def _outcomes(self, turn: TurnRecord) -> list[Event]:
        """Return the outcomes that are known now. What happened is known one epoch after a change was observed."""
        events, seen = [], turn.seen
        for number in [n for n, since in self._watched.items() if seen.epoch >= since]:
            del self._watched[number]
            if number in self._decisions:
                length = seen.busy if isfinite(seen.busy) else seen.seconds
                outcome = self._decisions[number].outcome
                events.append(self._outcome(number, outcome, seen.latency.mean, length, turn.epoch, turn.time))
        events += self._node_outcome(turn)
        for number, revision in list(self._revisions.items()):
            ended = turn.result.control.treatments[revision.operator].ended
            if ended is None or ended.revision is not revision:
                continue
            del self._revisions[number]
            if not ended.observed:
                events.append(self._outcome(number, ended.outcome, nan, nan, turn.epoch, turn.time))
            elif number in self._decisions:
                self._decisions[number] = replace(self._decisions[number], outcome=ended.outcome)
                self._watched[number] = turn.epoch
        return events

    def _node_outcome(self, turn: TurnRecord) -> list[Event]:
        """Return the outcome of the decision about nodes that is in progress, if it has ended without success."""
        change = turn.result.node_change
        accepted = None if change is None or change.refused else change
        outcome = "" if self._wish is None else self._wish.outcome(turn.seen.nodes, accepted, turn.time)
        if self._wish is None or not outcome:
            return []
        number, self._wish = self._wish.decision, replace(self._wish, observed=True)
        if not outcome.startswith("observed"):
            return [self._outcome(number, outcome, nan, nan, turn.epoch, turn.time)]
        if number in self._decisions:
            self._decisions[number] = replace(self._decisions[number], outcome=outcome)
            self._watched[number] = turn.epoch
        return []

    def _node_decision(self, turn: TurnRecord) -> list[Event]:
        """Return the event of another number of nodes; none if a refused number is only repeated."""
        change = turn.result.node_change
        if change is None or (change.refused and not change.asked and self._refused_nodes == change.after):
            return []
        event = self._decision(
            turn,
            {},
            component="",
            action=str(change.action),
            policy=USER if change.asked else turn.result.control.policy.name,
            nodes=(change.before, change.after),
            reasons=change.reasons,
            feasible=change.asked or turn.result.proposal.feasible,
            outcome=f"refused: {change.refused}" if change.refused else ACCEPTED,
        )
        if change.refused:
            self._refused_nodes = change.after
        else:
            self._wish = NodeWish(event.number, change.after, turn.time)
        return [event]

    def _health(self, turn: TurnRecord) -> list[Event]:
        """Return an event if the policy failed or works again. Repeated failures are told of ever more rarely."""
        failure = turn.result.policy_error
        if failure is not None:
            self._failures += 1
            if self._failures & (self._failures - 1):  # not a power of two
                return []
            values = {"why": str(failure), "times": self._failures, "trace": failure.trace}
            return [self.note(EventKind.FAILED, turn.epoch, turn.time, **values)]
        if self._failures:
            times, self._failures = self._failures, 0
            return [self.note(EventKind.RECOVERED, turn.epoch, turn.time, times=times)]
        return []

    def _refuse(self, turn: TurnRecord, refusal: Refusal) -> Event | None:
        """Return the event of a refused revision; None if the policy has only repeated it."""
        revision = refusal.revision
        if not revision.asked:
            key = (revision.operator, str(revision.action), revision.plan.slots)
            if key in self._refused:
                return None
            self._refused.add(key)
        return self._decide(turn, revision, f"refused: {refusal.why}")

    def _decide(self, turn: TurnRecord, revision: Revision, outcome: str) -> Event | None:
        """Return the event of a revision; None if it is one of an earlier run, which is carried out now."""
        resumed = next((number for number, r in self._revisions.items() if r is revision), None)
        name, before = revision.operator, turn.plan.operators[revision.operator]
        if resumed is not None:
            if outcome == ACCEPTED:
                return None
            del self._revisions[resumed]
            return self.note(EventKind.DROPPED, turn.epoch, turn.time, decision=resumed, component=name, why=outcome)
        length = settled_length(turn.seen, {name: revision.plan})
        event = self._decision(
            turn,
            {"routing": _compact(revision.plan), "asked": revision.asked} if outcome == ACCEPTED else {},
            component=name,
            action=str(revision.action),
            policy=USER if revision.asked else turn.result.control.policy.name,
            slots=(before.slots, revision.plan.slots),
            moved=_moved(before, revision.plan),
            reasons=(*revision.reasons, *_sustained(turn, revision.feasible)),
            feasible=revision.feasible,
            expected_latency=_latency(turn.seen, revision, length),
            expected_seconds=length,
            outcome=outcome,
        )
        if outcome == ACCEPTED:
            self._revisions[event.number] = revision
            self._refused = {key for key in self._refused if key[0] != name}
        return event

    def _verdict(self, turn: TurnRecord, decided: Sequence[Event]) -> list[Event]:
        """Return an event if the promise cannot be kept any more, or can be kept again, and no decision says so."""
        proposal, plan = turn.result.proposal, turn.plan
        failing = [r for r in proposal.revisions if not r.feasible]
        feasible = proposal.feasible and not failing
        if not turn.result.decided or feasible == self._feasible:
            return []
        self._feasible = feasible
        if any(e.kind == EventKind.DECISION and e.values["feasible"] == feasible for e in decided):
            return []
        name = failing[0].operator if len(failing) == 1 and failing[0].operator in plan.operators else ""
        slots = plan.operators[name].slots if name else sum(part.slots for part in plan.operators.values())
        said = proposal.reasons or tuple(text for r in failing for text in r.reasons)
        usual = "the promise can be kept again" if feasible else "the promise cannot be kept"
        length, law = settled_length(turn.seen, {}), turn.seen.law
        event = self._decision(
            turn,
            {},
            component=name,
            action=str(Action.NOTHING),
            policy=turn.result.control.policy.name,
            slots=(slots, slots),
            reasons=(*(said or (usual,)), *_sustained(turn, feasible)),
            feasible=feasible,
            expected_latency=float(law.latency_at(length)) if law is not None else nan,
            expected_seconds=length,
            outcome="said",
        )
        return [event]

    def _decision(self, turn: TurnRecord, detail: Mapping[str, Any], **values: Any) -> Event:
        """Return the next event, of a decision with these values."""
        return self._decision_event(turn.epoch, turn.time, detail, **values)

    def _decision_event(self, epoch: int, time: datetime, detail: Mapping[str, Any], **values: Any) -> Event:
        number = self._number + 1
        plain = Decision(number=number, epoch=epoch, time=time, **values).to_json()
        values = {name: value for name, value in plain.items() if name not in ("number", "epoch", "time")}
        return self._add(
            Event(number=number, epoch=epoch, time=time, kind=EventKind.DECISION, values=values, detail=detail)
        )

    def _outcome(self, number: int, outcome: str, latency: float, seconds: float, epoch: int, time: datetime) -> Event:
        seen = {"latency": to_number(latency), "seconds": to_number(seconds)}
        return self.note(EventKind.OUTCOME, epoch, time, decision=number, outcome=outcome, **seen)

    def _add(self, event: Event) -> Event:
        self._number = event.number
        apply(self._decisions, event)
        while len(self._decisions) > KEPT_DECISIONS:
            del self._decisions[next(iter(self._decisions))]
        return event

    def _replay(self, event: Event) -> None:
        """Add an event of an earlier run, and remember the proposals whose outcome is unknown."""
        self._add(event)
        if event.kind == EventKind.DECISION and event.values.get("nodes", (0, 0))[1]:
            return
        if event.kind == EventKind.DECISION and event.values["outcome"] == ACCEPTED:
            routing = tuple(event.detail.get("routing", ()))
            decision = self._decisions[event.number]
            self._stored[event.number] = StoredProposal(decision, routing, event.detail.get("asked", ""))
        elif event.kind in (EventKind.OUTCOME, EventKind.DROPPED):
            self._stored.pop(event.values["decision"], None)


def _latency(seen: Observation, revision: Revision, length: float) -> float:
    """Return the latency that the policy expects of a revision, or else the law, given the length of epochs."""
    if not isnan(revision.expected) or seen.law is None:
        return revision.expected
    return float(seen.law.latency_at(length))


def _sustained(turn: TurnRecord, feasible: bool) -> tuple[str, ...]:
    """Return how many rows per second the plan in force can process, to be said if the promise cannot be kept."""
    words = "" if feasible else sustained(turn.seen, turn.plan)
    return (words,) if words else ()


def _moved(before: OperatorPlan, after: OperatorPlan) -> int:
    """Return the number of shards whose slot differs."""
    if len(before.routing) != len(after.routing):
        return 0
    return int(np.count_nonzero(before.routing != after.routing))


def _compact(plan: OperatorPlan) -> list[int]:
    """Return the slot of every shard, with the slots renumbered without gaps."""
    _, numbers = np.unique(plan.routing, return_inverse=True)
    routing: list[int] = numbers.tolist()
    return routing
