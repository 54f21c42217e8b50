"""Turns the task reports of an epoch into one observation for the policy loop.

Tasks report useful seconds by shard. Rows by shard are known only if the policy has them counted before the epoch.
Latency, traffic and state by shard are not reported, so they are NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.routing.shard_load import ShardLoads, dense
from rheostat.spark.shard_sums import ShardSums
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport

Counted = Mapping[str, Mapping[int, int]]
"""Rows of an epoch by component and shard, for the components whose rows were counted before the epoch."""


class Observer:
    """Makes one observation per epoch, and keeps the recent load of every shard.

    Only the thread of the epochs uses it. Before the first epoch, the observation holds the loads in the checkpoint.

    Args:
        shards: number of shards.
        remembered: by component, pairs of a shard and its useful seconds, from the checkpoint.
        cores: number of cores that Spark has.
        began: when the query began, on the clock of ``observe``; the times of observations count from there.

    Attributes:
        loads: by component, the recent useful seconds of every shard.
        newest: the observation of the last epoch.
    """

    def __init__(
        self,
        shards: int,
        remembered: Mapping[str, Iterable[tuple[int, float]]],
        cores: int = 1,
        began: float = 0.0,
    ) -> None:
        self._shards = shards
        self._began = began
        self._cores = np.array([cores], dtype=np.int64)
        self._rows = {name: np.full(shards, np.nan) for name in remembered}
        self.loads = {name: ShardLoads.of(shards, pairs) for name, pairs in remembered.items()}
        operators = {n: self._of(n, loads.seconds, np.zeros(0)) for n, loads in self.loads.items() if loads.epochs}
        self.newest = Observation(time=0.0, seconds=0.0, operators=operators, cores=self._cores)

    @property
    def hottest(self) -> dict[str, tuple[str, float]]:
        """By component, the busiest key of the last epoch and its share of the component's work."""
        return {name: seen.hottest for name, seen in self.newest.operators.items() if seen.hottest is not None}

    def before(self, counted: Counted) -> Observation:
        """The observation of the last epoch, with the rows counted for the epoch that begins now."""
        operators = dict(self.newest.operators)
        for name, rows in counted.items():
            seen = operators.get(name) or self._of(name, np.zeros(0), np.zeros(0))
            operators[name] = replace(seen, coming=dense(rows, self._shards))
        return replace(self.newest, operators=operators)

    def expected(self, counted: Counted) -> dict[str, Floats]:
        """By component, the expected useful seconds of every shard in the epoch that begins now.

        They follow from the counted rows, or, where rows are not counted, from the loads of recent epochs.
        """
        seconds = {name: loads.seconds for name, loads in self.loads.items()}
        for name, rows in counted.items():
            seconds[name] = self.loads[name].expected(dense(rows, self._shards))
        return seconds

    def observe(
        self,
        reports: Iterable[PartReport],
        counted: Counted,
        plan: Plan,
        *,
        epoch: int,
        time: float,
        seconds: float,
        rows: int,
    ) -> Observation:
        """Make the observation of an epoch, and add its work to the loads.

        Args:
            reports: the reports of all its tasks.
            counted: its rows by component and shard, where they were counted.
            plan: the plan it ran with.
            epoch: number of the epoch.
            time: when it ended, in seconds on a monotonic clock.
            seconds: duration of the epoch.
            rows: rows read from all sources.
        """
        by_component: dict[str, list[PartReport]] = {}
        for report in reports:
            by_component.setdefault(report.component, []).append(report)
        operators = {}
        for name, component_reports in by_component.items():
            seen = self._summarise(name, component_reports, counted.get(name), plan.operators.get(name))
            operators[name] = seen
            shard_rows = dense(counted[name], self._shards) if name in counted else None
            self.loads[name] = self.loads[name].with_epoch(seen.work, shard_rows)
        self.newest = Observation(
            time=time - self._began,
            seconds=seconds,
            operators=operators,
            cores=self._cores,
            external=rows / seconds if seconds > 0 else float("nan"),
            epoch=epoch,
        )
        return self.newest

    def _summarise(
        self, name: str, reports: list[PartReport], counted: Mapping[int, int] | None, plan: OperatorPlan | None
    ) -> OperatorObservation:
        """The observation of one component, from the reports of its tasks."""
        work = ShardSums.of(reports, self._shards).seconds
        # Reports number the slots without gaps; the plan may have gaps.
        plan_slots = np.zeros(1, dtype=np.int64) if plan is None else np.unique(plan.routing)
        useful = np.zeros(1 if plan is None else len(plan.nodes))
        hottest_key, hottest_seconds = None, 0.0
        for report in reports:
            if report.slot == NO_SLOT:
                continue
            task_seconds = report.useful
            useful[plan_slots[report.slot]] += task_seconds
            if report.hottest is not None:
                _, key, share = report.hottest
                if share * task_seconds > hottest_seconds:
                    hottest_key, hottest_seconds = key, share * task_seconds
        if counted is not None:
            self._rows[name] = np.nan_to_num(self._rows[name]) + dense(counted, self._shards)
        seen = self._of(name, work, useful, plan)
        if hottest_key is None:
            return seen
        return replace(seen, hottest=(hottest_key, hottest_seconds / max(float(work.sum()), 1e-12)))

    def _of(self, name: str, work: Floats, useful: Floats, plan: OperatorPlan | None = None) -> OperatorObservation:
        """An observation of a component. An epoch completes all rows that arrived, so both counts are the same."""
        return OperatorObservation(
            plan=plan or OperatorPlan(np.zeros(self._shards, dtype=np.int64), np.zeros(1, dtype=np.int64)),
            arrived=self._rows[name],
            completed=self._rows[name],
            useful=useful,
            latency=np.full(self._shards, np.nan),
            traffic=np.full(self._shards, np.nan),
            state=np.full(self._shards, np.nan),
            work=work,
        )
