"""How moving shards change hands: state is sent, rows held for a shard follow it, a stopped operator runs again."""

from __future__ import annotations

from typing import Any

from rheostat.jit import compiled
from rheostat.simulate.continuous.network import transfer_row, transfer_state
from rheostat.simulate.continuous.queues import pop, push
from rheostat.simulate.continuous.records import DRAINING, MOVING, NOBODY, RUNNING, World


@compiled
def send_state(w: World, shard: int, now: float, sync: float) -> None:
    """Send the state of a moving shard to its new slot, once its pending rows in the old slot are done.

    Args:
        w: the simulation.
        shard: the shard.
        now: when the last pending row was done.
        sync: seconds of synchronisation before the state is sent.
    """
    slots, shards, nodes, totals, seconds_per_byte = w.slots, w.shards, w.nodes, w.totals, w.seconds_per_byte
    old, new = slots[shards[shard].slot].node, slots[shards[shard].target].node
    drained = now - shards[shard].asked
    ready = now + sync
    if old != new:
        ready = transfer_state(nodes, seconds_per_byte, old, new, shards[shard].state, now + sync)
        totals[0].migrated += shards[shard].state
        totals[0].far_moves += 1
        totals[0].far_seconds += ready - shards[shard].asked
        totals[0].far_sync_seconds += drained + sync
    else:
        totals[0].moves += 1
        totals[0].move_seconds += ready - shards[shard].asked
        totals[0].sync_seconds += drained + sync
    shards[shard].ready = ready


@compiled
def land_shards(w: World, moving: Any, count: int, now: float) -> int:
    """Hand the shards that have arrived to their new slots, with the rows held for them.

    Args:
        w: the simulation.
        moving: the list of moving shards, from which these are removed.
        count: length of that list before.
        now: when the tick begins.

    Returns:
        How many shards are still moving.
    """
    slots, shards, rows, operators, nodes, totals, seconds_per_byte = (
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.nodes,
        w.totals,
        w.seconds_per_byte,
    )
    kept = 0
    for i in range(count):
        shard = moving[i]
        if shards[shard].ready > now:
            moving[kept] = shard
            kept += 1
            continue
        slot = shards[shard].target
        shards[shard].slot = slot
        shards[shard].target = NOBODY
        home, node = slots[slot].home, slots[slot].node
        while shards[shard].head != NOBODY:
            row = pop(rows, shards, shard)
            ready = max(rows[row].ready, shards[shard].ready)
            if home != node:
                size = operators[shards[shard].operator].row_bytes
                ready = transfer_row(nodes, totals, seconds_per_byte, home, node, size, ready)
                totals[0].remote += size
            rows[row].ready = ready
            push(rows, slots, slot, row)
    return kept


@compiled
def advance_stop(w: World, operator: int, moving: Any, count: int, now: float) -> None:
    """Advance an operator that is stopped as a whole.

    When its queues are empty, the state of its moving shards is sent; when the state has arrived, it runs again.
    """
    free, slots, shards, operators = w.free, w.slots, w.shards, w.operators
    first, last = operators[operator].first_slot, operators[operator].first_slot + operators[operator].slots
    if operators[operator].phase == DRAINING:
        empty = now
        for slot in range(first, last):
            if slots[slot].length > 0:
                return
            for k in range(slots[slot].servers):
                empty = max(empty, free[slot, k])
        if empty > now:
            return
        resume = now + w.operator_sync
        for i in range(count):
            shard = moving[i]
            if shards[shard].operator != operator:
                continue
            send_state(w, shard, now, w.operator_sync)
            resume = max(resume, shards[shard].ready)
        for i in range(count):
            if shards[moving[i]].operator == operator:
                shards[moving[i]].ready = resume
        operators[operator].resume = resume
        operators[operator].phase = MOVING
    if operators[operator].phase == MOVING and operators[operator].resume <= now:
        operators[operator].phase = RUNNING
