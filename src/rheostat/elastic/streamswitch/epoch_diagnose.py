"""Diagnose in an engine with epochs: what to do about the operators of a query (StreamSwitch section 3).

The order of the paper stays: nothing while latency is good or moderate, except to give up slots that are not needed;
under severe latency first another placement, then more slots, and never more than needed. Two things differ, because at
the boundary of an epoch nothing runs, so that a move stops nobody:

- A decision goes to the number of slots that the micro-batch law asks for at once, and spreads shards over all of them.
  The paper moves shards between two slots per decision, because each move stops both.
- All operators are decided on together, since they share one epoch and one latency.

The same functions decide for DRS, which knows nothing of shards and takes every slot to be equally busy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.loop.hysteresis import WORTHWHILE
from rheostat.elastic.model.plan import Action, OperatorPlan, Proposal, Revision
from rheostat.elastic.model.units import rows_per_second
from rheostat.elastic.routing.longest_first import spread_over
from rheostat.elastic.streamswitch.diagnosis import Health, Limits
from rheostat.elastic.streamswitch.epoch_examine import EpochReadings
from rheostat.elastic.streamswitch.epoch_sizes import Demand, Need, Slots, fewest_slots

ALERT_SHARE = 0.75
"""Measured latency counts as high above this share of the way from that of an empty epoch to the bound.

The paper alerts at a tenth of the bound. In an engine with epochs even rows without any load wait for 1.5 epochs, which
is more than that, so the alert is measured from there.
"""

_ERRORS = 2.5
"""The safety margin is this many times the law's recent error, and at most the margin of the limits.

