"""Events: what happens to the plan of a running query, one after the other. Decisions follow from them.

The checkpoint keeps events for ever, or nearly so (``rheostat.state.event_log``); nothing is ever changed in them. A
decision is one event when it is made, and another one when its outcome is known. ``apply`` puts them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from rheostat.elastic.loop.decision import Decision, from_number


class EventKind(StrEnum):
    """What happened."""

    STARTED = "started"
    DECISION = "decision"
    OUTCOME = "outcome"
    RESUMED = "proposal resumed"
    DROPPED = "proposal dropped"
    FAILED = "policy failed"
    RECOVERED = "policy recovered"
    PAUSED = "policy paused"
    CONTINUED = "policy continued"
    PACED = "rows per epoch"
    REPLANNED = "operators fused anew"
    NODE_CAME = "node came"
    NODE_LOST = "node lost"
    NODE_RELEASED = "node released"
    NODES_ASKED = "nodes asked for"
    NODES_REFUSED = "nodes refused"
    NODES_LATE = "nodes late"
    PROFILE = "profile"
    HOMES = "slots have new homes"
    DAMAGED = "damaged copies"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event.

    Attributes:
        number: its number; later events have larger numbers.
        epoch: the epoch that was about to begin.
        time: when it happened, in UTC.
        kind: what happened.
        values: the rest, as plain values.
        detail: plain values that are needed only until the epoch is committed; old events lose them.

    >>> event = Event(number=1, epoch=4, time=datetime(2026, 1, 1, tzinfo=UTC), kind=EventKind.PAUSED)
    >>> Event.from_json(event.to_json()) == event
    True
    """

    number: int
    epoch: int
    time: datetime
    kind: EventKind
    values: Mapping[str, Any] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the event as plain values."""
        value = {**vars(self), "time": self.time.isoformat(), "kind": self.kind.value, "values": dict(self.values)}
        return {**value, "detail": dict(self.detail)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Event:
        """Return the event that ``to_json`` gave, also after it was written and read as JSON."""
        time = datetime.fromisoformat(value["time"]).astimezone(UTC)
        return cls(**{**value, "time": time, "kind": EventKind(value["kind"]), "detail": value.get("detail", {})})


def apply(decisions: dict[int, Decision], event: Event) -> None:
    """Add what an event says to the decisions, by number. Events of other kinds change nothing."""
    if event.kind == EventKind.DECISION:
        plain = {**event.values, "number": event.number, "epoch": event.epoch, "time": event.time.isoformat()}
        decisions[event.number] = Decision.from_json(plain)
        return
    number = event.values.get("decision")
    if number not in decisions:  # it is older than the oldest event that is kept
        return
    if event.kind == EventKind.OUTCOME:
        latency, seconds = from_number(event.values["latency"]), from_number(event.values["seconds"])
        outcome = event.values["outcome"]
        decisions[number] = replace(decisions[number], outcome=outcome, latency=latency, seconds=seconds)
    elif event.kind == EventKind.DROPPED:
        decisions[number] = replace(decisions[number], outcome=f"dropped: {event.values['why']}")


def decisions_of(events: Iterable[Event]) -> list[Decision]:
    """Return the decisions that events tell of, oldest first."""
    decisions: dict[int, Decision] = {}
    for event in events:
        apply(decisions, event)
    return list(decisions.values())


def parsed(values: Iterable[Mapping[str, Any]]) -> list[Event]:
    """Return the events in plain values. What a newer version wrote and this one does not know is left out."""
    events = []
    for value in values:
        with suppress(ValueError, KeyError, TypeError):
            events.append(Event.from_json(value))
    return events
