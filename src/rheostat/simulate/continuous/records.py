"""The state of a running simulation as records, which compiled loops read and write by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NOBODY = -1
"""No row, slot or operator."""

BINS = 224
"""Bins of latency, 8 for each doubling from 10 microseconds on: up to three quarters of an hour."""

SLOT = np.dtype(
    [
        ("free", "f8"),  # when it is done with the row it works on
        ("speed", "f8"),  # seconds of its core per second of cost
        ("useful", "f8"),  # seconds worked in this interval
        ("lag", "f8"),  # it may not send before this time: a network is busy
        ("head", "i4"),
        ("tail", "i4"),
        ("length", "i4"),  # rows in its queue, and those that are on their way
        ("first", "i4"),  # rows on their way from other operators
        ("last", "i4"),
        ("node", "i4"),
        ("home", "i4"),  # node of its executor
        ("blocked", "i4"),  # the slot whose queue has to become shorter before this one goes on
        ("servers", "i4"),
        ("operator", "i4"),
    ],
    align=True,
)

SHARD = np.dtype(
    [
        ("state", "f8"),  # bytes
        ("ready", "f8"),  # when it has arrived at its target; infinite until its last pending row is done
        ("asked", "f8"),  # when its move began
        ("waited", "f8"),  # latency of the rows completed in this interval, summed
        ("arrived", "i8"),
        ("completed", "i8"),
        ("done", "i8"),  # completed in this interval
        ("slot", "i4"),
        ("target", "i4"),  # where it is moving
        ("head", "i4"),  # rows held while it moves
        ("tail", "i4"),
        ("length", "i4"),
        ("operator", "i4"),
    ],
    align=True,
)

ROW = np.dtype(
    [
        ("born", "f8"),  # when it, or the row it comes from, entered the job
        ("arrived", "f8"),  # when it arrived at its operator
        ("ready", "f8"),  # when it has reached its slot
        ("shard", "i4"),  # a negative one, -shard - 1, is no row: it says that this shard is leaving
        ("next", "i4"),
    ],
    align=True,
)

OPERATOR = np.dtype(
    [
        ("cost", "f8"),
        ("row_bytes", "f8"),
        ("out_bytes", "f8"),
        ("selectivity", "f8"),
        ("resume", "f8"),  # when it goes on after a stop
        ("waited", "f8"),
        ("exponential", "i4"),
        ("first_shard", "i4"),
        ("shards", "i4"),
        ("first_slot", "i4"),
        ("slots", "i4"),
        ("first_edge", "i4"),
        ("edges", "i4"),
        ("first_weight", "i4"),  # of its cumulated weights, or NOBODY
        ("phase", "i4"),  # 0 runs, 1 empties its queues, 2 waits for moved state
        ("sink", "i4"),
    ],
    align=True,
)

LATE = np.dtype([("done", "f8"), ("waited", "f8"), ("born", "f8"), ("shard", "i4")], align=True)
"""A row that a server works on beyond the end of the interval."""

NODE = np.dtype([("sends", "f8"), ("takes", "f8"), ("gives", "f8"), ("gets", "f8")], align=True)
"""When a node's network is free again, in both directions: for rows, and for state. Neither slows the other down."""

TOTALS = np.dtype(
    [
        ("remote", "f8"),  # bytes between executors and their slots on other nodes
        ("migrated", "f8"),  # bytes of state that changed their node
        ("end_waited", "f8"),  # from birth to the end of the job, summed
        ("source_free", "f8"),
        ("tick", "f8"),  # when the tick began
        ("begin", "f8"),  # when the interval began
        ("until", "f8"),  # when it ends
        ("move_seconds", "f8"),  # from request to arrival, by shard moved inside a node
        ("sync_seconds", "f8"),
        ("far_seconds", "f8"),  # the same between nodes
        ("far_sync_seconds", "f8"),
        ("switching", "f8"),  # seconds that slots stood still for changes
        ("end_rows", "i8"),
        ("admitted", "i8"),
        ("moves", "i8"),
        ("far_moves", "i8"),
        ("lost", "i8"),  # rows for which there was no room: never
        ("free_row", "i4"),  # first of the rows not in use
        ("free_rows", "i4"),
        ("source_blocked", "i4"),
        ("turn", "i4"),
    ],
    align=True,
)


class World(NamedTuple):
    """All of a running simulation, as compiled loops take it; the records above in arrays.

    Attributes:
        free: when each server of each slot is free.
        late: the row that each server works on beyond the interval.
        slots: records of the slots.
        shards: records of the shards.
        rows: records of the rows, in use or not.
        operators: records of the operators.
        nodes: records of the nodes.
        totals: one record of sums.
        edges: whom operators send to, one after the other.
        cumulated: shares of shards, cumulated.
        random: state of the random numbers.
        bins: rows by operator and latency.
        patience: see ``Continuous``.
        pace: seconds per byte of the network.
        queue: see ``Costs``.
        hold: see ``Costs``.
        buffer: see ``Costs``.
        shard_sync: see ``Costs``.
        operator_sync: see ``Costs``.
        pair_sync: see ``Costs``.
    """

    free: Any
    late: Any
    slots: Any
    shards: Any
    rows: Any
    operators: Any
    nodes: Any
    totals: Any
    edges: Any
    cumulated: Any
    random: Any
    bins: Any
    patience: float
    pace: float
    queue: int
    hold: int
    buffer: float
    shard_sync: float
    operator_sync: float
    pair_sync: float
