"""Plain balancing: a fixed number of slots, and shards that move from the busiest to the least busy ones.

Elasticutor's rule (section 3.1) without its scheduling of cores. It is what most queries on Spark need first: keys are
skewed, and the busiest slot decides how long an epoch takes.
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
from rheostat.elastic.routing.requests import hot_shard
from rheostat.elastic.routing.shard_load import ShardLoads, spread_over_shards


@dataclass(frozen=True, eq=False)
class KnownWork:
    """What is known of one operator.

    Attributes:
        loads: useful seconds and rows by shard.
        coming: rows that are counted for the coming epoch, by shard; None if they are not.
        completed: rows that were ever completed, by shard, when that was last known.
        hottest: the busiest key of the last epoch, in words; empty if it is not known.
    """

    loads: ShardLoads
    coming: Floats | None = None
    completed: Floats | None = None
    hottest: str = ""

    def after(self, seen: OperatorObservation) -> KnownWork:
        """After one more interval; what was not measured leaves the loads as they were."""
        shards = len(self.loads.seconds)
        work, completed = self._work(seen), self.completed
        if _counts(seen.completed, shards):
            completed = np.asarray(seen.completed, dtype=np.float64)
        loads = self.loads if work is None else self.loads.with_epoch(work, self.coming)
        coming = seen.coming if _counts(seen.coming, shards) else None
        return KnownWork(loads, coming, completed, seen.hottest[0] if seen.hottest is not None else "")

    def _work(self, seen: OperatorObservation) -> Floats | None:
        """Useful seconds by shard; where only those of slots were measured, by the rows that each shard completed."""
        shards = len(self.loads.seconds)
        if _counts(seen.work, shards):
            return seen.work
        if self.completed is None or not _counts(seen.completed, shards) or not _counts(seen.useful, len(seen.useful)):
            return None
        rows, routing = seen.completed - self.completed, seen.plan.routing
        if (rows < 0).any() or not rows.any() or routing.max() >= len(seen.useful):
            return None
        return spread_over_shards(seen.useful, rows, routing)


@dataclass(frozen=True, eq=False)
class WorkHistory:
    """What is known of every operator, and the cores there are.

    Attributes:
        operators: by name.
        cores: of every node; empty before the first observation.
    """

    operators: Mapping[str, KnownWork]
    cores: Ints


@dataclass(frozen=True)
class Balance:
    """Keeps the busiest slot of every operator within a multiple of the mean (Elasticutor section 3.1).

    Runs on Spark: ``start(policy="balance")``, or ``start(policy=Balance(threshold=1.1))``. Runs in the simulator too.

    Attributes:
        threshold: largest over mean load of the slots that is allowed; 1.2 in the paper.
        ahead: balance what the coming epoch has, not what the last ones had: the rows of every shard are counted before
            an epoch, which takes a pass over them, and multiplied by what a row of that shard has cost. Worth it where
            rows are expensive and their keys shift. Needs an engine with epochs.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> plan = Plan({"count": OperatorPlan.even(shards=4, slots=2)}, 1)
    >>> zeros, work = np.zeros(4), np.array([4.0, 3.0, 2.0, 1.0])
    >>> count = OperatorObservation(
    ...     plan=plan.operators["count"], arrived=zeros, completed=zeros, useful=np.array([7.0, 3.0]), work=work)
    >>> seen = Observation(time=1.0, seconds=1.0, operators={"count": count}, cores=np.array([4]))
    >>> policy = Balance()
    >>> (found,) = policy.decide(policy.learn(policy.begin(plan), seen), plan).revisions
    >>> found.plan.routing.tolist(), found.reasons
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
        """Nothing measured yet."""
        known = {name: KnownWork(ShardLoads.none(len(part.routing))) for name, part in plan.operators.items()}
        return WorkHistory(known, np.zeros(0, dtype=np.int64))

    def learn(self, history: WorkHistory, observation: Observation) -> WorkHistory:
        """Loads after one more interval."""
        known = dict(history.operators)
        for name, seen in observation.operators.items():
            if name in known:
                known[name] = known[name].after(seen)
        return replace(history, operators=known, cores=observation.cores)

    def decide(self, history: WorkHistory, plan: Plan) -> Proposal:
        """Balance every operator by itself, after slots on nodes that have gone."""
        fled = evacuate(plan, history.cores)
        if fled.stuck:
            return Proposal(fled.revisions, None, fled.reasons)
        revisions = {r.operator: r for r in fled.revisions}
        for name, part in plan.operators.items():
            if name in history.operators and name not in revisions:
                revision = self._balanced(name, part, history.operators[name])
                if revision is not None:
                    revisions[name] = revision
        return Proposal(tuple(revisions.values()), None, fled.reasons)

    def _balanced(self, name: str, part: OperatorPlan, known: KnownWork) -> Revision | None:
        """The revision of one operator; one with action NOTHING if no move helps."""
        loads = known.loads.seconds
        if self.ahead:
            if known.coming is None:
                return None
            loads = known.loads.expected(known.coming)
        numbers = part.used
        if len(numbers) < 2 or len(loads) != len(part.routing):
            return None
        routing = np.searchsorted(numbers, part.routing)
        uneven = imbalance(slot_loads(routing, loads, len(numbers)))
        if not uneven > self.threshold:
            return None
        found = balance(routing.tolist(), loads, len(numbers), self.threshold)
        wanted = OperatorPlan(numbers[np.array(found.routing)], part.nodes)
        action = Action.BALANCE if found.moved(routing.tolist()) else Action.NOTHING
        reason = f"the busiest slot {'will have' if self.ahead else 'had'} {uneven:.2f} times the mean"
        return Revision(name, wanted, action, (reason,), hot=hot_shard(found, loads, known.hottest))


def _counts(values: Floats, size: int) -> bool:
    """True if all values are known and sensible."""
    return len(values) == size > 0 and bool(np.isfinite(values).all()) and bool((values >= 0).all())
