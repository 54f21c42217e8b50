"""Changes of a routing table: what is asked for, and what came of it, with the reason in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import THRESHOLD, Assignment, balance, imbalance, rescale, slot_loads

_LISTED = 64


@dataclass(frozen=True)
class Rescale:
    """Another number of slots for a component."""

    slots: int
    reason: str = "asked for"


@dataclass(frozen=True)
class Rebalance:
    """The same slots, more evenly loaded."""

    threshold: float = THRESHOLD
    reason: str = "asked for"


@dataclass(frozen=True)
class Reassign:
    """A routing table that somebody has decided on, shard by shard."""

    routing: tuple[int, ...]
    reason: str = "asked for"


Request = Rescale | Rebalance | Reassign


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

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Change:
        """What ``to_json`` gave, after a way through JSON."""
        moves = tuple((shard, a, b) for shard, a, b in value["moves"])
        pairs = {k: (value[k][0], value[k][1]) for k in ("slots", "imbalance")}
        return cls(**{**value, **pairs, "moves": moves})


def apply(
    request: Request, component: str, routing: Sequence[int], loads: Floats, epoch: int, hottest: str = ""
) -> tuple[tuple[int, ...], Change]:
    """The routing that a request leads to, and what changed.

    Args:
        hottest: the busiest key that is known, to name it if no placement helps.
    """
    slots = max(routing) + 1
    if isinstance(request, Rescale):
        found = rescale(routing, loads, request.slots)
    elif isinstance(request, Rebalance):
        found = balance(routing, loads, slots, request.threshold)
    else:
        before, after = (imbalance(slot_loads(r, loads, max(r) + 1)) for r in (routing, request.routing))
        found = Assignment(request.routing, before, after)
    moved = found.moved(routing)
    moves = tuple((s, routing[s], found.routing[s]) for s in moved[:_LISTED])
    hot = ""
    if found.hot is not None:
        share = loads[found.hot] / max(float(loads.sum()), 1e-12)
        key = f" ({hottest})" if hottest else ""
        hot = f"shard {found.hot}{key} alone carries {share:.0%} of the work: no placement is balanced"
    change = Change(
        epoch,
        component,
        type(request).__name__.lower(),
        (slots, max(found.routing) + 1),
        len(moved),
        moves,
        (round(found.before, 3), round(found.after, 3)),
        request.reason,
        hot,
    )
    return found.routing, change
