"""The state of a running simulation: record arrays whose fields compiled loops read and write by name.

Times are simulated seconds since the start, unless a comment says otherwise. Fields that refer to a row, slot, shard or
operator hold its index in the array of those, or ``NOBODY``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NOBODY = -1
"""No row, slot, shard or operator."""

FOREVER = 1e300
"""A time that is never reached."""

RUNNING, DRAINING, MOVING = 0, 1, 2
"""Phases of an operator that stops as a whole: it works, it empties its queues, it waits for state that moves."""

SLOT = np.dtype(
    [
        ("speed", "f8"),  # seconds of its core per second of cost: 2 for a slot of half the usual speed
        ("useful", "f8"),  # seconds worked in this interval
        ("lag", "f8"),  # time before which the slot may not work on, because a network it sent to is busy
        ("head", "i4"),  # first row of its queue
        ("tail", "i4"),  # last row of its queue
        ("length", "i4"),  # rows in its queue and rows in transit
        ("transit_head", "i4"),  # first row in transit from other operators
        ("transit_tail", "i4"),  # last row in transit
        ("node", "i4"),  # node of the slot
        ("home", "i4"),  # node of its executor, through which its rows go
        ("blocked", "i4"),  # the full queue that stops the slot: a slot, or -shard - 2 for a shard that moves
        ("servers", "i4"),  # cores that share the queue
        ("operator", "i4"),
    ],
    align=True,
)

SHARD = np.dtype(
    [
        ("state", "f8"),  # bytes
        ("ready", "f8"),  # when its state arrives at the target; FOREVER until the last pending row is done
        ("asked", "f8"),  # when its move began
        ("waited", "f8"),  # sum of the latencies of the rows completed in this interval, in seconds
        ("arrived", "i8"),  # rows since the start
        ("completed", "i8"),  # rows since the start
        ("done", "i8"),  # rows completed in this interval
        ("slot", "i4"),
        ("target", "i4"),  # the slot it is moving to
        ("head", "i4"),  # first of the rows held while it moves
        ("tail", "i4"),  # last of the rows held
        ("length", "i4"),  # number of rows held
        ("operator", "i4"),
    ],
    align=True,
)

ROW = np.dtype(
    [
        ("born", "f8"),  # when the row of the workload that it comes from entered the job
        ("arrived", "f8"),  # when it arrived at its operator
        ("ready", "f8"),  # when it reaches its slot
        ("shard", "i4"),  # -shard - 1 marks a label instead of a row: the shard leaves the slot here
        ("next", "i4"),  # next row of the same queue
    ],
    align=True,
)

OPERATOR = np.dtype(
    [
        ("cost", "f8"),  # mean seconds of a core per row
        ("row_bytes", "f8"),
        ("out_bytes", "f8"),
        ("selectivity", "f8"),
        ("resume", "f8"),  # when it works again, in phase MOVING
        ("exponential", "i4"),  # 1 if costs are exponentially distributed, 0 if they are constant
        ("first_shard", "i4"),
        ("shards", "i4"),  # number of shards
        ("first_slot", "i4"),
        ("slots", "i4"),  # number of slots, used or not
        ("first_edge", "i4"),  # index of its first downstream operator in ``World.edges``
        ("edges", "i4"),  # number of downstream operators; 0 at the end of the job
        ("first_weight", "i4"),  # index in ``World.cumulative_weights``; NOBODY if rows keep the number of their shard
        ("phase", "i4"),  # RUNNING, DRAINING or MOVING
    ],
    align=True,
)

UNFINISHED = np.dtype([("done", "f8"), ("waited", "f8"), ("born", "f8"), ("shard", "i4")], align=True)
"""A row whose service ends after the interval: when it is done, its latency then, its birth and its shard."""

NODE = np.dtype([("row_out", "f8"), ("row_in", "f8"), ("state_out", "f8"), ("state_in", "f8")], align=True)
"""When a node's network is free again, by direction. Rows and state do not slow each other down."""

TOTALS = np.dtype(
    [
        ("remote", "f8"),  # bytes between executors and their slots on other nodes
        ("migrated", "f8"),  # bytes of state that moved to another node
        ("end_waited", "f8"),  # seconds from birth to the end of the job, summed over rows
        ("source_free", "f8"),  # time before which the source may not send, because a network is busy
        ("tick", "f8"),  # when the tick began
        ("begin", "f8"),  # when the interval began
        ("until", "f8"),  # when the interval ends
        ("move_seconds", "f8"),  # from the request to the arrival, summed over shards moved inside a node
        ("sync_seconds", "f8"),  # the part of move_seconds before state is sent
        ("far_seconds", "f8"),  # from the request to the arrival, summed over shards moved between nodes
        ("far_sync_seconds", "f8"),  # the part of far_seconds before state is sent
        ("switching", "f8"),  # seconds that slots were stopped for changes, summed over slots
        ("end_rows", "i8"),  # rows that reached the end of the job
        ("admitted", "i8"),  # rows of the workload that entered the job
        ("moves", "i8"),  # shards moved inside a node
        ("far_moves", "i8"),  # shards moved between nodes
        ("lost", "i8"),  # rows dropped because the pool was full; always 0
        ("free_row", "i4"),  # first unused row of the pool
        ("free_rows", "i4"),  # number of unused rows
        ("source_blocked", "i4"),  # the full queue that stops the source, as in a slot's ``blocked``
        ("turn", "i4"),  # the node that the source sends from next
    ],
    align=True,
)


class World(NamedTuple):
    """The whole state of a running simulation, as compiled loops take it.

    Attributes:
        free: when each server (column) of each slot (row) is free.
        unfinished: the row that each server of each slot works on beyond the interval, as ``UNFINISHED`` records.
        slots: ``SLOT`` records.
        shards: ``SHARD`` records.
        rows: the pool of ``ROW`` records, used or not.
        operators: ``OPERATOR`` records.
        nodes: ``NODE`` records.
        totals: one ``TOTALS`` record.
        edges: downstream operators of all operators, one after the other.
        cumulative_weights: cumulative shares of shards of all operators that have weights, one after the other.
        random: state of the random number generator.
        bins: rows by operator and latency bin.
        patience: see ``Continuous``.
        seconds_per_byte: of the network; 0 for an infinitely fast one.
        queue: see ``Costs``.
        hold: see ``Costs``.
        buffer: see ``Costs``.
        shard_sync: see ``Costs``.
        operator_sync: seconds to stop all upstream executors: ``Costs.operator_sync * Costs.upstream``.
        pair_sync: see ``Costs``.
    """

    free: Any
    unfinished: Any
    slots: Any
    shards: Any
    rows: Any
    operators: Any
    nodes: Any
    totals: Any
    edges: Any
    cumulative_weights: Any
    random: Any
    bins: Any
    patience: float
    seconds_per_byte: float
    queue: int
    hold: int
    buffer: float
    shard_sync: float
    operator_sync: float
    pair_sync: float
