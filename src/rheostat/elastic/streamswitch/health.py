"""How healthy slots are: projected latency, and strain beyond overload (StreamSwitch sections 3.3 and 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.streamswitch.diagnosis import OURS, Health, Limits, Rules, UnitStrategy
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.strain import (
    ABSURD,
    LONGEST,
    UNKNOWN,
    assessed,
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


def strain(arrival: npt.ArrayLike, service: npt.ArrayLike, margin: float = 0.0, rules: Rules = OURS) -> Floats:
    """The projected latency, continued beyond infinity: overloaded slots rank by arrival over service rate.

    An overloaded slot falls behind by its excess over what it can do, so that is what makes one worse than another.
    As published there is no such rank, and all overloaded slots have the same strain.

    >>> strain([0.0, 5.0, 10.0, 20.0], 10.0).tolist()
    [0.1, 0.2, 1000000000.0, 2000000000.0]
    """
    load, room = np.asarray(arrival, dtype=np.float64), (1 - margin) * np.asarray(service, dtype=np.float64)
    shape = np.broadcast_shapes(load.shape, room.shape)
    loads, rooms = (np.array(np.broadcast_to(values, shape)).ravel() for values in (load, room))
    found: Floats = strains_of(loads, rooms, rules.overload).reshape(shape)
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


def slot_strains(readings: Readings, limits: Limits, rules: Rules = OURS) -> Floats:
    """The strain of each slot.

    >>> slot_strains(Readings.of((0, 1), (900, 600), (1000, 1000), (0.5, 0.01)), Limits()).tolist()
    [1125000000.0, 0.005]
    """
    found: Floats = strains_of(slot_arrivals(readings), (1 - limits.margin) * readings.service, rules.overload)
    return found


def slot_health(readings: Readings, limits: Limits) -> npt.NDArray[np.int64]:
    """The health of each slot, by its measured latency and the load it has.

    >>> slot_health(Readings.of((0, 1), (900, 100), (1000, 1000), (0.5, 0.01)), Limits()).tolist()
    [2, 0]
    """
    each: npt.NDArray[np.int64] = assess(readings, limits)[2]
    return each


def operator_health(
    readings: Readings, limits: Limits, strategy: UnitStrategy | None, ignored: Sequence[int] = ()
) -> Health:
    """The worst health of the slots that remain after a strategy, by their latency so far (section 3.2)."""
    slots, source, target = readings.slots, -1, -1
    if strategy is not None:
        source = slots.index(strategy.source)
        target = slots.index(strategy.target) if strategy.target in slots else len(slots)
    worst = worst_after(
        readings.places,
        readings.arrival,
        readings.latency,
        readings.service,
        readings.usual,
        slot_arrivals(readings),
        np.array(ignored, dtype=np.int64),
        np.array(strategy.shards if strategy else (), dtype=np.int64),
        source,
        target,
        limits.margin,
        limits.alert,
        limits.bound,
    )
    return Health(worst)


def problem(readings: Readings) -> str:
    """Why nothing can be concluded from readings; empty if something can.

    >>> problem(Readings.of((0,), (float("nan"),), (9,), (0,)))
    'some rates or latencies are negative, infinite or missing'
    """
    return distrust(readings, assess(readings, Limits())[0])


def distrust(readings: Readings, verdict: int) -> str:
    """The same, once the readings were assessed."""
    if not readings.valid:
        return readings.problem
    if verdict == ABSURD:
        return "some rates or latencies are negative, infinite or missing"
    if verdict == UNKNOWN or not readings.slots:
        return "some shards are in slots of which nothing was measured"
    return ""


def assess(readings: Readings, limits: Limits) -> Any:
    """Whether readings are sound; the loads of the slots, the health of each, the worst, and the first that has it."""
    by_slot = readings.latency, readings.service, readings.usual
    bounds = limits.margin, limits.alert, limits.bound
    return assessed(readings.places, readings.arrival, *by_slot, readings.shard_latency, *bounds)


def described(readings: Readings, limits: Limits, index: int) -> str:
    """How a slot is, in words and numbers."""
    load, service = float(slot_arrivals(readings)[index]), float(readings.service[index])
    projected = strain_of(load, (1 - limits.margin) * service, True)
    return (
        f"slot {readings.slots[index]} has a latency of {float(readings.latency[index]):.3g} s "
        f"(alert at {limits.alert:g} s), projected {seconds([projected])} (bound {limits.bound:g} s): "
        f"{load:.4g} rows/s arrive, {service:.4g} can be served, {limits.margin:.0%} of it kept free"
    )


def seconds(strains: Sequence[float]) -> str:
    """Strains as text.

    >>> seconds([0.25, 2e9])
    '0.25 s and unbounded (200% of what fits)'
    """
    parts = [f"{v:.3g} s" if v < LONGEST else f"unbounded ({v / LONGEST:.0%} of what fits)" for v in strains]
    return " and ".join(parts)
