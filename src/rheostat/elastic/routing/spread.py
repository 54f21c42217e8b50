"""Spreads shards evenly over another number of slots, with few moves: fast enough for thousands of shards.

Slots that have more than an even share give up shards that together make up the excess, the largest ones that fit
first. These shards, and those of slots that go, are dealt largest first to the slot with least load. That is Graham's
longest-processing-time rule, which stays within 4/3 of the best possible largest load.
"""

from __future__ import annotations

import heapq

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.balance import with_idle_shards


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
    totals = np.bincount(where[where < slots], weights=weights[where < slots], minlength=slots)
    for slot in np.flatnonzero(totals > even * (1 + 1e-9)).tolist():
        shards = np.flatnonzero(where == slot)
        given = shards[_worth(weights[shards], totals[slot] - even)]
        totals[slot] -= weights[given].sum()
        orphans.append(given)
    loose = np.concatenate(orphans)
    loose = loose[np.argsort(-weights[loose], kind="stable")]
    heap = [(total, slot) for slot, total in enumerate(totals.tolist())]
    heapq.heapify(heap)
    for shard, weight in zip(loose.tolist(), weights[loose].tolist(), strict=True):
        total, slot = heap[0]
        where[shard] = slot
        heapq.heapreplace(heap, (total + weight, slot))
    return where


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
