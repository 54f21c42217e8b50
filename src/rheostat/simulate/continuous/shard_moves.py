"""Start the move of shards: each on its own, a whole operator at once, or between two slots that both stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.elastic.elasticutor.subspaces import subspaces_of
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.jit import compiled
from rheostat.simulate.continuous.network import transfer_state
from rheostat.simulate.continuous.queues import allocate, land_rows, pop, push
from rheostat.simulate.continuous.records import FOREVER, NOBODY, World


@dataclass(frozen=True, eq=False)
class Waiting:
    """A change of plan that begins later, for example when a new slot has started.

    Attributes:
        time: when it begins, in simulated seconds.
        operator: name of the operator that changes.
        plan: the operator's new plan.
    """

    time: float
    operator: str
    plan: OperatorPlan


def changes_executors(old: OperatorPlan, new: OperatorPlan) -> bool:
    """True if a shard moves to another executor, not only to another slot of its executor.

    Then the upstream operators have to learn the new routing, as when keys are repartitioned (Elasticutor section 2.2).
    Inside an executor, a shard moves without them. Executors that only get other numbers do not count as changed.

    >>> from rheostat.elastic.model.plan import Subspaces
    >>> import numpy as np
    >>> def plan(*executors):
    ...     return OperatorPlan(np.arange(3), np.zeros(3), Subspaces(np.array(executors), np.arange(3), np.zeros(3)))
    >>> changes_executors(plan(0, 0, 1), plan(1, 1, 0)), changes_executors(plan(0, 0, 1), plan(0, 1, 1))
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
def begin_moves(w: World, leaving: Any, targets: Any, now: float, moving: Any, count: int) -> int:
    """Mark shards as moving, so that new rows of theirs are held; return how many shards move now.

    Args:
        w: the simulation.
        leaving: the shards.
        targets: the new slot of each of them.
        now: simulated time.
        moving: the list of moving shards, to which these are added.
        count: length of that list before.
    """
    for i in range(len(leaving)):
        shard = leaving[i]
        # Rows in transit to the old slot are ahead of the label that marks the shard's leaving.
        land_rows(w.rows, w.slots, w.shards[shard].slot, FOREVER)
        w.shards[shard].target = targets[i]
        w.shards[shard].ready = FOREVER
        w.shards[shard].asked = now
        moving[count + i] = shard
    return int(count + len(leaving))


@compiled
def push_labels(w: World, leaving: Any, now: float) -> None:
    """Append a label to the queue of each shard's slot: behind it are no more rows of the shard.

    This is the labeling tuple of Elasticutor section 3.3.
    """
    for i in range(len(leaving)):
        row = allocate(w.rows, w.totals)
        if row == NOBODY:
            w.totals[0].lost += 1
            continue
        w.rows[row].shard = -leaving[i] - 1
        w.rows[row].ready = now
        push(w.rows, w.slots, w.shards[leaving[i]].slot, row)


@compiled
def move_between_stopped_slots(w: World, leaving: Any, targets: Any, now: float) -> float:
    """Move shards with their waiting rows, while the old and the new slots stop; return for how many seconds they stop.

    The rows move too because they wait in a log that both slots read (StreamSwitch section 5.1).
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
            state = w.shards[shard].state
            arrival = transfer_state(w.nodes, w.seconds_per_byte, old, new, state, begin + w.pair_sync)
            ready = max(ready, arrival)
            w.totals[0].migrated += w.shards[shard].state
            w.totals[0].far_moves += 1
        else:
            w.totals[0].moves += 1
        w.shards[shard].target = targets[i]
    for i in range(len(leaving)):
        source, target = w.shards[leaving[i]].slot, targets[i]
        if source == NOBODY:
            continue  # its rows moved with an earlier shard that has the same source and target
        move_rows(w, source, target)
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
def move_rows(w: World, source: int, target: int) -> None:
    """Move the rows whose shards leave ``source`` for ``target`` to the queue of ``target``, in order of arrival."""
    land_rows(w.rows, w.slots, source, FOREVER)
    land_rows(w.rows, w.slots, target, FOREVER)
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
