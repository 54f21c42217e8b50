"""Diagnose: how healthy the slots are, and which shards should move (StreamSwitch section 3).

One decision moves shards from one slot to one other: all of them (scale in), some of them (balance), or some of them to
a new slot (scale out). Such a small step is quick to carry out, and what it did is measured before the next.

Beyond the paper: a limit on the number of slots; overloaded slots, whose projected latency is infinite, are told apart
by how much they are overloaded, so that a step that helps is found however bad things are; a severe slot that cannot be
helped, because one shard alone is too much for it, does not keep the others from being helped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rheostat.elastic.readings import Readings, Values
from rheostat.elastic.verdicts import Action, Diagnosis, Health, Limits, Step

_LONGEST = 1e9
"""Seconds at which a projected latency is cut, to rank all overloaded slots above it."""


WORTHWHILE = 0.05
"""Share by which a move has to lower the worse latency of its two slots: less is noise, and would go to and fro."""


def projected_latency(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0) -> Values:
    """Seconds that rows will spend in a slot if nothing changes: M/M/1 with a safety margin (section 4.2).

    >>> projected_latency([1799.0, 1800.0], 2000.0, margin=0.1).tolist()  # the paper's example, and one row more
    [1.0, inf]
    """
    free = (1 - margin) * np.asarray(service, dtype=np.float64) - np.asarray(arrival, dtype=np.float64)
    latency: Values = np.divide(1.0, free, out=np.full(free.shape, np.inf), where=free > 0)
    return latency


def strain(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0) -> Values:
    """The projected latency, continued beyond infinity: overloaded slots rank by arrival over service rate.

    An overloaded slot falls behind by its excess over what it can do, so that is what makes one worse than another.

    >>> strain([0.0, 5.0, 10.0, 20.0], 10.0).tolist()
    [0.1, 0.2, 1000000000.0, 2000000000.0]
    """
    load, room = np.asarray(arrival, dtype=np.float64), (1 - margin) * np.asarray(service, dtype=np.float64)
    load, room = np.broadcast_arrays(load, room)
    excess = load / np.maximum(room, 1e-9)
    finite = np.minimum(projected_latency(load, room), _LONGEST)
    return np.where(load < room, finite, _LONGEST * np.maximum(excess, 1.0))


def health(latency: npt.ArrayLike, projected: npt.ArrayLike, limits: Limits) -> npt.NDArray[np.int64]:
    """Severe if both the measured and the projected latency are too long, good if neither is (section 3.3).

    >>> [Health(h).name for h in health([0.05, 0.3, 0.05, 0.3], [0.1, 0.1, 2.0, 2.0], Limits())]
    ['GOOD', 'MODERATE', 'MODERATE', 'SEVERE']
    """
    late, strained = np.asarray(latency) > limits.alert, np.asarray(projected) > limits.bound
    return late.astype(np.int64) + strained.astype(np.int64)


def slot_arrivals(readings: Readings) -> Values:
    """Rows per second that arrive at each slot.

    >>> slot_arrivals(Readings.of((0, 0, 1), (1, 2, 3), (9, 9), (0, 0))).tolist()
    [3.0, 3.0]
    """
    place = np.searchsorted(readings.slots, readings.routing)
    return np.bincount(place, weights=readings.arrival, minlength=len(readings.slots)).astype(np.float64)


def diagnose(readings: Readings, limits: Limits) -> Diagnosis:
    """The next step: none, scale in, balance or scale out (section 3.2).

    >>> hot = Readings.of((0, 0, 1), (600, 500, 100), service=(1000, 1000), latency=(0.5, 0.01))
    >>> found = diagnose(hot, Limits())
    >>> found.action.value, found.moves, found.health.name, found.projected.name
    ('balance', ((0, 1),), 'SEVERE', 'MODERATE')
    """
    distrust = problem(readings)
    if distrust:
        return nothing(readings, Health.MODERATE, (f"the readings cannot be trusted: {distrust}",), feasible=True)
    loads = slot_arrivals(readings)
    each = health(readings.latency, projected_latency(loads, readings.service, limits.margin), limits)
    worst = Health(int(each.max()))
    if len(readings.slots) > limits.max_slots:
        step = best_merge(readings, limits)
        why = f"{len(readings.slots)} slots are more than the limit of {limits.max_slots}"
        return concluded(readings, limits, Action.SCALE_IN, step, (why,))
    if worst == Health.SEVERE:
        return _relieved(readings, limits, each)
    if worst == Health.MODERATE:
        slot = int(each.argmax())
        return nothing(readings, worst, (f"no slot is severe; {described(readings, limits, slot)}",))
    return _saved(readings, limits)


def problem(readings: Readings) -> str:
    """Why nothing can be concluded from readings; empty if something can.

    >>> problem(Readings.of((0,), (float("nan"),), (9,), (0,)))
    'some rates or latencies are negative, infinite or missing'
    """
    if not readings.valid:
        return readings.problem
    measured = (readings.arrival, readings.latency, readings.service, readings.usual, readings.shard_latency)
    if not all(np.isfinite(values).all() and (values >= 0).all() for values in measured):
        return "some rates or latencies are negative, infinite or missing"
    if not readings.slots or not set(readings.routing) <= set(readings.slots):
        return "some shards are in slots of which nothing was measured"
    return ""


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
    loads = slot_arrivals(readings)
    now = strain(loads, readings.service, limits.margin)
    sources, targets = np.divmod(np.arange(count * count), count)
    pairs = sources != targets
    sources, targets = sources[pairs], targets[pairs]
    merged = strain(loads[sources] + loads[targets], readings.service[targets], limits.margin)
    best = lowest(merged[:, None], np.column_stack([now[sources], now[targets]]))
    source, target = int(sources[best]), int(targets[best])
    shards = tuple(int(k) for k in np.flatnonzero(np.asarray(readings.routing) == readings.slots[source]))
    before = float(now[source]), float(now[target])
    return Step(shards, readings.slots[source], readings.slots[target], before, (0.0, float(merged[best])))


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
    mine = np.flatnonzero((np.asarray(readings.routing) == readings.slots[source]) & (readings.arrival > 0))
    mine = mine[np.argsort(readings.shard_latency[mine], kind="stable")]
    loads = slot_arrivals(readings)
    others = np.delete(np.arange(len(readings.slots)), source)
    targets = [_unused(readings.slots)] if fresh else [readings.slots[i] for i in others]
    taken, speeds = (np.zeros(1), readings.usual[[source]]) if fresh else (loads[others], readings.service[others])
    if len(mine) < 2 or not targets:
        return None
    prefix = np.concatenate([[0.0], np.cumsum(readings.arrival[mine])[:-1]])
    own = float(loads[source]), float(readings.service[source])
    counts, left, received = best_prefix(prefix, own, taken, speeds, limits.margin)
    now = float(strain(*own, limits.margin))
    theirs = strain(taken, speeds, limits.margin) if not fresh else np.zeros(1)
    enough = np.maximum(left, received) <= (1 - worthwhile) * np.maximum(now, theirs)
    useful = np.flatnonzero((counts > 0) & enough)
    if not len(useful):
        return None
    before = np.column_stack([np.full(len(targets), now), theirs])
    best = int(useful[lowest(np.column_stack([left, received])[useful], before[useful])])
    shards = tuple(int(k) for k in mine[: counts[best]])
    after = float(left[best]), float(received[best])
    return Step(shards, readings.slots[source], targets[best], (now, float(theirs[best])), after)


def best_prefix(
    prefix: Values, source: tuple[float, float], taken: Values, speeds: Values, margin: float
) -> tuple[npt.NDArray[np.int64], Values, Values]:
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

    def strains(counts: npt.NDArray[np.int64]) -> tuple[Values, Values]:
        moved = prefix[counts]
        return strain(np.maximum(source[0] - moved, 0.0), source[1], margin), strain(taken + moved, speeds, margin)

    low, high = np.zeros(len(taken), dtype=np.int64), np.full(len(taken), len(prefix) - 1)
    while (low < high).any():
        middle = (low + high) // 2
        left, received = strains(middle)
        crossed = received >= left
        low, high = np.where(crossed, low, np.minimum(middle + 1, high)), np.where(crossed, middle, high)
    fewer = np.maximum(low - 1, 0)
    counts = np.where(np.maximum(*strains(low)) < np.maximum(*strains(fewer)), low, fewer)
    return counts, *strains(counts)


def lowest(added: Values, removed: Values) -> int:
    """Which change makes the latencies, sorted from the highest, lexicographically lowest.

    Rows are changes: latencies that go and others that come. What stays is the same on both sides of a comparison, so
    the order rests on the highest latency of which one side has more. Written with a sign, those that come are worse
    the higher they are and those that go better, and the signed values compare one after the other.

    >>> lowest(np.array([[5.0, 4.0], [5.0, 3.0]]), np.array([[7.0, 1.0], [7.0, 1.0]]))
    1
    """
    come, go = added.copy(), removed.copy()
    for a in range(come.shape[1]):
        for b in range(go.shape[1]):
            same = come[:, a] == go[:, b]
            come[same, a] = go[same, b] = 0.0
    signed = np.hstack([come, -go])
    signed = np.take_along_axis(signed, np.argsort(-np.abs(signed), axis=1, kind="stable"), axis=1)
    rows = np.arange(len(signed))
    for column in range(signed.shape[1]):
        rows = rows[signed[rows, column] == signed[rows, column].min()]
    return int(rows[0])


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
    targets = dict(moves)
    return tuple(targets.get(shard, slot) for shard, slot in enumerate(routing))


def described(readings: Readings, limits: Limits, index: int) -> str:
    """How a slot is, in words and numbers."""
    load = slot_arrivals(readings)[index]
    projected = float(strain(load, readings.service[index], limits.margin))
    return (
        f"slot {readings.slots[index]} has a latency of {readings.latency[index]:.3g} s (alert at {limits.alert:g} s), "
        f"projected {_seconds([projected])} (bound {limits.bound:g} s): {load:.4g} rows/s arrive, "
        f"{readings.service[index]:.4g} can be served, {limits.margin:.0%} of it kept free"
    )


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
    strains = strain(slot_arrivals(readings), readings.service, limits.margin)
    severe = sorted(np.flatnonzero(each == Health.SEVERE).tolist(), key=lambda i: (-strains[i], i))
    room = len(readings.slots) < limits.max_slots
    reasons: list[str] = []
    helpless: list[int] = []
    for source in severe:
        reasons.append(f"severe: {described(readings, limits, source)}")
        other, new = best_move(readings, limits, source), best_move(readings, limits, source, fresh=True)
        if other and _operator_health(readings, limits, other, ignored=helpless) != Health.SEVERE:
            return concluded(readings, limits, Action.BALANCE, other, reasons, feasible=not helpless)
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
    mine = np.flatnonzero(np.asarray(readings.routing) == readings.slots[source])
    heaviest = int(mine[readings.arrival[mine].argmax()])
    whole = readings.arrival[mine].sum()
    return f"shard {heaviest} has {readings.arrival[heaviest]:.4g} of its {whole:.4g} rows/s, and cannot be divided"


def _operator_health(readings: Readings, limits: Limits, step: Step | None, ignored: Sequence[int] = ()) -> Health:
    """The worst health of the slots that remain after a step, by their latency so far (section 3.2)."""
    loads, service, latency = slot_arrivals(readings), readings.service, readings.latency
    keep = np.ones(len(loads), dtype=bool)
    keep[list(ignored)] = False
    if step is not None:
        amount = readings.arrival[list(step.shards)].sum()
        source = readings.slots.index(step.source)
        loads[source] -= amount
        keep[source] &= any(
            slot == step.source and shard not in set(step.shards) for shard, slot in enumerate(readings.routing)
        )
        if step.target in readings.slots:
            loads[readings.slots.index(step.target)] += amount
        else:
            loads, keep = np.append(loads, amount), np.append(keep, True)
            service, latency = np.append(service, readings.usual[source]), np.append(latency, 0.0)
    each = health(latency, projected_latency(loads, service, limits.margin), limits)[keep]
    return Health(int(each.max(initial=0)))


def _unused(slots: Sequence[int]) -> int:
    """The lowest number that no slot has."""
    return next(number for number in range(len(slots) + 1) if number not in slots)


def _seconds(strains: Sequence[float]) -> str:
    """Strains as text."""
    parts = [f"{v:.3g} s" if v < _LONGEST else f"unbounded ({v / _LONGEST:.0%} of what fits)" for v in strains]
    return " and ".join(parts)
