"""The resource-centric baseline: Elasticutor's model and balancing, with keys repartitioned over the whole operator.

Every slot is an executor with one core. The number of slots follows the same queueing model as in Elasticutor, and
shards are balanced by the same rule. Each change stops the operator and everything upstream of it (Elasticutor section
2.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.allocation import Allocation, allocate
from rheostat.elastic.elasticutor.balance_executors import balance_executors
from rheostat.elastic.elasticutor.epoch_allocation import allocate_epochs, usual_wait
from rheostat.elastic.elasticutor.rates import Rates, fill_missing_rates
from rheostat.elastic.loop.evacuation import evacuate
from rheostat.elastic.loop.hysteresis import BUSY, stays
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.queueing import largest_rho, offered_load
from rheostat.elastic.model.smoothing import CALM_RATE_WEIGHT, RATE_WEIGHT
from rheostat.elastic.routing.balance import EVEN, THRESHOLD
from rheostat.elastic.routing.longest_first import spread_over


@dataclass(frozen=True)
class ResourceCentric:
    """Repartitions the keys of whole operators, which stops them and everything upstream.

    Runs on Spark, where the boundary of an epoch is the stop, and the micro-batch law takes the place of M/M/k. Runs in
    the simulator too.

    Attributes:
        bound: the largest E[T] allowed, in seconds: the paper's T_max.
        threshold: largest over mean load of an operator's slots above which shards move.
        even: largest over mean load to which slots are then evened out; in the paper it equals the threshold.
        steady: the number of slots stays as it is unless the model's number, or the busiest operator's load per slot,
            differs by more than this factor. The paper has no such rule: 1 follows the model at once.
        weight: weight of the newest interval in the moving means, lower than in Elasticutor because every change stops
            the operator.
        fewest: least number of slots of an operator; in an engine with epochs.
        most: largest number of slots of an operator; None for as many as there are cores.
        name: the name in reports.
        pause: what stops during a change in an engine without epochs.
        waits: time limits and rests of changes.

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
    fewest: int = 1
    most: int | None = None
    name: str = "resource-centric"
    pause: Pause = Pause.OPERATOR
    waits: Waits = Waits(rest=0.0, calm=0.0, limit=60.0)

    on_spark: ClassVar[bool] = True
    ahead: ClassVar[bool] = False

    @classmethod
    def published(cls, bound: float = 0.02) -> ResourceCentric:
        """Return the baseline as published, which measures and decides as Elasticutor does (section 5)."""
        return cls(bound=bound, even=THRESHOLD, steady=1.0, weight=RATE_WEIGHT, name="resource-centric-published")

    def keeping(self, promise: Latency | None, slots: tuple[int, int] | None = None) -> ResourceCentric:
        """Return the policy with a user's promise as its bound, and a range of slots for every operator.

        >>> from rheostat.elastic.model.promise import Latency
        >>> ResourceCentric().keeping(Latency("2 seconds"), (2, 8)).most
        8
        """
        policy = self if promise is None else replace(self, bound=promise.seconds)
        return policy if slots is None else replace(policy, fewest=slots[0], most=slots[1])

    def begin(self, plan: Plan) -> Rates:
        """Return the history before the first observation."""
        return Rates.nothing(plan)

    def learn(self, history: Rates, observation: Observation) -> Rates:
        """Return the rates after one more interval."""
        return history.after(observation, weight=self.weight)

    def decide(self, history: Rates, plan: Plan) -> Proposal:
        """Return as many slots as M/M/k asks for, evenly loaded."""
        evacuation = evacuate(plan, history.cores)
        problem = history.problem(plan)
        if evacuation.stuck or problem:
            reasons = (*evacuation.reasons, problem) if problem else evacuation.reasons
            return Proposal(evacuation.revisions, None, reasons, together=True)
        lost = {r.operator: r.reasons[0] for r in evacuation.revisions}
        evacuated = plan.revised(evacuation.revisions)
        allocation, slots = self._slots_wanted(history, evacuated)
        # All operators drop slots before any adds some, so that cores given up by one are free for the others.
        used = evacuated.cores(len(history.cores))
        nodes = {name: _drop_slots(part, slots[name], used) for name, part in evacuated.operators.items()}
        revisions = []
        for name, part in plan.operators.items():
            new_nodes = _add_slots(nodes[name], slots[name], part.nodes, history.cores, used)
            work = history.operators[name].work()
            routing = self._balance_slots(evacuated.operators[name].routing, work, new_nodes, history.law is not None)
            wanted = OperatorPlan(routing, new_nodes)
            if not wanted.same(part):
                moved = int((routing != part.routing).sum())
                text = f"{name}: {part.slots} to {wanted.slots} slots, {moved} shards move"
                texts = (text, lost[name]) if name in lost else (text,)
                action = Action.between(part.slots, wanted.slots)
                revisions.append(Revision(name, wanted, action, texts, allocation.met))
        if not revisions:
            return replace(STAY, reasons=(allocation.reason,))
        return Proposal(tuple(revisions), None, (allocation.reason,), together=True)

    def _slots_wanted(self, history: Rates, plan: Plan) -> tuple[Allocation, dict[str, int]]:
        """Return the model's answer, and the number of slots that every operator should have."""
        total, overhead = int(history.cores.sum()), history.overhead(plan)
        if self.most is not None:
            total = min(total, self.most * len(plan.operators))
        wait = 0.0 if overhead is None else usual_wait(overhead, self.bound)
        demand = np.array([history.operators[name].demand(wait).sum() for name in plan.operators])
        service = fill_missing_rates(np.array([history.operators[name].service for name in plan.operators]))
        if overhead is None:
            allocation = allocate(demand, service, total, self.bound, history.external)
        else:
            allocation = allocate_epochs(demand, service, total, self.bound, overhead, self.fewest)
        have = np.array([part.slots for part in plan.operators.values()])
        if stays(
            wanted=allocation.cores,
            met=allocation.met,
            have=have,
            load=offered_load(demand, service),
            total=total,
            busy=BUSY if overhead is None else largest_rho(overhead, self.bound) or BUSY,
            steady=self.steady,
        ):
            wanted = have
        else:
            shards = np.array([len(part.routing) for part in plan.operators.values()])
            wanted = np.minimum(np.maximum(allocation.cores, 1), shards)
            # A few slots more or fewer are not worth a stop, unless the operators together would need too many cores.
            close = (wanted <= self.steady * have) & (have <= self.steady * wanted)
            if have.sum() <= total:
                wanted = np.where(close & (wanted.sum() - wanted + have <= total), have, wanted)
            if wanted.sum() > total:
                wanted = np.minimum(wanted, np.maximum(allocation.cores, 1))
        return allocation, dict(zip(plan.operators, wanted.tolist(), strict=True))

    def _balance_slots(self, routing: Ints, work: Floats, nodes: Ints, epochs: bool) -> Ints:
        """Return the slot of every shard, balanced over all slots of the operator."""
        if epochs:
            return spread_over(routing, work, np.flatnonzero(nodes >= 0), self.threshold)
        one_executor = np.zeros(len(work), dtype=np.int64)
        owners = np.where(nodes >= 0, 0, -1)
        even = min(self.even, self.threshold)
        return balance_executors(routing, work, one_executor, owners, self.threshold, even)


