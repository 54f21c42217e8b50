"""Spreads shards evenly over another number of slots, with few moves: fast enough for thousands of shards.

Slots that have more than an even share give up shards that together make up the excess, the largest ones that fit
first. These shards, and those of slots that go, are dealt largest first to the slot with least load. Where the shards
that stayed leave the slots uneven, all shards are dealt anew. That is Graham's longest-processing-time rule, which
stays within 4/3 of the best possible largest load.
"""

from __future__ import annotations

import heapq

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.balance import slot_loads, with_idle_shards

_NEARLY = 1.05
"""A largest load up to this many times the least possible one is even enough."""


def spread(routing: Ints, loads: Floats, slots: int) -> Ints:
    """Return the slot of every shard, with slots numbered from 0.

    Shards of slots that are still there stay where they are, as far as that is even.

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
    orphans = [np.flatnonzero(where >= slots)]
    totals = slot_loads(where[where < slots], weights[where < slots], slots)
    for slot in np.flatnonzero(totals > even * (1 + 1e-9)).tolist():
        shards = np.flatnonzero(where == slot)
        given = shards[_worth(weights[shards], totals[slot] - even)]
        totals[slot] -= weights[given].sum()
        orphans.append(given)
    reached = _deal(where, weights, totals, np.concatenate(orphans))
    if reached <= _NEARLY * max(even, float(weights.max())):
        return where
    anew = where.copy()
    return anew if _deal(anew, weights, np.zeros(slots), np.arange(len(where))) < reached else where


def spread_over(routing: Ints, loads: Floats, slots: Ints, threshold: float = _NEARLY) -> Ints:
    """Return the slot of every shard, evenly loaded over slots with given numbers. Shards of other slots move to them.

    Args:
        routing: the slot number of every shard now.
        loads: the load of every shard.
        slots: the slot numbers to use. If there are fewer than now, those with most load should come first.
        threshold: nothing moves if every shard has its slot, and the largest load is at most this many times the mean.

    >>> spread_over(np.array([5, 5, 7, 7]), np.ones(4), np.array([7, 2])).tolist()
    [2, 2, 7, 7]
    """
    known = np.full(int(max(routing.max(), slots.max())) + 1, len(slots))
    known[slots] = np.arange(len(slots))
    dense = known[routing]
    if dense.max() < len(slots):
        totals = slot_loads(dense, loads, len(slots))
        if totals.max() <= threshold * totals.mean():
            return routing
    return slots[spread(dense, loads, len(slots))]


def _deal(where: Ints, weights: Floats, totals: Floats, loose: Ints) -> float:
    """Give shards to slots, the heaviest first and always to the least loaded slot; return the largest load.

    Args:
        where: the slot of every shard; changed in place.
        weights: the load of every shard.
        totals: the load of every slot without the shards to give.
        loose: the shards to give.
    """
    loose = loose[np.argsort(-weights[loose], kind="stable")]
    heap = [(total, slot) for slot, total in enumerate(totals.tolist())]
    heapq.heapify(heap)
    for shard, weight in zip(loose.tolist(), weights[loose].tolist(), strict=True):
        total, slot = heap[0]
        where[shard] = slot
        heapq.heapreplace(heap, (total + weight, slot))
    return float(max(total for total, _ in heap))


def _worth(weights: Floats, excess: float) -> Ints:
    """Return the indices of weights that add up to nearly the excess and not more, few and large ones first."""
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
