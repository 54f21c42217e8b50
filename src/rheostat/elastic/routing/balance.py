"""Which slot each shard belongs to, by measured load (Elasticutor section 3.1).

The paper's balancing: while the most loaded slot has more than 1.2 times the mean, move one shard from it to the least
loaded slot, the one that lowers the imbalance most. Rescaling is the same with slots added or taken away first, so
that few shards move and the result is balanced.

``even_out`` and ``adopt`` are the rule itself, over arrays. ``balance`` and ``rescale`` run them as they are, for one
operator; ``rheostat.elastic.elasticutor.balance_executors`` compiles the same two functions for many executors at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.table import check_slots

THRESHOLD = 1.2
"""Largest over mean load of slots that counts as balanced: the paper's value."""

EVEN = 1.05
"""How even Elasticutor makes slots that are not balanced, so that the next change is far off; in the paper 1.2."""

RESCALED_EVEN = 1.02
"""How even a new number of slots is made."""

Routing = tuple[int, ...]


@dataclass(frozen=True)
class Assignment:
    """A routing table and how balanced it is.

    Attributes:
        routing: the slot of every shard.
        before: largest over mean load of the slots before anything moved.
        after: the same afterwards.
        hot: a shard that alone has more load than the threshold allows a slot, so that no placement helps.
    """

    routing: Routing
    before: float
    after: float
    hot: int | None = None

    def moved(self, old: Sequence[int]) -> list[int]:
        """The shards that change their slot."""
        return [shard for shard, (a, b) in enumerate(zip(old, self.routing, strict=True)) if a != b]


def slot_loads(routing: Sequence[int] | Ints, loads: Floats, slots: int) -> Floats:
    """The load of every slot.

    >>> slot_loads((0, 0, 1), np.array([1.0, 2.0, 4.0]), 2).tolist()
    [3.0, 4.0]
    """
    return np.bincount(np.asarray(routing), weights=loads, minlength=slots).astype(np.float64)


def imbalance(loads: Floats) -> float:
    """Largest over mean load; 1 if there is no load."""
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
    return _assignment(where, loads, slots, before, threshold)


def rescale(routing: Sequence[int], loads: Floats, slots: int) -> Assignment:
    """Another number of slots, with few moves: shards of slots that go are spread, new slots are filled.

    Without any load, all shards count the same.

    >>> rescale((0, 0, 1, 1, 2, 2), np.zeros(6), 2).routing
    (0, 0, 1, 1, 0, 1)
    >>> rescale((0, 0, 0, 0, 0, 0), np.zeros(6), 3).routing
    (1, 2, 1, 2, 0, 0)
    """
    check_slots(slots, len(routing))
    known, nodes = with_idle_shards(loads), np.zeros(slots, dtype=np.int64)
    before, where = imbalance(slot_loads(routing, known, max(routing) + 1)), np.array(routing, dtype=np.int64)
    stays = where < slots
    orphans = np.flatnonzero(~stays)
    orphans = orphans[np.argsort(-known[orphans], kind="stable")]
    adopt(where, known, slot_loads(where[stays], known[stays], slots), nodes, orphans, np.full(len(orphans), -1), 0.0)
    totals = slot_loads(where, known, slots)
    # Among many slots an empty one hardly shows in the largest over the mean, so the least loaded one counts as well.
    even_out(where, known, totals, nodes, RESCALED_EVEN * totals.mean(), totals.mean() / THRESHOLD, 1.0)
    for empty in np.flatnonzero(np.bincount(where, minlength=slots) == 0):
        counts = np.bincount(where, minlength=slots)
        crowded = np.flatnonzero(counts[where] > 1)
        where[crowded[known[crowded].argmin()]] = empty
    return _assignment(where, known, slots, before, THRESHOLD)


def with_idle_shards(loads: Floats) -> Floats:
    """A little more for every shard, so that idle shards are spread as well; 1 for each if there is no load at all.

    >>> with_idle_shards(np.zeros(2)).tolist(), with_idle_shards(np.array([0.0, 2.0])).tolist()
    ([1.0, 1.0], [0.001, 2.001])
    """
    found: Floats = loads + (loads.mean() * 1e-3 if loads.any() else 1.0)
    return found


def even_out(
    where: Ints, loads: Floats, totals: Floats, nodes: Ints, most_allowed: float, least_allowed: float, nearby: float
) -> None:
    """Move one shard after the other from the most to the least loaded slot, until that is enough or no move helps.

    Each time the shard moves that leaves the busier of both slots least loaded. Of equal slots or shards, the first is
    taken. Written such that it is fast both as it stands and compiled, so it calls nothing but NumPy.

    Args:
        where: the slot of every shard; changed in place.
        loads: of every shard.
        totals: the load of every slot; kept up to date.
        nodes: of every slot.
        most_allowed: the most that a slot may have when it is enough.
        least_allowed: the least that a slot must have then.
        nearby: a shard stays on its node if that leaves the busier of both slots at most so many times as loaded; 1
            moves shards wherever it is best.
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
    """Give shards whose slot is gone to the least loaded slot, one after the other, on their node if that has room.

    Calls nothing but NumPy, like ``even_out``.

    Args:
        where: the slot of every shard; changed in place.
        loads: of every shard.
        totals: the load of every slot; kept up to date.
        nodes: of every slot.
        orphans: the shards without a slot, heaviest first.
        origins: the node that each of them was on; -1 if that does not matter.
        most_allowed: load up to which a slot on the shard's own node has room.
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


def _assignment(where: Ints, loads: Floats, slots: int, before: float, threshold: float) -> Assignment:
    totals = slot_loads(where, loads, slots)
    after, heaviest = imbalance(totals), int(loads.argmax())
    hot = heaviest if after > threshold and loads[heaviest] > threshold * totals.mean() else None
    return Assignment(tuple(int(s) for s in where), before, after, hot)
