"""Values of StreamSwitch's Diagnose stage: health of slots, limits, rules and diagnoses (section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rheostat.elastic.loop.hysteresis import WORTHWHILE
from rheostat.elastic.model.plan import Action
from rheostat.errors import ConfigurationError


class Health(IntEnum):
    """How likely a slot is to violate the latency bound (section 3.3)."""

    GOOD = 0
    MODERATE = 1
    SEVERE = 2


@dataclass(frozen=True)
class Limits:
    """The latency and size limits of an operator. Defaults are the paper's values.

    Attributes:
        bound: upper bound of the mean latency over the window, in seconds: the paper's L.
        alert: measured latency, in seconds, above which a slot can be severe: the paper's l. Choose it well below the
            bound, so that there is time to react.
        margin: share of the service rate to keep free, from 0 to below 1: the paper's epsilon. A larger margin uses
            more slots and violates the bound less often.
        max_slots: largest number of slots.
        min_slots: number of slots below which nothing is scaled in.
    """

    bound: float = 1.0
    alert: float = 0.1
    margin: float = 0.2
    max_slots: int = 64
    min_slots: int = 1

    def __post_init__(self) -> None:
        if not (0 < self.bound < np.inf and 0 < self.alert < np.inf and 0 <= self.margin < 1):
            raise ConfigurationError(f"{self}: bound and alert must be above 0 seconds, margin from 0 to below 1")
        if not 1 <= self.min_slots <= self.max_slots:
            raise ConfigurationError(f"{self}: min_slots must be at least 1 and at most max_slots")


@dataclass(frozen=True)
class Rules:
    """Rheostat's additions to StreamSwitch and DRS, each of which can be switched off; ``PUBLISHED`` has none.

    Attributes:
        overload: True to rank overloaded slots by how overloaded they are, and to take the best possible step where
            the bound cannot be kept. As published, the projected latency of every overloaded slot is infinite, so all
            of them rank the same.
        worthwhile: share by which a move of shards must lower the larger latency of its two slots. As published, any
            improvement is enough.
        stalls: True to count waiting rows as load and their age as latency in shards that complete nothing. As
            published, only completed rows enter the latency.
        plan: True to let DRS ask for all slots if no number of slots keeps the bound. As published, it then has no
            plan.
        patient: True to let DRS give up no slot while the measured latency exceeds the bound. As published, it looks
            at rates alone.
    """

    overload: bool = True
    worthwhile: float = WORTHWHILE
    stalls: bool = True
    plan: bool = True
    patient: bool = True


OURS = Rules()
"""All additions."""

PUBLISHED = Rules(overload=False, worthwhile=0.0, stalls=False, plan=False, patient=False)
"""The algorithms as their papers print them."""


@dataclass(frozen=True)
class Diagnosis:
    """The decision for one operator, with its reasons.

    Attributes:
        action: the kind of change.
        moves: pairs of a shard and the slot it moves to.
        routing: the slot of every shard after the moves.
        source: the slot that shards leave; None if nothing moves.
        target: the slot that receives them; None if nothing moves.
        health: health of the operator now.
        projected: health of the operator after the moves, given the latency measured so far.
        feasible: False if the bound cannot be kept within the limits; the decision is then the best possible.
        reasons: why, in words and numbers.
    """

    action: Action
    moves: tuple[tuple[int, int], ...]
    routing: tuple[int, ...]
    source: int | None
    target: int | None
    health: Health
    projected: Health
    feasible: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class UnitStrategy:
    """Shards that move from one slot to another: the paper's unit strategy (K, s, d).

    Attributes:
        shards: the shards that move.
        source: number of the slot they leave.
        target: number of the slot they move to.
        before: strain of source and target now.
        after: strain of source and target after the move.
    """

    shards: tuple[int, ...]
    source: int
    target: int
    before: tuple[float, float]
    after: tuple[float, float]
