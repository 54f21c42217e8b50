"""Diagnose: how healthy the slots are, and which shards should move (StreamSwitch section 3).

One decision moves shards from one slot to one other: all of them (scale in), some of them (balance), or some of them to
a new slot (scale out). Such a small step is quick to carry out, and what it did is measured before the next.

Beyond the paper: a limit on the number of slots; overloaded slots, whose projected latency is infinite, are told apart
by how much they are overloaded, so that a step that helps is found however bad things are; a severe slot that cannot be
helped, because one shard alone is too much for it, does not keep the others from being helped; and a move has to be
worthwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.loop.hysteresis import WORTHWHILE
from rheostat.elastic.model.plan import Action
from rheostat.elastic.streamswitch.diagnosis import Diagnosis, Health, Limits, Step
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.strain import (
    ABSURD,
    LONGEST,
    UNKNOWN,
    assessed,
    best_pair,
    best_shift,
    lowest_of,
    prefixes_of,
    strain_of,
    strains_of,
    worst_after,
)


def projected_latency(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0) -> Floats:
    """Seconds that rows will spend in a slot if nothing changes: M/M/1 with a safety margin (section 4.2).

    >>> projected_latency([1799.0, 1800.0], 2000.0, margin=0.1).tolist()  # the paper's example, and one row more
    [1.0, inf]
    """
    free = (1 - margin) * np.asarray(service, dtype=np.float64) - np.asarray(arrival, dtype=np.float64)
    with np.errstate(over="ignore"):  # next to nothing free is as good as nothing
        latency: Floats = np.divide(1.0, free, out=np.full(free.shape, np.inf), where=free > 0)
    return latency


def strain(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0) -> Floats:
    """The projected latency, continued beyond infinity: overloaded slots rank by arrival over service rate.

    An overloaded slot falls behind by its excess over what it can do, so that is what makes one worse than another.

    >>> strain([0.0, 5.0, 10.0, 20.0], 10.0).tolist()
    [0.1, 0.2, 1000000000.0, 2000000000.0]
    """
    load, room = np.asarray(arrival, dtype=np.float64), (1 - margin) * np.asarray(service, dtype=np.float64)
    shape = np.broadcast_shapes(load.shape, room.shape)
    flat = (np.array(np.broadcast_to(values, shape)).ravel() for values in (load, room))
    found: Floats = strains_of(*flat).reshape(shape)
    return found


def health(latency: npt.ArrayLike, projected: npt.ArrayLike, limits: Limits) -> npt.NDArray[np.int64]:
    """Severe if both the measured and the projected latency are too long, good if neither is (section 3.3).

    >>> [Health(h).name for h in health([0.05, 0.3, 0.05, 0.3], [0.1, 0.1, 2.0, 2.0], Limits())]
    ['GOOD', 'MODERATE', 'MODERATE', 'SEVERE']
    """
    late, strained = np.asarray(latency) > limits.alert, np.asarray(projected) > limits.bound
    return late.astype(np.int64) + strained.astype(np.int64)


def slot_arrivals(readings: Readings) -> Floats:
    """Rows per second that arrive at each slot.

    >>> slot_arrivals(Readings.of((0, 0, 1), (1, 2, 3), (9, 9), (0, 0))).tolist()
    [3.0, 3.0]
    """
    return np.bincount(readings.places, weights=readings.arrival, minlength=len(readings.slots)).astype(np.float64)


def diagnose(readings: Readings, limits: Limits) -> Diagnosis:
    """The next step: none, scale in, balance or scale out (section 3.2).

    >>> hot = Readings.of((0, 0, 1), (600, 500, 100), service=(1000, 1000), latency=(0.5, 0.01))
    >>> found = diagnose(hot, Limits())
    >>> found.action.value, found.moves, found.health.name, found.projected.name
    ('balance', ((0, 1),), 'SEVERE', 'MODERATE')
    """
    verdict, _, each, worst, which = _assessed(readings, limits)
    distrust = _distrust(readings, verdict)
    if distrust:
        return nothing(readings, Health.MODERATE, (f"the readings cannot be trusted: {distrust}",), feasible=True)
    if len(readings.slots) > limits.max_slots:
        step = best_merge(readings, limits)
        why = f"{len(readings.slots)} slots are more than the limit of {limits.max_slots}"
        return concluded(readings, limits, Action.SCALE_IN, step, (why,))
    if worst == Health.SEVERE:
        return _relieved(readings, limits, each)
    if worst == Health.MODERATE:
        return nothing(readings, Health.MODERATE, (f"no slot is severe; {described(readings, limits, which)}",))
    return _saved(readings, limits)


def problem(readings: Readings) -> str:
    """Why nothing can be concluded from readings; empty if something can.

    >>> problem(Readings.of((0,), (float("nan"),), (9,), (0,)))
    'some rates or latencies are negative, infinite or missing'
    """
    return _distrust(readings, _assessed(readings, Limits())[0])


def slot_health(readings: Readings, limits: Limits) -> npt.NDArray[np.int64]:
    """The health of each slot, by its measured latency and the load it has.

    >>> slot_health(Readings.of((0, 1), (900, 100), (1000, 1000), (0.5, 0.01)), Limits()).tolist()
    [2, 0]
    """
    each: npt.NDArray[np.int64] = _assessed(readings, limits)[2]
    return each


def slot_strains(readings: Readings, limits: Limits) -> Floats:
    """The strain of each slot.

    >>> slot_strains(Readings.of((0, 1), (900, 600), (1000, 1000), (0.5, 0.01)), Limits()).tolist()
    [1125000000.0, 0.005]
    """
    found: Floats = strains_of(slot_arrivals(readings), (1 - limits.margin) * readings.service)
    return found


def nothing(readings: Readings, state: Health, reasons: tuple[str, ...], feasible: bool = True) -> Diagnosis:
    """The decision to leave things as they are."""
    return Diagnosis(Action.NOTHING, (), readings.routing, None, None, state, state, feasible, reasons)


def best_merge(readings: Readings, limits: Limits) -> Step | None:
    """The slot to give up and the one that takes its shards: the lexicographically lowest latencies (algorithm 1).

    The paper's listing starts from the latencies as they are, which no merger improves; any merger is better than none
    here, and whether its latency is acceptable is for the caller to judge.

    >>> step = best_merge(Readings.of((0, 1, 2), (100, 100, 300), (1000, 1000, 1000), (0, 0, 0)), Limits())
    >>> step.source, step.target, step.shards
    (0, 1, (0,))
    """
    count = len(readings.slots)
    if count < 2:
        return None
    loads, rooms = slot_arrivals(readings), (1 - limits.margin) * readings.service
    source, target, merged = best_pair(loads, rooms)
    before = strain_of(loads[source], rooms[source]), strain_of(loads[target], rooms[target])
    shards = tuple(np.flatnonzero(readings.places == source).tolist())
    return Step(shards, readings.slots[source], readings.slots[target], before, (0.0, merged))


def best_move(
    readings: Readings, limits: Limits, source: int, fresh: bool = False, worthwhile: float = WORTHWHILE
) -> Step | None:
    """Some shards of a slot, and another slot or a fresh one, that lower the latencies most; None if none does.

    Shards go in the order of their latency, lowest first, since a move delays them (algorithm 2). Idle ones stay.

    Args:
        source: place of the slot in ``readings.slots``.
        fresh: to a new slot, which is taken to be as fast as the source usually is (section 3.4).
        worthwhile: by which share the worse of both slots has to become better.

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
        theirs = strains_of(taken, rooms)
    best, count, now, left, received = best_shift(prefix, *own, taken, rooms, theirs, worthwhile)
    if best < 0:
        return None
    target = _unused(readings.slots) if fresh else readings.slots[best + int(best >= source)]
    shards, before = tuple(mine[:count].tolist()), (now, float(theirs[best]))
    return Step(shards, readings.slots[source], target, before, (left, received))


