"""Health of slots, from their measured and projected latency (StreamSwitch sections 3.3 and 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.model.units import rows_per_second
from rheostat.elastic.streamswitch.diagnosis import OURS, Health, Limits, Rules, UnitStrategy
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.strain import (
    ABSURD,
    LONGEST,
    UNKNOWN,
    assess_slots,
    strain_of,
    strains_of,
    worst_after,
)


def projected_latency(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0) -> Floats:
    """Return the mean seconds that rows will spend in a slot at these rates: M/M/1 with a safety margin (section 4.2).

    >>> projected_latency([1799.0, 1800.0], 2000.0, margin=0.1).tolist()  # the paper's example, and one row more
    [1.0, inf]
    """
    free = (1 - margin) * np.asarray(service, dtype=np.float64) - np.asarray(arrival, dtype=np.float64)
    with np.errstate(over="ignore"):  # almost no free capacity counts as none
        latency: Floats = np.divide(1.0, free, out=np.full(free.shape, np.inf), where=free > 0)
    return latency


def strain(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0, rules: Rules = OURS) -> Floats:
    """Return the strain: the projected latency, extended so that overloaded slots rank by arrival over service rate.

    An overloaded slot falls behind by its excess load, so the excess decides which of two overloaded slots is worse.
    As published there is no such ranking, and all overloaded slots have the same strain.

    >>> strain([0.0, 5.0, 10.0, 20.0], 10.0).tolist()
    [0.1, 0.2, 1000000000.0, 2000000000.0]
    """
    load, room = np.asarray(arrival, dtype=np.float64), (1 - margin) * np.asarray(service, dtype=np.float64)
    shape = np.broadcast_shapes(load.shape, room.shape)
    loads, rooms = (np.array(np.broadcast_to(values, shape)).ravel() for values in (load, room))
    strains: Floats = strains_of(loads, rooms, rules.overload).reshape(shape)
    return strains


def health(latency: npt.ArrayLike, projected: npt.ArrayLike, limits: Limits) -> npt.NDArray[np.int64]:
    """Return the health: severe if both the measured and the projected latency are too long, good if neither is (3.3).

    >>> [Health(h).name for h in health([0.05, 0.3, 0.05, 0.3], [0.1, 0.1, 2.0, 2.0], Limits())]
    ['GOOD', 'MODERATE', 'MODERATE', 'SEVERE']
    """
    late, strained = np.asarray(latency) > limits.alert, np.asarray(projected) > limits.bound
    return late.astype(np.int64) + strained.astype(np.int64)


def slot_arrivals(readings: Readings) -> Floats:
    """Return the rows per second that arrive at each slot.

    >>> slot_arrivals(Readings.of((0, 0, 1), (1, 2, 3), (9, 9), (0, 0))).tolist()
    [3.0, 3.0]
    """
    return np.bincount(readings.places, weights=readings.arrival, minlength=len(readings.slots)).astype(np.float64)


def slot_strains(readings: Readings, limits: Limits, rules: Rules = OURS) -> Floats:
    """Return the strain of each slot.

    >>> slot_strains(Readings.of((0, 1), (900, 600), (1000, 1000), (0.5, 0.01)), Limits()).tolist()
    [1125000000.0, 0.005]
    """
    strains: Floats = strains_of(slot_arrivals(readings), (1 - limits.margin) * readings.service, rules.overload)
    return strains


def slot_health(readings: Readings, limits: Limits) -> npt.NDArray[np.int64]:
    """Return the health of each slot.

    >>> slot_health(Readings.of((0, 1), (900, 100), (1000, 1000), (0.5, 0.01)), Limits()).tolist()
    [2, 0]
    """
    each: npt.NDArray[np.int64] = assess(readings, limits)[2]
    return each


def operator_health(
    readings: Readings, limits: Limits, strategy: UnitStrategy | None, ignored: Sequence[int] = ()
) -> Health:
    """Return the worst health of the slots that remain after a strategy, given their latency so far (section 3.2).

    Args:
        readings: the operator's readings.
        limits: the operator's limits.
        strategy: the move of shards; None for the operator as it is.
        ignored: places of slots whose health does not count.
    """
    slots, source, target = readings.slots, -1, -1
    if strategy is not None:
        source = slots.index(strategy.source)
        target = slots.index(strategy.target) if strategy.target in slots else len(slots)
    worst = worst_after(
        places=readings.places,
        arrival=readings.arrival,
        latency=readings.latency,
        service=readings.service,
        usual=readings.usual,
        loads=slot_arrivals(readings),
        ignored=np.array(ignored, dtype=np.int64),
        shards=np.array(strategy.shards if strategy else (), dtype=np.int64),
        source=source,
        target=target,
        margin=limits.margin,
        alert=limits.alert,
        bound=limits.bound,
    )
    return Health(worst)


def problem(readings: Readings) -> str:
    """Return why readings cannot be used; empty if they can.

    >>> problem(Readings.of((0,), (float("nan"),), (9,), (0,)))
    'some rates or latencies are negative, infinite or missing'
    """
    return problem_after(readings, assess(readings, Limits())[0])


def problem_after(readings: Readings, verdict: int) -> str:
    """Return the same as ``problem``, given the verdict of ``assess``."""
    if not readings.valid:
        return readings.problem
    if verdict == ABSURD:
        return "some rates or latencies are negative, infinite or missing"
    if verdict == UNKNOWN or not readings.slots:
        return "some shards are in slots without measurements"
    return ""


def assess(readings: Readings, limits: Limits) -> Any:
    """Check readings and classify the health of their slots; returns what ``assess_slots`` returns."""
    return assess_slots(
        places=readings.places,
        arrival=readings.arrival,
        latency=readings.latency,
        service=readings.service,
        usual=readings.usual,
        shard_latency=readings.shard_latency,
        margin=limits.margin,
        alert=limits.alert,
        bound=limits.bound,
    )


def described(readings: Readings, limits: Limits, index: int) -> str:
    """Describe the slot at a place, in words and numbers.

    >>> described(Readings.of((0,), (900,), (1000,), (0.5,)), Limits(), 0)
    'slot 0: latency 0.5 s (alert at 0.1 s), projected unbounded at 112% of capacity (bound 1 s); 900 rows/s arrive...'
    """
    load, service = float(slot_arrivals(readings)[index]), float(readings.service[index])
    projected = strain_of(load, (1 - limits.margin) * service, True)
    return (
        f"slot {readings.slots[index]}: latency {float(readings.latency[index]):.3g} s "
        f"(alert at {limits.alert:g} s), projected {strain_text(projected)} (bound {limits.bound:g} s); "
        f"{rows_per_second(load)} arrive, it can serve {rows_per_second(service)} less a margin of {limits.margin:.0%}"
    )


def strain_text(strain: float) -> str:
    """Return a strain as text.

    >>> strain_text(0.25), strain_text(2e9)
    ('0.25 s', 'unbounded at 200% of capacity')
    """
    return f"{strain:.3g} s" if strain < LONGEST else f"unbounded at {strain / LONGEST:.0%} of capacity"
