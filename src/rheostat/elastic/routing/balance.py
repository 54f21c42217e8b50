"""The balancing rule: which slot gets which shard, by measured load (Elasticutor section 3.1).

While the most loaded slot has more than 1.2 times the mean, one of its shards moves to the least loaded slot: the shard
that lowers the imbalance most. Rescaling adds or removes slots first and then does the same, so few shards move.

``even_out`` and ``adopt`` are the rule itself, over arrays. ``balance`` and ``rescale`` call them for one operator.
``rheostat.elastic.elasticutor.balance_executors`` compiles them for many executors at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.table import check_slots

THRESHOLD = 1.2
"""Slots are balanced if the largest load is at most this many times the mean; the paper's value."""

EVEN = 1.05
"""Largest over mean load to which Elasticutor evens slots out; lower than the paper's 1.2, so changes are rarer."""

RESCALED_EVEN = 1.02
"""Largest over mean load to which a new number of slots is evened out."""

_IDLE_SHARE = 1e-3
"""Load that an idle shard counts with, as a share of the mean."""

Routing = tuple[int, ...]
"""The slot of every shard."""


@dataclass(frozen=True)
class Assignment:
    """A routing table and how balanced it is.

    Attributes:
        routing: the slot of every shard.
        before: largest over mean load of the slots before anything moved.
        after: largest over mean load of the slots afterwards.
        hot: a shard with more load than the threshold allows a whole slot, so that no placement helps; None if there
            is none.
    """

    routing: Routing
    before: float
    after: float
    hot: int | None = None

    def moved(self, old: Sequence[int]) -> list[int]:
        """Return the shards that change their slot."""
        return [shard for shard, (a, b) in enumerate(zip(old, self.routing, strict=True)) if a != b]


def slot_loads(routing: Sequence[int] | Ints, loads: Floats, slots: int) -> Floats:
    """Return the load of every slot.

    >>> slot_loads((0, 0, 1), np.array([1.0, 2.0, 4.0]), 2).tolist()
    [3.0, 4.0]
    """
    return np.bincount(np.asarray(routing), weights=loads, minlength=slots).astype(np.float64)


def imbalance(loads: Floats) -> float:
    """Return the largest over the mean load; 1 if there is no load."""
    mean = loads.mean()
    return float(loads.max() / mean) if mean > 0 else 1.0


def balance(routing: Sequence[int], loads: Floats, slots: int, threshold: float = THRESHOLD) -> Assignment:
    """Move shards from the most to the least loaded slot until the imbalance is within the threshold.

    >>> balance((0, 0, 0, 1), np.array([4.0, 3.0, 2.0, 1.0]), 2).routing
    (1, 0, 0, 1)
    """
    totals = slot_loads(routing, loads, slots)
    before, where = imbalance(totals), np.array(routing, dtype=np.int64)
    even_out(where, loads, totals, np.zeros(slots, dtype=np.int64), threshold * totals.mean(), 0.0, 1.0)
    return assignment_of(where, loads, slots, before, threshold)


def rescale(routing: Sequence[int], loads: Floats, slots: int) -> Assignment:
    """Change the number of slots with few moves: spread the shards of slots that go, or fill new slots.

    If there is no load at all, every shard counts as 1.

    >>> rescale((0, 0, 1, 1, 2, 2), np.zeros(6), 2).routing
    (0, 0, 1, 1, 0, 1)
    >>> rescale((0, 0, 0, 0, 0, 0), np.zeros(6), 3).routing
    (1, 2, 1, 2, 0, 0)
    """
    check_slots(slots, len(routing))
    weights, nodes = with_idle_shards(loads), np.zeros(slots, dtype=np.int64)
    before, where = imbalance(slot_loads(routing, weights, max(routing) + 1)), np.array(routing, dtype=np.int64)
    stays = where < slots
    totals = slot_loads(where[stays], weights[stays], slots)
    orphans = np.flatnonzero(~stays)
    orphans = orphans[np.argsort(-weights[orphans], kind="stable")]
    adopt(where, weights, totals, nodes, orphans, np.full(len(orphans), -1), 0.0)
    totals = slot_loads(where, weights, slots)
    # With many slots, an empty one hardly changes the largest over the mean, so the least loaded one counts as well.
    even_out(where, weights, totals, nodes, RESCALED_EVEN * totals.mean(), totals.mean() / THRESHOLD, 1.0)
    for empty in np.flatnonzero(np.bincount(where, minlength=slots) == 0):
        counts = np.bincount(where, minlength=slots)
        crowded = np.flatnonzero(counts[where] > 1)
        where[crowded[weights[crowded].argmin()]] = empty
    return assignment_of(where, weights, slots, before, THRESHOLD)


