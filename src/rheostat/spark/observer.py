"""What an epoch measured on Spark: the reports of its tasks become one observation.

Tasks report useful seconds by shard. Rows by shard are known only where a policy has them counted ahead. Latency,
traffic and state by shard are not reported, so they are NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.routing.shard_load import ShardLoads, dense
from rheostat.spark.stage.task_reports import PartReport

Counted = Mapping[str, Mapping[int, int]]
"""Rows of an epoch, by component and shard, where they were counted before it."""


class Observer:
    """Makes observations of epochs, and keeps what is known of the work of every shard.

    Used by the epoch's thread alone. The first observation is what a checkpoint remembers.

    Args:
        shards: how many the checkpoint has.
        remembered: useful seconds by component and shard, as the checkpoint remembers them.
        cores: how many Spark has.
        began: when the query began, on the clock of ``observe``; the times of observations count from there.

    Attributes:
        loads: by component, how much work each shard caused lately.
        newest: what the last epoch measured.
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
        known = {n: self._of(n, loads.seconds, np.zeros(0)) for n, loads in self.loads.items() if loads.epochs}
        self.newest = Observation(time=0.0, seconds=0.0, operators=known, cores=self._cores)

    @property
    def hottest(self) -> dict[str, tuple[str, float]]:
        """By component, the busiest key of the last epoch and its share of the component's work."""
        return {name: seen.hottest for name, seen in self.newest.operators.items() if seen.hottest is not None}

    def before(self, counted: Counted) -> Observation:
        """What the last epoch measured, and the rows that are counted for the one that begins."""
        operators = dict(self.newest.operators)
        for name, rows in counted.items():
            seen = operators.get(name) or self._of(name, np.zeros(0), np.zeros(0))
            operators[name] = replace(seen, coming=dense(rows, self._shards))
        return replace(self.newest, operators=operators)

    def expected(self, counted: Counted) -> dict[str, Floats]:
        """Useful seconds by component and shard to expect: of the rows counted, or else those of the epochs before."""
        found = {name: known.seconds for name, known in self.loads.items()}
        for name, rows in counted.items():
            found[name] = self.loads[name].expected(dense(rows, self._shards))
        return found

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
        """What an epoch measured.

        Args:
            reports: of all its tasks.
            counted: its rows by component and shard, where they were counted.
            plan: where its components ran.
            epoch: its number.
            time: when it ended, in seconds on a clock that does not go back.
            seconds: how long it took.
            rows: that its sources gave.
        """
        by_component: dict[str, list[PartReport]] = {}
        for report in reports:
            by_component.setdefault(report.component, []).append(report)
        operators = {}
        for name, done in by_component.items():
            seen = self._measured(name, done, counted.get(name), plan.operators.get(name))
            operators[name] = seen
            taken = dense(counted[name], self._shards) if name in counted else None
            self.loads[name] = self.loads[name].with_epoch(seen.work, taken)
        self.newest = Observation(
            time=time - self._began,
            seconds=seconds,
            operators=operators,
            cores=self._cores,
            external=rows / seconds if seconds > 0 else float("nan"),
            epoch=epoch,
        )
        return self.newest

    def _measured(
        self, name: str, reports: list[PartReport], counted: Mapping[int, int] | None, plan: OperatorPlan | None
    ) -> OperatorObservation:
        """What the tasks of one component say together."""
        work = np.zeros(self._shards)
        numbers = np.zeros(1, dtype=np.int64) if plan is None else np.unique(plan.routing)
        useful = np.zeros(1 if plan is None else len(plan.nodes))
        hottest, most = None, 0.0
        for report in reports:
            for shard, spent in report.shards.items():
                work[shard] += spent
            mine = sum(report.shards.values())
            useful[numbers[report.slot]] += mine
            if report.hottest is not None and report.hottest[2] * mine > most:
                hottest, most = report.hottest[1], report.hottest[2] * mine
        if counted is not None:
            self._rows[name] = np.nan_to_num(self._rows[name]) + dense(counted, self._shards)
        found = self._of(name, work, useful, plan)
        return found if hottest is None else replace(found, hottest=(hottest, most / max(float(work.sum()), 1e-12)))

    def _of(self, name: str, work: Floats, useful: Floats, plan: OperatorPlan | None = None) -> OperatorObservation:
        """An observation of a component. All rows of an epoch are completed in it."""
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
