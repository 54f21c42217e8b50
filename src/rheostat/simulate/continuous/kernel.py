"""The continuous engine's inner loops: rows through bounded queues, slots that serve them, shards on the move.

Time goes in ticks. In each, shards that have arrived at their new slot are handed over, the source sends, and operators
serve one after the other, upstream first. Inside a tick times are exact: a row's service begins when it is there and
its slot is free, whichever is later. Only what is felt backwards, a full queue downstream, waits for the next tick.

A sender hands its row over also to a full queue, and may not go on before that queue has room again. So which row is
next never depends on who has room, and one hot slot stops everybody, as it does in engines with bounded queues.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rheostat.jit import compiled, inlined
from rheostat.simulate.continuous.network import carried, sent
from rheostat.simulate.continuous.queues import give, land, pop, push, send, take
from rheostat.simulate.continuous.randomness import exponential, uniform
from rheostat.simulate.continuous.records import BINS, NOBODY, World

_FINEST = 1e-5  # seconds of latency in the first bin


@inlined
def deliver(
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    pace: float,
    buffer: float,
    row: int,
    shard: int,
    now: float,
    sender: int,
    inside: bool,
) -> float:
    """Bring a row to the slot of its shard, or to those who wait for that shard; until when the sender has to wait."""
    size = operators[shards[shard].operator].row_bytes
    rows[row].shard = shard
    rows[row].arrived = now
    shards[shard].arrived += 1
    lag = 0.0
    slot = shards[shard].slot if shards[shard].target == NOBODY else shards[shard].target
    home, node = slots[slot].home, slots[slot].node
    ready = sent(nodes, totals, pace, sender, home, size, now)
    if pace > 0.0 and sender != home and sender != NOBODY:
        lag = max(nodes[sender].sends, nodes[home].takes) - buffer
    if shards[shard].target != NOBODY:
        rows[row].ready = ready
        push(rows, shards, shard, row)
        return lag
    if home != node:
        ready = sent(nodes, totals, pace, home, node, size, ready)
        totals[0].remote += size
        if pace > 0.0:
            lag = max(lag, nodes[home].sends - buffer, nodes[node].takes - buffer)
    rows[row].ready = ready
    if inside:
        send(rows, slots, slot, row)
    else:
        push(rows, slots, slot, row)
    return lag


@compiled
def admit(w: World, times: Any, goals: Any, begin: int, start: float, end: float) -> int:
    """Rows of the workload enter until the tick ends or the source is stopped; the first that is left for later."""
    queue, hold = w.queue, w.hold
    slots, shards, rows, operators, nodes, totals, pace, buffer = (
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.nodes,
        w.totals,
        w.pace,
        w.buffer,
    )
    i = begin
    # What a source that is stopped cannot keep is never sent.
    latest = start - w.patience if w.patience > 0.0 else max(start, totals[0].source_free)
    while i < len(times) and times[i] < latest:
        i += 1
    while i < len(times) and times[i] < end:
        blocked = totals[0].source_blocked
        if blocked != NOBODY:
            if blocked >= 0 and slots[blocked].length > queue:
                break
            if blocked < NOBODY and shards[-blocked - 2].length > hold:
                break
            totals[0].source_blocked = NOBODY
        if totals[0].source_free >= end or operators[0].phase != 0:
            break
        row = take(rows, totals)
        if row == NOBODY:
            break
        now = max(times[i], start, totals[0].source_free)
        due = times[i] if w.patience > 0.0 else now
        rows[row].born = due
        shard = goals[i]
        sender = totals[0].turn
        totals[0].turn = sender + 1 if sender + 1 < len(nodes) else 0
        lag = deliver(slots, shards, rows, operators, nodes, totals, pace, buffer, row, shard, now, sender, False)
        rows[row].arrived = due
        totals[0].admitted += 1
        totals[0].source_free = max(totals[0].source_free, lag)
        if shards[shard].target != NOBODY:
            if shards[shard].length > hold:
                totals[0].source_blocked = -shard - 2
        elif slots[shards[shard].slot].length > queue:
            totals[0].source_blocked = shards[shard].slot
        i += 1
    return i


@compiled
def emit(w: World, operator: int, slot: int, origin: int, done: float, born: float) -> None:
    """Send on what a row causes; the slot is stopped if a queue downstream is full then."""
    queue, hold = w.queue, w.hold
    slots, shards, rows, operators, nodes, totals, edges, cumulated, random, pace, buffer = (
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.nodes,
        w.totals,
        w.edges,
        w.cumulated,
        w.random,
        w.pace,
        w.buffer,
    )
    first, count = operators[operator].first_edge, operators[operator].edges
    home, node = slots[slot].home, slots[slot].node
    whole = int(operators[operator].selectivity)
    part = operators[operator].selectivity - whole
    now = done
    if home != node and count > 0:
        size = operators[operator].out_bytes * operators[operator].selectivity
        now = sent(nodes, totals, pace, node, home, size, now)
        totals[0].remote += size
    for e in range(first, first + count):
        target = edges[e]
        copies = whole + (1 if part > 0.0 and uniform(random) < part else 0)
        for _ in range(copies):
            row = take(rows, totals)
            if row == NOBODY:
                totals[0].lost += 1
                continue
            low = operators[target].first_weight
            if low == NOBODY:
                inside = (origin - operators[operator].first_shard) % operators[target].shards
            else:
                high = low + operators[target].shards
                inside = min(np.searchsorted(cumulated[low:high], uniform(random)), operators[target].shards - 1)
            shard = operators[target].first_shard + inside
            rows[row].born = born
            lag = deliver(slots, shards, rows, operators, nodes, totals, pace, buffer, row, shard, now, home, True)
            slots[slot].lag = max(slots[slot].lag, lag)
            if shards[shard].target != NOBODY:
                if shards[shard].length > hold:
                    slots[slot].blocked = -shard - 2
            elif slots[shards[shard].slot].length > queue:
                slots[slot].blocked = shards[shard].slot


@inlined
def bin_of(latency: float) -> int:
    """The bin of latencies that one belongs to: eight of equal width for each doubling."""
    if latency < _FINEST:
        return 0
    part, doublings = math.frexp(latency / _FINEST)
    return min(8 * (doublings - 1) + int(16.0 * part - 8.0) + 1, BINS - 1)


@compiled
def leave(w: World, shard: int, now: float, sync: float) -> None:
    """All rows of a moving shard that waited in its old slot are done: its state goes to the new one."""
    slots, shards, nodes, totals, pace = w.slots, w.shards, w.nodes, w.totals, w.pace
    old, new = slots[shards[shard].slot].node, slots[shards[shard].target].node
    drained = now - shards[shard].asked
    ready = now + sync
    if old != new:
        ready = carried(nodes, pace, old, new, shards[shard].state, now + sync)
        totals[0].migrated += shards[shard].state
        totals[0].far_moves += 1
        totals[0].far_seconds += ready - shards[shard].asked
        totals[0].far_sync_seconds += drained + sync
    else:
        totals[0].moves += 1
        totals[0].move_seconds += ready - shards[shard].asked
        totals[0].sync_seconds += drained + sync
    shards[shard].ready = ready


@inlined
def complete(
    shards: Any, operators: Any, totals: Any, bins: Any, operator: int, shard: int, latency: float, since_born: float
) -> None:
    """Count a row that is done."""
    shards[shard].completed += 1
    shards[shard].done += 1
    shards[shard].waited += latency
    bins[operator, bin_of(latency)] += 1
    if operators[operator].edges == 0:
        totals[0].end_rows += 1
        totals[0].end_waited += since_born


@compiled
def finish(w: World) -> None:
    """Go on with the rows that were worked on when the interval before ended."""
    late, slots, shards, operators, totals, bins = w.late, w.slots, w.shards, w.operators, w.totals, w.bins
    begin, until = totals[0].begin, totals[0].until
    for slot in range(len(slots)):
        for server in range(slots[slot].servers):
            shard = late[slot, server].shard
            if shard == NOBODY:
                continue
            done = late[slot, server].done
            slots[slot].useful += min(done, until) - begin
            if done <= until:
                operator, born = slots[slot].operator, late[slot, server].born
                complete(shards, operators, totals, bins, operator, shard, late[slot, server].waited, done - born)
                late[slot, server].shard = NOBODY
                if operators[operator].edges > 0:
                    emit(w, operator, slot, shard, done, born)


@compiled
def serve(w: World, slot: int, end: float) -> None:
    """Let a slot work until the tick ends, its queue is empty, or a queue downstream is full."""
    free, late, slots, shards, rows, operators, totals, edges, random, bins, queue, hold = (
        w.free,
        w.late,
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.totals,
        w.edges,
        w.random,
        w.bins,
        w.queue,
        w.hold,
    )
    operator = slots[slot].operator
    cost = operators[operator].cost * slots[slot].speed
    count, first_edge = slots[slot].servers, operators[operator].first_edge
    if slots[slot].first != NOBODY:
        land(rows, slots, slot, end)
    while slots[slot].head != NOBODY:
        blocked = slots[slot].blocked
        if blocked != NOBODY:
            full = slots[blocked].length > queue if blocked >= 0 else shards[-blocked - 2].length > hold
            if full or (blocked >= 0 and operators[slots[blocked].operator].phase != 0):
                for k in range(count):
                    free[slot, k] = max(free[slot, k], end)
                break
            slots[slot].blocked = NOBODY
        for e in range(first_edge, first_edge + operators[operator].edges):
            if operators[edges[e]].phase != 0:
                for k in range(count):
                    free[slot, k] = max(free[slot, k], end)
                return
        server = 0
        for k in range(1, count):
            if free[slot, k] < free[slot, server]:
                server = k
        row = slots[slot].head
        start = max(free[slot, server], rows[row].ready, slots[slot].lag)
        if start >= end:
            break
        row = pop(rows, slots, slot)
        shard = rows[row].shard
        if shard < 0:
            # Servers that still work on rows of this shard have to finish them first.
            for k in range(count):
                start = max(start, free[slot, k])
            leave(w, -shard - 1, start, w.shard_sync)
            give(rows, totals, row)
            continue
        seconds = cost * exponential(random) if operators[operator].exponential else cost
        done = start + seconds
        free[slot, server] = done
        latency, born = done - rows[row].arrived, rows[row].born
        give(rows, totals, row)
        if done <= totals[0].until:
            slots[slot].useful += seconds
            complete(shards, operators, totals, bins, operator, shard, latency, done - born)
            if operators[operator].edges > 0:
                emit(w, operator, slot, shard, done, born)
        else:
            slots[slot].useful += totals[0].until - start
            late[slot, server].done = done
            late[slot, server].waited = latency
            late[slot, server].born = born
            late[slot, server].shard = shard


@compiled
def arrive(w: World, moving: Any, count: int, now: float) -> int:
    """Hand over the shards that have arrived, with the rows that waited for them; how many are still moving."""
    slots, shards, rows, operators, nodes, totals, pace = (
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.nodes,
        w.totals,
        w.pace,
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
                ready = sent(nodes, totals, pace, home, node, size, ready)
                totals[0].remote += size
            rows[row].ready = ready
            push(rows, slots, slot, row)
    return kept


@compiled
def restart(w: World, operator: int, moving: Any, count: int, now: float) -> None:
    """An operator that was stopped as a whole: once its queues are empty state moves, once it has moved all go on."""
    free, slots, shards, operators = w.free, w.slots, w.shards, w.operators
    first, last = operators[operator].first_slot, operators[operator].first_slot + operators[operator].slots
    if operators[operator].phase == 1:
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
            leave(w, shard, now, w.operator_sync)
            resume = max(resume, shards[shard].ready)
        for i in range(count):
            if shards[moving[i]].operator == operator:
                shards[moving[i]].ready = resume
        operators[operator].resume = resume
        operators[operator].phase = 2
    if operators[operator].phase == 2 and operators[operator].resume <= now:
        operators[operator].phase = 0


@compiled
def advance(
    w: World, times: Any, goals: Any, start: float, tick: float, ticks: int, moving: Any, moving_count: int
) -> tuple[int, int]:
    """One interval; how many rows of the workload entered, and how many shards are still moving."""
    i = 0
    w.totals[0].begin = start
    w.totals[0].until = start + ticks * tick
    finish(w)
    for t in range(ticks):
        begin, end = start + t * tick, start + (t + 1) * tick
        w.totals[0].tick = begin
        for o in range(len(w.operators)):
            if w.operators[o].phase != 0:
                restart(w, o, moving, moving_count, begin)
        if moving_count:
            moving_count = arrive(w, moving, moving_count, begin)
        i = admit(w, times, goals, i, begin, end)
        for o in range(len(w.operators)):
            first, count = w.operators[o].first_slot, w.operators[o].slots
            for s in range(first, first + count):
                if w.slots[s].head != NOBODY or w.slots[s].first != NOBODY:
                    serve(w, s, end)
    return i, moving_count
