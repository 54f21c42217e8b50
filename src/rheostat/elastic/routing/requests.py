"""Users' requests as revisions of a plan, and the record of what changed.

A request comes from ``query.rescale``, ``query.rebalance`` or ``query.reassign``. The inbox keeps it until the loop's
next turn (``rheostat.elastic.loop.inbox``), where it becomes a revision, by the loads known then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.plan import Action, OperatorPlan, Revision
from rheostat.elastic.routing.balance import (
    THRESHOLD,
    Assignment,
    balance,
    imbalance,
    rescale,
    slot_loads,
    with_idle_shards,
)

_LISTED = 64
"""The most moves that a change lists one by one."""


@dataclass(frozen=True)
class Rescale:
    """A request for another number of slots.

    Attributes:
        slots: the number of slots.
        reason: why, in words.
    """

    slots: int
    reason: str = "asked for"


@dataclass(frozen=True)
class Rebalance:
    """A request for the same slots, more evenly loaded.

    Attributes:
        threshold: the largest load of a slot that is allowed, as a multiple of the mean.
        reason: why, in words.
    """

    threshold: float = THRESHOLD
    reason: str = "asked for"


@dataclass(frozen=True)
class Reassign:
    """A request for a given routing table.

    Attributes:
        routing: the slot of every shard, without gaps in the slot numbers.
        reason: why, in words.
    """

    routing: tuple[int, ...]
    reason: str = "asked for"


Request = Rescale | Rebalance | Reassign


def revision_of(request: Request, operator: str, plan: OperatorPlan, loads: Floats, hottest: str = "") -> Revision:
    """Return the revision that carries a request out. It is urgent: it waits for no rest.

    Args:
        request: the request.
        operator: the operator's name.
        plan: where the operator runs now.
        loads: the load of every shard.
        hottest: the busiest key, in words, to name it if no placement helps; empty if unknown.

    >>> revision = revision_of(Rescale(4), "by area", OperatorPlan.even(shards=8, slots=2), np.ones(8))
    >>> revision.plan.slots, str(revision.action), revision.asked, revision.urgent
    (4, 'scale out', 'rescale', True)
    """
    numbers, routing = np.unique(plan.routing, return_inverse=True)
    if isinstance(request, Rescale):
        assignment = rescale(routing.tolist(), loads, request.slots)
    elif isinstance(request, Rebalance):
        assignment = balance(routing.tolist(), loads, len(numbers), request.threshold)
    else:
        assignment = Assignment(request.routing, 1.0, 1.0)
    wanted = plan_of(np.array(assignment.routing, dtype=np.int64), plan, numbers)
    return Revision(
        operator,
        wanted,
        Action.between(len(numbers), wanted.slots),
        (request.reason,),
        urgent=True,
        asked=type(request).__name__.lower(),
        hot=hot_shard(assignment, loads, hottest),
    )


def plan_of(routing: Ints, before: OperatorPlan, numbers: Ints) -> OperatorPlan:
    """Return the plan for a routing whose slots are numbered without gaps.

    Slots of the plan before keep their numbers and nodes. New slots get higher numbers, so that the slots of the plan
    have the same order as those of the routing: an engine that numbers slots without gaps gets the same routing back.

    Args:
        routing: the slot of every shard, without gaps in the slot numbers.
        before: where the operator runs now.
        numbers: the numbers that the first slots of the routing have in that plan, in ascending order.

    >>> before = OperatorPlan(np.array([0, 2]), np.array([0, -1, 1]))
    >>> wanted = plan_of(np.array([1, 2]), before, numbers=np.array([0, 2]))
    >>> wanted.routing.tolist(), wanted.nodes.tolist()
    ([2, 3], [-1, -1, 1, 0])
    """
    slots, above = int(routing.max()) + 1, int(numbers.max()) + 1
    free = np.setdiff1d(np.arange(above, above + len(before.nodes) + slots), before.used)
    named = np.r_[numbers, free][:slots]
    nodes = np.full(max(int(named.max()) + 1, len(before.nodes)), -1)
    kept = named[: len(numbers)]
    nodes[kept] = before.nodes[kept]
    held = np.bincount(before.nodes[before.used])
    where = np.flatnonzero(held)  # new slots go to the nodes that the operator is on, to the emptiest first
    for number in named[len(numbers) :]:
        node = where[held[where].argmin()]
        nodes[number] = node
        held[node] += 1
    unused = np.setdiff1d(np.arange(len(nodes)), named[routing])
    nodes[unused] = -1
    return OperatorPlan(named[routing], nodes)


def hot_shard(assignment: Assignment, loads: Floats, hottest: str = "") -> str:
    """Return in words which shard is too busy for any placement; empty if there is none."""
    if assignment.hot is None:
        return ""
    share = loads[assignment.hot] / max(float(loads.sum()), 1e-12)
    key = f" ({hottest})" if hottest else ""
    return f"shard {assignment.hot}{key} alone carries {share:.0%} of the work: no placement is balanced"


@dataclass(frozen=True)
class Change:
    """The record of a change of the routing, in ``Progress.changes`` and ``rheostat inspect``.

    Attributes:
        epoch: the first epoch with the new routing.
        component: the component whose shards moved.
        kind: ``rescale``, ``rebalance`` or ``reassign``.
        slots: the number of slots before and after.
        moved: the number of shards that changed their slot.
        moves: shard, slot before and slot after, of the first 64 of them.
        imbalance: largest over mean load of the slots, before and after; 1 if no load was measured.
        reason: why, in words.
        hot: the key or shard that is too busy for any placement, in words; empty if there is none.

    >>> change = Change(
    ...     epoch=7, component="by area", kind="rescale", slots=(2, 4), moved=128, moves=((0, 0, 2),),
    ...     imbalance=(1.0, 1.0), reason="asked for")
    >>> Change.from_json(change.to_json()) == change
    True
    """

    epoch: int
    component: str
    kind: str
    slots: tuple[int, int]
    moved: int
    moves: tuple[tuple[int, int, int], ...]
    imbalance: tuple[float, float]
    reason: str
    hot: str = ""

    @classmethod
    def between(
        cls,
        before: Sequence[int],
        after: Sequence[int],
        revision: Revision,
        loads: Floats,
        epoch: int,
        refused: str = "",
    ) -> Change:
        """Return the record of what a revision did to a routing.

        Args:
            before: the slot of every shard before, without gaps in the slot numbers.
            after: the slot of every shard afterwards, without gaps in the slot numbers.
            revision: the revision.
            loads: the load of every shard.
            epoch: the first epoch with the new routing.
            refused: why the revision was refused; empty if it was carried out.
        """
        slots = max(before) + 1, max(after) + 1
        moves = [(s, a, b) for s, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        kind = revision.asked or ("rebalance" if revision.action == Action.BALANCE else "rescale")
        weights = with_idle_shards(loads) if kind == "rescale" else loads
        uneven = [round(imbalance(slot_loads(r, weights, n)), 3) for r, n in zip((before, after), slots, strict=True)]
        return cls(
            epoch=epoch,
            component=revision.operator,
            kind=kind,
            slots=slots,
            moved=len(moves),
            moves=tuple(moves[:_LISTED]),
            imbalance=(uneven[0], uneven[1]),
            reason="; ".join((*revision.reasons, *([refused] if refused else []))),
            hot=revision.hot,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the change as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Change:
        """Return the change that ``to_json`` gave, also after it was written and read as JSON."""
        moves = tuple((shard, a, b) for shard, a, b in value["moves"])
        pairs = {k: (value[k][0], value[k][1]) for k in ("slots", "imbalance")}
        return cls(**{**value, **pairs, "moves": moves})
