"""The two engines that StreamSwitch was built into, by how they carry out a treatment (StreamSwitch section 5).

On Samza, rows wait in a log that both slots read, so a treatment begins at once. On Flink, the *switchpoint* is a
barrier that queues behind the rows in flight to the two slots, and shards move only when both slots have received it.
The engine's buffers limit the number of rows in flight; further rows wait in front of the source, behind the barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.continuous.shard_moves import Waiting
from rheostat.simulate.interval import Interval


@dataclass
class Samza(Continuous):
    """A continuous engine that reports the useful time of a row in the interval in which the row is completed.

    Otherwise, a slot that is stopped in the middle of a row would later report one row for next to no time and look far
    too fast. All rows of an operator must cost the same.

    >>> from rheostat.simulate.job import Cluster, Job, Operator
    >>> from rheostat.workloads.arrivals import Constant
    >>> job, load = Job((Operator("work", shards=2, cost=0.4),)), Constant(10.0, weights=[1, 1], poisson=False)
    >>> engine = Samza(job, Cluster(1, 4), load, Plan({"work": OperatorPlan.even(2, 1)}, 1), room=4)
    >>> [engine.step().observation.operators["work"].useful.round(3).tolist() for _ in range(2)]  # 2 rows, then 3
    [[0.8], [1.2]]
    """

    def _interval(self, before: Any, offered: int) -> Interval:
        rows = np.bincount(self._shards["slot"], weights=self._shards["done"], minlength=len(self._slots))
        costs = np.repeat([operator.cost for operator in self.job.operators], self.room)
        self._slots["useful"] = rows * self._slots["speed"] * costs
        return super()._interval(before, offered)


@dataclass
class Flink(Samza):
    """An engine whose treatments begin when a barrier has passed the queues of both slots.

    Attributes:
        in_flight: highest number of rows in flight to a slot.

    >>> from rheostat.simulate.job import Cluster, Job, Operator
    >>> from rheostat.workloads.arrivals import Constant
    >>> job, load = Job((Operator("work", shards=4, cost=0.01),)), Constant(400.0, weights=[1, 1, 1, 1])
    >>> engine = Flink(job, Cluster(1, 4), load, Plan({"work": OperatorPlan.even(4, 1)}, 1), pause=Pause.PAIR,
    ...     in_flight=200)
    >>> _ = engine.step()  # 100 of about 400 rows are done
    >>> engine.apply(Plan({"work": OperatorPlan.even(4, 2)}, 1))
    >>> engine.busy("work"), engine.plan.operators["work"].slots  # 2 s until the barrier has passed 200 rows
    (True, 1)
    """

    in_flight: int = 1_000_000_000
    _delays: dict[str, float] = field(default_factory=dict)

    def apply(self, plan: Plan) -> None:
        """Send a barrier for every operator whose plan changes; skip operators that are still changing."""
        for name, wanted in plan.operators.items():
            old = self.plan.operators[name]
            if self.busy(name) or wanted.same(old):
                continue
            wanted.check(len(old.routing), self.cluster.nodes)
            self._delays[name] = self._behind(name, old, wanted)
            self._waiting.append(Waiting(self.time + self._delays[name], name, wanted))

    def _change(self, name: str, wanted: OperatorPlan) -> None:
        before = len(self.switches)
        super()._change(name, wanted)
        if len(self.switches) > before:
            self.switches[-1] += self._delays.pop(name, 0.0)

    def _behind(self, name: str, old: OperatorPlan, wanted: OperatorPlan) -> float:
        """Return the seconds until a barrier has passed the rows in flight to all slots that give or receive shards."""
        if self.pause is not Pause.PAIR:
            return 0.0
        moved = np.flatnonzero(old.routing != wanted.routing)
        slots = self._places[name] * self.room + np.unique(np.r_[old.routing[moved], wanted.routing[moved]])
        cost = self.job.operators[self._places[name]].cost
        rows = np.minimum(self._slots["length"][slots], self.in_flight)
        return float((rows * self._slots["speed"][slots] * cost).max(initial=0.0))
