"""Queues of rows: linked lists in one pool of rows, so that each queue can grow without a limit of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.jit import compiled, inlined
from rheostat.simulate.continuous.records import NOBODY


@inlined
def allocate(rows: Any, totals: Any) -> int:
    """Take an unused row from the pool and return it; NOBODY if there is none."""
    row = totals[0].free_row
    if row != NOBODY:
        totals[0].free_row = rows[row].next
        totals[0].free_rows -= 1
    return int(row)


@inlined
def release(rows: Any, totals: Any, row: int) -> None:
    """Return a row to the pool."""
    rows[row].next = totals[0].free_row
    totals[0].free_row = row
    totals[0].free_rows += 1


@inlined
def push(rows: Any, queues: Any, queue: int, row: int) -> None:
    """Append a row to a queue: ``queues`` are the slots, or the shards, which hold rows while they move."""
    rows[row].next = NOBODY
    if queues[queue].head == NOBODY:
        queues[queue].head = row
    else:
        rows[queues[queue].tail].next = row
    queues[queue].tail = row
    queues[queue].length += 1


@inlined
def pop(rows: Any, queues: Any, queue: int) -> int:
    """Remove the first row of a queue that is not empty, and return it."""
    row = queues[queue].head
    queues[queue].head = rows[row].next
    if queues[queue].head == NOBODY:
        queues[queue].tail = NOBODY
    queues[queue].length -= 1
    return int(row)


@inlined
def push_in_transit(rows: Any, slots: Any, slot: int, row: int) -> None:
    """Append a row to those in transit to a slot."""
    rows[row].next = NOBODY
    if slots[slot].transit_head == NOBODY:
        slots[slot].transit_head = row
    else:
        rows[slots[slot].transit_tail].next = row
    slots[slot].transit_tail = row
    slots[slot].length += 1


@compiled
def land_rows(rows: Any, slots: Any, slot: int, end: float) -> None:
    """Move the rows in transit that reach a slot before ``end`` to its queue, in the order of their arrival.

    Rows were sent in any order, because senders are not simulated in the order of time.
    """
    count, row = 0, slots[slot].transit_head
    while row != NOBODY:
        count += 1
        row = rows[row].next
    landed, times = np.empty(count, dtype=np.int64), np.empty(count)
    row, slots[slot].transit_head, slots[slot].transit_tail = slots[slot].transit_head, NOBODY, NOBODY
    count = 0
    while row != NOBODY:
        following = rows[row].next
        slots[slot].length -= 1
        if rows[row].ready < end:
            # Insertion sort from the back: there are few rows, and most of them are already in order.
            place = count
            while place > 0 and times[place - 1] > rows[row].ready:
                landed[place], times[place] = landed[place - 1], times[place - 1]
                place -= 1
            landed[place], times[place] = row, rows[row].ready
            count += 1
        else:
            push_in_transit(rows, slots, slot, row)
        row = following
    for i in range(count):
        push(rows, slots, slot, landed[i])
