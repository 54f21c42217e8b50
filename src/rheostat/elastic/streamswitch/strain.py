"""Diagnose's arithmetic over all slots, compiled: how strained they are, and which step relieves them most.

A slot is named by its place here. Loads are rows per second; ``room`` is the service rate less the safety margin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.jit import compiled

LONGEST = 1e9
"""Seconds at which a projected latency is cut, to rank all overloaded slots above it."""

SOUND, ABSURD, UNKNOWN = 0, 1, 2
"""Whether readings can be used: yes; no, for some values make no sense; no, for some shards are in unknown slots."""


@compiled
def latency_of(load: float, room: float) -> float:
    """Seconds in a slot by M/M/1; infinite under overload."""
    return 1.0 / (room - load) if room - load > 0 else np.inf


@compiled
def strain_of(load: float, room: float, ranked: bool) -> float:
    """The same, continued beyond infinity by how much of what fits has come; not continued unless ``ranked``."""
    if load < room:
        return min(latency_of(load, room), LONGEST)
    return LONGEST * max(load / max(room, 1e-9), 1.0) if ranked else LONGEST


@compiled
def strains_of(loads: Any, rooms: Any, ranked: bool) -> Any:
    """The strain of every slot."""
    found = np.empty(len(loads))
    for i in range(len(loads)):
        found[i] = strain_of(loads[i], rooms[i], ranked)
    return found


@compiled
def assessed(
    places: Any,
    arrival: Any,
    latency: Any,
    service: Any,
    usual: Any,
    shard_latency: Any,
    margin: float,
    alert: float,
    bound: float,
) -> Any:
    """Whether readings are sound; the loads of the slots, the health of each, the worst, and the first that has it."""
    loads, each = np.zeros(len(service)), np.zeros(len(service), dtype=np.int64)
    verdict, worst, which = SOUND, 0, 0
    if not (_sane(arrival) and _sane(latency) and _sane(service) and _sane(usual) and _sane(shard_latency)):
        verdict = ABSURD
    for shard in range(len(places)):
        if places[shard] >= 0:
            loads[places[shard]] += arrival[shard]
        elif verdict == SOUND:
            verdict = UNKNOWN
    for i in range(len(service)):
        projected = latency_of(loads[i], (1 - margin) * service[i])
        each[i] = int(latency[i] > alert) + int(projected > bound)
        if each[i] > worst:
            worst, which = each[i], i
    return verdict, loads, each, worst, which


@compiled
def _sane(values: Any) -> bool:
    wrong = 0
    for value in values:
        wrong += int(not 0 <= value < np.inf)
    return wrong == 0


@compiled
def worst_after(
    places: Any,
    arrival: Any,
    latency: Any,
    service: Any,
    usual: Any,
    loads: Any,
    ignored: Any,
    shards: Any,
    source: int,
    target: int,
    margin: float,
    alert: float,
    bound: float,
) -> int:
    """The worst health of the slots that remain after shards go from a slot to another, or to a new last one.

    A source of -1 means that none go. The loads are those before.
    """
    count, amount, left = len(service), 0.0, 0
    for shard in shards:
        amount += arrival[shard]
    for shard in range(len(places)):
        left += int(places[shard] == source)
    worst = 0
    for i in range(count + 1):
        stays = i != source or left > len(shards)
        for slot in ignored:
            stays &= slot != i
        if stays and (i < count or target == count):
            load, measured, speed = (loads[i], latency[i], service[i]) if i < count else (0.0, 0.0, usual[source])
            load += (amount if i == target else 0.0) - (amount if i == source else 0.0)
            projected = latency_of(load, (1 - margin) * speed)
            worst = max(worst, int(measured > alert) + int(projected > bound))
    return worst


@compiled
def lowest_of(added: Any, removed: Any, rows: int) -> int:
    """Of the first rows, that whose change makes the latencies, sorted from the highest, lexicographically lowest.

    Why that is what it does is said at ``lowest``.
    """
    come, size = added.shape[1], added.shape[1] + removed.shape[1]
    best, now, chosen = np.empty(size), np.empty(size), 0
    for row in range(rows):
        for k in range(size):
            now[k] = added[row, k] if k < come else -removed[row, k - come]
        for a in range(come):
            for b in range(come, size):
                if now[a] == -now[b]:
                    now[a] = now[b] = 0.0
        # A few numbers: insertion sort, the largest of either sign first.
        for i in range(1, size):
            value, k = now[i], i
            while k > 0 and abs(now[k - 1]) < abs(value):
                now[k] = now[k - 1]
                k -= 1
            now[k] = value
        k = 0
        while row > 0 and k < size - 1 and now[k] == best[k]:
            k += 1
        if row == 0 or now[k] < best[k]:
            chosen = row
            for i in range(size):
                best[i] = now[i]
    return chosen


@compiled
def best_pair(loads: Any, rooms: Any, ranked: bool) -> tuple[int, int, float]:
    """Of two slots or more, which goes and which takes its shards, and how strained that one is then."""
    count = len(loads)
    now = strains_of(loads, rooms, ranked)
    added, removed = np.empty((count * (count - 1), 1)), np.empty((count * (count - 1), 2))
    pair = 0
    for source in range(count):
        for target in range(count):
            if source != target:
                added[pair, 0] = strain_of(loads[source] + loads[target], rooms[target], ranked)
                removed[pair, 0], removed[pair, 1] = now[source], now[target]
                pair += 1
    best = lowest_of(added, removed, pair)
    source, target = best // (count - 1), best % (count - 1)
    return source, target + 1 if target >= source else target, added[best, 0]


@compiled
def prefixes_of(prefix: Any, load: float, room: float, taken: Any, rooms: Any) -> Any:
    """How many shards to move to each target, and how strained source and target are then; see ``best_prefix``."""
    size = len(taken)
    counts, left, received = np.zeros(size, dtype=np.int64), np.empty(size), np.empty(size)
    for target in range(size):
        low, high = 0, len(prefix) - 1
        while low < high:
            middle = (low + high) // 2
            here, there = _strains_after(prefix[middle], load, room, taken[target], rooms[target])
            if there >= here:
                high = middle
            else:
                low = middle + 1
        here, there = _strains_after(prefix[low], load, room, taken[target], rooms[target])
        fewer = max(low - 1, 0)
        left[target], received[target] = _strains_after(prefix[fewer], load, room, taken[target], rooms[target])
        counts[target] = fewer
        if max(here, there) < max(left[target], received[target]):
            counts[target], left[target], received[target] = low, here, there
    return counts, left, received


@compiled
def _strains_after(moved: float, load: float, room: float, taken: float, taken_room: float) -> tuple[float, float]:
    return strain_of(max(load - moved, 0.0), room, True), strain_of(taken + moved, taken_room, True)


@compiled
def best_shift(
    prefix: Any, load: float, room: float, taken: Any, rooms: Any, theirs: Any, worthwhile: float, ranked: bool
) -> Any:
    """The target, or -1 if none is worthwhile, the number of shards for it, and the strains of both slots then.

    Args:
        prefix: load of the first 0, 1, 2, ... shards of the source.
        load: of the source.
        room: of the source.
        taken: load of each target.
        rooms: room of each target.
        theirs: strain of each target as it is.
        worthwhile: share by which the worse of the two slots has to become better.
        ranked: whether overloaded slots are told apart.
    """
    counts, left, received = prefixes_of(prefix, load, room, taken, rooms)
    now = strain_of(load, room, ranked)
    useful = np.zeros(len(taken), dtype=np.int64)
    added, removed = np.empty((len(taken), 2)), np.empty((len(taken), 2))
    found = 0
    for i in range(len(taken)):
        if not ranked:
            left[i], received[i] = min(left[i], LONGEST), min(received[i], LONGEST)
        if counts[i] > 0 and max(left[i], received[i]) <= (1 - worthwhile) * max(now, theirs[i]):
            useful[found] = i
            added[found, 0], added[found, 1] = left[i], received[i]
            removed[found, 0], removed[found, 1] = now, theirs[i]
            found += 1
    if not found:
        return -1, 0, now, 0.0, 0.0
    best = useful[lowest_of(added, removed, found)]
    return best, counts[best], now, left[best], received[best]
