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

from rheostat.jit import compiled
from rheostat.simulate.queues import give, pop, push, take
from rheostat.simulate.randomness import exponential, uniform
from rheostat.simulate.records import BINS, NOBODY

_FINEST = 1e-5  # seconds of latency in the first bin


@compiled
def sent(nodes: Any, sender: int, taker: int, size: float, now: float, pace: float) -> float:
    """When bytes are on another node: after what waits for the sender's network and for the taker's."""
    if sender == taker or sender == NOBODY or pace == 0.0:
        return now
    seconds = size * pace
    out = max(now, nodes[sender].sends) + seconds
    nodes[sender].sends = out
    there = max(out, nodes[taker].takes + seconds)
    nodes[taker].takes = there
    return float(there)


@compiled
def deliver(
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    row: int,
    shard: int,
    now: float,
    sender: int,
    pace: float,
    buffer: float,
) -> float:
    """Bring a row to the slot of its shard, or to those who wait for that shard; until when the sender has to wait."""
    size = operators[shards[shard].operator].row_bytes
    rows[row].shard = shard
    rows[row].arrived = now
    shards[shard].arrived += 1
    lag = 0.0
    slot = shards[shard].slot if shards[shard].target == NOBODY else shards[shard].target
    home, node = slots[slot].home, slots[slot].node
    ready = sent(nodes, sender, home, size, now, pace)
    if pace > 0.0 and sender != home and sender != NOBODY:
        lag = max(nodes[sender].sends, nodes[home].takes) - buffer
    if shards[shard].target != NOBODY:
        rows[row].ready = ready
        push(rows, shards, shard, row)
        return lag
    if home != node:
        ready = sent(nodes, home, node, size, ready, pace)
        totals[0].remote += size
        if pace > 0.0:
            lag = max(lag, max(nodes[home].sends, nodes[node].takes) - buffer)
    rows[row].ready = ready
    push(rows, slots, slot, row)
    return lag


@compiled
def admit(
    times: Any,
    goals: Any,
    begin: int,
    start: float,
    end: float,
    saturating: bool,
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    pace: float,
    queue: int,
    hold: int,
    buffer: float,
) -> int:
    """Rows of the workload enter until the tick ends or the source is stopped; the first that is left for later."""
    i = begin
    if saturating:
        # What a source that was stopped would have sent meanwhile was never made.
        while i < len(times) and times[i] < max(start, totals[0].source_free):
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
        now = max(times[i], start)
        due = now if saturating else times[i]
        rows[row].born = due
        shard = goals[i]
        sender = totals[0].turn % len(nodes)
        totals[0].turn += 1
        lag = deliver(slots, shards, rows, operators, nodes, totals, row, shard, now, sender, pace, buffer)
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
def emit(
    operator: int,
    slot: int,
    origin: int,
    done: float,
    born: float,
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    edges: Any,
    cumulated: Any,
    random: Any,
    pace: float,
    queue: int,
    hold: int,
    buffer: float,
) -> None:
    """Send on what a row causes; the slot is stopped if a queue downstream is full then."""
    first, count = operators[operator].first_edge, operators[operator].edges
    home, node = slots[slot].home, slots[slot].node
    whole = int(operators[operator].selectivity)
    part = operators[operator].selectivity - whole
    now = done
    if home != node and count > 0:
        size = operators[operator].out_bytes * operators[operator].selectivity
        now = sent(nodes, node, home, size, now, pace)
        totals[0].remote += size
    for e in range(first, first + count):
        target = edges[e]
        copies = whole + (1 if part > 0.0 and uniform(random) < part else 0)
        for _ in range(copies):
            row = take(rows, totals)
            if row == NOBODY:
                return
            low = operators[target].first_weight
            if low == NOBODY:
                inside = (origin - operators[operator].first_shard) % operators[target].shards
            else:
                high = low + operators[target].shards
                inside = min(np.searchsorted(cumulated[low:high], uniform(random)), operators[target].shards - 1)
            shard = operators[target].first_shard + inside
            rows[row].born = born
            lag = deliver(slots, shards, rows, operators, nodes, totals, row, shard, now, home, pace, buffer)
            slots[slot].lag = max(slots[slot].lag, lag)
            if shards[shard].target != NOBODY:
                if shards[shard].length > hold:
                    slots[slot].blocked = -shard - 2
            elif slots[shards[shard].slot].length > queue:
                slots[slot].blocked = shards[shard].slot


@compiled
def bin_of(latency: float) -> int:
    """The bin of latencies that one belongs to."""
    if latency <= _FINEST:
        return 0
    return min(int(8.0 * math.log2(latency / _FINEST)) + 1, BINS - 1)


