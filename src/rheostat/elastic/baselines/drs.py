"""DRS and DRS-LB, the baselines that StreamSwitch is compared with (StreamSwitch section 6).

DRS models an operator as one queue with k equal servers, M/M/k, and takes the lowest k whose mean time in the system is
within the bound, with the same safety margin as StreamSwitch. It has no model of shards, so the shards to move are
chosen as in StreamSwitch. DRS-LB also balances the slots when DRS leaves their number alone.

We add two rules. Under overload, for which the published DRS has no plan, ours asks for all slots allowed. And slots
are not given up while rows are late; the published DRS looks at rates alone. ``Drs.published()`` and
``DrsLb.published()`` leave out both rules.

In an engine with epochs, such as Spark, the micro-batch law takes the place of M/M/k, with the mean load of the slots:
DRS knows nothing of shards. It goes to the number of slots that the law asks for in one decision, as StreamSwitch does
there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import Action, Proposal
from rheostat.elastic.model.queueing import offered_load
from rheostat.elastic.model.units import rows_per_second
from rheostat.elastic.streamswitch.diagnose import concluded, nothing, severe_first
from rheostat.elastic.streamswitch.diagnosis import OURS, Diagnosis, Health, Limits, Rules
from rheostat.elastic.streamswitch.epoch_diagnose import Situation, hopeless, proposal
from rheostat.elastic.streamswitch.epoch_diagnose import described as described_epochs
from rheostat.elastic.streamswitch.epoch_sizes import Demand
from rheostat.elastic.streamswitch.epoch_sizes import fewest_slots as law_slots
from rheostat.elastic.streamswitch.health import described, problem, slot_health, slot_strains
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.elastic.streamswitch.streamswitch import StreamSwitch
from rheostat.elastic.streamswitch.unit_strategies import best_merge, best_move
from rheostat.jit import compiled

_NEAR_BEST = 1.01
"""A latency up to this many times the best is good enough if no number of slots keeps the bound."""


@dataclass(frozen=True)
class Size:
    """The number of slots that an operator should have.

    Attributes:
        slots: the number of slots.
        latency: mean seconds in the system with this number of slots; infinite under overload.
        feasible: True if the latency is within the bound.
    """

    slots: int
    latency: float
    feasible: bool


def fewest_slots(arrival: float, service: float, limits: Limits) -> Size:
    """Return the fewest slots that keep M/M/k within the bound, or the number within the limits that comes closest.

    If no number is enough, it depends on the reason. Under overload, all slots are taken. Otherwise the service itself
    takes too long, and the fewest slots within a hundredth of the best latency are taken.

    Args:
        arrival: rows per second that arrive.
        service: rows per second that one slot processes.
        limits: the latency bound, the safety margin, and the fewest and most slots.

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
    # The time in the system falls with every server, so the last one is the best.
    best = int((latency <= (limits.bound if feasible else _NEAR_BEST * latency[-1])).argmax())
    return Size(int(candidates[best]), float(latency[best]), feasible)