def _drop_slots(plan: OperatorPlan, count: int, used: Ints) -> Ints:
    """Return the nodes of the slots after all but the first ``count`` are dropped. Updates ``used``.

    Args:
        plan: where the operator runs.
        count: the number of slots to keep, at least 1.
        used: the number of cores in use on every node.
    """
    nodes = plan.nodes.copy()
    dropped = plan.used[max(count, 1) :]
    np.subtract.at(used, nodes[dropped], 1)
    nodes[dropped] = -1
    return nodes


def _add_slots(nodes: Ints, count: int, before: Ints, cores: Ints, used: Ints) -> Ints:
    """Return the nodes of the slots with new ones added where cores are free. Updates ``used``.

    New slots get numbers that are unused both now and in the plan before, because a number must not change its node.

    Args:
        nodes: the node of every slot; -1 for numbers that are not in use.
        count: the number of slots wanted. There are fewer if no core is free.
        before: the node of every slot in the plan before.
        cores: the number of cores of every node.
        used: the number of cores in use on every node.
    """
    for _ in range(count - int(np.count_nonzero(nodes >= 0))):
        room = cores - used
        node = int(room.argmax())
        if room[node] <= 0:
            break
        old = np.r_[before, np.full(max(len(nodes) - len(before), 0), -1)][: len(nodes)]
        unused = np.flatnonzero((nodes < 0) & (old < 0))
        if not len(unused):
            nodes, unused = np.r_[nodes, -1], np.array([len(nodes)])
        nodes[unused[0]] = node
        used[node] += 1
    return nodes