As in the paper, it is a share of the service rate. Here it is only as large as needed: the rows of the next epoch are
known, and what remains is the error of the law.
"""

_LEAST_MARGIN = 0.1
"""Share of the service rate that is kept free in any case, since the rows of later epochs are not known."""

_CALM = 0.95
"""Slots are given up if latency then stays within this share of what is allowed; otherwise they would soon be back."""


@dataclass(frozen=True, eq=False)
class Situation:
    """The operators of a query as they run, and what is to be processed.

    Attributes:
        readings: the result of Examine.
        limits: latency bound, margin, and how many slots an operator may have.
        plans: where the operators run.
    """

    readings: EpochReadings
    limits: Limits
    plans: Mapping[str, OperatorPlan]

    def demand(self, rate: float) -> Demand:
        """Return what has to be processed, at a rate of rows per second."""
        seen = self.readings
        return Demand(seen.law, rate, self.margin, seen.coming, seen.waited)

    @property
    def margin(self) -> float:
        """The share of the service rate to keep free."""
        error = self.readings.error
        return self.limits.margin if np.isnan(error) else min(self.limits.margin, max(_LEAST_MARGIN, _ERRORS * error))

    @property
    def needs(self) -> dict[str, Need]:
        """The work of every operator before it is divided between slots."""
        return {
            name: Need(float(work.sum()), float(work.max(initial=0.0)), len(work), self.readings.levels.get(name, 0))
            for name, work in self.readings.work.items()
        }

    def slots(self, routings: Mapping[str, Ints]) -> dict[str, Slots]:
        """Return the slots of every operator under given routings."""
        found = {}
        for name, routing in routings.items():
            work = np.bincount(routing, weights=self.readings.work[name])
            count = len(np.unique(routing))
            level = self.readings.levels.get(name, 0)
            found[name] = Slots(count, float(work.max()), float(work.sum()), level)
        return found

    @property
    def present(self) -> dict[str, Slots]:
        """The slots of every operator as they are."""
        return self.slots({name: part.routing for name, part in self.plans.items()})

    @property
    def alert(self) -> float:
        """Measured latency, in seconds, above which an operator can be severe."""
        count = sum(part.slots for part in self.plans.values())
        floor = float(self.readings.law.latency_at(self.readings.law.fixed(count)))
        return max(floor + ALERT_SHARE * (self.limits.bound - floor), min(self.limits.alert, self.limits.bound))

    def health(self, projected: float) -> Health:
        """Return the health: severe if both measured and projected latency are too long, good if neither is (3.3).

        Rows that have arrived count as measured: if the next epoch will be late, that is known now.
        """
        seen = self.readings
        measured = seen.latency > self.alert
        if seen.coming >= 0 and seen.waited >= 0:
            next_epoch = replace(self.demand(0.0), margin=0.0).latency(self.present)
            measured = measured or next_epoch > self.alert
        return Health(int(measured) + int(projected > self.limits.bound))


def diagnose_epochs(situation: Situation) -> Proposal:
    """Choose the next step for all operators of a query: nothing, scale in, balance or scale out."""
    seen, limits = situation.readings, situation.limits
    if seen.problem:
        return Proposal(reasons=(seen.problem,))
    demand, present, needs = situation.demand(seen.rate), situation.present, situation.needs
    projected = demand.latency(present)
    state = situation.health(projected)
    count = sum(part.slots for part in situation.plans.values())
    facts = described(situation, projected)
    if any(part.slots > limits.max_slots or part.slots < limits.min_slots for part in situation.plans.values()):
        wanted, _ = fewest_slots(demand, needs, situation.limits.bound, limits.min_slots, limits.max_slots)
        reason = f"every operator must have {limits.min_slots} to {limits.max_slots} slots"
        return proposal(situation, demand, wanted, (reason, facts))
    if state == Health.SEVERE:
        return _relieve(situation, demand, facts)
    if state == Health.MODERATE:
        return Proposal(reasons=(f"moderate: {facts}",))
    calm = situation.demand(seen.peak)
    allowed = _CALM * limits.bound
    wanted, latency = fewest_slots(calm, needs, allowed, limits.min_slots, limits.max_slots)
    if latency <= allowed and sum(wanted.values()) < count:
        reason = f"good, and stays good with {_total(wanted)} slots at {rows_per_second(seen.peak)}: {facts}"
        fewer = proposal(situation, calm, wanted, (reason,), within=allowed)
        # Uneven shards may need the slots after all.
        if sum(r.plan.slots - situation.plans[r.operator].slots for r in fewer.revisions) < 0 and fewer.feasible:
            return fewer
    return Proposal(reasons=(f"good: {facts}",))


def _relieve(situation: Situation, demand: Demand, facts: str) -> Proposal:
    """Latency is severe: place shards anew if that is enough, else use more slots."""
    limits, needs = situation.limits, situation.needs
    now = {name: part.slots for name, part in situation.plans.items()}
    evened = demand.latency({name: need.over(now[name]) for name, need in needs.items()})
    if evened <= situation.limits.bound:
        balanced = proposal(situation, demand, now, (f"severe: {facts}",), within=situation.limits.bound)
        if balanced.revisions and balanced.feasible:
            return balanced
    wanted, latency = fewest_slots(demand, needs, situation.limits.bound, limits.min_slots, limits.max_slots)
    reasons = [f"severe: {facts}"]
    if latency > situation.limits.bound:
        reasons.append(hopeless(situation, demand, wanted))
        # No slot is given up while the bound cannot be kept, also not where fewer would be a little faster.
        wanted = {name: max(count, now[name]) for name, count in wanted.items()}
    return proposal(
        situation,
        demand,
        wanted,
        tuple(reasons),
        feasible=latency <= situation.limits.bound,
        within=situation.limits.bound,
    )


def proposal(
    situation: Situation,
    demand: Demand,
    wanted: Mapping[str, int],
    reasons: tuple[str, ...],
    feasible: bool = True,
    within: float = np.inf,
) -> Proposal:
    """Return the proposal that gives operators these numbers of slots, evenly loaded.

    If shards are too uneven for the bound, an operator gets another slot or two, as far as that helps.

    Args:
        situation: the operators as they are.
        demand: what has to be processed.
        wanted: number of slots of every operator.
        reasons: why.
        feasible: False if the bound cannot be kept.
        within: the latency to keep, in seconds.
    """
    limits, work = situation.limits, situation.readings.work
    counts, plans = dict(wanted), dict(situation.plans)
    placed = {n: place(plans[n], work[n], counts[n]) for n in plans}
    latency = demand.latency(situation.slots({n: p.routing for n, p in placed.items()}))
    for _ in range(2 if feasible else 0):
        grow = {n: c + 1 for n, c in counts.items() if c < min(limits.max_slots, len(work[n]))}
        if latency <= within or not grow:
            break
        counts = {**counts, **grow}
        placed = {n: place(plans[n], work[n], counts[n]) for n in plans}
        latency = demand.latency(situation.slots({n: p.routing for n, p in placed.items()}))
    before = demand.latency(situation.present)
    revisions = []
    for name, new in placed.items():
        if new.same(plans[name]):
            continue
        action = Action.between(plans[name].slots, new.slots)
        # A placement must be worth it; another number of slots is.
        if action == Action.BALANCE and not _better(situation, name, new):
            continue
        text = (
            f"{action}: {plans[name].slots} to {new.slots} slots, "
            f"{int((new.routing != plans[name].routing).sum())} shards move, projected latency {_text(before)} before, "
            f"{_text(latency)} after"
        )
        revisions.append(
            Revision(name, new, action, (*reasons, text), feasible and latency <= within, expected=latency)
        )
    ok = feasible and (latency <= within if revisions else before <= within)
    return Proposal(tuple(revisions), None, reasons, together=len(revisions) > 1, feasible=ok)


def place(part: OperatorPlan, work: Floats, count: int) -> OperatorPlan:
    """Return the operator on another number of slots, evenly loaded, with few moves; the emptiest slots go first.

    >>> place(OperatorPlan.even(4, 2), np.ones(4), 4).routing.tolist()
    [0, 2, 1, 3]
    """
    used = part.used
    loads = np.bincount(part.routing, weights=work, minlength=len(part.nodes))[used]
    order = used[np.argsort(-loads, kind="stable")]
    spare = np.setdiff1d(np.arange(len(part.nodes) + count), used)
    names = np.r_[order, spare][:count]
    routing = spread_over(part.routing, work, names)
    if routing is part.routing and count == len(used):
        return part
    nodes = np.full(max(len(part.nodes), int(names.max()) + 1), -1)
    kept = names[: len(order)]
    nodes[kept] = part.nodes[kept]
    held = np.bincount(part.nodes[used])
    for new in names[len(order) :].tolist():
        node = int(held.argmin())
        nodes[new] = node
        held[node] += 1
    return OperatorPlan(routing, nodes)


def described(situation: Situation, projected: float) -> str:
    """Describe latency, load and law in words and numbers."""
    seen, limits = situation.readings, situation.limits
    count = sum(part.slots for part in situation.plans.values())
    busiest = max((slots.busiest for slots in situation.present.values()), default=0.0)
    return (
        f"latency {seen.latency:.3g} s (alert at {situation.alert:.3g} s), projected {_text(projected)} with {count} "
        f"slots (bound {limits.bound:g} s); {rows_per_second(seen.rate)} arrive, the busiest slot needs "
        f"{seen.rate * busiest:.2f} s per second, an epoch costs {float(seen.law.fixed(count)):.3g} s without rows; "
        f"margin {situation.margin:.0%}"
    )


def hopeless(situation: Situation, demand: Demand, wanted: Mapping[str, int]) -> str:
    """Say that no number of slots keeps the bound, why, and what rate could be sustained."""
    limits, needs = situation.limits, situation.needs
    best = {name: need.over(wanted[name]) for name, need in needs.items()}
    most = demand.most(best)
    if demand.rate >= most:
        return (
            f"overload: {rows_per_second(demand.rate)} have to be processed, but no plan within {limits.max_slots} "
            f"slots sustains more than {rows_per_second(most)}; nothing is dropped, rows wait"
        )
    return (
        f"no number of slots up to {limits.max_slots} keeps the bound now: {_total(wanted)} slots come closest, "
        f"with {_text(demand.latency(best))}"
    )


def _better(situation: Situation, name: str, new: OperatorPlan) -> bool:
    """Return True if a placement lowers the load of the busiest slot by so much that it is worth a change."""
    old = situation.plans[name]
    before, after = (
        s[name].busiest for s in (situation.slots({name: old.routing}), situation.slots({name: new.routing}))
    )
    return after < before * (1 - WORTHWHILE)


def _total(wanted: Mapping[str, int]) -> int:
    return sum(wanted.values())


def _text(latency: float) -> str:
    return f"{latency:.3g} s" if latency < np.inf else "unbounded"
