"""What people ask for, as revisions of a plan; and the record of what changed, with the reason in words.

A request comes through ``query.rescale``, ``query.rebalance`` or ``query.reassign``, is kept in an inbox until the
loop's next turn (``rheostat.elastic.loop.inbox``) and becomes a revision by the loads that are known then.
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
"""Moves that a change lists one by one."""


@dataclass(frozen=True)
class Rescale:
    """Another number of slots for an operator.

    Attributes:
        slots: how many.
        reason: why, in words.
    """

    slots: int
    reason: str = "asked for"


@dataclass(frozen=True)
class Rebalance:
    """The same slots, more evenly loaded.

    Attributes:
        threshold: largest over mean load that is allowed.
        reason: why, in words.
    """

    threshold: float = THRESHOLD
    reason: str = "asked for"


@dataclass(frozen=True)
class Reassign:
    """A routing table that was decided on elsewhere.

    Attributes:
        routing: the slot of every shard, without gaps in the slot numbers.
        reason: why, in words.
    """

    routing: tuple[int, ...]
    reason: str = "asked for"


Request = Rescale | Rebalance | Reassign


def revision_of(request: Request, operator: str, plan: OperatorPlan, loads: Floats, hottest: str = "") -> Revision:
    """The revision that a request asks for, urgent, by the loads known now.

    Args:
        request: what is asked for.
        operator: its name.
        plan: where it runs now.
        loads: of every shard.
        hottest: the busiest key that is known, to name it if no placement helps.

    >>> found = revision_of(Rescale(4), "by area", OperatorPlan.even(shards=8, slots=2), np.ones(8))
    >>> found.plan.slots, str(found.action), found.asked, found.urgent
    (4, 'scale out', 'rescale', True)
    """
    numbers, routing = np.unique(plan.routing, return_inverse=True)
    if isinstance(request, Rescale):
        found = rescale(routing.tolist(), loads, request.slots)
    elif isinstance(request, Rebalance):
        found = balance(routing.tolist(), loads, len(numbers), request.threshold)
    else:
        found = Assignment(request.routing, 1.0, 1.0)
    wanted = placed(plan, numbers, np.array(found.routing, dtype=np.int64))
    return Revision(
        operator,
        wanted,
        Action.between(len(numbers), wanted.slots),
        (request.reason,),
        urgent=True,
        asked=type(request).__name__.lower(),
        hot=hot_shard(found, loads, hottest),
    )


def placed(plan: OperatorPlan, numbers: Ints, routing: Ints) -> OperatorPlan:
    """A routing without gaps as a plan: slots keep their numbers and nodes, and new ones get the next free numbers.

    Args:
        plan: where the operator runs now.
        numbers: the number in that plan of each slot of the routing, as far as there is one.
        routing: the slot of every shard.

    >>> plan = OperatorPlan(np.array([0, 2]), np.array([0, -1, 1]))
    >>> wanted = placed(plan, np.array([0, 2]), np.array([1, 2]))
    >>> wanted.routing.tolist(), wanted.nodes.tolist()
    ([2, 1], [-1, 0, 1])
    """
    slots = int(routing.max()) + 1
    free = np.setdiff1d(np.arange(len(plan.nodes) + slots), plan.used)
    named = np.r_[numbers, free][:slots]
    nodes = np.full(max(int(named.max()) + 1, len(plan.nodes)), -1)
    stays = named[: len(numbers)]
    nodes[stays] = plan.nodes[stays]
    held = np.bincount(plan.nodes[plan.used])
    where = np.flatnonzero(held)  # new slots go to the nodes that the operator is on, to the emptiest first
    for number in named[len(numbers) :]:
        node = where[held[where].argmin()]
        nodes[number] = node
        held[node] += 1
    unused = np.setdiff1d(np.arange(len(nodes)), named[routing])
    nodes[unused] = -1
    return OperatorPlan(named[routing], nodes)


def hot_shard(found: Assignment, loads: Floats, hottest: str = "") -> str:
    """The shard that is too busy for any placement, in words; empty if there is none."""
    if found.hot is None:
        return ""
    share = loads[found.hot] / max(float(loads.sum()), 1e-12)
    key = f" ({hottest})" if hottest else ""
    return f"shard {found.hot}{key} alone carries {share:.0%} of the work: no placement is balanced"


@dataclass(frozen=True)
class Change:
    """A change of the routing, as ``Progress.changes`` and ``rheostat inspect`` tell it.

    Attributes:
        epoch: the first epoch with the new routing.
        component: the component whose shards moved.
        kind: ``rescale``, ``rebalance`` or ``reassign``.
        slots: number of slots before and after.
        moved: how many shards changed their slot.
        moves: the first of them: shard, slot before, slot after.
        imbalance: largest over mean load of the slots, before and after, as far as it was measured.
        reason: why, in words.
        hot: which key or shard is so busy that no placement is balanced; empty if there is none.

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
        """What a revision did to a routing.

        Args:
            before: the slot of every shard, without gaps in the slot numbers.
            after: the same with the revision.
            revision: why it changed.
            loads: of every shard.
            epoch: the first epoch with the new routing.
            refused: why the revision was not carried out, if it was not.
        """
        slots = max(before) + 1, max(after) + 1
        moves = [(s, a, b) for s, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        kind = revision.asked or ("rebalance" if revision.action == Action.BALANCE else "rescale")
        known = with_idle_shards(loads) if kind == "rescale" else loads
        uneven = [round(imbalance(slot_loads(r, known, n)), 3) for r, n in zip((before, after), slots, strict=True)]
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
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Change:
        """From what ``to_json`` gave, also after it was written and read as JSON."""
        moves = tuple((shard, a, b) for shard, a, b in value["moves"])
        pairs = {k: (value[k][0], value[k][1]) for k in ("slots", "imbalance")}
        return cls(**{**value, **pairs, "moves": moves})
