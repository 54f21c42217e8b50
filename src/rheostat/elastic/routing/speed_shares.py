"""Shares work between slots whose nodes are not equally fast: a node at half speed gets half the work.

Loads are in standard seconds here: what a shard would take on a node of speed 1. ``elastic.loop.speed_watch`` calls
this, for every policy alike.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.longest_first import worth

TOLERANCE = 1.08
"""A slot may take this many times as long as it would if work followed speed exactly, before shards move."""

_GAIN = 0.02
"""Share by which the longest time must become shorter; less is not worth a change."""


def slot_times(routing: Ints, loads: Floats, speeds: Floats) -> Floats:
    """Return the seconds that every slot takes.

    >>> slot_times(np.array([0, 0, 1]), np.ones(3), np.array([1.0, 0.5])).tolist()
    [2.0, 2.0]
    """
    times: Floats = np.bincount(routing, weights=loads, minlength=len(speeds)) / speeds
    return times


def share_by_speed(routing: Ints, loads: Floats, speeds: Floats, tolerance: float = TOLERANCE) -> Ints | None:
    """Return a routing in which the load of every slot follows its speed; None if the present one is near enough.

    Slots with more than their share give up shards, which go one by one, the heaviest first, to the slot that would be
    done with them first. Every slot keeps at least one shard.

    Args:
        routing: the slot of every shard now, with slots numbered from 0.
        loads: the load of every shard in standard seconds.
        speeds: the speed of every slot.
        tolerance: how many times longer than ideal the slowest slot may take.

    >>> share_by_speed(np.array([0, 0, 0, 1, 1, 1]), np.ones(6), np.array([1.0, 0.5])).tolist()
    [0, 0, 0, 1, 1, 0]
    >>> share_by_speed(np.array([0, 0, 0, 0, 1, 1]), np.ones(6), np.array([1.0, 0.5]))
    """
    total = float(loads.sum())
    if len(speeds) < 2 or not total > 0:
        return None
    before = slot_times(routing, loads, speeds)
    ideal = total / float(speeds.sum())
    if before.max() <= tolerance * ideal:
        return None
    where, times = routing.copy(), before.copy()
    given: list[int] = []
    for slot in np.flatnonzero(times > ideal).tolist():
        mine = np.flatnonzero((where == slot) & (loads > 0))
        excess = (times[slot] - ideal) * speeds[slot]
        out = mine[worth(loads[mine], excess)]
        kept = np.setdiff1d(mine, out)
        if len(kept) > 1 and excess - loads[out].sum() > loads[kept].min() / 2:  # one more brings it nearer
            out = np.r_[out, kept[loads[kept].argmin()]]
        times[slot] -= loads[out].sum() / speeds[slot]
        given += out.tolist()
    for shard in sorted(given, key=lambda shard: -loads[shard]):
        ends = times + loads[shard] / speeds
        where[shard] = ends.argmin()
        times[where[shard]] = ends.min()
    return where if times.max() < before.max() * (1 - _GAIN) else None
