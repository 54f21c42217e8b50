"""How shards begin to move: alone, as a whole operator, or between two slots that both stand still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rheostat.elastic.plan import OperatorPlan
from rheostat.jit import compiled
from rheostat.simulate.kernel import sent
from rheostat.simulate.queues import pop, push, take
from rheostat.simulate.records import NOBODY


@dataclass(frozen=True, eq=False)
class Waiting:
    """A change that begins later, when its new slot is there."""

    time: float
    operator: str
    plan: OperatorPlan


@compiled
def begin(
    leaving: Any,
    targets: Any,
    now: float,
    moving: Any,
    count: int,
    free: Any,  # noqa: ARG001
    slots: Any,  # noqa: ARG001
    shards: Any,
    rows: Any,  # noqa: ARG001
    nodes: Any,  # noqa: ARG001
    totals: Any,  # noqa: ARG001
) -> int:
    """From now on rows of these shards wait; how many shards are moving."""
    for i in range(len(leaving)):
        shard = leaving[i]
        shards[shard].target = targets[i]
        shards[shard].ready = 1e300
        shards[shard].asked = now
        moving[count + i] = shard
    return int(count + len(leaving))


@compiled
def label(
    leaving: Any,
    now: float,
    free: Any,  # noqa: ARG001
    slots: Any,
    shards: Any,
    rows: Any,
    nodes: Any,  # noqa: ARG001
    totals: Any,
) -> None:
    """Append to the queue of each shard's slot that the shard leaves (Elasticutor's labeling tuple, section 3.3)."""
    for i in range(len(leaving)):
        row = take(rows, totals)
        rows[row].shard = -leaving[i] - 1
        rows[row].ready = now
        push(rows, slots, shards[leaving[i]].slot, row)


@compiled
def together(
    leaving: Any,
    targets: Any,
    now: float,
    free: Any,
    slots: Any,
    shards: Any,
    rows: Any,
    nodes: Any,
    totals: Any,
    pace: float,
    sync: float,
) -> float:
    """Move shards with their waiting rows at once; slots that give and take stand still until the state is there.

    Returns for how long. The rows go along because they wait in a log that both slots read (StreamSwitch section 5.1).
    """
    begin = now
    for i in range(len(leaving)):
        for k in range(free.shape[1]):
            begin = max(begin, free[shards[leaving[i]].slot, k], free[targets[i], k])
    ready = begin + sync
    for i in range(len(leaving)):
        shard = leaving[i]
        old, new = slots[shards[shard].slot].node, slots[targets[i]].node
        if old != new:
            ready = max(ready, sent(nodes, old, new, shards[shard].state, begin + sync, pace))
            totals[0].migrated += shards[shard].state
        shards[shard].target = targets[i]
    for i in range(len(leaving)):
        source, target = shards[leaving[i]].slot, targets[i]
        if source == NOBODY:
            continue  # went along with a shard before it
        hand_over(rows, slots, shards, source, target)
        for k in range(free.shape[1]):
            free[source, k] = ready
            free[target, k] = ready
        for j in range(i, len(leaving)):
            if shards[leaving[j]].slot == source and targets[j] == target:
                shards[leaving[j]].slot = NOBODY
    for i in range(len(leaving)):
        shards[leaving[i]].slot = targets[i]
        shards[leaving[i]].target = NOBODY
    totals[0].switching += 2.0 * (ready - now)
    return float(ready - now)


@compiled
def hand_over(rows: Any, slots: Any, shards: Any, source: int, target: int) -> None:
    """Merge the rows of one queue whose shards go to another queue into that, by their time of arrival."""
    waiting, slots[target].head, slots[target].tail = slots[target].head, NOBODY, NOBODY
    slots[target].length = 0
    for _ in range(slots[source].length):
        row = pop(rows, slots, source)
        if shards[rows[row].shard].target != target:
            push(rows, slots, source, row)
            continue
        while waiting != NOBODY and rows[waiting].arrived <= rows[row].arrived:
            first, waiting = waiting, rows[waiting].next
            push(rows, slots, target, first)
        push(rows, slots, target, row)
    while waiting != NOBODY:
        first, waiting = waiting, rows[waiting].next
        push(rows, slots, target, first)
