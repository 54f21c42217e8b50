"""Shards over the slots of many executors at once, by Elasticutor's balancing (section 3.1), compiled.

The same rule as ``balancing.balance``, for an operator whose executors each own a part of the key space: within each,
shards of slots that are gone go to the least loaded slot, heaviest first; then one shard after the other moves from the
most to the least loaded slot, the one that lowers the imbalance most, until the largest load is within the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.jit import compiled

THRESHOLD = 1.2
"""Largest over mean load of an executor's slots that counts as balanced: the paper's value."""

EVEN = 1.05
"""How even slots are made once they are not balanced, so that the next change is some time off; in the paper 1.2."""


def level(
    routing: Ints,
    loads: Floats,
    executors: Ints,
    owners: Ints,
    threshold: float = THRESHOLD,
    even: float = EVEN,
    nodes: Ints | None = None,
    nearby: float = 1.0,
) -> Ints:
    """The slot of every shard.

    Args:
        routing: the slot of every shard so far.
        loads: work of every shard; what is no number counts as none.
        executors: the executor of every shard; ``owners``, of every slot, -1 for numbers that no slot has.
        threshold: an executor whose slots are that even is left alone.
        even: how even the slots are made of one that is not.
        nodes: the node of every slot, also of those that are gone; all on one node if not given.
        nearby: a shard stays on its node if that leaves the busier of both slots at most so many times as busy. The
            paper has no such rule: 1 moves shards wherever it is best.

    >>> loads, executors, owners = np.array([3.0, 2.0, 2.0, 1.0]), np.array([0, 0, 0, 1]), np.array([0, 1, 0])
    >>> level(np.array([0, 0, 0, 1]), loads, executors, owners).tolist()
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
    _level(result, work, shards, first_shard, *slots_of, threshold, even, nearby)
    return result


@compiled
def _level(
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
    totals = np.zeros(len(owners))
    for e in range(len(first_shard) - 1):
        mine = shards[first_shard[e] : first_shard[e + 1]]
        places = slots[first_slot[e] : first_slot[e + 1]]
        if len(mine) == 0 or len(places) == 0:
            continue
        whole, lost = 0.0, 0
        for shard in mine:
            whole += loads[shard]
            at = routing[shard]
            if 0 <= at < len(owners) and owners[at] == e:
                totals[at] += loads[shard]
            else:
                lost += 1
        mean = whole / len(places)
        if lost:
            _adopt(routing, loads, owners, nodes, totals, mine, places, lost, e, nearby * mean)
        if mean <= 0.0 or totals[_extreme(totals, places, 1.0, nodes, -1)] <= threshold * mean:
            continue
        for _ in range(2 * len(mine)):
            most = _extreme(totals, places, 1.0, nodes, -1)
            if totals[most] <= even * mean:
                break
            least = _extreme(totals, places, -1.0, nodes, -1)
            best, worst = _best(routing, loads, totals, mine, most, least)
            if nearby > 1.0 and nodes[least] != nodes[most]:
                close = _extreme(totals, places, -1.0, nodes, nodes[most])
                other, after = _best(routing, loads, totals, mine, most, close)
                if other >= 0 and after <= nearby * worst:
                    best, least = other, close
            if best < 0:
                break
            routing[best] = least
            totals[most] -= loads[best]
            totals[least] += loads[best]


@compiled
def _extreme(totals: Any, places: Any, sign: float, nodes: Any, node: int) -> int:
    """The slot with most load (sign 1) or least (-1): of all, or of those on a node."""
    found = -1
    for place in places:
        if (node < 0 or nodes[place] == node) and (found < 0 or sign * totals[place] > sign * totals[found]):
            found = place
    return int(found)


@compiled
def _best(routing: Any, loads: Any, totals: Any, mine: Any, most: int, least: int) -> tuple[int, float]:
    """The shard of the most loaded slot that is best moved to another, and the larger of both loads then."""
    best, worst = -1, totals[most]
    for shard in mine:
        if routing[shard] == most and loads[shard] > 0.0:
            after = max(totals[most] - loads[shard], totals[least] + loads[shard])
            if after < worst:
                best, worst = shard, after
    return int(best), float(worst)


@compiled
def _adopt(
    routing: Any,
    loads: Any,
    owners: Any,
    nodes: Any,
    totals: Any,
    mine: Any,
    places: Any,
    lost: int,
    executor: int,
    enough: float,
) -> None:
    """Shards whose slot is gone go to the least loaded slot, heaviest first; on their node if that has room."""
    orphans = np.empty(lost, dtype=np.int64)
    n = 0
    for shard in mine:
        at = routing[shard]
        if not (0 <= at < len(owners) and owners[at] == executor):
            orphans[n] = shard
            n += 1
    for i in np.argsort(-loads[orphans]):
        shard = orphans[i]
        at = routing[shard]
        least = _extreme(totals, places, -1.0, nodes, -1)
        if 0 <= at < len(nodes) and nodes[at] >= 0:
            close = _extreme(totals, places, -1.0, nodes, nodes[at])
            if close >= 0 and totals[close] + loads[shard] <= enough:
                least = close
        routing[shard] = least
        totals[least] += loads[shard]