def with_idle_shards(loads: Floats) -> Floats:
    """Return the loads with a little added to each, so that idle shards are spread too; all 1 if there is no load.

    >>> with_idle_shards(np.zeros(2)).tolist(), with_idle_shards(np.array([0.0, 2.0])).tolist()
    ([1.0, 1.0], [0.001, 2.001])
    """
    weights: Floats = loads + (loads.mean() * _IDLE_SHARE if loads.any() else 1.0)
    return weights


def even_out(
    where: Ints, loads: Floats, totals: Floats, nodes: Ints, most_allowed: float, least_allowed: float, nearby: float
) -> None:
    """Move shards one by one from the most to the least loaded slot, until the loads are even or no move helps.

    Each time the shard moves that leaves the busier of the two slots least loaded. Of equal slots or shards, the first
    is taken. Calls nothing but NumPy, so that it is fast both as it is and compiled.

    Args:
        where: the slot of every shard; changed in place.
        loads: the load of every shard.
        totals: the load of every slot; changed in place.
        nodes: the node of every slot.
        most_allowed: the load that no slot may exceed when the loads count as even.
        least_allowed: the load that every slot must have when the loads count as even.
        nearby: prefer a slot on the same node if the busier of the two slots then has at most this many times the load;
            1 moves shards wherever it is best.
    """
    for _ in range(2 * len(where)):
        most, least = np.argmax(totals), np.argmin(totals)
        if totals[most] <= most_allowed and totals[least] >= least_allowed:
            break
        stays = np.where((where == most) & (loads > 0.0), totals[most] - loads, np.inf)
        worst = np.maximum(stays, totals[least] + loads)
        shard = np.argmin(worst)
        lowest = min(worst[shard], totals[most])
        if nearby > 1.0 and nodes[least] != nodes[most]:
            here = np.flatnonzero(nodes == nodes[most])
            close = here[np.argmin(totals[here])]
            worst = np.maximum(stays, totals[close] + loads)
            other = np.argmin(worst)
            if worst[other] < totals[most] and worst[other] <= nearby * lowest:
                shard, least, lowest = other, close, worst[other]
        if lowest >= totals[most]:
            break
        where[shard] = least
        totals[most] -= loads[shard]
        totals[least] += loads[shard]


def adopt(
    where: Ints, loads: Floats, totals: Floats, nodes: Ints, orphans: Ints, origins: Ints, most_allowed: float
) -> None:
    """Give shards whose slot is gone one by one to the least loaded slot, on their own node if a slot there has room.

    Calls nothing but NumPy, like ``even_out``.

    Args:
        where: the slot of every shard; changed in place.
        loads: the load of every shard.
        totals: the load of every slot; changed in place.
        nodes: the node of every slot.
        orphans: the shards without a slot, heaviest first.
        origins: the node that each of them was on; -1 for any node.
        most_allowed: a slot on the shard's own node has room up to this load.
    """
    for i in range(len(orphans)):
        shard = orphans[i]
        slot = np.argmin(totals)
        here = np.flatnonzero(nodes == origins[i])
        if len(here) > 0:
            close = here[np.argmin(totals[here])]
            if totals[close] + loads[shard] <= most_allowed:
                slot = close
        where[shard] = slot
        totals[slot] += loads[shard]


def assignment_of(where: Ints, loads: Floats, slots: int, before: float, threshold: float) -> Assignment:
    """Return the assignment for a routing, with its imbalance and the shard that no placement can help.

    Args:
        where: the slot of every shard.
        loads: the load of every shard.
        slots: the number of slots.
        before: largest over mean load of the slots before anything moved.
        threshold: the largest over mean load of the slots that is allowed.

    >>> assignment_of(np.array([0, 1, 1]), np.array([8.0, 1.0, 1.0]), 2, before=1.8, threshold=1.2).hot
    0
    """
    totals = slot_loads(where, loads, slots)
    after, heaviest = imbalance(totals), int(loads.argmax())
    hot = heaviest if after > threshold and loads[heaviest] > threshold * totals.mean() else None
    return Assignment(tuple(int(s) for s in where), before, after, hot)
