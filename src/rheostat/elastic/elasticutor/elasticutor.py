"""The Elasticutor policy: cores by a queueing network, placed by Algorithm 1, shards balanced inside executors.

In every interval it decides how many cores each executor gets (section 4.1), on which nodes these cores are (section
4.2), and which of an executor's shards are in which of its slots (section 3.1). Shards never leave their executor,
except in the rounds that the paper leaves to future work: executors that outgrew their node are split, and idle ones
are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.allocation import Allocation, allocate
from rheostat.elastic.elasticutor.balance_executors import balance_executors
from rheostat.elastic.elasticutor.cores import Cores, release_idle_cores
from rheostat.elastic.elasticutor.epoch_allocation import allocate_epochs, usual_wait
from rheostat.elastic.elasticutor.executor_rates import Executors, executor_rates
from rheostat.elastic.elasticutor.executor_slots import assign_slots, current_cores
from rheostat.elastic.elasticutor.placement import (
    HORIZON,
    LOCALITY,
    CorePlacement,
    place,
    place_as_printed,
    place_naively,
)
from rheostat.elastic.elasticutor.rates import Rates, fill_missing_rates
from rheostat.elastic.elasticutor.split_merge import EVERY
from rheostat.elastic.elasticutor.subspaces import next_subspaces
from rheostat.elastic.loop.hysteresis import BUSY, stays
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import STAY, Action, OperatorPlan, Plan, Proposal, Revision, Subspaces
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.queueing import largest_rho, offered_load
from rheostat.elastic.routing.balance import EVEN, THRESHOLD
from rheostat.elastic.routing.longest_first import spread_over


@dataclass(frozen=True)
class Elasticutor:
    """Elastic executors (Elasticutor sections 3 and 4).

    Runs on Spark, where the micro-batch law takes the place of M/M/k, and in the simulator.

    Attributes:
        bound: the largest E[T] allowed, in seconds: the paper's T_max.
        locality: bytes per second and core above which an executor uses only cores of its own node.
        threshold: largest over mean load of an executor's slots above which shards move.
        even: largest over mean load to which slots are then evened out. In the paper it equals the threshold, so the
            next change soon follows.
        steady: cores stay as they are while the busiest executor has at most this many times the load per core that it
            would have with the model's cores. The paper has no such rule: 1 decides anew in every interval.
        uneven: largest over mean load of an executor's slots to allow for in the queueing model. The paper's M/M/k
            assumes that an executor's cores share one queue, which is 1; in fact each slot has its own queue.
        nearby: a shard stays on its node if the busier slot then has at most this many times the load; 1 in the paper.
        release: True if executors give back cores that they do not need. In the paper they keep them until another
            executor needs them.
        horizon: seconds for which a plan is expected to last. An executor with much data gives up remote cores for
            cores of its own node if that moves fewer bytes of state than it would send in this time.
        informed: True if cores are placed by Algorithm 1; False takes any free cores, as the paper's naive-EC does.
        printed: True to follow Algorithm 1 exactly as the paper prints it. Otherwise remote cores are given up first,
            executors return to their own node, and one that finds no core there takes a remote one without raising the
            locality threshold for all.
        overhead: seconds that an epoch costs without rows. The number of cores then follows the micro-batch law. None
            for the value that the engine has calibrated, as on Spark, or for an engine without epochs, as in the paper.
        fewest: least number of slots of an operator.
        most: largest number of slots of an operator; None for as many as there are cores.
        reshaping: seconds between two rounds of splitting and merging executors; 0 for no such rounds.
        name: the name in reports.
        pause: what stops during a change in an engine without epochs.
        waits: time limits and rests of changes.

    >>> from rheostat.elastic.model.observation import OperatorObservation
    >>> plan = Plan({"count": OperatorPlan.elastic(shards=4, executors=2, nodes=1)}, nodes=1)
    >>> rows, busy = np.array([45.0, 45.0, 5.0, 5.0]), np.array([0.9, 0.1])  # a row takes 10 ms
    >>> count = OperatorObservation(plan=plan.operators["count"], arrived=rows, completed=rows, useful=busy)
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"count": count}, cores=np.array([8]), external=100.0)
    >>> policy = Elasticutor(bound=0.02)
    >>> found = policy.decide(policy.learn(policy.begin(plan), seen), plan)
    >>> found.reasons[0], found.revisions[0].action.value
    ('E[T] 0.0166 s with 3 of 8 cores, bound 0.02 s', 'scale out')
    >>> found.revisions[0].plan.routing.tolist()  # the first executor now has slots 0 and 2
    [2, 0, 1, 1]
    """

    bound: float = 0.02
    locality: float = LOCALITY
    threshold: float = THRESHOLD
    even: float = EVEN
    steady: float = 1.05
    uneven: float = THRESHOLD
    nearby: float = 1.05
    release: bool = True
    horizon: float = HORIZON
    informed: bool = True
    printed: bool = False
    overhead: float | None = None
    fewest: int = 1
    most: int | None = None
    reshaping: float = 0.0
    name: str = "elasticutor"
    pause: Pause = Pause.SHARD
    waits: Waits = Waits(rest=0.0, calm=0.0)

    on_spark: ClassVar[bool] = True
    ahead: ClassVar[bool] = False

    @classmethod
    def published(cls, bound: float = 0.02) -> Elasticutor:
        """Return the policy as published, without the rules above that are not in the paper.

        Where the paper leaves a choice open, it does the same as the other variants:

        - Rates are moving means, which start again when keys shift. Rows that back-pressure held back count as arrived.
        - Waiting rows are to be processed within five seconds.
        - Free cores are taken before those of other executors.
        - A shard whose slot is removed stays on its node if a slot there has room.
        - If there are too few cores, all executors get a share.
        """
        return cls(
            bound=bound,
            even=THRESHOLD,
            steady=1.0,
            uneven=1.0,
            nearby=1.0,
            release=False,
            horizon=0.0,
            printed=True,
            name="elasticutor-published",
        )

    @classmethod
    def naive(cls, bound: float = 0.02) -> Elasticutor:
        """Return the paper's naive-EC, which ignores the cost of moved state and remote data (section 5.4)."""
        return cls(bound=bound, informed=False, name="naive-ec")

    @classmethod
    def hybrid(cls, bound: float = 0.02, every: float = EVERY) -> Elasticutor:
        """Return the paper's future work: executors are also split and merged, every ten minutes (section 4.2)."""
        return cls(bound=bound, reshaping=every, name="elasticutor-hybrid")

    def keeping(self, promise: Latency | None, slots: tuple[int, int] | None = None) -> Elasticutor:
        """Return the policy with a user's promise as its bound, and a range of slots for every operator.

        >>> from rheostat.elastic.model.promise import Latency
        >>> policy = Elasticutor().keeping(Latency("2 seconds"), (2, 8))
        >>> policy.bound, policy.fewest, policy.most
        (2.0, 2, 8)
        """
        policy = self if promise is None else replace(self, bound=promise.seconds)
        return policy if slots is None else replace(policy, fewest=slots[0], most=slots[1])

    def begin(self, plan: Plan) -> Rates:
        """Return the history before the first observation."""
        return Rates.nothing(plan)

    def learn(self, history: Rates, observation: Observation) -> Rates:
        """Return the rates after one more interval."""
        return history.after(observation, self.reshaping)

    def decide(self, history: Rates, plan: Plan) -> Proposal:
        """Return new cores for every executor, their nodes, and balanced slots."""
        total, problem = int(history.cores.sum()), history.problem(plan)
        if problem:
            return Proposal(reasons=(problem,))
        if len(plan.operators) > total:
            return Proposal(reasons=(f"{len(plan.operators)} operators cannot share {total} cores",))
        wait = self._usual_wait(history, plan)
        subspaces, changes = next_subspaces(history, plan, wait)
        allocation, placement = self.schedule(history, plan, subspaces)
        reasons = (*changes, allocation.reason, placement.reason)
        revisions = []
        first = 0
        for name, part in plan.operators.items():
            owned, count = subspaces[name], len(subspaces[name].homes)
            cores, homes = placement.cores.of_executors(first, count), placement.homes[first : first + count]
            first += count
            wanted = assign_slots(part, owned, cores, homes)
            wanted = self._balance_slots(wanted, part, history.operators[name].work(wait), history.law is not None)
            if not wanted.same(part):
                action = Action.between(part.slots, wanted.slots)
                moved = int((wanted.routing != part.routing).sum())
                text = f"{name}: {part.slots} to {wanted.slots} cores, {moved} shards change their slot"
                revisions.append(Revision(name, wanted, action, (text,), allocation.met))
        if not revisions:
            return replace(STAY, reasons=reasons)
        return Proposal(tuple(revisions), None, reasons, together=True)

    def schedule(
        self, history: Rates, plan: Plan, subspaces: Mapping[str, Subspaces]
    ) -> tuple[Allocation, CorePlacement]:
        """Return how many cores every executor gets, and on which nodes (section 4). The paper's table 3 times this."""
        executors = executor_rates(subspaces, history.operators, self._usual_wait(history, plan))
        current = current_cores(plan, subspaces)
        allocation = self._allocate(executors, current, history, plan)
        return allocation, self._place(allocation.cores, executors, current, history.cores)

    def _allocate(self, executors: Executors, current: Cores, history: Rates, plan: Plan) -> Allocation:
        """Return the cores of every executor: those of the model, or the present ones if they are nearly as good."""
        total, overhead = int(history.cores.sum()), self._overhead(history, plan)
        if self.most is not None:
            total = min(total, self.most * len(plan.operators))
        services = self._services(executors)
        if overhead is not None:
            allocation = allocate_epochs(executors.arrivals, services, total, self.bound, overhead, self.fewest)
        else:
            allocation = allocate(executors.arrivals, services, total, self.bound, history.external)
        have, load = current.by_executor(len(executors.arrivals)), offered_load(executors.arrivals, services)
        if not stays(
            wanted=allocation.cores,
            met=allocation.met,
            have=have,
            load=load,
            total=total,
            busy=self._busy(overhead),
            steady=self.steady,
        ):
            return allocation
        reason = allocation.reason
        if (have != allocation.cores).any():
            reason += f"; the present {have.sum()} cores are nearly as good and stay"
        return replace(allocation, cores=have, reason=reason)

    def _services(self, executors: Executors) -> Floats:
        """Return rows per second of one core, lowered by the imbalance to allow for."""
        return fill_missing_rates(executors.services) / max(self.uneven, 1.0)

    def _overhead(self, history: Rates, plan: Plan) -> float | None:
        """Return the seconds that an epoch costs without rows; None in an engine without epochs."""
        return history.overhead(plan) if self.overhead is None else self.overhead

    def _busy(self, overhead: float | None) -> float:
        """Return the load per core up to which the busiest executor gets no more cores."""
        if overhead is None:
            return BUSY
        return largest_rho(overhead, self.bound) or BUSY

    def _usual_wait(self, history: Rates, plan: Plan) -> float:
        """Return the seconds that rows usually wait for the next epoch. Rows of this time are no backlog."""
        overhead = self._overhead(history, plan)
        return 0.0 if overhead is None else usual_wait(overhead, self.bound)

    def _place(self, wanted: Ints, executors: Executors, current: Cores, cores: Ints) -> CorePlacement:
        """Return the nodes of the wanted cores, by the placement that this policy uses."""
        load = offered_load(executors.arrivals, self._services(executors))
        kept = release_idle_cores(current, wanted, executors.homes, load) if self.release else current
        inputs = cores, executors.homes, kept, executors.state, executors.traffic
        if not self.informed:
            return place_naively(wanted, *inputs)
        if self.printed:
            return place_as_printed(wanted, *inputs, self.locality)
        return place(wanted, *inputs, self.locality, self.horizon)

    def _balance_slots(self, plan: OperatorPlan, old: OperatorPlan, work: Floats, epochs: bool) -> OperatorPlan:
        """Return the plan with the shards of each executor balanced over its slots.

        Args:
            plan: the slots that executors are to have.
            old: the plan in force.
            work: the number of cores that every shard keeps busy.
            epochs: True in an engine with epochs.
        """
        assert plan.subspaces is not None
        owned = plan.subspaces
        if epochs and len(owned.homes) == 1 and len(np.unique(plan.nodes[plan.used])) == 1:
            # Any number of shards moves at the boundary of an epoch, so they need not move one by one.
            return OperatorPlan(spread_over(plan.routing, work, plan.used, self.threshold), plan.nodes, owned)
        # Shards of removed slots prefer the node they were on.
        nodes = plan.nodes.copy()
        removed = np.flatnonzero((nodes[: len(old.nodes)] < 0) & (old.nodes >= 0))
        nodes[removed] = old.nodes[removed]
        routing = balance_executors(
            plan.routing,
            work,
            owned.executors,
            owned.owners,
            threshold=self.threshold,
            even=min(self.even, self.threshold),
            nodes=nodes,
            nearby=self.nearby if self.informed else 1.0,
        )
        return OperatorPlan(routing, plan.nodes, owned)
