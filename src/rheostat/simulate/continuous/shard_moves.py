"""How shards begin to move: alone, as a whole operator, or between two slots that both stand still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.elastic.elasticutor.subspaces import subspaces_of
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.jit import compiled
from rheostat.simulate.continuous.network import carried
from rheostat.simulate.continuous.queues import land, pop, push, take
from rheostat.simulate.continuous.records import NOBODY, World


@dataclass(frozen=True, eq=False)
class Waiting:
    """A change that begins later, when its new slot is there.

    Attributes:
        time: when it begins.
        operator: that is changed.
        plan: where it is to run.
    """

    time: float
    operator: str
    plan: OperatorPlan


def repartitioned(old: OperatorPlan, new: OperatorPlan) -> bool:
    """True if shards change their executor, and not only their slot inside it.

    Then those who send to the operator have to know, as when keys are repartitioned (Elasticutor section 2.2): only
    inside an executor a shard moves without them. Executors may be numbered anew.

    >>> from rheostat.elastic.model.plan import Subspaces
    >>> import numpy as np
    >>> def plan(*executors):
    ...     return OperatorPlan(np.arange(3), np.zeros(3), Subspaces(np.array(executors), np.arange(3), np.zeros(3)))
    >>> repartitioned(plan(0, 0, 1), plan(1, 1, 0)), repartitioned(plan(0, 0, 1), plan(0, 1, 1))
    (False, True)
    """
    if new.subspaces is None:
        return False
    before, after = subspaces_of(old).executors, new.subspaces.executors
    if np.array_equal(before, after):
        return False
    pairs = len(np.unique(before * (after.max() + 1) + after))
    return pairs > len(np.unique(before)) or pairs > len(np.unique(after))


@compiled
def begin(w: World, leaving: Any, targets: Any, now: float, moving: Any, count: int) -> int:
    """Begin to hold rows of these shards; returns how many shards are moving."""
    for i in range(len(leaving)):
        shard = leaving[i]
        # Rows that are still on their way to the old slot are ahead of the shard's leaving.
        land(w.rows, w.slots, w.shards[shard].slot, 1e300)
        w.shards[shard].target = targets[i]
        w.shards[shard].ready = 1e300
        w.shards[shard].asked = now
        moving[count + i] = shard
    return int(count + len(leaving))


@compiled
def label(w: World, leaving: Any, now: float) -> None:
    """Append to the queue of each shard's slot that the shard leaves (Elasticutor's labeling tuple, section 3.3)."""
    for i in range(len(leaving)):
        row = take(w.rows, w.totals)
        if row == NOBODY:
            w.totals[0].lost += 1
            continue
        w.rows[row].shard = -leaving[i] - 1
        w.rows[row].ready = now
        push(w.rows, w.slots, w.shards[leaving[i]].slot, row)


@compiled
def together(w: World, leaving: Any, targets: Any, now: float) -> float:
    """Move shards with their waiting rows at once; slots that give and take stand still until the state is there.

    Returns for how long. The rows go along because they wait in a log that both slots read (StreamSwitch section 5.1).
    """
    begin = now
    for i in range(len(leaving)):
        for k in range(w.free.shape[1]):
            begin = max(begin, w.free[w.shards[leaving[i]].slot, k], w.free[targets[i], k])
    ready = begin + w.pair_sync
    for i in range(len(leaving)):
        shard = leaving[i]
        old, new = w.slots[w.shards[shard].slot].node, w.slots[targets[i]].node
        if old != new:
            ready = max(ready, carried(w.nodes, w.pace, old, new, w.shards[shard].state, begin + w.pair_sync))
            w.totals[0].migrated += w.shards[shard].state
            w.totals[0].far_moves += 1
        else:
            w.totals[0].moves += 1
        w.shards[shard].target = targets[i]
    for i in range(len(leaving)):
        source, target = w.shards[leaving[i]].slot, targets[i]
        if source == NOBODY:
            continue  # went along with a shard before it
        hand_over(w, source, target)
        for k in range(w.free.shape[1]):
            w.free[source, k] = ready
            w.free[target, k] = ready
        for j in range(i, len(leaving)):
            if w.shards[leaving[j]].slot == source and targets[j] == target:
                w.shards[leaving[j]].slot = NOBODY
    for i in range(len(leaving)):
        w.shards[leaving[i]].slot = targets[i]
        w.shards[leaving[i]].target = NOBODY
    w.totals[0].switching += 2.0 * (ready - now)
    return float(ready - now)


@compiled
def hand_over(w: World, source: int, target: int) -> None:
    """Merge the rows of one queue whose shards go to another queue into that, by their time of arrival."""
    land(w.rows, w.slots, source, 1e300)
    land(w.rows, w.slots, target, 1e300)
    waiting, w.slots[target].head, w.slots[target].tail = w.slots[target].head, NOBODY, NOBODY
    w.slots[target].length = 0
    for _ in range(w.slots[source].length):
        row = pop(w.rows, w.slots, source)
        if w.shards[w.rows[row].shard].target != target:
            push(w.rows, w.slots, source, row)
            continue
        while waiting != NOBODY and w.rows[waiting].arrived <= w.rows[row].arrived:
            first, waiting = waiting, w.rows[waiting].next
            push(w.rows, w.slots, target, first)
        push(w.rows, w.slots, target, row)
    while waiting != NOBODY:
        first, waiting = waiting, w.rows[waiting].next
        push(w.rows, w.slots, target, first)
