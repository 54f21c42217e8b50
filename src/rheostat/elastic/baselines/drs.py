"""DRS and DRS-LB, the baselines that StreamSwitch is compared with (StreamSwitch section 6).

DRS sees an operator as one queue with k equal servers, M/M/k, and takes the lowest k whose mean time in the system is
within the bound, with the same safety margin as StreamSwitch. It knows nothing of shards: which ones move is found as
StreamSwitch does it. DRS-LB balances the slots when DRS leaves their number alone.

The published DRS gives no plan at all under overload. Here it then asks for all slots there may be, and says so. And it
looks at rates alone, and so gives up slots while rows still wait. Here they are worked off first. ``Drs.published()``
and ``DrsLb.published()`` are without both. The simulator runs them; they are not connected to Spark yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Action
from rheostat.elastic.model.queueing import offered_load
from rheostat.elastic.streamswitch.diagnose import concluded, nothing, severe_first
from rheostat.elastic.streamswitch.diagnosis import OURS, Diagnosis, Health, Limits, Rules
from rheostat.elastic.streamswitch.health import described, problem, slot_health, slot_strains
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.streamswitch import StreamSwitch
from rheostat.elastic.streamswitch.unit_strategies import best_merge, best_move
from rheostat.jit import compiled


@dataclass(frozen=True)
class Size:
    """How many slots an operator should have.

    Attributes:
        slots: that many.
        latency: mean seconds in the system with that many slots; infinite under overload.
        feasible: True if that is within the bound.
    """

    slots: int
    latency: float
    feasible: bool


def fewest_slots(arrival: float, service: float, limits: Limits) -> Size:
    """The fewest slots that keep M/M/k within the bound, or the number within the limits that comes closest.

    Where no number is enough, under overload all slots are taken. Without overload it is the service itself that takes
    too long: then more slots than needed to be within a hundredth of the best would only cost.

    >>> fewest_slots(1500.0, 1000.0, Limits(bound=0.01, margin=0.0)).slots
    2
    >>> fewest_slots(9000.0, 1000.0, Limits(max_slots=8))
    Size(slots=8, latency=inf, feasible=False)
    """
    candidates = np.arange(limits.min_slots, limits.max_slots + 1)
    if not (0 <= arrival < np.inf and 0 < service < np.inf):
        return Size(limits.max_slots, np.inf, False)
    room = (1 - limits.margin) * service
    latency = _sojourns(float(offered_load(arrival, room)), room, limits.max_slots)[limits.min_slots - 1 :]
    feasible = bool(latency[-1] <= limits.bound)
    if np.isinf(latency[-1]):
        return Size(limits.max_slots, np.inf, False)
    # Time in the system falls with every server, so the last is the best.
    best = int((latency <= (limits.bound if feasible else 1.01 * latency[-1])).argmax())
    return Size(int(candidates[best]), float(latency[best]), feasible)


def drs(readings: Readings, limits: Limits, rules: Rules = OURS) -> Diagnosis:
    """One slot more or fewer, towards the number that M/M/k asks for.

    >>> drs(Readings.of((0, 1), (100, 100), (1000, 1000), (0.001, 0.001)), Limits()).action.value
    'scale in'
    >>> from rheostat.elastic.streamswitch.diagnosis import PUBLISHED
    >>> flooded = Readings.of((0, 0), (9000, 9000), (1000,), (9.0,))
    >>> [drs(flooded, Limits(max_slots=4), rules).action.value for rules in (OURS, PUBLISHED)]
    ['scale out', 'nothing']
    """
    distrust = problem(readings)
    if distrust:
        return nothing(readings, Health.MODERATE, (f"the readings cannot be trusted: {distrust}",))
    arrival, service, count = float(readings.arrival.sum()), float(readings.service.mean()), len(readings.slots)
    size = fewest_slots(arrival, service, limits)
    reasons = [
        f"M/M/k asks for {size.slots} slots, {count} are there: {arrival:.4g} rows/s arrive, a slot serves "
        f"{service:.4g}, {limits.margin:.0%} of it kept free; mean latency would be {size.latency:.3g} s "
        f"(bound {limits.bound:g} s)"
    ]
    if not size.feasible and not rules.plan:
        reason = f"no number of slots up to {limits.max_slots} keeps the bound: no plan"
        return nothing(readings, _worst(readings, limits), (reason,), feasible=False)
    if not size.feasible:
        reasons.append(f"no number of slots up to {limits.max_slots} keeps the bound: this is the best there is")
    late = readings.latency > limits.bound
    if size.slots < count <= limits.max_slots and rules.patient and late.any():
        reasons.append(f"none is given up while rows take {readings.latency.max():.3g} s in {late.sum()} of them")
        return nothing(readings, _worst(readings, limits), tuple(reasons), size.feasible)
    if size.slots < count:
        merge = best_merge(readings, limits, rules)
        return concluded(readings, limits, Action.SCALE_IN, merge, reasons, size.feasible)
    if size.slots > count:
        return _grown(readings, limits, rules, reasons, size.feasible)
    return nothing(readings, _worst(readings, limits), tuple(reasons), size.feasible)


def drs_lb(readings: Readings, limits: Limits, rules: Rules = OURS) -> Diagnosis:
    """As DRS; if that leaves the number of slots alone, the worst severe slot gives shards to another.

    >>> skewed = Readings.of((0, 0, 0, 1), (400, 300, 300, 50), (1000, 1000), (5.0, 0.001))
    >>> [policy(skewed, Limits()).action.value for policy in (drs, drs_lb)]
    ['nothing', 'balance']
    """
    found = drs(readings, limits, rules)
    if found.action != Action.NOTHING or problem(readings) or found.health != Health.SEVERE:
        return found
    for source in severe_first(readings, limits, rules, slot_health(readings, limits)):
        move = best_move(readings, limits, source, rules=rules)
        if move is not None:
            reasons = (*found.reasons, f"severe: {described(readings, limits, source)}")
            return concluded(readings, limits, Action.BALANCE, move, reasons, found.feasible)
    return found


@dataclass(frozen=True)
class Drs(StreamSwitch):
    """As many slots as M/M/k asks for; which shards move is found as StreamSwitch does it (StreamSwitch section 6).

    >>> Drs.published().name
    'drs-published'
    """

    name: str = "drs"
    rule: ClassVar[Callable[[Readings, Limits, Rules], Diagnosis]] = staticmethod(drs)


@dataclass(frozen=True)
class DrsLb(StreamSwitch):
    """DRS that balances the slots when it leaves their number alone (StreamSwitch section 6).

    >>> DrsLb.published().name
    'drs-lb-published'
    """

    name: str = "drs-lb"
    rule: ClassVar[Callable[[Readings, Limits, Rules], Diagnosis]] = staticmethod(drs_lb)


def _grown(readings: Readings, limits: Limits, rules: Rules, reasons: list[str], feasible: bool) -> Diagnosis:
    """A new slot for shards of the most strained slot that has any to give, whether or not that is worthwhile."""
    strains, anyway = slot_strains(readings, limits, rules), replace(rules, worthwhile=0.0)
    for source in np.argsort(-strains, kind="stable").tolist():
        move = best_move(readings, limits, source, fresh=True, rules=anyway)
        if move is not None:
            return concluded(readings, limits, Action.SCALE_OUT, move, reasons, feasible)
    reasons.append("every slot has only one shard with load, and a shard cannot be divided")
    return concluded(readings, limits, Action.SCALE_OUT, None, reasons, feasible=False)


def _worst(readings: Readings, limits: Limits) -> Health:
    return Health(int(slot_health(readings, limits).max()))


@compiled
def _sojourns(offered: float, service: float, most: int) -> Floats:
    """Mean time in M/M/k for 1, 2, ... servers: ``mmk_sojourn``, with one step of Erlang's recursion for each k."""
    times, blocked = np.full(most, np.inf), 1.0
    for k in range(1, most + 1):
        flow = offered * blocked
        blocked = flow / (k + flow)
        free = (k - offered) * service
        if free > 0:
            waiting = k * blocked / ((k - offered) + offered * blocked)
            times[k - 1] = waiting / free + 1.0 / service
    return times
