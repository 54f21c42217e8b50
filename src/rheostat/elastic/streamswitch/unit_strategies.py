"""Finds the best step of each kind: which slot to give up, or which shards to move where (StreamSwitch section 3.4).

Beyond the paper: overloaded slots, whose projected latency is infinite, are ranked by how overloaded they are, so that
a helpful step is found under any overload; and a move must be worthwhile. ``Rules`` switches both off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.diagnosis import OURS, Limits, Rules, UnitStrategy
from rheostat.elastic.streamswitch.health import slot_arrivals
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.strain import best_pair, best_prefixes, best_shift, lowest_of, strain_of, strains_of


def best_merge(readings: Readings, limits: Limits, rules: Rules = OURS) -> UnitStrategy | None:
    """Choose a slot to give up and a slot that takes its shards; None if there are fewer than two (Algorithm 1).

    The result has the lexicographically lowest strains of all pairs. The paper's listing compares with the latencies
    before the merge, which no merge improves. Here any merge is better than none, and the caller decides whether its
    latency is acceptable.

    >>> found = best_merge(Readings.of((0, 1, 2), (100, 100, 300), (1000, 1000, 1000), (0, 0, 0)), Limits())
    >>> found.source, found.target, found.shards
    (0, 1, (0,))
    """
    count = len(readings.slots)
    if count < 2:
        return None
    loads, rooms = slot_arrivals(readings), (1 - limits.margin) * readings.service
    source, target, merged = best_pair(loads, rooms, rules.overload)
    before = tuple(strain_of(loads[slot], rooms[slot], rules.overload) for slot in (source, target))
    shards = tuple(np.flatnonzero(readings.places == source).tolist())
    return UnitStrategy(shards, readings.slots[source], readings.slots[target], (before[0], before[1]), (0.0, merged))


def best_move(
    readings: Readings, limits: Limits, source: int, fresh: bool = False, rules: Rules = OURS
) -> UnitStrategy | None:
    """Choose shards of a slot, and the slot they should move to, that lower the strains most; None if no move does.

    Shards move in the order of their latency, lowest first, since a move delays them (Algorithm 2). Idle shards stay.
    As many move as make the strains of the two slots most alike.

    As published, a move to another slot must lower the larger of the two latencies (line 20), so a slot that stays
    overloaded is not helped. A move to a new slot is made in any case, since no scale out is better while the largest
    latency stays infinite.

    Args:
        readings: the operator's readings.
        limits: the operator's limits.
        source: place of the slot in ``readings.slots``.
        fresh: True to move to a new slot, which is assumed to be as fast as the source usually is.
        rules: whether overloaded slots are ranked, and what is worthwhile.

    >>> busy = Readings.of((0, 0, 0, 1), (300, 300, 300, 700), (1000, 1000), (0.5, 0), shard_latency=(0.5, 0.2, 0.4, 0))
    >>> best_move(busy, Limits(), 0) is None, best_move(busy, Limits(), 0, fresh=True).shards
    (True, (1,))
    """
    shards = np.flatnonzero((readings.places == source) & (readings.arrival > 0))
    if len(shards) < 2 or not (fresh or len(readings.slots) > 1):
        return None
    shards = shards[readings.shard_latency[shards].argsort(kind="stable")]
    loads, rooms = slot_arrivals(readings), (1 - limits.margin) * readings.service
    prefix = np.zeros(len(shards))
    np.cumsum(readings.arrival[shards[:-1]], out=prefix[1:])
    if fresh:
        target_loads, target_strains = np.zeros(1), np.zeros(1)
        target_rooms = (1 - limits.margin) * readings.usual[[source]]
    else:
        others = np.arange(len(loads)) != source
        target_loads, target_rooms = loads[others], rooms[others]
        target_strains = strains_of(target_loads, target_rooms, rules.overload)
    best, count, now, source_after, target_after = best_shift(
        prefix,
        loads[source],
        rooms[source],
        target_loads,
        target_rooms,
        target_strains,
        rules.worthwhile,
        rules.overload,
    )
    if best < 0:
        return None
    before, after = (now, float(target_strains[best])), (source_after, target_after)
    if not rules.overload and not fresh and max(after) >= max(before):
        return None
    target = _unused_number(readings.slots) if fresh else readings.slots[best + int(best >= source)]
    return UnitStrategy(tuple(shards[:count].tolist()), readings.slots[source], target, before, after)


def best_prefix(
    prefix: Floats, source: tuple[float, float], taken: Floats, speeds: Floats, margin: float
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Choose how many shards to move to each target so that the larger strain of the two slots is lowest.

    With every shard the strain of the source falls and that of the target rises. So the best number is where they
    cross, found by binary search, or one shard less.

    Args:
        prefix: load of the first 0, 1, 2, ... shards.
        source: load and service rate of the source.
        taken: load of each target.
        speeds: service rate of each target.
        margin: share of the service rates to keep free.

    Returns:
        For every target, the number of shards, the strain of the source afterwards, and that of the target.

    >>> loads = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> best_prefix(loads, (5.0, 10.0), np.array([0.0, 3.0, 9.0]), np.full(3, 10.0), margin=0.0)[0].tolist()
    [2, 1, 0]
    """
    counts, source_strains, target_strains = best_prefixes(
        prefix, source[0], (1 - margin) * source[1], taken, (1 - margin) * speeds
    )
    return counts, source_strains, target_strains


def lowest(added: Floats, removed: Floats) -> int:
    """Return the index of the change that makes the strains of all slots, sorted from the highest, lowest.

    A change replaces a few strains with others. All other strains are the same for every change, so two changes differ
    first at the highest strain that one of them has more often. An added strain counts as positive and a removed one as
    negative; sorted by falling absolute value, the signed values of two changes then compare lexicographically.

    Args:
        added: strains that a change adds, a row per change.
        removed: strains that a change removes, a row per change.

    >>> lowest(np.array([[5.0, 4.0], [5.0, 3.0]]), np.array([[7.0, 1.0], [7.0, 1.0]]))
    1
    """
    return lowest_of(added, removed, len(added))


def _unused_number(slots: Sequence[int]) -> int:
    """Return the lowest number that no slot has."""
    taken = set(slots)
    return next(number for number in range(len(slots) + 1) if number not in taken)
