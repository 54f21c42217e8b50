"""The record of one decision: what was decided and why, what was expected of it, and what then happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isfinite, isnan, nan
from typing import Any

ACCEPTED = "accepted"
"""The outcome of a decision that is not observed yet."""

APPLIED = "applied"
"""The outcome of a decision that takes effect at once, without having to be observed."""

USER = "user"
"""Stands for the policy in decisions that carry out a request of a user."""

LAYOUT = "layout"
"""Stands for the policy in decisions about the form of a table, which is split or combined by its cost."""

_NUMBERS = ("expected_latency", "expected_seconds", "latency", "seconds")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One decision of a policy, or of a user who asked for a change, as ``query.decisions()`` lists it.

    Attributes:
        number: its number in the event log of the checkpoint; later decisions have larger numbers.
        epoch: the first epoch with the new plan.
        time: when it was made, in UTC.
        component: the component or apply operator that changes; empty if the decision is about the whole query.
        action: ``scale in``, ``scale out``, ``balance``; of apply operators ``deal by cost``, ``deal in turn``;
            ``split`` or ``combined`` for the layout of a table; ``nothing`` if it only says something.
        policy: name of the policy or grouping; ``user`` if a person asked for the change, ``layout`` for the layout of
            a table.
        slots: number of slots before and after.
        nodes: number of nodes wanted before and after, if the decision is about nodes; otherwise 0 and 0.
        moved: number of shards that change their slot.
        reasons: why, in words and numbers.
        feasible: False if the promise cannot be kept, and this plan comes closest to it.
        expected_latency: mean latency that the policy expects afterwards, in seconds; NaN if unknown.
        expected_seconds: length of an epoch that the micro-batch law expects afterwards; infinite if epochs will grow
            without end, NaN if unknown.
        outcome: ``accepted``, ``applied``, ``refused: ...``, ``observed after ... s``, ``given up: ...`` or
            ``dropped: ...``.
        latency: mean latency of the first full epoch after it was observed, in seconds; NaN if unknown.
        seconds: length of that epoch; NaN if unknown.

    >>> decision = Decision(
    ...     number=3, epoch=7, time=datetime(2026, 1, 1, tzinfo=UTC), component="by area", action="scale out",
    ...     policy="streamswitch", slots=(2, 4), moved=128, reasons=("slot 1 is too late",), expected_latency=0.8)
    >>> Decision.from_json(decision.to_json()).slots
    (2, 4)
    """

    number: int
    epoch: int
    time: datetime
    component: str
    action: str
    policy: str
    slots: tuple[int, int] = (0, 0)
    moved: int = 0
    reasons: tuple[str, ...] = ()
    feasible: bool = True
    expected_latency: float = nan
    expected_seconds: float = nan
    outcome: str = ACCEPTED
    latency: float = nan
    seconds: float = nan
    nodes: tuple[int, int] = (0, 0)

    def to_json(self) -> dict[str, Any]:
        """Return the decision as plain values. NaN becomes None, an infinite number a text."""
        value = asdict(self)
        numbers = {name: to_number(value[name]) for name in _NUMBERS}
        return {**value, **numbers, "time": self.time.isoformat()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Decision:
        """Return the decision that ``to_json`` gave, also after it was written and read as JSON."""
        numbers = {name: from_number(value[name]) for name in _NUMBERS}
        plain = {**value, **numbers, "time": datetime.fromisoformat(value["time"]).astimezone(UTC)}
        nodes = value.get("nodes", (0, 0))  # older versions had none
        pairs = {"slots": (value["slots"][0], value["slots"][1]), "nodes": (nodes[0], nodes[1])}
        return cls(**{**plain, **pairs, "reasons": tuple(value["reasons"])})


def to_number(value: float) -> float | str | None:
    """Return a number as JSON has it: NaN as None, infinite numbers as text.

    >>> [to_number(value) for value in (0.5, nan, float("inf"))]
    [0.5, None, 'inf']
    """
    return float(value) if isfinite(value) else None if isnan(value) else str(value)


def from_number(value: float | str | None) -> float:
    """Return the number that ``to_number`` gave."""
    return nan if value is None else float(value)
