"""The resource-centric baseline: the same model and balancing, but keys are repartitioned over the whole operator.

Every slot is an executor with one core. Their number follows the same queueing model and shards the same balancing as
in Elasticutor; each change stops the operator and everything upstream of it (Elasticutor section 2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.elasticutor.allocation import Allocation, allocate
from rheostat.elastic.elasticutor.balance_executors import balance_executors
from rheostat.elastic.elasticutor.rates import Rates, usual
from rheostat.elastic.loop.evacuation import evacuate
from rheostat.elastic.loop.hysteresis import BUSY, stays
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.queueing import offered_load
from rheostat.elastic.model.smoothing import CALM_RATE_WEIGHT, RATE_WEIGHT
from rheostat.elastic.routing.balance import EVEN, THRESHOLD


@dataclass(frozen=True)
class ResourceCentric:
    """Operator-level repartitioning with a global stop.

    Runs in the simulator; it is not connected to Spark yet.

    Attributes:
        bound: seconds that E[T] may reach: T_max.
        threshold: imbalance of an operator's slots above which shards move.
        even: how even slots are then made; in the paper as even as the threshold.
        steady: slots stay as many as they are unless the model asks for more or fewer by this factor, or the busiest
            would be less busy by it with those that the model asks for. The paper has no such rule: 1 does as it does.
        weight: share of the newest interval in the means: less than elsewhere, since every change stops the operator.

    >>> from rheostat.elastic.model.observation import OperatorObservation
    >>> plan = Plan({"count": OperatorPlan.even(shards=4, slots=2)}, nodes=1)
    >>> rows, busy = np.array([45.0, 45.0, 5.0, 5.0]), np.array([0.9, 0.1])  # a row takes 10 ms
    >>> count = OperatorObservation(plan=plan.operators["count"], arrived=rows, completed=rows, useful=busy)
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"count": count}, cores=np.array([8]), external=100.0)
    >>> policy = ResourceCentric(bound=0.02)
    >>> found = policy.decide(policy.learn(policy.begin(plan), seen), plan)
    >>> found.reasons[0], found.revisions[0].plan.routing.tolist()  # two slots are enough, once they are even
    ('E[T] 0.0133 s with 2 of 8 cores, bound 0.02 s', [1, 0, 0, 1])
    """

    bound: float = 0.02
    threshold: float = THRESHOLD
    even: float = EVEN
    steady: float = 1.1
    weight: float = CALM_RATE_WEIGHT
    name: str = "resource-centric"
    pause: Pause = Pause.OPERATOR
    waits: Waits = Waits(rest=0.0, calm=0.0, limit=60.0)

    on_spark: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    @classmethod
    def published(cls, bound: float = 0.02) -> ResourceCentric:
        """As published: it measures and acts as Elasticutor does (section 5)."""
        return cls(bound=bound, even=THRESHOLD, steady=1.0, weight=RATE_WEIGHT, name="resource-centric-published")

    def begin(self, plan: Plan) -> Rates:
        """Nothing measured yet."""
        return Rates.nothing(plan)

    def learn(self, history: Rates, observation: Observation) -> Rates:
        """Rates after one more interval."""
        return history.after(observation, weight=self.weight)

    def decide(self, history: Rates, plan: Plan) -> Proposal:
        """As many slots as M/M/k asks for, evenly loaded."""
        fled = evacuate(plan, history.cores)
        problem = history.problem(plan)
        if fled.stuck or problem:
            return Proposal(fled.revisions, None, (*fled.reasons, *([problem] if problem else [])), together=True)
        before, plan = plan, plan.revised(fled.revisions)
        found, wanted = self._sized(history, plan)
        used = plan.cores(len(history.cores))
        sizes = dict(zip(plan.operators, wanted.tolist(), strict=True))
        slotted = {name: _shrunk(part, sizes[name], used) for name, part in plan.operators.items()}
        revisions = []
        for name, part in before.operators.items():
            nodes = _grown(slotted[name], sizes[name], part.nodes, history.cores, used)
            work = history.operators[name].work()
            owners = np.where(nodes >= 0, 0, -1)
            routing = plan.operators[name].routing
            together, even = np.zeros(len(work), dtype=np.int64), min(self.even, self.threshold)
            routing = balance_executors(routing, work, together, owners, self.threshold, even)
            revised = OperatorPlan(routing, nodes)
            if not revised.same(part):
                moved = int((routing != part.routing).sum())
                text = f"{name}: {part.slots} to {revised.slots} slots, {moved} shards move"
                lost = [r.reasons[0] for r in fled.revisions if r.operator == name]
                revisions.append(
                    Revision(name, revised, Action.between(part.slots, revised.slots), (text, *lost), found.met)
                )
        reasons = (found.reason,)
        return Proposal(tuple(revisions), None, reasons, together=True) if revisions else replace(STAY, reasons=reasons)

    def _sized(self, history: Rates, plan: Plan) -> tuple[Allocation, Ints]:
        """What the model says, and how many slots every operator is to have."""
        total = int(history.cores.sum())
        demand = np.array([history.operators[name].demand().sum() for name in plan.operators])
        service = usual(np.array([history.operators[name].service for name in plan.operators]))
        found = allocate(demand, service, total, self.bound, history.external)
        have = np.array([p.slots for p in plan.operators.values()])
        if stays(found.cores, found.met, have, offered_load(demand, service), total, BUSY, self.steady):
            return found, have
        shards = np.array([len(p.routing) for p in plan.operators.values()])
        wanted = np.minimum(np.maximum(found.cores, 1), shards)
        # A few slots more or fewer are not worth a stop.
        close = (wanted <= self.steady * have) & (have <= self.steady * wanted)
        if have.sum() <= total:
            wanted = np.where(close & (wanted.sum() - wanted + have <= total), have, wanted)
        if wanted.sum() > total:
            wanted = np.minimum(wanted, np.maximum(found.cores, 1))
        return found, wanted


def _shrunk(plan: OperatorPlan, count: int, used: Ints) -> Ints:
    """Nodes of the slots after the last ones were dropped; ``used`` is kept up to date."""
    nodes = plan.nodes.copy()
    gone = plan.used[max(count, 1) :]
    np.subtract.at(used, nodes[gone], 1)
    nodes[gone] = -1
    return nodes


def _grown(nodes: Ints, count: int, before: Ints, cores: Ints, used: Ints) -> Ints:
    """Nodes of the slots with new ones where cores are free, under unused numbers; ``used`` is kept up to date."""
    for _ in range(count - int(np.count_nonzero(nodes >= 0))):
        room = cores - used
        node = int(room.argmax())
        if room[node] <= 0:
            break
        known = np.r_[before, np.full(max(len(nodes) - len(before), 0), -1)]
        free = np.flatnonzero((nodes < 0) & (known[: len(nodes)] < 0))
        if not len(free):
            nodes, free = np.r_[nodes, -1], np.array([len(nodes)])
        nodes[free[0]] = node
        used[node] += 1
    return nodes