@compiled
def leave(shards: Any, slots: Any, nodes: Any, totals: Any, shard: int, now: float, pace: float, sync: float) -> None:
    """All rows of a moving shard that waited in its old slot are done: its state goes to the new one."""
    old, new = slots[shards[shard].slot].node, slots[shards[shard].target].node
    drained = now - shards[shard].asked
    ready = now + sync
    if old != new:
        ready = sent(nodes, old, new, shards[shard].state, ready, pace)
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
def serve(
    slot: int,
    end: float,
    free: Any,
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    edges: Any,
    cumulated: Any,
    random: Any,
    bins: Any,
    pace: float,
    queue: int,
    hold: int,
    buffer: float,
    sync: float,
) -> None:
    """Let a slot work until the tick ends, its queue is empty, or a queue downstream is full."""
    operator = slots[slot].operator
    cost = operators[operator].cost * slots[slot].speed
    count = slots[slot].servers
    while slots[slot].head != NOBODY:
        blocked = slots[slot].blocked
        if blocked != NOBODY:
            full = slots[blocked].length > queue if blocked >= 0 else shards[-blocked - 2].length > hold
            if full or (blocked >= 0 and operators[slots[blocked].operator].phase != 0):
                for k in range(count):
                    free[slot, k] = max(free[slot, k], end)
                break
            slots[slot].blocked = NOBODY
        for e in range(operators[operator].first_edge, operators[operator].first_edge + operators[operator].edges):
            if operators[edges[e]].phase != 0:
                for k in range(count):
                    free[slot, k] = max(free[slot, k], end)
                return
        server = 0
        for k in range(1, count):
            if free[slot, k] < free[slot, server]:
                server = k
        row = slots[slot].head
        start = max(max(free[slot, server], rows[row].ready), slots[slot].lag)
        if start >= end:
            break
        row = pop(rows, slots, slot)
        shard = rows[row].shard
        if shard < 0:
            # Servers that still work on rows of this shard have to finish them first.
            for k in range(count):
                start = max(start, free[slot, k])
            leave(shards, slots, nodes, totals, -shard - 1, start, pace, sync)
            give(rows, totals, row)
            continue
        seconds = cost * exponential(random) if operators[operator].exponential else cost
        done = start + seconds
        free[slot, server] = done
        latency = done - rows[row].arrived
        slots[slot].useful += seconds
        shards[shard].completed += 1
        shards[shard].done += 1
        shards[shard].waited += latency
        bins[operator, bin_of(latency)] += 1
        born = rows[row].born
        give(rows, totals, row)
        if operators[operator].edges == 0:
            totals[0].end_rows += 1
            totals[0].end_waited += done - born
        elif operators[operator].selectivity > 0.0:
            emit(
                operator,
                slot,
                shard,
                done,
                born,
                slots,
                shards,
                rows,
                operators,
                nodes,
                totals,
                edges,
                cumulated,
                random,
                pace,
                queue,
                hold,
                buffer,
            )


@compiled
def arrive(
    moving: Any, count: int, now: float, slots: Any, shards: Any, rows: Any, nodes: Any, totals: Any, pace: float, size: Any
) -> int:
    """Hand over the shards that have arrived, with the rows that waited for them; how many are still moving."""
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
                ready = sent(nodes, home, node, size[shards[shard].operator], ready, pace)
                totals[0].remote += size[shards[shard].operator]
            rows[row].ready = ready
            push(rows, slots, slot, row)
    return kept


@compiled
def restart(
    operator: int,
    moving: Any,
    count: int,
    now: float,
    free: Any,
    slots: Any,
    shards: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    pace: float,
    sync: float,
) -> None:
    """An operator that was stopped as a whole: once its queues are empty state moves, once it has moved all go on."""
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
        resume = now + sync
        for i in range(count):
            shard = moving[i]
            if shards[shard].operator != operator:
                continue
            leave(shards, slots, nodes, totals, shard, now, pace, sync)
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
    times: Any,
    goals: Any,
    start: float,
    tick: float,
    ticks: int,
    saturating: bool,
    moving: Any,
    moving_count: int,
    free: Any,
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    edges: Any,
    cumulated: Any,
    random: Any,
    bins: Any,
    sizes: Any,
    pace: float,
    queue: int,
    hold: int,
    buffer: float,
    shard_sync: float,
    operator_sync: float,
) -> tuple[int, int]:
    """One interval; how many rows of the workload entered, and how many shards are still moving."""
    i = 0
    for t in range(ticks):
        begin, end = start + t * tick, start + (t + 1) * tick
        for o in range(len(operators)):
            if operators[o].phase != 0:
                restart(
                    o, moving, moving_count, begin, free, slots, shards, operators, nodes, totals, pace, operator_sync
                )
        if moving_count:
            moving_count = arrive(moving, moving_count, begin, slots, shards, rows, nodes, totals, pace, sizes)
        i = admit(
            times,
            goals,
            i,
            begin,
            end,
            saturating,
            slots,
            shards,
            rows,
            operators,
            nodes,
            totals,
            pace,
            queue,
            hold,
            buffer,
        )
        for o in range(len(operators)):
            first, count = operators[o].first_slot, operators[o].slots
            for s in range(first, first + count):
                if slots[s].head != NOBODY:
                    serve(
                        s,
                        end,
                        free,
                        slots,
                        shards,
                        rows,
                        operators,
                        nodes,
                        totals,
                        edges,
                        cumulated,
                        random,
                        bins,
                        pace,
                        queue,
                        hold,
                        buffer,
                        shard_sync,
                    )
    return i, moving_count
