"""Queues of rows: linked lists in one pool, so that any queue may grow, and joining two costs nothing."""

from __future__ import annotations

from typing import Any

from rheostat.jit import inlined
from rheostat.simulate.records import NOBODY


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
