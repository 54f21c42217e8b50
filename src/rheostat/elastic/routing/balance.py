"""Which slot each shard belongs to, by measured load (Elasticutor section 3.1).

The paper's balancing: while the most loaded slot carries more than 1.2 times the mean, move one shard from it to the
least loaded slot, the one that lowers the imbalance most. Rescaling is the same with slots added or taken away first,
so that few shards move and the result is balanced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.routing.table import check_slots

THRESHOLD = 1.2
"""Largest load over mean load that counts as balanced: the paper's value."""

_EVEN = 1.02
"""How even a new number of slots is made."""

Routing = tuple[int, ...]


@dataclass(frozen=True)
class Assignment:
    """A routing table and how balanced it is.

    Attributes:
        before: largest over mean load of the slots before anything moved; after, ``after``.
        hot: a shard that alone carries more than the threshold allows a slot, so that no placement helps.
    """

    routing: Routing
    before: float
    after: float
    hot: int | None = None

    def moved(self, old: Sequence[int]) -> list[int]:
        """The shards that change their slot."""
        return [shard for shard, (a, b) in enumerate(zip(old, self.routing, strict=True)) if a != b]


def slot_loads(routing: Sequence[int] | npt.NDArray[np.int64], loads: Floats, slots: int) -> Floats:
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
    before = imbalance(slot_loads(routing, loads, slots))
    where = _levelled(routing, loads, slots, lambda totals: bool(totals.max() <= threshold * totals.mean()))
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
    # A little for every shard, so that idle shards are spread as well.
    known = loads + (loads.mean() * 1e-3 if loads.any() else 1.0)
    before = imbalance(slot_loads(routing, known, max(routing) + 1))
    where = np.asarray(routing).copy()
    staying = where < slots
    totals = np.bincount(where[staying], weights=known[staying], minlength=slots)
    for shard in sorted(np.flatnonzero(~staying).tolist(), key=lambda s: -known[s]):
        least = int(totals.argmin())
        where[shard] = least
        totals[least] += known[shard]
    where = _levelled(where.tolist(), known, slots, _even)
    for empty in np.flatnonzero(np.bincount(where, minlength=slots) == 0):
        counts = np.bincount(where, minlength=slots)
        crowded = np.flatnonzero(counts[where] > 1)
        where[crowded[known[crowded].argmin()]] = empty
    return _assignment(where, known, slots, before, THRESHOLD)


def _levelled(
    routing: Sequence[int], loads: Floats, slots: int, enough: Callable[[Floats], bool]
) -> npt.NDArray[np.int64]:
    """Move one shard after the other from the most to the least loaded slot until it is enough, or no move helps."""
    where = np.asarray(routing, dtype=np.int64).copy()
    totals = slot_loads(routing, loads, slots)
    for _ in range(len(where)):
        if enough(totals):
            break
        most, least = int(totals.argmax()), int(totals.argmin())
        shards = np.flatnonzero((where == most) & (loads > 0))
        # Moving a shard leaves the larger of what stays and what the other slot then has: make that smallest.
        worst = np.maximum(totals[most] - loads[shards], totals[least] + loads[shards])
        best = int(worst.argmin())
        if worst[best] >= totals[most]:
            break
        shard = shards[best]
        where[shard] = least
        totals[most] -= loads[shard]
        totals[least] += loads[shard]
    return where


def _even(totals: Floats) -> bool:
    """Whether no slot has much more than the mean, and none much less: among many, an empty one would not show."""
    return imbalance(totals) <= _EVEN and bool(totals.min() >= totals.mean() / THRESHOLD)


def _assignment(where: npt.NDArray[np.int64], loads: Floats, slots: int, before: float, threshold: float) -> Assignment:
    totals = slot_loads(where, loads, slots)
    after, heaviest = imbalance(totals), int(loads.argmax())
    hot = heaviest if after > threshold and loads[heaviest] > threshold * totals.mean() else None
    return Assignment(tuple(int(s) for s in where), before, after, hot)
