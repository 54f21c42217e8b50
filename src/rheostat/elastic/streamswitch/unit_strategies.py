"""The best step of every kind: which slot to give up, or which shards to move where (StreamSwitch section 3.4).

Beyond the paper: overloaded slots, whose projected latency is infinite, are told apart by how overloaded they are, so
that a step that helps is found however bad things are; and a move has to be worthwhile. ``Rules`` switches both off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.diagnosis import OURS, Limits, Rules, UnitStrategy
from rheostat.elastic.streamswitch.health import slot_arrivals
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.strain import best_pair, best_shift, lowest_of, prefixes_of, strain_of, strains_of


def best_merge(readings: Readings, limits: Limits, rules: Rules = OURS) -> UnitStrategy | None:
    """The slot to give up and the one that takes its shards: the lexicographically lowest latencies (Algorithm 1).

    The paper's listing starts from the latencies as they are, which no merger improves; any merger is better than none
    here, and whether its latency is acceptable is for the caller to judge.

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
    """Some shards of a slot, and another slot or a fresh one, that lower the latencies most; None if none does.

    Shards go in the order of their latency, lowest first, since a move delays them (Algorithm 2). Idle ones stay. As
    many go as make the two slots most alike, by their loads where both are overloaded. As published, a move to another
    slot has to lower the higher of both latencies (line 20), so a slot that stays overloaded is not helped; a move to
    a fresh one is made all the same, since no scale out is better while the highest latency stays infinite.

    Args:
        source: place of the slot in ``readings.slots``.
        fresh: to a new slot, which is taken to be as fast as the source usually is.

    >>> busy = Readings.of((0, 0, 0, 1), (300, 300, 300, 700), (1000, 1000), (0.5, 0), shard_latency=(0.5, 0.2, 0.4, 0))
    >>> best_move(busy, Limits(), 0) is None, best_move(busy, Limits(), 0, fresh=True).shards
    (True, (1,))
    """
    mine = np.flatnonzero((readings.places == source) & (readings.arrival > 0))
    if len(mine) < 2 or not (fresh or len(readings.slots) > 1):
        return None
    mine = mine[readings.shard_latency[mine].argsort(kind="stable")]
    loads, rooms = slot_arrivals(readings), (1 - limits.margin) * readings.service
    own = loads[source], rooms[source]
    prefix = np.zeros(len(mine))
    np.cumsum(readings.arrival[mine[:-1]], out=prefix[1:])
    if fresh:
        taken, theirs, rooms = np.zeros(1), np.zeros(1), (1 - limits.margin) * readings.usual[[source]]
    else:
        others = np.arange(len(loads)) != source
        taken, rooms = loads[others], rooms[others]
        theirs = strains_of(taken, rooms, rules.overload)
    best, count, now, left, received = best_shift(prefix, *own, taken, rooms, theirs, rules.worthwhile, rules.overload)
    if best < 0 or (not rules.overload and not fresh and max(left, received) >= max(now, theirs[best])):
        return None
    target = _unused(readings.slots) if fresh else readings.slots[best + int(best >= source)]
    shards, before = tuple(mine[:count].tolist()), (now, float(theirs[best]))
    return UnitStrategy(shards, readings.slots[source], target, before, (left, received))


def best_prefix(
    prefix: Floats, source: tuple[float, float], taken: Floats, speeds: Floats, margin: float
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """How many shards to move to each target so that the worse of the two slots is best, and both their strains then.

    The source's strain falls with every shard and the target's rises, so the best is where they cross, which binary
    search finds, or one shard before.

    Args:
        prefix: load of the first 0, 1, 2, ... shards.
        source: load and service rate of the source.
        taken: load of each target.
        speeds: service rate of each target.
        margin: share of the service rates that is kept free.

    >>> loads = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> best_prefix(loads, (5.0, 10.0), np.array([0.0, 3.0, 9.0]), np.full(3, 10.0), margin=0.0)[0].tolist()
    [2, 1, 0]
    """
    rooms = (1 - margin) * source[1], (1 - margin) * speeds
    counts, left, received = prefixes_of(prefix, source[0], rooms[0], taken, rooms[1])
    return counts, left, received


def lowest(added: Floats, removed: Floats) -> int:
    """Which change makes the latencies, sorted from the highest, lexicographically lowest.

    Rows are changes: latencies that go and others that come. What stays is the same on both sides of a comparison, so
    the order rests on the highest latency of which one side has more. Written with a sign, those that come are worse
    the higher they are and those that go better, and the signed values compare one after the other.

    >>> lowest(np.array([[5.0, 4.0], [5.0, 3.0]]), np.array([[7.0, 1.0], [7.0, 1.0]]))
    1
    """
    return lowest_of(added, removed, len(added))


def _unused(slots: Sequence[int]) -> int:
    """The lowest number that no slot has."""
    taken = set(slots)
    return next(number for number in range(len(slots) + 1) if number not in taken)
