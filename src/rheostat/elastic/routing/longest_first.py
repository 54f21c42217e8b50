"""Places shards by the work that is expected of them, longest first: for epochs whose rows are counted ahead.

No placement ends before the heaviest shard does, or before an even share of the work. The rule of ``balance`` moves
single shards until slots are near the mean, and leaves small shards beside one that fills a slot by itself. Here every
shard is dealt anew, heaviest first, but stays in its slot as long as that has room. So a shard that decides how long
the epoch takes has its slot to itself, and few others move.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.balance import THRESHOLD, Assignment, assignment_of, imbalance, slot_loads

_NEAR = 1.01
"""A largest load within this many times the lower bound is not worth moving more shards for."""

_ROUNDING = 1e-9
"""Relative difference of two loads that counts as none."""


def lower_bound(loads: Floats, slots: int) -> float:
    """Return the load that the busiest slot has at least, in any placement: an even share, or the heaviest shard.

    >>> lower_bound(np.array([4.0, 1.0, 1.0]), 2), lower_bound(np.array([2.0, 1.0, 1.0]), 2)
    (4.0, 2.0)
    """
    return max(float(loads.sum()) / slots, float(loads.max()))


def place_longest_first(routing: Sequence[int], loads: Floats, slots: int, threshold: float = THRESHOLD) -> Assignment:
    """Return a placement whose busiest slot is within 4/3 of the best possible, and never busier than now.

    If the busiest slot is within the threshold, nothing moves. Otherwise shards are dealt heaviest first: each to its
    own slot if that has room, else to the least loaded one. Room ends at the threshold or the lower bound, whichever is
    lower. If that is far from the bound, all shards are dealt to the least loaded slot, which is Graham's
    longest-processing-time rule. A shard without load never moves, and every slot keeps at least one shard.

    Args:
        routing: the slot of every shard now; every slot has at least one.
        loads: the expected load of every shard.
        slots: the number of slots.
        threshold: the largest over mean load of the slots that is allowed.

    >>> place_longest_first((0, 0, 0, 1), np.array([9.0, 1.0, 1.0, 4.0]), 2).routing
    (0, 1, 1, 1)
    """
    where = np.array(routing, dtype=np.int64)
    totals = slot_loads(where, loads, slots)
    before, largest = imbalance(totals), float(totals.max())
    if before > threshold:
        bound = lower_bound(loads, slots)
        for room in (min(bound, threshold * totals.mean()) * (1 + _ROUNDING), 0.0):
            dealt = _deal(routing, loads, slots, room)
            busiest = float(slot_loads(dealt, loads, slots).max())
            if busiest < largest * (1 - _ROUNDING):
                where, largest = dealt, busiest
            if largest <= _NEAR * bound:
                break
    return assignment_of(where, loads, slots, before, threshold)


def _deal(routing: Sequence[int], loads: Floats, slots: int, room: float) -> Ints:
    """Deal shards heaviest first: to their own slot if it is empty or its load stays within ``room``, else to the
    least loaded slot.
    """
    where = np.array(routing, dtype=np.int64)
    heaviest = np.argsort(-loads, kind="stable")
    heaviest = heaviest[loads[heaviest] > 0.0]
    totals = [0.0] * slots
    queue = [(0.0, slot) for slot in range(slots)]
    for shard, load in zip(heaviest.tolist(), loads[heaviest].tolist(), strict=True):
        slot = routing[shard]
        if totals[slot] > 0.0 and totals[slot] + load > room:
            while queue[0][0] != totals[queue[0][1]]:
                heapq.heappop(queue)  # the slot has got more load since
            slot = queue[0][1]
        where[shard] = slot
        totals[slot] += load
        heapq.heappush(queue, (totals[slot], slot))
    return where
