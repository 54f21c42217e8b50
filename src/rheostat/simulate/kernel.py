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
from rheostat.simulate.queues import give, land, pop, push, send, take
from rheostat.simulate.randomness import exponential, uniform
from rheostat.simulate.records import BINS, NOBODY, World

_FINEST = 1e-5  # seconds of latency in the first bin


@inlined
def sent(w: World, sender: int, taker: int, size: float, now: float) -> float:
    """When bytes are on another node: after what waits for the sender's network and for the taker's.

    A node's network is busy until what was sent in this tick, and what is left from before, has gone through. When in
    the tick it was sent does not matter, for slots do not take turns in the order of time.
    """
    if sender == taker or sender == NOBODY or w.pace == 0.0:
        return now
    seconds, begin = size * w.pace, w.totals[0].tick
    out = max(begin, w.nodes[sender].sends) + seconds
    there = max(begin, w.nodes[taker].takes) + seconds
    w.nodes[sender].sends = out
    w.nodes[taker].takes = there
    return float(max(now + seconds, out, there))


@inlined
def carried(w: World, sender: int, taker: int, size: float, now: float) -> float:
    """When state is on another node, after other state on its way there."""
    if w.pace == 0.0:
        return now
    there = max(now, w.nodes[sender].gives, w.nodes[taker].gets) + size * w.pace
    w.nodes[sender].gives = there
    w.nodes[taker].gets = there
    return float(there)


@inlined
def deliver(w: World, row: int, shard: int, now: float, sender: int, inside: bool) -> float:
    """Bring a row to the slot of its shard, or to those who wait for that shard; until when the sender has to wait."""
    size = w.operators[w.shards[shard].operator].row_bytes
    w.rows[row].shard = shard
    w.rows[row].arrived = now
    w.shards[shard].arrived += 1
    lag = 0.0
    slot = w.shards[shard].slot if w.shards[shard].target == NOBODY else w.shards[shard].target
    home, node = w.slots[slot].home, w.slots[slot].node
    ready = sent(w, sender, home, size, now)
    if w.pace > 0.0 and sender != home and sender != NOBODY:
        lag = max(w.nodes[sender].sends, w.nodes[home].takes) - w.buffer
    if w.shards[shard].target != NOBODY:
        w.rows[row].ready = ready
        push(w.rows, w.shards, shard, row)
        return lag
    if home != node:
        ready = sent(w, home, node, size, ready)
        w.totals[0].remote += size
        if w.pace > 0.0:
            lag = max(lag, w.nodes[home].sends - w.buffer, w.nodes[node].takes - w.buffer)
    w.rows[row].ready = ready
    if inside:
        send(w.rows, w.slots, slot, row)
    else:
        push(w.rows, w.slots, slot, row)
    return lag


@compiled
def admit(w: World, times: Any, goals: Any, begin: int, start: float, end: float) -> int:
    """Rows of the workload enter until the tick ends or the source is stopped; the first that is left for later."""
    i = begin
    # What a source that is stopped cannot keep is never sent.
    latest = start - w.patience if w.patience > 0.0 else max(start, w.totals[0].source_free)
    while i < len(times) and times[i] < latest:
        i += 1
    while i < len(times) and times[i] < end:
        blocked = w.totals[0].source_blocked
        if blocked != NOBODY:
            if blocked >= 0 and w.slots[blocked].length > w.queue:
                break
            if blocked < NOBODY and w.shards[-blocked - 2].length > w.hold:
                break
            w.totals[0].source_blocked = NOBODY
        if w.totals[0].source_free >= end or w.operators[0].phase != 0:
            break
        row = take(w.rows, w.totals)
        if row == NOBODY:
            break
        now = max(times[i], start, w.totals[0].source_free)
        due = times[i] if w.patience > 0.0 else now
        w.rows[row].born = due
        shard = goals[i]
        sender = w.totals[0].turn % len(w.nodes)
        w.totals[0].turn += 1
        lag = deliver(w, row, shard, now, sender, False)
        w.rows[row].arrived = due
        w.totals[0].admitted += 1
        w.totals[0].source_free = max(w.totals[0].source_free, lag)
        if w.shards[shard].target != NOBODY:
            if w.shards[shard].length > w.hold:
                w.totals[0].source_blocked = -shard - 2
        elif w.slots[w.shards[shard].slot].length > w.queue:
            w.totals[0].source_blocked = w.shards[shard].slot
        i += 1
    return i


