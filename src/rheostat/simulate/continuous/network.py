"""Compute when rows and state arrive on another node, over a network with limited bandwidth in and out of each node."""

from __future__ import annotations

from typing import Any

from rheostat.jit import inlined
from rheostat.simulate.continuous.records import NOBODY


@inlined
def transfer_row(
    nodes: Any, totals: Any, seconds_per_byte: float, sender: int, receiver: int, size: float, now: float
) -> float:
    """Send bytes of rows to another node; return when they arrive.

    A node's network is busy until everything sent in this tick, and everything left from before, has gone through. The
    exact time within the tick does not matter, because slots are not simulated in the order of time.
    """
    if seconds_per_byte == 0.0 or sender == NOBODY:
        return now
    if sender == receiver:
        return now
    seconds, begin = size * seconds_per_byte, totals[0].tick
    leaves = max(begin, nodes[sender].row_out) + seconds
    enters = max(begin, nodes[receiver].row_in) + seconds
    nodes[sender].row_out = leaves
    nodes[receiver].row_in = enters
    return float(max(now + seconds, leaves, enters))


@inlined
def transfer_state(nodes: Any, seconds_per_byte: float, sender: int, receiver: int, size: float, now: float) -> float:
    """Send bytes of state to another node, after other state of the two nodes; return when they arrive."""
    if seconds_per_byte == 0.0:
        return now
    arrival = max(now, nodes[sender].state_out, nodes[receiver].state_in) + size * seconds_per_byte
    nodes[sender].state_out = arrival
    nodes[receiver].state_in = arrival
    return float(arrival)
