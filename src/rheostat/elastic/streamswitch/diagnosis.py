"""What is wrong with an operator and what to do about it: the values around StreamSwitch's Diagnose (section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rheostat.elastic.loop.hysteresis import WORTHWHILE
from rheostat.elastic.model.plan import Action
from rheostat.errors import TopologyError


class Health(IntEnum):
    """How likely a slot is to violate the latency bound (section 3.3)."""

    GOOD = 0
    MODERATE = 1
    SEVERE = 2


@dataclass(frozen=True)
class Limits:
    """What is asked of an operator, with the paper's values.

    Attributes:
        bound: seconds that mean latency over the window may reach: L.
        alert: seconds of measured latency from which a slot can be severe: l. Below the bound, or it comes too late.
        margin: share of the service rate that is kept free: epsilon. More of it costs slots and buys success.
        max_slots: never more than these.
        min_slots: never fewer by scaling in.
    """

    bound: float = 1.0
    alert: float = 0.1
    margin: float = 0.2
    max_slots: int = 64
    min_slots: int = 1

    def __post_init__(self) -> None:
        if not (0 < self.bound < np.inf and 0 < self.alert < np.inf and 0 <= self.margin < 1):
            raise TopologyError(f"{self}: bound and alert are seconds above 0, the margin is from 0 to below 1")
        if not 1 <= self.min_slots <= self.max_slots:
            raise TopologyError(f"{self}: there is at least one slot, and at most as many as max_slots")


@dataclass(frozen=True)
class Rules:
    """What Rheostat adds to StreamSwitch and to DRS; ``PUBLISHED`` is without all of it.

    Attributes:
        overload: True to tell overloaded slots apart by how overloaded they are, and to do the best there is where the
            bound cannot be kept. As published their projected latency is infinite and so the same.
        worthwhile: share by which a move of shards has to lower the worse latency of its two slots. As published any
            improvement is enough.
        stalls: True to count rows that wait in vain as load and their age as latency. As published only rows that were
            completed say anything of latency.
        plan: True if DRS asks for all slots where no number of them keeps the bound. As published it has no plan then.
        patient: True if DRS gives up no slot while rows are later than the bound. As published it looks at rates alone.
    """

    overload: bool = True
    worthwhile: float = WORTHWHILE
    stalls: bool = True
    plan: bool = True
    patient: bool = True


OURS = Rules()
PUBLISHED = Rules(overload=False, worthwhile=0.0, stalls=False, plan=False, patient=False)


@dataclass(frozen=True)
class Diagnosis:
    """What to do, and why.

    Attributes:
        action: what kind of change it is.
        moves: the shards that move, with the slot they move to.
        routing: the routing table after the moves.
        source: the slot that shards leave; None if nothing moves.
        target: the slot that takes them.
        health: of the operator as it is.
        projected: of the operator after the moves, by the latency measured so far.
        feasible: False if the bound cannot be kept within the limits, and this is only the best that can be done.
        reasons: in words and numbers.
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
        shards: those that move.
        source: the slot that they leave.
        target: the slot that takes them.
        before: strain of source and target as they are.
        after: strain of source and target once the shards have moved.
    """

    shards: tuple[int, ...]
    source: int
    target: int
    before: tuple[float, float]
    after: tuple[float, float]