@compiled
def emit(w: World, operator: int, slot: int, origin: int, done: float, born: float) -> None:
    """Send on what a row causes; the slot is stopped if a queue downstream is full then."""
    first, count = w.operators[operator].first_edge, w.operators[operator].edges
    home, node = w.slots[slot].home, w.slots[slot].node
    whole = int(w.operators[operator].selectivity)
    part = w.operators[operator].selectivity - whole
    now = done
    if home != node and count > 0:
        size = w.operators[operator].out_bytes * w.operators[operator].selectivity
        now = sent(w, node, home, size, now)
        w.totals[0].remote += size
    for e in range(first, first + count):
        target = w.edges[e]
        copies = whole + (1 if part > 0.0 and uniform(w.random) < part else 0)
        for _ in range(copies):
            row = take(w.rows, w.totals)
            if row == NOBODY:
                return
            low = w.operators[target].first_weight
            if low == NOBODY:
                inside = (origin - w.operators[operator].first_shard) % w.operators[target].shards
            else:
                high = low + w.operators[target].shards
                inside = min(np.searchsorted(w.cumulated[low:high], uniform(w.random)), w.operators[target].shards - 1)
            shard = w.operators[target].first_shard + inside
            w.rows[row].born = born
            lag = deliver(w, row, shard, now, home, True)
            w.slots[slot].lag = max(w.slots[slot].lag, lag)
            if w.shards[shard].target != NOBODY:
                if w.shards[shard].length > w.hold:
                    w.slots[slot].blocked = -shard - 2
            elif w.slots[w.shards[shard].slot].length > w.queue:
                w.slots[slot].blocked = w.shards[shard].slot


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
    old, new = w.slots[w.shards[shard].slot].node, w.slots[w.shards[shard].target].node
    drained = now - w.shards[shard].asked
    ready = now + sync
    if old != new:
        ready = carried(w, old, new, w.shards[shard].state, now + sync)
        w.totals[0].migrated += w.shards[shard].state
        w.totals[0].far_moves += 1
        w.totals[0].far_seconds += ready - w.shards[shard].asked
        w.totals[0].far_sync_seconds += drained + sync
    else:
        w.totals[0].moves += 1
        w.totals[0].move_seconds += ready - w.shards[shard].asked
        w.totals[0].sync_seconds += drained + sync
    w.shards[shard].ready = ready


@inlined
def complete(w: World, operator: int, shard: int, latency: float, since_born: float) -> None:
    """Count a row that is done."""
    w.shards[shard].completed += 1
    w.shards[shard].done += 1
    w.shards[shard].waited += latency
    w.bins[operator, bin_of(latency)] += 1
    if w.operators[operator].edges == 0:
        w.totals[0].end_rows += 1
        w.totals[0].end_waited += since_born


@compiled
def finish(w: World) -> None:
    """Go on with the rows that were worked on when the interval before ended."""
    begin, until = w.totals[0].begin, w.totals[0].until
    for slot in range(len(w.slots)):
        for server in range(w.slots[slot].servers):
            shard = w.late[slot, server].shard
            if shard == NOBODY:
                continue
            done = w.late[slot, server].done
            w.slots[slot].useful += min(done, until) - begin
            if done <= until:
                operator, born = w.slots[slot].operator, w.late[slot, server].born
                complete(w, operator, shard, w.late[slot, server].waited, done - born)
                w.late[slot, server].shard = NOBODY
                if w.operators[operator].edges > 0:
                    emit(w, operator, slot, shard, done, born)


