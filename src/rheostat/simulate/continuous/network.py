"""When rows and state are on another node: a network that every node sends to and takes from at a bounded pace."""

from __future__ import annotations

from typing import Any

from rheostat.jit import inlined
from rheostat.simulate.continuous.records import NOBODY


@inlined
def sent(nodes: Any, totals: Any, pace: float, sender: int, taker: int, size: float, now: float) -> float:
    """When bytes are on another node: after what waits for the sender's network and for the taker's.

    A node's network is busy until what was sent in this tick, and what is left from before, has gone through. When in
    the tick it was sent does not matter, for slots do not take turns in the order of time.
    """
    if pace == 0.0 or sender == NOBODY:
        return now
    if sender == taker:
        return now
    seconds, begin = size * pace, totals[0].tick
    out = max(begin, nodes[sender].sends) + seconds
    there = max(begin, nodes[taker].takes) + seconds
    nodes[sender].sends = out
    nodes[taker].takes = there
    return float(max(now + seconds, out, there))


@inlined
def carried(nodes: Any, pace: float, sender: int, taker: int, size: float, now: float) -> float:
    """When state is on another node, after other state on its way there."""
    if pace == 0.0:
        return now
    there = max(now, nodes[sender].gives, nodes[taker].gets) + size * pace
    nodes[sender].gives = there
    nodes[taker].gets = there
    return float(there)
