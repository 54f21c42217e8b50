"""Places shards heaviest first, each in the least loaded slot: a few milliseconds for thousands of shards.

That is Graham's longest-processing-time rule, which stays within 4/3 of the best possible largest load. The rule of
``balance`` moves single shards until slots are near the mean, and leaves small shards beside one that fills a slot by
itself. Dealt heaviest first, a shard that decides how long an epoch takes has its slot to itself. Where any number of
shards may move, as at the boundary of an epoch, there are two ways to deal them, which differ in what stays:

- ``place_longest_first`` keeps the slots: for epochs whose rows are counted ahead. A shard stays in its slot as long as
  that has room, idle shards never move, and no slot becomes busier than the busiest is now.
- ``spread`` and ``spread_over`` change the slots: for policies that scale. Only shards beyond a slot's even share, and
  those of slots that go, are dealt. Idle shards are spread too.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.balance import (
    THRESHOLD,
    Assignment,
    assignment_of,
    imbalance,
    slot_loads,
    with_idle_shards,
)

_NEAR = 1.01
"""A largest load within this many times the lower bound is not worth moving more shards of the same slots for."""

_EVEN = 1.05
"""A largest load within this many times the lower bound is even enough for other slots."""

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
    lower. If that is far from the bound, all shards are dealt to the least loaded slot. A shard without load never
    moves, and every slot keeps at least one shard.

    Args:
        routing: the slot of every shard now; every slot has at least one.
        loads: the expected load of every shard.
        slots: the number of slots.
        threshold: the largest over mean load of the slots that is allowed.

    >>> place_longest_first((0, 0, 0, 1), np.array([9.0, 1.0, 1.0, 4.0]), 2).routing
    (0, 1, 1, 1)
    """
    now = where = np.array(routing, dtype=np.int64)
    totals = slot_loads(now, loads, slots)
    before, largest = imbalance(totals), float(totals.max())
    if before > threshold:
        bound, loaded = lower_bound(loads, slots), np.flatnonzero(loads > 0.0)
        for room in (min(bound, threshold * totals.mean()) * (1 + _ROUNDING), 0.0):
            dealt = now.copy()
            busiest = _deal(dealt, loads, np.zeros(slots), loaded, room)
            if busiest < largest * (1 - _ROUNDING):
                where, largest = dealt, busiest
            if largest <= _NEAR * bound:
                break
    return assignment_of(where, loads, slots, before, threshold)


def spread(routing: Ints, loads: Floats, slots: int) -> Ints:
    """Return the slot of every shard, with slots numbered from 0.

    Slots with more than an even share give up shards that make up the excess, the largest ones that fit first. These
    shards, and those of slots that go, are dealt. Where the shards that stayed leave the slots uneven, all are dealt.

    Args:
        routing: the slot of every shard now.
        loads: the load of every shard.
        slots: the number of slots.

    >>> spread(np.array([0, 0, 0, 0]), np.array([4.0, 3.0, 2.0, 1.0]), 2).tolist()
    [1, 0, 0, 1]
    >>> spread(np.array([0, 1, 2, 2]), np.ones(4), 2).tolist()
    [0, 1, 0, 1]
    """
    weights = with_idle_shards(loads)
    where, even = routing.copy(), float(weights.sum()) / slots
    dealt = [np.flatnonzero(where >= slots)]
    totals = slot_loads(where[where < slots], weights[where < slots], slots)
    for slot in np.flatnonzero(totals > even * (1 + _ROUNDING)).tolist():
        shards = np.flatnonzero(where == slot)
        given = shards[worth(weights[shards], totals[slot] - even)]
        totals[slot] -= weights[given].sum()
        dealt.append(given)
    busiest = _deal(where, weights, totals, np.concatenate(dealt))
    if busiest <= _EVEN * lower_bound(weights, slots):
        return where
    anew = where.copy()
    return anew if _deal(anew, weights, np.zeros(slots), np.arange(len(where))) < busiest else where


def spread_over(routing: Ints, loads: Floats, slots: Ints, threshold: float = _EVEN) -> Ints:
    """Return the slot of every shard, evenly loaded over slots with given numbers. Shards of other slots move to them.

    Args:
        routing: the slot number of every shard now.
        loads: the load of every shard.
        slots: the slot numbers to use. If there are fewer than now, those with most load should come first.
        threshold: nothing moves if every shard has its slot, every slot a shard, and the largest load is at most this
            many times the mean.

    >>> spread_over(np.array([5, 5, 7, 7]), np.ones(4), np.array([7, 2])).tolist()
    [2, 2, 7, 7]
    """
    known = np.full(int(max(routing.max(), slots.max())) + 1, len(slots))
    known[slots] = np.arange(len(slots))
    dense = known[routing]
    if dense.max() < len(slots):
        totals = slot_loads(dense, loads, len(slots))
        in_use = np.bincount(dense, minlength=len(slots)).all()
        if in_use and totals.max() <= threshold * totals.mean():
            return routing
    return slots[spread(dense, loads, len(slots))]


def _deal(where: Ints, loads: Floats, totals: Floats, shards: Ints, room: float | None = None) -> float:
    """Deal shards to slots, the heaviest first and each to the least loaded slot; return the largest load of a slot.

    Args:
        where: the slot of every shard; changed in place.
        loads: the load of every shard.
        totals: the load of every slot without the shards to deal.
        shards: the shards to deal.
        room: a shard stays in its own slot if that is empty, or has at most this load with it; None if none stays.
    """
    shards = shards[np.argsort(-loads[shards], kind="stable")]
    slot_totals = totals.tolist()
    least = [(total, slot) for slot, total in enumerate(slot_totals)]
    heapq.heapify(least)
    slots = where[shards].tolist()
    for i, load in enumerate(loads[shards].tolist()):
        slot = slots[i]
        if room is None or (slot_totals[slot] > 0.0 and slot_totals[slot] + load > room):
            while least[0][0] != slot_totals[least[0][1]]:
                heapq.heappop(least)  # the slot has got more load since
            slots[i] = slot = least[0][1]
        slot_totals[slot] += load
        heapq.heappush(least, (slot_totals[slot], slot))
    where[shards] = slots
    return float(max(slot_totals))


def worth(weights: Floats, excess: float) -> Ints:
    """Return the indices of weights that add up to nearly the excess and not more, few and large ones first.

    >>> worth(np.array([1.0, 5.0, 3.0]), 6.5).tolist()
    [1, 0]
    """
    order = np.argsort(weights, kind="stable")
    ascending = weights[order]
    chosen, last = [], len(order)
    while last > 0:
        last = min(int(np.searchsorted(ascending, excess * (1 + 1e-12), side="right")), last)
        if last == 0:
            break
        last -= 1
        chosen.append(order[last])
        excess -= float(ascending[last])
    return np.array(chosen, dtype=np.int64)
