"""The resource-centric baseline: the same model and balancing, but keys are repartitioned over the whole operator.

Every slot is an executor with one core. Their number follows the same queueing model and shards the same balancing as
in Elasticutor; each change stops the operator and everything upstream of it (Elasticutor section 2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.elastic.allocation import allocate
from rheostat.elastic.levelling import THRESHOLD, level
from rheostat.elastic.observation import Observation
from rheostat.elastic.plan import STAY, Action, Ints, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.policies.elasticutor import Elasticutor, Rates
from rheostat.elastic.policy import Pause
from rheostat.elastic.treat import Waits


@dataclass(frozen=True)
class ResourceCentric:
    """Operator-level repartitioning with a global stop.

    Attributes:
        bound: seconds that E[T] may reach: T_max.
        threshold: imbalance of an operator's slots above which shards move.
        steady: slots stay as many as they are unless the model asks for more or fewer by this factor.
    """

    bound: float = 0.02
    threshold: float = THRESHOLD
    steady: float = 1.1
    name: str = "resource-centric"
    pause: Pause = Pause.OPERATOR
    waits: Waits = Waits(rest=0.0, calm=0.0, limit=60.0)

    def begin(self, plan: Plan) -> Rates:
        """Nothing measured yet."""
        return Elasticutor().begin(plan)

    def learn(self, history: Rates, observation: Observation) -> Rates:
        """Rates after one more interval."""
        return Elasticutor().learn(history, observation)

    def decide(self, history: Rates, plan: Plan) -> Proposal:
        """As many slots as M/M/k asks for, evenly loaded."""
        total = int(history.cores.sum())
        if not total > 0 or not all(history.operators[n].known(p) for n, p in plan.operators.items()):
            return Proposal(reasons=("nothing was measured yet",))
        demand = [history.operators[name].demand().sum() for name in plan.operators]
        service = [history.operators[name].service for name in plan.operators]
        found = allocate(demand, service, total, self.bound, history.external)
        have = np.array([p.slots for p in plan.operators.values()])
        shards = np.array([len(p.routing) for p in plan.operators.values()])
        wanted = np.minimum(np.maximum(found.cores, 1), shards)
        # A few slots more or fewer are not worth a stop.
        close = (wanted <= self.steady * have) & (have <= self.steady * wanted)
        if have.sum() <= total:
            wanted = np.where(close & (wanted.sum() - wanted + have <= total), have, wanted)
        if wanted.sum() > total:
            wanted = np.minimum(wanted, np.maximum(found.cores, 1))
        used = plan.cores(len(history.cores))
        revisions = []
        for (name, part), count in zip(plan.operators.items(), wanted.tolist(), strict=True):
            slotted = _resized(part, count, history.cores, used)
            owners = np.where(slotted.nodes >= 0, 0, -1)
            work = history.operators[name].work()
            routing = level(slotted.routing, work, np.zeros(len(work), dtype=np.int64), owners, self.threshold)
            revised = OperatorPlan(routing, slotted.nodes)
            if not revised.same(part):
                action = (
                    Action.BALANCE
                    if count == part.slots
                    else Action.SCALE_OUT
                    if count > part.slots
                    else Action.SCALE_IN
                )
                moved = int((routing != part.routing).sum())
                text = f"{name}: {part.slots} to {count} slots, {moved} shards move"
                revisions.append(Revision(name, revised, action, (text,), found.met))
        reasons = (found.reason,)
        return Proposal(tuple(revisions), None, reasons, together=True) if revisions else replace(STAY, reasons=reasons)


def _resized(plan: OperatorPlan, count: int, cores: Ints, used: Ints) -> OperatorPlan:
    """Slots added where cores are free, or taken from the end; ``used`` is kept up to date."""
    nodes = plan.nodes.copy()
    for slot in plan.used[count:][::-1].tolist():
        used[nodes[slot]] -= 1
        nodes[slot] = -1
    for _ in range(count - plan.slots):
        room = cores - used
        node = int(room.argmax())
        if room[node] <= 0:
            break
        free = np.flatnonzero(nodes < 0)
        if not len(free):
            nodes, free = np.r_[nodes, -1], np.array([len(nodes)])
        nodes[free[0]] = node
        used[node] += 1
    return OperatorPlan(plan.routing, nodes)