@compiled
def serve(w: World, slot: int, end: float) -> None:
    """Let a slot work until the tick ends, its queue is empty, or a queue downstream is full."""
    operator = w.slots[slot].operator
    cost = w.operators[operator].cost * w.slots[slot].speed
    count, first_edge = w.slots[slot].servers, w.operators[operator].first_edge
    if w.slots[slot].first != NOBODY:
        land(w.rows, w.slots, slot, end)
    while w.slots[slot].head != NOBODY:
        blocked = w.slots[slot].blocked
        if blocked != NOBODY:
            full = w.slots[blocked].length > w.queue if blocked >= 0 else w.shards[-blocked - 2].length > w.hold
            if full or (blocked >= 0 and w.operators[w.slots[blocked].operator].phase != 0):
                for k in range(count):
                    w.free[slot, k] = max(w.free[slot, k], end)
                break
            w.slots[slot].blocked = NOBODY
        for e in range(first_edge, first_edge + w.operators[operator].edges):
            if w.operators[w.edges[e]].phase != 0:
                for k in range(count):
                    w.free[slot, k] = max(w.free[slot, k], end)
                return
        server = 0
        for k in range(1, count):
            if w.free[slot, k] < w.free[slot, server]:
                server = k
        row = w.slots[slot].head
        start = max(w.free[slot, server], w.rows[row].ready, w.slots[slot].lag)
        if start >= end:
            break
        row = pop(w.rows, w.slots, slot)
        shard = w.rows[row].shard
        if shard < 0:
            # Servers that still work on rows of this shard have to finish them first.
            for k in range(count):
                start = max(start, w.free[slot, k])
            leave(w, -shard - 1, start, w.shard_sync)
            give(w.rows, w.totals, row)
            continue
        seconds = cost * exponential(w.random) if w.operators[operator].exponential else cost
        done = start + seconds
        w.free[slot, server] = done
        latency, born = done - w.rows[row].arrived, w.rows[row].born
        give(w.rows, w.totals, row)
        if done <= w.totals[0].until:
            w.slots[slot].useful += seconds
            complete(w, operator, shard, latency, done - born)
            if w.operators[operator].edges > 0:
                emit(w, operator, slot, shard, done, born)
        else:
            w.slots[slot].useful += w.totals[0].until - start
            w.late[slot, server].done = done
            w.late[slot, server].waited = latency
            w.late[slot, server].born = born
            w.late[slot, server].shard = shard


@compiled
def arrive(w: World, moving: Any, count: int, now: float) -> int:
    """Hand over the shards that have arrived, with the rows that waited for them; how many are still moving."""
    kept = 0
    for i in range(count):
        shard = moving[i]
        if w.shards[shard].ready > now:
            moving[kept] = shard
            kept += 1
            continue
        slot = w.shards[shard].target
        w.shards[shard].slot = slot
        w.shards[shard].target = NOBODY
        home, node = w.slots[slot].home, w.slots[slot].node
        while w.shards[shard].head != NOBODY:
            row = pop(w.rows, w.shards, shard)
            ready = max(w.rows[row].ready, w.shards[shard].ready)
            if home != node:
                size = w.operators[w.shards[shard].operator].row_bytes
                ready = sent(w, home, node, size, ready)
                w.totals[0].remote += size
            w.rows[row].ready = ready
            push(w.rows, w.slots, slot, row)
    return kept


@compiled
def restart(w: World, operator: int, moving: Any, count: int, now: float) -> None:
    """An operator that was stopped as a whole: once its queues are empty state moves, once it has moved all go on."""
    first, last = w.operators[operator].first_slot, w.operators[operator].first_slot + w.operators[operator].slots
    if w.operators[operator].phase == 1:
        empty = now
        for slot in range(first, last):
            if w.slots[slot].length > 0:
                return
            for k in range(w.slots[slot].servers):
                empty = max(empty, w.free[slot, k])
        if empty > now:
            return
        resume = now + w.operator_sync
        for i in range(count):
            shard = moving[i]
            if w.shards[shard].operator != operator:
                continue
            leave(w, shard, now, w.operator_sync)
            resume = max(resume, w.shards[shard].ready)
        for i in range(count):
            if w.shards[moving[i]].operator == operator:
                w.shards[moving[i]].ready = resume
        w.operators[operator].resume = resume
        w.operators[operator].phase = 2
    if w.operators[operator].phase == 2 and w.operators[operator].resume <= now:
        w.operators[operator].phase = 0


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
