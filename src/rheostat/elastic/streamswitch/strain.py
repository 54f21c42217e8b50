"""Compiled arithmetic of Diagnose: the strain of slots, and the steps that lower it most.

*Strain* is a slot's projected latency in seconds, extended beyond overload so that overloaded slots can be ranked too.
Slots are given by their place (see ``slot_places``). Loads are in rows per second. The *room* of a slot is its service
rate less the safety margin: the load it may have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.jit import compiled

LONGEST = 1e9
"""Seconds. Projected latencies are cut here, and the strain of an overloaded slot is this or more."""

SOUND, ABSURD, UNKNOWN = 0, 1, 2
"""Verdicts on readings: usable; some values make no sense; some shards are in slots without measurements."""

_LEAST_ROOM = 1e-9
"""Rows per second that a slot without any room counts as having, so that loads can be divided by it."""


@compiled
def latency_of(load: float, room: float) -> float:
    """Return the mean seconds that a row spends in a slot, by M/M/1; infinite under overload."""
    return 1.0 / (room - load) if room - load > 0 else np.inf


@compiled
def strain_of(load: float, room: float, ranked: bool) -> float:
    """Return the strain of a slot: its projected latency, or under overload ``LONGEST`` times load / room.

    Args:
        load: rows per second that arrive.
        room: largest load that the slot may have.
        ranked: False to give all overloaded slots the same strain, ``LONGEST``.
    """
    if load < room:
        return min(latency_of(load, room), LONGEST)
    return LONGEST * max(load / max(room, _LEAST_ROOM), 1.0) if ranked else LONGEST


@compiled
def strains_of(loads: Any, rooms: Any, ranked: bool) -> Any:
    """Return the strain of every slot."""
    strains = np.empty(len(loads))
    for i in range(len(loads)):
        strains[i] = strain_of(loads[i], rooms[i], ranked)
    return strains


@compiled
def assess_slots(
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
    """Check readings and classify the health of their slots.

    Args:
        places: place of every shard's slot; -1 if it is unknown.
        arrival: rows per second, by shard.
        latency: measured seconds, by slot.
        service: rows per useful second, by slot.
        usual: rows per useful second without regard to stalls, by slot.
        shard_latency: measured seconds, by shard.
        margin: share of the service rate to keep free.
        alert: seconds of measured latency above which a slot can be severe.
        bound: upper bound of the latency, in seconds.

    Returns:
        The verdict on the readings, the load of every slot, the health of every slot, the worst health, and the place
        of the first slot that has it.
    """
    loads, health = np.zeros(len(service)), np.zeros(len(service), dtype=np.int64)
    verdict, worst, worst_place = SOUND, 0, 0
    if not (_sane(arrival) and _sane(latency) and _sane(service) and _sane(usual) and _sane(shard_latency)):
        verdict = ABSURD
    for shard in range(len(places)):
        if places[shard] >= 0:
            loads[places[shard]] += arrival[shard]
        elif verdict == SOUND:
            verdict = UNKNOWN
    for i in range(len(service)):
        projected = latency_of(loads[i], (1 - margin) * service[i])
        health[i] = int(latency[i] > alert) + int(projected > bound)
        if health[i] > worst:
            worst, worst_place = health[i], i
    return verdict, loads, health, worst, worst_place


@compiled
def _sane(values: Any) -> bool:
    """Return True if all values are finite and not negative."""
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
    """Return the worst health of the slots that remain after a move of shards.

    Args:
        places: place of every shard's slot; -1 if it is unknown.
        arrival: rows per second, by shard.
        latency: measured seconds, by slot.
        service: rows per useful second, by slot.
        usual: rows per useful second without regard to stalls, by slot.
        loads: load of every slot before the move.
        ignored: places of slots whose health does not count.
        shards: the shards that move.
        source: place of the slot they leave; -1 if nothing moves.
        target: place of the slot they move to; the number of slots for a new one.
        margin: share of the service rate to keep free.
        alert: seconds of measured latency above which a slot can be severe.
        bound: upper bound of the latency, in seconds.
    """
    count, moved_load, source_shards = len(service), 0.0, 0
    for shard in shards:
        moved_load += arrival[shard]
    for shard in range(len(places)):
        source_shards += int(places[shard] == source)
    worst = 0
    for i in range(count + 1):
        counts = i != source or source_shards > len(shards)
        for slot in ignored:
            counts &= slot != i
        if counts and (i < count or target == count):
            load, measured, speed = (loads[i], latency[i], service[i]) if i < count else (0.0, 0.0, usual[source])
            load += (moved_load if i == target else 0.0) - (moved_load if i == source else 0.0)
            projected = latency_of(load, (1 - margin) * speed)
            worst = max(worst, int(measured > alert) + int(projected > bound))
    return worst


@compiled
def lowest_of(added: Any, removed: Any, rows: int) -> int:
    """Return ``unit_strategies.lowest`` of the first ``rows`` rows."""
    added_size, size = added.shape[1], added.shape[1] + removed.shape[1]
    best, now, chosen = np.empty(size), np.empty(size), 0
    for row in range(rows):
        for k in range(size):
            now[k] = added[row, k] if k < added_size else -removed[row, k - added_size]
        for a in range(added_size):
            for b in range(added_size, size):
                if now[a] == -now[b]:
                    now[a] = now[b] = 0.0
        # Insertion sort of a few numbers, by falling absolute value.
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
    """Choose which of two or more slots to give up, and which slot takes its shards.

    Returns:
        The place of the slot to give up, the place of the other one, and the strain of that one afterwards.
    """
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
def best_prefixes(prefix: Any, load: float, room: float, target_loads: Any, target_rooms: Any) -> Any:
    """Choose how many shards to move to each possible target; see ``unit_strategies.best_prefix``.

    Returns:
        For every target, the number of shards, the strain of the source afterwards, and that of the target.
    """
    size = len(target_loads)
    counts, source_strains, target_strains = np.zeros(size, dtype=np.int64), np.empty(size), np.empty(size)
    for i in range(size):
        low, high = 0, len(prefix) - 1
        while low < high:
            middle = (low + high) // 2
            here, there = _strains_after(prefix[middle], load, room, target_loads[i], target_rooms[i])
            if there >= here:
                high = middle
            else:
                low = middle + 1
        here, there = _strains_after(prefix[low], load, room, target_loads[i], target_rooms[i])
        fewer = max(low - 1, 0)
        source_strains[i], target_strains[i] = _strains_after(
            prefix[fewer], load, room, target_loads[i], target_rooms[i]
        )
        counts[i] = fewer
        if max(here, there) < max(source_strains[i], target_strains[i]):
            counts[i], source_strains[i], target_strains[i] = low, here, there
    return counts, source_strains, target_strains


@compiled
def _strains_after(
    moved: float, load: float, room: float, target_load: float, target_room: float
) -> tuple[float, float]:
    """Return the strains of source and target after a load has moved from one to the other."""
    return strain_of(max(load - moved, 0.0), room, True), strain_of(target_load + moved, target_room, True)


@compiled
def best_shift(
    prefix: Any,
    load: float,
    room: float,
    target_loads: Any,
    target_rooms: Any,
    target_strains: Any,
    worthwhile: float,
    ranked: bool,
) -> Any:
    """Choose the slot that some shards of a source should move to, and how many shards.

    Args:
        prefix: load of the first 0, 1, 2, ... shards of the source.
        load: load of the source.
        room: room of the source.
        target_loads: load of each possible target.
        target_rooms: room of each possible target.
        target_strains: strain of each possible target now.
        worthwhile: share by which the larger strain of the two slots must fall.
        ranked: True to rank overloaded slots by how overloaded they are.

    Returns:
        The index of the target, or -1 if no move is worthwhile; the number of shards; the strain of the source now;
        and the strains of source and target after the move.
    """
    counts, source_after, target_after = best_prefixes(prefix, load, room, target_loads, target_rooms)
    now = strain_of(load, room, ranked)
    useful = np.zeros(len(target_loads), dtype=np.int64)
    added, removed = np.empty((len(target_loads), 2)), np.empty((len(target_loads), 2))
    candidates = 0
    for i in range(len(target_loads)):
        if not ranked:
            source_after[i], target_after[i] = min(source_after[i], LONGEST), min(target_after[i], LONGEST)
        if counts[i] > 0 and max(source_after[i], target_after[i]) <= (1 - worthwhile) * max(now, target_strains[i]):
            useful[candidates] = i
            added[candidates, 0], added[candidates, 1] = source_after[i], target_after[i]
            removed[candidates, 0], removed[candidates, 1] = now, target_strains[i]
            candidates += 1
    if not candidates:
        return -1, 0, now, 0.0, 0.0
    best = useful[lowest_of(added, removed, candidates)]
    return best, counts[best], now, source_after[best], target_after[best]
