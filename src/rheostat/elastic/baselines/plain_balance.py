"""Plain balancing: a fixed number of slots, and shards that move from the busiest slot to the least busy one.

This is Elasticutor's balancing (section 3.1) without its scheduling of cores. Most queries on Spark need it first,
because keys are skewed and the busiest slot decides how long an epoch takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.loop.evacuation import evacuate
from rheostat.elastic.loop.inbox import check_threshold
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal, Revision
from rheostat.elastic.model.policy import Pause, Waits
from rheostat.elastic.routing.balance import THRESHOLD, balance, imbalance, slot_loads
from rheostat.elastic.routing.longest_first import place_longest_first
from rheostat.elastic.routing.requests import hot_shard
from rheostat.elastic.routing.shard_load import ShardLoads, spread_over_shards


@dataclass(frozen=True, eq=False)
class OperatorWork:
    """The work of one operator, by shard.

    Attributes:
        loads: useful seconds and rows per epoch, by shard.
        coming: rows of the next epoch, by shard; None if they were not counted ahead.
        completed: the last usable counter of completed rows, by shard; None before the first one.
        hottest: the busiest key of the last epoch, in words; empty if unknown.
    """

    loads: ShardLoads
    coming: Floats | None = None
    completed: Floats | None = None
    hottest: str = ""

    def after(self, seen: OperatorObservation) -> OperatorWork:
        """Return the work after one more interval. Loads that were not measured stay as they were."""
        shards = len(self.loads.seconds)
        seconds, completed = self._useful_seconds(seen), self.completed
        if _usable(seen.completed, shards):
            completed = np.asarray(seen.completed, dtype=np.float64)
        loads = self.loads if seconds is None else self.loads.with_epoch(seconds, self.coming)
        coming = seen.coming if _usable(seen.coming, shards) else None
        return OperatorWork(loads, coming, completed, seen.hottest[0] if seen.hottest is not None else "")

    def _useful_seconds(self, seen: OperatorObservation) -> Floats | None:
        """Return the useful seconds of an interval, by shard; None if they are unknown.

        If they were measured by slot only, each slot's seconds are divided in proportion to the rows that its shards
        completed.
        """
        shards = len(self.loads.seconds)
        if _usable(seen.work, shards):
            return seen.work
        if self.completed is None or not _usable(seen.completed, shards) or not _usable(seen.useful, len(seen.useful)):
            return None
        rows, routing = seen.completed - self.completed, seen.plan.routing
        if (rows < 0).any() or not rows.any() or routing.max() >= len(seen.useful):
            return None
        return spread_over_shards(seen.useful, rows, routing)


@dataclass(frozen=True, eq=False)
class WorkHistory:
    """The work of every operator, and the cores of the cluster.

    Attributes:
        operators: the work of each operator, by name.
        cores: the number of cores of every node; empty before the first observation.
    """

    operators: Mapping[str, OperatorWork]
    cores: Ints


@dataclass(frozen=True)
class Balance:
    """Keeps the busiest slot of every operator within a multiple of the mean (Elasticutor section 3.1).

    Runs on Spark: ``start(policy="balance")``, or ``start(policy=Balance(threshold=1.1))``. Runs in the simulator too.

    Attributes:
        threshold: the largest over mean load of the slots that is allowed; 1.2 in the paper.
        ahead: True to balance the next epoch instead of the last ones. The rows of every shard are counted before the
            epoch, which takes a pass over them, and multiplied by the cost of a row of that shard so far. Shards are
            then placed longest first, and one that fills a slot gets it alone. Pays off where rows are expensive and
            keys shift. Needs an engine with epochs.
        name: the name in reports.
        pause: what stops during a change in an engine without epochs.
        waits: time limits and rests of changes.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan = Plan({"count": OperatorPlan.even(shards=4, slots=2)}, 1)
    >>> zeros, work = np.zeros(4), np.array([4.0, 3.0, 2.0, 1.0])
    >>> count = OperatorObservation(
    ...     plan=plan.operators["count"], arrived=zeros, completed=zeros, useful=np.array([7.0, 3.0]), work=work)
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"count": count}, cores=np.array([4]))
    >>> policy = Balance()
    >>> (revision,) = policy.decide(policy.learn(policy.begin(plan), seen), plan).revisions
    >>> revision.plan.routing.tolist(), revision.reasons
    ([0, 1, 1, 1], ('the busiest slot had 1.40 times the mean',))
    """

    threshold: float = THRESHOLD
    ahead: bool = False
    name: str = "balance"
    pause: Pause = Pause.PAIR
    waits: Waits = Waits(rest=0.0, calm=0.0)

    on_spark: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def begin(self, plan: Plan) -> WorkHistory:
        """Return the history before the first observation."""
        work = {name: OperatorWork(ShardLoads.none(len(part.routing))) for name, part in plan.operators.items()}
        return WorkHistory(work, np.zeros(0, dtype=np.int64))

    def learn(self, history: WorkHistory, observation: Observation) -> WorkHistory:
        """Return the history after one more interval."""
        work = dict(history.operators)
        for name, seen in observation.operators.items():
            if name in work:
                work[name] = work[name].after(seen)
        return replace(history, operators=work, cores=observation.cores)

    def decide(self, history: WorkHistory, plan: Plan) -> Proposal:
        """Return revisions that move shards off nodes that are gone, and balance each of the other operators."""
        evacuation = evacuate(plan, history.cores)
        if evacuation.stuck:
            return Proposal(evacuation.revisions, None, evacuation.reasons)
        revisions = {r.operator: r for r in evacuation.revisions}
        for name, part in plan.operators.items():
            if name in history.operators and name not in revisions:
                revision = self._balance_operator(name, part, history.operators[name])
                if revision is not None:
                    revisions[name] = revision
        return Proposal(tuple(revisions.values()), None, evacuation.reasons)

    def _balance_operator(self, name: str, part: OperatorPlan, work: OperatorWork) -> Revision | None:
        """Return the revision of one operator, with action NOTHING if no move helps; None if its slots are balanced."""
        loads = work.loads.seconds
        if self.ahead:
            if work.coming is None:
                return None
            loads = work.loads.expected(work.coming)
        numbers = part.used
        if len(numbers) < 2 or len(loads) != len(part.routing):
            return None
        routing = np.searchsorted(numbers, part.routing)
        uneven = imbalance(slot_loads(routing, loads, len(numbers)))
        if not uneven > self.threshold:
            return None
        place = place_longest_first if self.ahead else balance
        assignment = place(routing.tolist(), loads, len(numbers), self.threshold)
        wanted = OperatorPlan(numbers[np.array(assignment.routing)], part.nodes)
        action = Action.BALANCE if assignment.moved(routing.tolist()) else Action.NOTHING
        reason = f"the busiest slot {'will have' if self.ahead else 'had'} {uneven:.2f} times the mean"
        return Revision(name, wanted, action, (reason,), hot=hot_shard(assignment, loads, work.hottest))


def _usable(values: Floats, size: int) -> bool:
    """Return True if there are ``size`` values, at least one, and all are finite and not negative."""
    return len(values) == size > 0 and bool(np.isfinite(values).all()) and bool((values >= 0).all())
