"""Stores what happens to the plan of a query in its checkpoint, before it happens, and lists the decisions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.loop.events import EventKind, parsed
from rheostat.elastic.loop.journal import Journal, TurnRecord
from rheostat.elastic.loop.stored_proposal import Setting
from rheostat.elastic.loop.turn import Turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan, Revision
from rheostat.state.event_log import EventLog
from rheostat.state.files import Folder


def _now() -> datetime:
    return datetime.now(UTC)


class DecisionLog:
    """The journal of a query and the event log that keeps it. Any thread may use it.

    Args:
        folder: the folder of the events in the checkpoint.
        clock: returns the time in UTC.
    """

    def __init__(self, folder: Folder, clock: Callable[[], datetime] = _now) -> None:
        self._log = EventLog(folder)
        self._journal = Journal(parsed(self._log.events))
        self._clock = clock
        self._lock = threading.Lock()

    def resume(self, plan: Plan, setting: Setting, committed: int) -> tuple[Revision, ...]:
        """Settle what earlier runs left open, and return the revisions to carry out first; see ``Journal.resume``."""
        with self._lock:
            events, revisions = self._journal.resume(plan, setting, committed, self._clock())
            self._log.append([event.to_json() for event in events])
        return revisions

    def record(self, result: Turn, seen: Observation, plan: Plan, epoch: int) -> list[Decision]:
        """Store what there is to say about a turn, and return the decisions that were made in it.

        Args:
            result: the result of the turn, whose plan is not requested yet.
            seen: the observation that the turn was given.
            plan: the plan in force before the turn.
            epoch: the epoch that is about to begin.
        """
        with self._lock:
            events = self._journal.after_turn(TurnRecord(result, seen, plan, epoch, self._clock()))
            self._log.append([event.to_json() for event in events])
            made = {event.number for event in events if event.kind == EventKind.DECISION}
            return [decision for decision in self._journal.decisions if decision.number in made] if made else []

    def abandon(self, epoch: int, why: str) -> None:
        """Store that decisions in progress are not carried out any more; see ``Journal.abandon``."""
        with self._lock:
            events = self._journal.abandon(epoch, self._clock(), why)
            self._log.append([event.to_json() for event in events])

    def change_form(
        self, form: str, component: str, epoch: int, slots: int, reasons: tuple[str, ...]
    ) -> list[Decision]:
        """Store the decision that a table has another form, and return it; see ``Journal.change_form``."""
        with self._lock:
            event = self._journal.change_form(form, component, epoch, self._clock(), slots, reasons)
            self._log.append([event.to_json()] if event is not None else [])
            return [d for d in self._journal.decisions if event is not None and d.number == event.number]

    def note(self, kind: EventKind, epoch: int, **values: Any) -> None:
        """Store an event.

        Args:
            kind: what happened.
            epoch: the epoch that was about to begin.
            values: the rest, as plain values.
        """
        with self._lock:
            event = self._journal.note(kind, epoch, self._clock(), **values)
            self._log.append([event.to_json()])

    def state(self, epoch: int, **values: Any) -> Decision:
        """Store a decision that was made outside the loop and is carried out at once, and return it.

        Args:
            epoch: the epoch that is about to begin.
            values: fields of the decision.
        """
        with self._lock:
            event = self._journal.state(epoch, self._clock(), **values)
            self._log.append([event.to_json()])
            return self._journal.decisions[-1]

    @property
    def nodes(self) -> int | None:
        """The number of nodes that was wanted last, also by earlier runs; None if nobody ever wanted another one."""
        with self._lock:
            return self._journal.nodes

    @property
    def decisions(self) -> list[Decision]:
        """The newest decisions, also those of earlier runs, oldest first."""
        with self._lock:
            return self._journal.decisions
