"""The compiled loops of the continuous engine: rows enter bounded queues and slots serve them.

Time advances in ticks. In each tick, shards that arrived at their new slot are handed over, the source sends rows, and
the operators serve rows one after the other, upstream first. Times inside a tick are exact: the service of a row begins
when the row is there and its slot is free, whichever is later. Only back-pressure is delayed: a sender notices a full
queue downstream in the next tick.

A sender may push a row to a full queue, but then stops until that queue has room again. So the order of rows does not
depend on which queues have room, and one hot slot stops everything upstream, as in engines with bounded queues.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.jit import compiled, inlined
from rheostat.simulate.continuous.handover import advance_stop, land_shards, send_state
from rheostat.simulate.continuous.network import transfer_row
from rheostat.simulate.continuous.queues import allocate, land_rows, pop, push, push_in_transit, release
from rheostat.simulate.continuous.randomness import exponential, uniform
from rheostat.simulate.continuous.records import NOBODY, RUNNING, World
from rheostat.simulate.latency_bins import bin_of


@inlined
def deliver(
    slots: Any,
    shards: Any,
    rows: Any,
    operators: Any,
    nodes: Any,
    totals: Any,
    seconds_per_byte: float,
    buffer: float,
    row: int,
    shard: int,
    now: float,
    sender: int,
    in_transit: bool,
) -> float:
    """Send a row to the slot of its shard, or hold it while the shard moves; return when the sender may send again.

    Args:
        slots: ``SLOT`` records.
        shards: ``SHARD`` records.
        rows: ``ROW`` records.
        operators: ``OPERATOR`` records.
        nodes: ``NODE`` records.
        totals: one ``TOTALS`` record.
        seconds_per_byte: of the network.
        buffer: seconds of data that may wait for a network before the sender has to wait.
        row: the row.
        shard: its shard.
        now: when it is sent.
        sender: node that sends it.
        in_transit: True for rows of other operators, which may be sent out of order and are sorted before they are
            queued; False for rows of the source, which are sent in order and queued at once.
    """
    size = operators[shards[shard].operator].row_bytes
    rows[row].shard = shard
    rows[row].arrived = now
    shards[shard].arrived += 1
    lag = 0.0
    slot = shards[shard].slot if shards[shard].target == NOBODY else shards[shard].target
    home, node = slots[slot].home, slots[slot].node
    ready = transfer_row(nodes, totals, seconds_per_byte, sender, home, size, now)
    if seconds_per_byte > 0.0 and sender != home and sender != NOBODY:
        lag = max(nodes[sender].row_out, nodes[home].row_in) - buffer
    if shards[shard].target != NOBODY:
        rows[row].ready = ready
        push(rows, shards, shard, row)
        return lag
    if home != node:
        ready = transfer_row(nodes, totals, seconds_per_byte, home, node, size, ready)
        totals[0].remote += size
        if seconds_per_byte > 0.0:
            lag = max(lag, nodes[home].row_out - buffer, nodes[node].row_in - buffer)
    rows[row].ready = ready
    if in_transit:
        push_in_transit(rows, slots, slot, row)
    else:
        push(rows, slots, slot, row)
    return lag


@compiled
def admit(w: World, times: Any, row_shards: Any, begin: int, start: float, end: float) -> int:
    """Let rows of the workload enter until the tick ends or a full queue stops the source.

    Args:
        w: the simulation.
        times: when each row is due.
        row_shards: the shard of each row.
        begin: the first row that has not entered yet.
        start: when the tick begins.
        end: when the tick ends.

    Returns:
        The first row that has not entered now.
    """
    queue, hold = w.queue, w.hold
    slots, shards, rows, operators, nodes, totals, seconds_per_byte, buffer = (
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.nodes,
        w.totals,
        w.seconds_per_byte,
        w.buffer,
    )
    i = begin
    # Rows that waited longer than the source's patience are never sent.
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
        if totals[0].source_free >= end or operators[0].phase != RUNNING:
            break
        row = allocate(rows, totals)
        if row == NOBODY:
            break
        now = max(times[i], start, totals[0].source_free)
        due = times[i] if w.patience > 0.0 else now
        rows[row].born = due
        shard = row_shards[i]
        sender = totals[0].turn
        totals[0].turn = sender + 1 if sender + 1 < len(nodes) else 0
        lag = deliver(
            slots, shards, rows, operators, nodes, totals, seconds_per_byte, buffer, row, shard, now, sender, False
        )
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
    """Send the rows that a completed row causes downstream; block the slot if a queue there is full afterwards.

    Args:
        w: the simulation.
        operator: the operator that completed the row.
        slot: the slot that completed it.
        origin: the shard of the row.
        done: when it was completed.
        born: when the row of the workload that it comes from entered the job.
    """
    queue, hold = w.queue, w.hold
    slots, shards, rows, operators, nodes, totals, edges, cumulative_weights, random, seconds_per_byte, buffer = (
        w.slots,
        w.shards,
        w.rows,
        w.operators,
        w.nodes,
        w.totals,
        w.edges,
        w.cumulative_weights,
        w.random,
        w.seconds_per_byte,
        w.buffer,
    )
    first, count = operators[operator].first_edge, operators[operator].edges
    home, node = slots[slot].home, slots[slot].node
    whole = int(operators[operator].selectivity)
    part = operators[operator].selectivity - whole
    now = done
    if home != node and count > 0:
        size = operators[operator].out_bytes * operators[operator].selectivity
        now = transfer_row(nodes, totals, seconds_per_byte, node, home, size, now)
        totals[0].remote += size
    for e in range(first, first + count):
        target = edges[e]
        copies = whole + (1 if part > 0.0 and uniform(random) < part else 0)
        for _ in range(copies):
            row = allocate(rows, totals)
            if row == NOBODY:
                totals[0].lost += 1
                continue
            low = operators[target].first_weight
            if low == NOBODY:
                offset = (origin - operators[operator].first_shard) % operators[target].shards
            else:
                high = low + operators[target].shards
                offset = min(
                    np.searchsorted(cumulative_weights[low:high], uniform(random)), operators[target].shards - 1
                )
            shard = operators[target].first_shard + offset
            rows[row].born = born
            lag = deliver(
                slots, shards, rows, operators, nodes, totals, seconds_per_byte, buffer, row, shard, now, home, True
            )
            slots[slot].lag = max(slots[slot].lag, lag)
            if shards[shard].target != NOBODY:
                if shards[shard].length > hold:
                    slots[slot].blocked = -shard - 2
            elif slots[shards[shard].slot].length > queue:
                slots[slot].blocked = shards[shard].slot


@inlined
def complete(
    shards: Any, operators: Any, totals: Any, bins: Any, operator: int, shard: int, latency: float, since_born: float
) -> None:
    """Count a completed row."""
    shards[shard].completed += 1
    shards[shard].done += 1
    shards[shard].waited += latency
    bins[operator, bin_of(latency)] += 1
    if operators[operator].edges == 0:
        totals[0].end_rows += 1
        totals[0].end_waited += since_born


@compiled
def finish_rows(w: World) -> None:
    """Continue with the rows that were in service when the last interval ended."""
    unfinished, slots, shards, operators, totals, bins = w.unfinished, w.slots, w.shards, w.operators, w.totals, w.bins
    begin, until = totals[0].begin, totals[0].until
    for slot in range(len(slots)):
        for server in range(slots[slot].servers):
            shard = unfinished[slot, server].shard
            if shard == NOBODY:
                continue
            done = unfinished[slot, server].done
            slots[slot].useful += min(done, until) - begin
            if done <= until:
                operator, born = slots[slot].operator, unfinished[slot, server].born
                complete(shards, operators, totals, bins, operator, shard, unfinished[slot, server].waited, done - born)
                unfinished[slot, server].shard = NOBODY
                if operators[operator].edges > 0:
                    emit(w, operator, slot, shard, done, born)


@compiled
def serve(w: World, slot: int, end: float) -> None:
    """Let a slot serve rows until the tick ends, its queue is empty, or a full queue downstream stops it."""
    free, unfinished, slots, shards, rows, operators, totals, edges, random, bins, queue, hold = (
        w.free,
        w.unfinished,
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
    if slots[slot].transit_head != NOBODY:
        land_rows(rows, slots, slot, end)
    while slots[slot].head != NOBODY:
        blocked = slots[slot].blocked
        if blocked != NOBODY:
            full = slots[blocked].length > queue if blocked >= 0 else shards[-blocked - 2].length > hold
            if full or (blocked >= 0 and operators[slots[blocked].operator].phase != RUNNING):
                for k in range(count):
                    free[slot, k] = max(free[slot, k], end)
                break
            slots[slot].blocked = NOBODY
        for e in range(first_edge, first_edge + operators[operator].edges):
            if operators[edges[e]].phase != RUNNING:
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
            # A label: the other servers may still work on rows of this shard, and have to finish them first.
            for k in range(count):
                start = max(start, free[slot, k])
            send_state(w, -shard - 1, start, w.shard_sync)
            release(rows, totals, row)
            continue
        seconds = cost * exponential(random) if operators[operator].exponential else cost
        done = start + seconds
        free[slot, server] = done
        latency, born = done - rows[row].arrived, rows[row].born
        release(rows, totals, row)
        if done <= totals[0].until:
            slots[slot].useful += seconds
            complete(shards, operators, totals, bins, operator, shard, latency, done - born)
            if operators[operator].edges > 0:
                emit(w, operator, slot, shard, done, born)
        else:
            slots[slot].useful += totals[0].until - start
            unfinished[slot, server].done = done
            unfinished[slot, server].waited = latency
            unfinished[slot, server].born = born
            unfinished[slot, server].shard = shard


@compiled
def advance(
    w: World, times: Any, row_shards: Any, start: float, tick: float, ticks: int, moving: Any, moving_count: int
) -> tuple[int, int]:
    """Simulate one interval.

    Args:
        w: the simulation.
        times: when each row of the workload is due.
        row_shards: the shard of each of these rows.
        start: when the interval begins.
        tick: seconds of a tick.
        ticks: number of ticks.
        moving: the list of moving shards, which is updated.
        moving_count: length of that list.

    Returns:
        How many rows of the workload entered or were given up, and how many shards are still moving.
    """
    i = 0
    w.totals[0].begin = start
    w.totals[0].until = start + ticks * tick
    finish_rows(w)
    for t in range(ticks):
        begin, end = start + t * tick, start + (t + 1) * tick
        w.totals[0].tick = begin
        for o in range(len(w.operators)):
            if w.operators[o].phase != RUNNING:
                advance_stop(w, o, moving, moving_count, begin)
        if moving_count:
            moving_count = land_shards(w, moving, moving_count, begin)
        i = admit(w, times, row_shards, i, begin, end)
        for o in range(len(w.operators)):
            first, count = w.operators[o].first_slot, w.operators[o].slots
            for s in range(first, first + count):
                if w.slots[s].head != NOBODY or w.slots[s].transit_head != NOBODY:
                    serve(w, s, end)
    return i, moving_count
