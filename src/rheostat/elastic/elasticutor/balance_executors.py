"""Balances shards over the slots of many executors at once (Elasticutor section 3.1), compiled.

Each executor owns a part of the operator's key space, and its shards stay in its own slots. Within each executor,
shards of removed slots go to the least loaded slot, heaviest first. Then shards move from the most to the least loaded
slot until the largest load is within the threshold. The rule is that of ``rheostat.elastic.routing.balance``, whose two
functions are compiled here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing import balance
from rheostat.elastic.routing.balance import EVEN, THRESHOLD
from rheostat.jit import compiled

_even_out, _adopt = compiled(balance.even_out), compiled(balance.adopt)


def balance_executors(
    routing: Ints,
    loads: Floats,
    executors: Ints,
    owners: Ints,
    threshold: float = THRESHOLD,
    even: float = EVEN,
    nodes: Ints | None = None,
    nearby: float = 1.0,
) -> Ints:
    """Return the slot of every shard.

    Args:
        routing: the slot of every shard so far.
        loads: the load of every shard; NaN and infinite values count as 0.
        executors: the executor of every shard.
        owners: the executor of every slot; -1 for slot numbers that are not in use.
        threshold: an executor is left alone if its largest slot load is at most this many times the mean.
        even: largest over mean load to which the slots of other executors are evened out.
        nodes: the node of every slot, also of removed ones; if None, all are on one node.
        nearby: a shard stays on its node if the busier of the two slots then has at most this many times the load. The
            paper has no such rule: 1 moves shards wherever it is best.

    >>> loads, executors, owners = np.array([3.0, 2.0, 2.0, 1.0]), np.array([0, 0, 0, 1]), np.array([0, 1, 0])
    >>> balance_executors(np.array([0, 0, 0, 1]), loads, executors, owners).tolist()
    [2, 0, 0, 1]
    """
    work = np.where(np.isfinite(loads), np.clip(loads, 0.0, 1e15), 0.0)
    result = routing.astype(np.int64).copy()
    count = int(max(executors.max(initial=-1), owners.max(initial=-1))) + 1
    shards, slots = np.argsort(executors, kind="stable"), np.argsort(owners, kind="stable")
    first_shard = np.searchsorted(executors[shards], np.arange(count + 1))
    first_slot = np.searchsorted(owners[slots], np.arange(count + 1))
    places = np.zeros(len(owners), dtype=np.int64) if nodes is None else nodes.astype(np.int64)
    slots_of = (slots, first_slot, owners.astype(np.int64), places)
    _balance_each(result, work, shards, first_shard, *slots_of, threshold, even, nearby)
    return result


@compiled
def _balance_each(
    routing: Any,
    loads: Any,
    shards: Any,
    first_shard: Any,
    slots: Any,
    first_slot: Any,
    owners: Any,
    nodes: Any,
    threshold: float,
    even: float,
    nearby: float,
) -> None:
    """Balance the executors one after the other. Changes ``routing``."""
    place_of = np.full(len(owners), -1)  # the place of a slot among those of its executor
    for executor in range(len(first_shard) - 1):
        own = shards[first_shard[executor] : first_shard[executor + 1]]
        places = slots[first_slot[executor] : first_slot[executor + 1]]
        if len(own) == 0 or len(places) == 0:
            continue
        place_of[places] = np.arange(len(places))
        work, where = loads[own], np.full(len(own), -1)
        totals, total, lost = np.zeros(len(places)), 0.0, 0
        for i, shard in enumerate(own):
            total += work[i]
            slot = routing[shard]
            if 0 <= slot < len(owners) and owners[slot] == executor:
                where[i] = place_of[slot]
                totals[where[i]] += work[i]
            else:
                lost += 1
        mean, slot_nodes = total / len(places), nodes[places]
        if lost > 0:
            orphans = np.flatnonzero(where < 0)
            orphans = orphans[np.argsort(-work[orphans])]
            origins = np.full(len(orphans), -1)
            for i, orphan in enumerate(orphans):
                slot = routing[own[orphan]]
                if 0 <= slot < len(nodes):
                    origins[i] = nodes[slot]
            _adopt(where, work, totals, slot_nodes, orphans, origins, nearby * mean)
        if mean > 0.0 and totals.max() > threshold * mean:
            _even_out(where, work, totals, slot_nodes, even * mean, 0.0, nearby)
        routing[own] = places[where]