def best_prefix(
    prefix: Floats, source: tuple[float, float], taken: Floats, speeds: Floats, margin: float
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """How many shards to move to each target so that the worse of the two slots is best, and both their strains then.

    The source's strain falls with every shard and the target's rises, so the best is where they cross, which binary
    search finds (section 3.4), or one shard before.

    Args:
        prefix: load of the first 0, 1, 2, ... shards.
        source: load and service rate of the source.
        taken: load of each target; ``speeds``, its service rate.

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


def concluded(
    readings: Readings,
    limits: Limits,
    action: Action,
    step: Step | None,
    reasons: Sequence[str],
    feasible: bool = True,
) -> Diagnosis:
    """A step as a diagnosis, with what it is expected to bring."""
    state, after = _operator_health(readings, limits, None), _operator_health(readings, limits, step)
    if step is None:
        return nothing(readings, state, (*reasons, "no move of shards helps"), feasible)
    moves = tuple((shard, step.target) for shard in step.shards)
    expected = (
        f"{action}: {len(moves)} shards from slot {step.source} to slot {step.target}, projected latency "
        f"{_seconds(step.before)} before, {_seconds(step.after)} after"
    )
    return Diagnosis(
        action,
        moves,
        moved(readings.routing, moves),
        step.source,
        step.target,
        state,
        after,
        feasible,
        (*reasons, expected),
    )


def moved(routing: Sequence[int], moves: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The routing table after moves.

    >>> moved((0, 0, 1), [(1, 2)])
    (0, 2, 1)
    """
    table = list(routing)
    for shard, slot in moves:
        if 0 <= shard < len(table):
            table[shard] = slot
    return tuple(table)


def described(readings: Readings, limits: Limits, index: int) -> str:
    """How a slot is, in words and numbers."""
    load, service = float(slot_arrivals(readings)[index]), float(readings.service[index])
    projected = strain_of(load, (1 - limits.margin) * service)
    return (
        f"slot {readings.slots[index]} has a latency of {float(readings.latency[index]):.3g} s "
        f"(alert at {limits.alert:g} s), projected {_seconds([projected])} (bound {limits.bound:g} s): "
        f"{load:.4g} rows/s arrive, {service:.4g} can be served, {limits.margin:.0%} of it kept free"
    )


def _assessed(readings: Readings, limits: Limits) -> Any:
    by_slot = readings.latency, readings.service, readings.usual
    bounds = limits.margin, limits.alert, limits.bound
    return assessed(readings.places, readings.arrival, *by_slot, readings.shard_latency, *bounds)


def _distrust(readings: Readings, verdict: int) -> str:
    if not readings.valid:
        return readings.problem
    if verdict == ABSURD:
        return "some rates or latencies are negative, infinite or missing"
    if verdict == UNKNOWN or not readings.slots:
        return "some shards are in slots of which nothing was measured"
    return ""


def _saved(readings: Readings, limits: Limits) -> Diagnosis:
    """All is good: one slot fewer if all stays good."""
    if len(readings.slots) <= limits.min_slots:
        return nothing(readings, Health.GOOD, ("all slots are good, and there are no more than needed",))
    step = best_merge(readings, limits)
    if step is None or _operator_health(readings, limits, step) != Health.GOOD:
        return nothing(readings, Health.GOOD, ("all slots are good, and with one slot fewer they would not be",))
    return concluded(readings, limits, Action.SCALE_IN, step, ("all slots are good, and stay so with one slot fewer",))


def _relieved(readings: Readings, limits: Limits, each: npt.NDArray[np.int64]) -> Diagnosis:
    """Some are severe: help the worst that can be helped, by another slot if that is enough, else by a new one."""
    strains = slot_strains(readings, limits)
    severe = sorted(np.flatnonzero(each == Health.SEVERE).tolist(), key=lambda i: (-strains[i], i))
    room = len(readings.slots) < limits.max_slots
    reasons: list[str] = []
    helpless: list[int] = []
    for source in severe:
        reasons.append(f"severe: {described(readings, limits, source)}")
        other = best_move(readings, limits, source)
        if other and _operator_health(readings, limits, other, ignored=helpless) != Health.SEVERE:
            return concluded(readings, limits, Action.BALANCE, other, reasons, feasible=not helpless)
        new = best_move(readings, limits, source, fresh=True)
        if new and room:
            return concluded(readings, limits, Action.SCALE_OUT, new, reasons, feasible=not helpless)
        if other:
            reasons.append(
                f"all {limits.max_slots} slots are in use: the bound cannot be kept, this is the best there is"
            )
            return concluded(readings, limits, Action.BALANCE, other, reasons, feasible=False)
        reasons.append(
            f"slot {readings.slots[source]} cannot be helped: "
            + (
                f"all {limits.max_slots} slots are in use and none is better off"
                if new
                else _too_heavy(readings, source)
            )
        )
        helpless.append(source)
    return nothing(readings, Health.SEVERE, tuple(reasons), feasible=False)


def _too_heavy(readings: Readings, source: int) -> str:
    mine = np.flatnonzero(readings.places == source)
    heaviest = int(mine[readings.arrival[mine].argmax()])
    whole = readings.arrival[mine].sum()
    return f"shard {heaviest} has {readings.arrival[heaviest]:.4g} of its {whole:.4g} rows/s, and cannot be divided"


def _operator_health(readings: Readings, limits: Limits, step: Step | None, ignored: Sequence[int] = ()) -> Health:
    """The worst health of the slots that remain after a step, by their latency so far (section 3.2)."""
    slots, source, target = readings.slots, -1, -1
    if step is not None:
        source = slots.index(step.source)
        target = slots.index(step.target) if step.target in slots else len(slots)
    worst = worst_after(
        readings.places,
        readings.arrival,
        readings.latency,
        readings.service,
        readings.usual,
        slot_arrivals(readings),
        np.array(ignored, dtype=np.int64),
        np.array(step.shards if step else (), dtype=np.int64),
        source,
        target,
        limits.margin,
        limits.alert,
        limits.bound,
    )
    return Health(worst)


def _unused(slots: Sequence[int]) -> int:
    """The lowest number that no slot has."""
    taken = set(slots)
    return next(number for number in range(len(slots) + 1) if number not in taken)


def _seconds(strains: Sequence[float]) -> str:
    """Strains as text."""
    parts = [f"{v:.3g} s" if v < LONGEST else f"unbounded ({v / LONGEST:.0%} of what fits)" for v in strains]
    return " and ".join(parts)
