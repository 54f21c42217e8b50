"""Changes of a routing table: what is asked for, and what came of it, with the reason in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rheostat.elastic.balancing import THRESHOLD, Assignment, Loads, balance, rescale

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


Request = Rescale | Rebalance


@dataclass(frozen=True)
class Change:
    """What a request did.

    Attributes:
        epoch: the first epoch with the new routing.
        kind: ``rescale`` or ``rebalance``.
        slots: number of slots before and after.
        moved: how many shards changed their slot.
        moves: the first of them: shard, slot before, slot after.
        imbalance: largest over mean load of the slots, before and after, as far as it was measured.
        reason: why, in words.
    """

    epoch: int
    component: str
    kind: str
    slots: tuple[int, int]
    moved: int
    moves: tuple[tuple[int, int, int], ...]
    imbalance: tuple[float, float]
    reason: str

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
    request: Request, component: str, routing: Sequence[int], loads: Loads, epoch: int, hottest: str = ""
) -> tuple[tuple[int, ...], Change]:
    """The routing that a request leads to, and what changed.

    Args:
        hottest: the busiest key that is known, to name it if no placement helps.
    """
    slots = max(routing) + 1
    wanted = request.slots if isinstance(request, Rescale) else slots
    if isinstance(request, Rescale):
        found: Assignment = rescale(routing, loads, request.slots)
    else:
        found = balance(routing, loads, slots, request.threshold)
    moved = found.moved(routing)
    moves = tuple((s, routing[s], found.routing[s]) for s in moved[:_LISTED])
    reason = request.reason
    if found.hot is not None:
        share = loads[found.hot] / max(float(loads.sum()), 1e-12)
        key = f" ({hottest})" if hottest else ""
        reason += f"; shard {found.hot}{key} alone carries {share:.0%} of the work, so no placement is balanced"
    change = Change(
        epoch,
        component,
        "rescale" if isinstance(request, Rescale) else "rebalance",
        (slots, wanted),
        len(moved),
        moves,
        (round(found.before, 3), round(found.after, 3)),
        reason,
    )
    return found.routing, change