def drs(readings: Readings, limits: Limits, rules: Rules = OURS) -> Diagnosis:
    """Add or remove one slot, towards the number that M/M/k asks for.

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
        f"M/M/k asks for {size.slots} slots, there are {count}: {arrival:.4g} rows/s arrive, a slot serves "
        f"{service:.4g} rows/s with a margin of {limits.margin:.0%}, mean latency would be {size.latency:.3g} s "
        f"(bound {limits.bound:g} s)"
    ]
    if not size.feasible and not rules.plan:
        reason = f"no number of slots up to {limits.max_slots} keeps the bound: no plan"
        return nothing(readings, _worst(readings, limits), (reason,), feasible=False)
    if not size.feasible:
        reasons.append(f"no number of slots up to {limits.max_slots} keeps the bound: this number comes closest")
    late = readings.latency > limits.bound
    if size.slots < count <= limits.max_slots and rules.patient and late.any():
        reasons.append(f"no slot is given up while rows take {readings.latency.max():.3g} s in {late.sum()} of them")
        return nothing(readings, _worst(readings, limits), tuple(reasons), size.feasible)
    if size.slots < count:
        merge = best_merge(readings, limits, rules)
        return concluded(readings, limits, Action.SCALE_IN, merge, reasons, size.feasible)
    if size.slots > count:
        return _scale_out(readings, limits, rules, reasons, size.feasible)
    return nothing(readings, _worst(readings, limits), tuple(reasons), size.feasible)


def drs_lb(readings: Readings, limits: Limits, rules: Rules = OURS) -> Diagnosis:
    """Do as ``drs``. If it leaves the number of slots alone, move shards away from the worst severe slot.

    >>> skewed = Readings.of((0, 0, 0, 1), (400, 300, 300, 50), (1000, 1000), (5.0, 0.001))
    >>> [policy(skewed, Limits()).action.value for policy in (drs, drs_lb)]
    ['nothing', 'balance']
    """
    diagnosis = drs(readings, limits, rules)
    if diagnosis.action != Action.NOTHING or problem(readings) or diagnosis.health != Health.SEVERE:
        return diagnosis
    for source in severe_first(readings, limits, rules, slot_health(readings, limits)):
        move = best_move(readings, limits, source, rules=rules)
        if move is not None:
            reasons = (*diagnosis.reasons, f"severe: {described(readings, limits, source)}")
            return concluded(readings, limits, Action.BALANCE, move, reasons, diagnosis.feasible)
    return diagnosis


def drs_epochs(situation: Situation) -> Proposal:
    """Go to the number of slots that the micro-batch law asks for, if all slots of an operator were equally busy."""
    seen, limits = situation.readings, situation.limits
    if seen.problem:
        return Proposal(reasons=(seen.problem,))
    demand = Demand(seen.law, seen.rate, limits.margin)
    needs = {name: replace(need, largest=0.0) for name, need in situation.needs.items()}
    now = {name: part.slots for name, part in situation.plans.items()}
    wanted, latency = law_slots(demand, needs, limits.bound, limits.min_slots, limits.max_slots)
    reasons = [
        f"the law asks for {sum(wanted.values())} slots, there are {sum(now.values())}: mean latency would be "
        f"{latency:.3g} s (bound {limits.bound:g} s); {rows_per_second(seen.rate)} arrive; margin {limits.margin:.0%}"
    ]
    feasible = latency <= limits.bound
    if not feasible:
        reasons.append(hopeless(situation, demand, wanted))
    fewer = any(wanted[name] < count <= limits.max_slots for name, count in now.items())
    if (
        fewer
        and seen.latency > limits.bound
        and latency >= demand.latency({n: needs[n].over(c) for n, c in now.items()})
    ):
        wanted = {name: max(count, now[name]) for name, count in wanted.items()}
        reasons.append(f"no slot is given up while rows take {seen.latency:.3g} s")
    if wanted == now:
        return Proposal(reasons=tuple(reasons), feasible=feasible)
    return proposal(situation, demand, wanted, tuple(reasons), feasible)


def drs_lb_epochs(situation: Situation) -> Proposal:
    """Do as ``drs_epochs``. If it leaves the number of slots alone and latency is severe, balance the slots."""
    found = drs_epochs(situation)
    if found.revisions or situation.readings.problem:
        return found
    demand = Demand(situation.readings.law, situation.readings.rate, situation.limits.margin)
    projected = demand.latency(situation.present)
    if situation.health(projected) != Health.SEVERE:
        return found
    now = {name: part.slots for name, part in situation.plans.items()}
    reasons = (*found.reasons, f"severe: {described_epochs(situation, projected)}")
    return proposal(situation, demand, now, reasons, found.feasible)


@dataclass(frozen=True)
class Drs(StreamSwitch):
    """As many slots as M/M/k asks for; the shards to move are chosen as in StreamSwitch (StreamSwitch section 6).

    Runs on Spark and in the simulator.

    >>> Drs.published().name
    'drs-published'
    """

    name: str = "drs"
    rule: ClassVar[Callable[[Readings, Limits, Rules], Diagnosis]] = staticmethod(drs)
    epoch_rule: ClassVar[Callable[[Situation], Proposal]] = staticmethod(drs_epochs)


@dataclass(frozen=True)
class DrsLb(StreamSwitch):
    """DRS that also balances the slots when it leaves their number alone (StreamSwitch section 6).

    Runs on Spark and in the simulator.

    >>> DrsLb.published().name
    'drs-lb-published'
    """

    name: str = "drs-lb"
    rule: ClassVar[Callable[[Readings, Limits, Rules], Diagnosis]] = staticmethod(drs_lb)
    epoch_rule: ClassVar[Callable[[Situation], Proposal]] = staticmethod(drs_lb_epochs)


def _scale_out(readings: Readings, limits: Limits, rules: Rules, reasons: list[str], feasible: bool) -> Diagnosis:
    """Add a slot for shards of the most strained slot that can give some, even if the move helps little."""
    strains, any_move = slot_strains(readings, limits, rules), replace(rules, worthwhile=0.0)
    for source in np.argsort(-strains, kind="stable").tolist():
        move = best_move(readings, limits, source, fresh=True, rules=any_move)
        if move is not None:
            return concluded(readings, limits, Action.SCALE_OUT, move, reasons, feasible)
    reasons.append("every slot has only one shard with load, and a shard cannot be divided")
    return concluded(readings, limits, Action.SCALE_OUT, None, reasons, feasible=False)


def _worst(readings: Readings, limits: Limits) -> Health:
    """Return the health of the worst slot."""
    return Health(int(slot_health(readings, limits).max()))


@compiled
def _sojourns(offered: float, service: float, most: int) -> Floats:
    """Return the mean time in M/M/k for 1 to ``most`` servers: ``mmk_sojourn``, one recursion step for each."""
    times, blocked = np.full(most, np.inf), 1.0
    for k in range(1, most + 1):
        flow = offered * blocked
        blocked = flow / (k + flow)
        free = (k - offered) * service
        if free > 0:
            waiting = k * blocked / ((k - offered) + offered * blocked)
            times[k - 1] = waiting / free + 1.0 / service
    return times
