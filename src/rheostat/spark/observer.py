"""Turns the task reports of an epoch into one observation for the policy loop.

An observation is made in three steps, because an epoch tells its numbers one after the other:

1. ``observe``, before the commit: rows, work, bytes and state by shard, usage by slot.
2. ``commit``, right after it: latency, from the arrival of rows to this moment.
3. ``before``, when the next epoch begins: the length of the epoch and what sources hold back, from Spark's progress;
   then the law is compared with what happened, and calibrated.

What is not known is NaN.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.law_fit import LawFit
from rheostat.elastic.model.node_speeds import NodeSpeeds, host_speeds
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.roster import ClusterNode, Roster
from rheostat.elastic.routing.shard_load import ShardLoads, dense
from rheostat.planning.tables import Component
from rheostat.spark.epoch.clocks import BatchStart
from rheostat.spark.shard_sums import ShardSums
from rheostat.spark.slot_usage import SlotUsage, processors_of
from rheostat.spark.source_progress import SparkProgress, rows_between
from rheostat.spark.stage.task_reports import PartReport
from rheostat.spark.state_sizes import StateSizes
from rheostat.state.segments import Segment

NAN = float("nan")

_ASK_AGAIN = 0.006
"""Seconds between two questions whether Spark has the progress of an epoch."""

_QUESTIONS = 50
"""How often it is asked before the next epoch begins."""

SparkAnswer = Callable[[int | None], str | None]
"""Asks Spark for its newest progress as JSON; with an epoch, for that of the epoch alone."""

Counted = Mapping[str, Mapping[int, int]]
"""Rows of an epoch by component and shard, for the components whose rows were counted before the epoch."""


class Observer:
    """Makes one observation per epoch, and keeps the recent load of every shard.

    Only the thread of the epochs uses it. Before the first epoch, the observation holds the loads in the checkpoint.

    Args:
        shards: number of shards.
        remembered: by component, the loads of its shards in the checkpoint.
        cores: number of cores that Spark has.
        began: when the query began, on the clock of ``observe``; the times of observations count from there.
        components: the components of the plan, for their levels and tables.
        trigger: least seconds between the begins of two epochs.

    Attributes:
        loads: by component, the recent useful seconds of every shard.
        newest: the observation of the last epoch.
        start: when Spark began the epoch that runs, and the offsets it ends at; None if unknown.
        points: latencies of the rows of the last epoch in seconds, and the rows that each stands for.
    """

    def __init__(
        self,
        shards: int,
        remembered: Mapping[str, ShardLoads],
        cores: int = 1,
        began: float = 0.0,
        *,
        components: Iterable[Component] = (),
        trigger: float = 0.0,
    ) -> None:
        self._shards = shards
        self._began = began
        self._roster = Roster((ClusterNode("", "", cores),))
        self._node_delay = NAN
        self._speeds = NodeSpeeds()
        self._uneven = False
        self._components = {c.name: c for c in components}
        self._rows = {name: np.zeros(shards) for name in remembered}
        self._sums: dict[str, ShardSums] = {}
        self._sizes = StateSizes(shards)
        self._fit = LawFit.start(trigger)
        self._spark_progress: SparkAnswer = _no_progress
        self._fetched: SparkProgress | None = None
        self.start: BatchStart | None = None
        self._span = self._behind = NAN
        self._complete = True
        self.loads = dict(remembered)
        operators = {n: self._of(n, loads.seconds, np.zeros(0)) for n, loads in self.loads.items() if loads.epochs}
        self.newest = Observation(time=0.0, seconds=0.0, operators=operators, cores=self._roster.cores)
        self.points: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))

    @property
    def hottest(self) -> dict[str, tuple[str, float]]:
        """By component, the busiest key of the last epoch and its share of the component's work."""
        return {name: seen.hottest for name, seen in self.newest.operators.items() if seen.hottest is not None}

    @property
    def host_speeds(self) -> dict[str, float] | None:
        """The speed of every host relative to the mean of all nodes; None while all are about equally fast."""
        if not self._uneven:
            return None
        return host_speeds(self._roster.hosts, self._speeds.by_node(self._roster.names))

    def follow(self, spark_progress: SparkAnswer) -> None:
        """Ask Spark for its progress from now on.

        Args:
            spark_progress: returns the newest progress as JSON, None before the first; or, called with an epoch, None
                unless it is that of the epoch.
        """
        self._spark_progress = spark_progress

    def fetch(self, wanted: threading.Event) -> None:
        """Ask Spark for its progress of the last epoch as soon as it has it, so that ``before`` need not.

        Args:
            wanted: set when the next epoch begins, and this has to end.
        """
        for _ in range(_QUESTIONS):
            if wanted.wait(_ASK_AGAIN):
                return
            try:
                text = self._spark_progress(self.newest.epoch)
            except Exception:
                return
            if text is not None:
                self._fetched = SparkProgress.from_json(text)
                return

    def see_nodes(self, roster: Roster, delay: float = NAN) -> None:
        """Note which nodes are there, for this observation and the next ones.

        Args:
            roster: the nodes by number.
            delay: seconds that the newest of them took to come; NaN if unknown.
        """
        self._roster = roster
        self._node_delay = delay
        self.newest = self._on_nodes(self.newest)

    def replan(self, components: Iterable[Component], loads: Mapping[str, ShardLoads]) -> None:
        """Observe other components from now on. What the last epoch measured of the old ones is given up.

        Args:
            components: the components of the new plan.
            loads: by component, the known loads of its shards.
        """
        self._components = {c.name: c for c in components}
        self._rows = {name: self._rows.get(name, np.zeros(self._shards)) for name in loads}
        self._sums = {}
        self.loads = dict(loads)
        self.newest = replace(self.newest, operators={})
        self._complete = True

    def before(self, counted: Counted, start: BatchStart | None = None, last: BatchStart | None = None) -> Observation:
        """The observation of the last epoch, completed, with what is known of the epoch that begins now.

        Args:
            counted: rows of the epoch by component and shard, where they were counted.
            start: when Spark began the epoch, and the offsets it ends at; None if unknown.
            last: the same of the epoch before; None to take what the last call was given.
        """
        progress, self._fetched = self._fetched or SparkProgress.from_json(self._spark_progress(None) or ""), None
        if not self._complete:
            self.newest = self._completed(progress)
            self._complete = True
        last = last or self.start
        self._span = (start.time - last.time) / 1e6 if start and last else NAN
        rows = rows_between(progress.sources, last.ends, start.ends) if progress and start and last else NAN
        self.start = start
        operators = dict(self.newest.operators)
        for name, by_shard in counted.items():
            seen = operators.get(name) or self._of(name, np.zeros(0), np.zeros(0))
            operators[name] = replace(seen, coming=dense(by_shard, self._shards))
        return replace(self.newest, operators=operators, next_rows=rows, next_span=self._span)

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
        seconds: float | None = None,
        rows: int,
        segments: Mapping[str, Sequence[Segment]] | None = None,
        homes: Mapping[str, Sequence[str]] | None = None,
    ) -> Observation:
        """Make the observation of an epoch, and add its work to the loads.

        Args:
            reports: the reports of all its tasks.
            counted: its rows by component and shard, where they were counted.
            plan: the plan it ran with.
            epoch: number of the epoch.
            time: when it ended, in seconds on a monotonic clock.
            seconds: length of the interval; the time since the last observation if None.
            rows: rows read from all sources.
            segments: by table, its live segments after the epoch; None if unknown.
            homes: by component, the host that each slot preferred; None if slots have no homes.
        """
        every = list(reports)
        elapsed = time - self._began - self.newest.time if seconds is None else seconds
        if segments is not None:
            self._sizes.add(every, segments)
        by_component: dict[str, list[PartReport]] = {}
        for report in every:
            by_component.setdefault(report.component, []).append(report)
        self._sums = {name: ShardSums.of(mine, self._shards) for name, mine in by_component.items()}
        operators = {}
        for name, mine in by_component.items():
            seen = self._summarise(name, mine, plan.operators.get(name), elapsed, segments)
            operators[name] = seen if not homes else replace(seen, homes=_by_slot(homes.get(name, ()), seen.plan))
            shard_rows = dense(counted[name], self._shards) if name in counted else None
            self.loads[name] = self.loads[name].with_epoch(seen.work, shard_rows)
        self._complete = False
        self._speeds = self._speeds.after(operators)
        self._uneven = self._speeds.uneven((node.name for node in self._roster.there), self._uneven)
        seen_here = Observation(
            time=time - self._began,
            seconds=elapsed,
            operators=operators,
            cores=self._roster.cores,
            external=rows / elapsed if elapsed > 0 else NAN,
            epoch=epoch,
            span=self._span,
            cpus=processors_of(every),
        )
        self.newest = self._on_nodes(seen_here)
        return self.newest

    def commit(self, now: float) -> Observation:
        """Add the latency of the rows of the epoch just observed, which is known when it is committed.

        Args:
            now: the time of the commit, in microseconds since 1970.
        """
        operators = {}
        for name, seen in self.newest.operators.items():
            sums = self._sums[name]
            p50, p99 = sums.quantiles(now)
            operators[name] = replace(seen, latency=sums.latency(now), p50=p50, p99=p99)
        together = ShardSums.joined(self._sums.values(), self._shards)
        self.points = together.points(now)
        self.newest = replace(
            self.newest,
            operators=operators,
            latency=together.summary(now),
            committed=(now - self.start.time) / 1e6 if self.start else NAN,
        )
        return self.newest

    def _on_nodes(self, seen: Observation) -> Observation:
        """An observation with the nodes that are there."""
        names = self._roster.names
        return replace(
            seen,
            cores=self._roster.cores,
            executors=names,
            hosts=self._roster.hosts,
            speeds=self._speeds.by_node(names),
            node_delay=self._node_delay,
        )

    def _completed(self, progress: SparkProgress | None) -> Observation:
        """The newest observation with Spark's progress of its epoch, and with the law before and after it."""
        seen = self.newest
        mine = progress if progress is not None and progress.epoch == seen.epoch else None
        behind = mine.behind if mine else NAN
        held_back = 0.0 if behind == 0 else np.maximum(behind - self._behind, 0.0)  # more than before; NaN if unknown
        wanted = seen.external + float(held_back) / seen.seconds if seen.seconds > 0 else NAN
        self._behind = behind
        seen = replace(seen, busy=mine.seconds if mine else seen.committed, behind=behind, wanted=wanted)
        expected = self._fit.expected(seen)
        expected_latency = self._fit.expected_latency(seen, expected)
        self._fit = self._fit.after(seen)
        costs = {name: fitted.per_row for name, fitted in self._fit.costs.items()}
        operators = {n: replace(o, cost=costs[n]) if n in costs else o for n, o in seen.operators.items()}
        return replace(
            seen, operators=operators, expected=expected, expected_latency=expected_latency, law=self._fit.law
        )

    def _summarise(
        self,
        name: str,
        reports: list[PartReport],
        plan: OperatorPlan | None,
        seconds: float,
        segments: Mapping[str, Sequence[Segment]] | None,
    ) -> OperatorObservation:
        """The observation of one component, from the reports of its tasks."""
        sums = self._sums[name]
        seen = self._of(name, sums.seconds, np.zeros(0), plan)
        usage = SlotUsage.of(reports, seen.plan)
        self._rows[name] = self._rows[name] + sums.rows
        component = self._components.get(name)
        state = seen.state
        if segments is not None and component is not None:
            state = self._sizes.of(s for table in component.tables for s in segments.get(table, ()))
        return replace(
            seen,
            arrived=self._rows[name],
            completed=self._rows[name],
            useful=usage.useful,
            traffic=sums.bytes / seconds if seconds > 0 else seen.traffic,
            state=state,
            rows=sums.rows,
            cpu=usage.cpu_seconds / seconds if seconds > 0 else np.full(len(usage.useful), np.nan),
            cpu_seconds=usage.cpu_seconds,
            queued=usage.queued,
            memory=usage.memory,
            hosts=usage.hosts,
            executors=usage.executors,
            hottest=_hottest(reports, float(sums.seconds.sum())),
        )

    def _of(self, name: str, work: Floats, useful: Floats, plan: OperatorPlan | None = None) -> OperatorObservation:
        """An observation of a component. An epoch completes all rows that arrived, so both counts are the same."""
        unknown = np.full(self._shards, np.nan)
        return OperatorObservation(
            plan=plan or OperatorPlan(np.zeros(self._shards, dtype=np.int64), np.zeros(1, dtype=np.int64)),
            arrived=self._rows[name],
            completed=self._rows[name],
            useful=useful,
            latency=unknown,
            traffic=unknown,
            state=unknown,
            work=work,
            p50=unknown,
            p99=unknown,
            level=self._components[name].level if name in self._components else 0,
        )


def _by_slot(homes: Sequence[str], plan: OperatorPlan) -> tuple[str, ...]:
    """The homes by the slot numbers of a plan, which may have gaps; epochs number slots without gaps."""
    found = [""] * len(plan.nodes)
    for number, home in zip(np.unique(plan.routing).tolist(), homes, strict=False):
        found[number] = home
    return tuple(found)


def _hottest(reports: Iterable[PartReport], work: float) -> tuple[str, float] | None:
    """The busiest key of all tasks, and its share of the component's work; None if unknown."""
    candidates = [(r.hottest[2] * r.useful, r.hottest[1]) for r in reports if r.hottest is not None]
    seconds, key = max(candidates, default=(0.0, ""), key=lambda c: c[0])
    return (key, seconds / max(work, 1e-12)) if seconds > 0 else None


def _no_progress(epoch: int | None) -> str | None:  # noqa: ARG001
    """Spark's progress where there is no Spark query."""
    return None
