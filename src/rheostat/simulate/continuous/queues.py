"""Queues of rows: linked lists in one pool, so that any queue may grow, and joining two costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.jit import compiled, inlined
from rheostat.simulate.continuous.records import NOBODY


@inlined
def take(rows: Any, totals: Any) -> int:
    """A row that is not in use; NOBODY if there is none."""
    row = totals[0].free_row
    if row != NOBODY:
        totals[0].free_row = rows[row].next
        totals[0].free_rows -= 1
    return int(row)


@inlined
def give(rows: Any, totals: Any, row: int) -> None:
    """Return a row that is done."""
    rows[row].next = totals[0].free_row
    totals[0].free_row = row
    totals[0].free_rows += 1


@inlined
def push(rows: Any, queues: Any, queue: int, row: int) -> None:
    """Append a row to a queue; slots have one, and shards while they move."""
    rows[row].next = NOBODY
    if queues[queue].head == NOBODY:
        queues[queue].head = row
    else:
        rows[queues[queue].tail].next = row
    queues[queue].tail = row
    queues[queue].length += 1


@inlined
def pop(rows: Any, queues: Any, queue: int) -> int:
    """Take the first row of a queue that has one."""
    row = queues[queue].head
    queues[queue].head = rows[row].next
    if queues[queue].head == NOBODY:
        queues[queue].tail = NOBODY
    queues[queue].length -= 1
    return int(row)


@inlined
def send(rows: Any, slots: Any, slot: int, row: int) -> None:
    """Put a row on its way to a slot."""
    rows[row].next = NOBODY
    if slots[slot].first == NOBODY:
        slots[slot].first = row
    else:
        rows[slots[slot].last].next = row
    slots[slot].last = row
    slots[slot].length += 1


@compiled
def land(rows: Any, slots: Any, slot: int, end: float) -> None:
    """Append the rows on their way that are there before the end to a slot's queue, in the order in which they come.

    Senders do not take turns in the order of time, so rows were sent in any order.
    """
    count, row = 0, slots[slot].first
    while row != NOBODY:
        count += 1
        row = rows[row].next
    found, times = np.empty(count, dtype=np.int64), np.empty(count)
    row, slots[slot].first, slots[slot].last = slots[slot].first, NOBODY, NOBODY
    count = 0
    while row != NOBODY:
        following = rows[row].next
        slots[slot].length -= 1
        if rows[row].ready < end:
            # Insertion from the back: few rows, most of them in order already.
            place = count
            while place > 0 and times[place - 1] > rows[row].ready:
                found[place], times[place] = found[place - 1], times[place - 1]
                place -= 1
            found[place], times[place] = row, rows[row].ready
            count += 1
        else:
            send(rows, slots, slot, row)
        row = following
    for i in range(count):
        push(rows, slots, slot, found[i])
