"""The micro-batch engine: simulates Spark's epochs. It counts rows by shard instead of simulating single rows.

Epochs follow each other without a gap. An epoch processes the rows that arrived during the previous one. It takes a
fixed time, plus the stages of all operators, one after the other, each as long as its busiest slot or node. Shards move
between epochs, which costs only the time to send their state. With one core per slot and a steady load, the duration
of an epoch is ``D = o / (1 - rho)``, for an overhead ``o`` and a utilisation ``rho``.

Observations have what Spark's observer measures: the micro-batch law is calibrated from the epochs, not given away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.law_fit import LawFit
from rheostat.elastic.model.observation import LatencySummary, Observation, OperatorObservation
from rheostat.elastic.model.plan import Plan
from rheostat.errors import ConfigurationError
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Job, Operator, check_inputs
from rheostat.simulate.latency_bins import BINS, bin_of
from rheostat.workloads.arrivals import Workload

EPOCH_SECONDS = 0.25
"""Seconds of an epoch without rows: measured on local Spark, with a shuffle."""

TASK_SECONDS = 0.02
"""Seconds of a Python task without rows: measured on local Spark."""


@dataclass
class Epochs:
    """A running simulation of epochs: ``step`` simulates one epoch, ``apply`` changes the plan of the next.

    Attributes:
        job: the operators.
        cluster: nodes and their network.
        workload: the rows that arrive.
        plan: the plan of the next epoch.
        seed: seed of all random numbers.
        overhead: seconds that every epoch takes, besides its stages.
        task: seconds of a core that every slot takes in every epoch, besides its rows.
        trigger: least seconds between the starts of two epochs.
        time: seconds simulated so far.
        epoch: epochs simulated so far.
        switches: for each change that moved state to another node, the seconds that sending it took.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> from rheostat.workloads.arrivals import Constant
    >>> job = Job((Operator("work", shards=4, cost=0.001),))
    >>> steady = Constant(1000.0, [1, 1, 1, 1])
    >>> engine = Epochs(job, Cluster(1, 2), steady, Plan({"work": OperatorPlan.even(4, 2)}, 1), overhead=0.3, task=0.0)
    >>> seconds = [engine.step().observation.seconds for _ in range(60)]
    >>> round(float(np.mean(seconds[30:])), 1)  # 0.3 / (1 - 0.5)
    0.6
    """

    job: Job
    cluster: Cluster
    workload: Workload
    plan: Plan
    seed: int = 1
    overhead: float = EPOCH_SECONDS
    task: float = TASK_SECONDS
    trigger: float = 0.0
    time: float = 0.0
    epoch: int = 0

    def __post_init__(self) -> None:
        check_inputs(self.job, self.cluster, self.workload, self.plan)
        if not (self.overhead >= 0 and self.task >= 0 and self.overhead + self.trigger + self.task > 0):
            raise ConfigurationError(
                f"overhead={self.overhead}, task={self.task}: neither may be negative, and an epoch must take some time"
            )
        self._random = np.random.default_rng(self.seed)
        self._taken = 0.0  # rows that arrived before this time are in an earlier epoch
        self._waiting = {o.name: np.zeros(o.shards) for o in self.job.operators}  # rows that arrived later
        self._completed = {o.name: np.zeros(o.shards) for o in self.job.operators}  # rows since the start
        self._cores = np.full(self.cluster.nodes, self.cluster.cores, dtype=np.int64)
        self._speeds = self.cluster.node_speeds()
        self._migrated_bytes = 0.0  # since the last epoch
        self._transfer_seconds = 0.0  # of the state that moves before the next epoch
        self._moves = 0  # shards that moved since the start
        self._fit = LawFit.start(self.trigger)
        self.switches: list[float] = []

    @property
    def observed(self) -> Plan:
        """The plan of the next epoch."""
        return self.plan

    def step(self) -> Interval:
        """Simulate the time until an epoch begins, and the epoch."""
        before = self.time
        begin = max(before, self._taken + self.trigger)
        span = begin - self._taken
        last = self._draw_arrivals(before, begin)
        rows = {name: waiting + last[name] for name, waiting in self._waiting.items()}
        seconds, useful = self.overhead + self._transfer_seconds, {}
        for operator in self.job.operators:
            useful[operator.name], stage = self._run_stage(operator, rows[operator.name])
            seconds += stage
        self._taken, self.time, self.epoch = begin, begin + seconds, self.epoch + 1
        self._transfer_seconds = 0.0
        self._waiting = self._draw_arrivals(begin, self.time)
        first = self.job.operators[0].name
        offered = float(last[first].sum() + self._waiting[first].sum())
        # On average, a row waits for half the time in which the rows of its epoch arrive, and then for the epoch.
        interval = self._interval(rows, useful, offered, self.time - before, span / 2 + seconds)
        return replace(interval, observation=self._calibrated(interval.observation, seconds, span))

    def apply(self, plan: Plan) -> None:
        """Set the plan of the next epoch; state that moves to another node is sent before that epoch."""
        for name, wanted in plan.operators.items():
            old = self.plan.operators[name]
            operator = next(o for o in self.job.operators if o.name == name)
            wanted.check(operator.shards, self.cluster.nodes)
            before, after = old.nodes[old.routing], wanted.nodes[wanted.routing]
            far = before != after  # shards that move to another node
            self._moves += int((old.routing != wanted.routing).sum())
            if far.any():
                shards_out = np.bincount(before[far], minlength=self.cluster.nodes)
                shards_in = np.bincount(after[far], minlength=self.cluster.nodes)
                busiest = max(int(shards_out.max()), int(shards_in.max()))
                self._migrated_bytes += operator.state_bytes * float(far.sum())
                seconds = busiest * operator.state_bytes / self.cluster.bandwidth
                self._transfer_seconds += seconds
                self.switches.append(seconds)
        self.plan = Plan({**self.plan.operators, **plan.operators}, plan.nodes)

    def moved(self) -> dict[str, float]:
        """Return ``moves``, the number of shards that have moved to another slot so far."""
        return {"moves": float(self._moves)}

    def _draw_arrivals(self, begin: float, end: float) -> dict[str, Floats]:
        """Draw the rows that arrive in a span of time; return the rows that each operator gets from them, by shard."""
        first, *others = self.job.operators
        if end <= begin:
            return {o.name: np.zeros(o.shards) for o in self.job.operators}
        drawn = self._random.poisson(self.workload.rates(begin, end) * (end - begin)).astype(np.float64)
        rows = {first.name: drawn}
        for operator in others:
            rows[operator.name] = self._draw_inputs(operator, rows)
        return rows

    def _draw_inputs(self, operator: Operator, rows: dict[str, Floats]) -> Floats:
        """Draw the rows, by shard, that an operator gets from upstream operators with these rows.

        They are spread by the operator's weights; without weights, a row keeps the number of its shard.
        """
        total = np.zeros(operator.shards)
        for name in operator.inputs:
            sender = next(o for o in self.job.operators if o.name == name)
            sent = np.floor(rows[name] * sender.selectivity + self._random.random(len(rows[name])))
            if operator.weights is not None:
                total += self._random.multinomial(int(sent.sum()), operator.weights / operator.weights.sum())
            else:
                total += np.bincount(np.arange(len(sent)) % operator.shards, weights=sent, minlength=operator.shards)
        return total

    def _speed_of(self, name: str) -> Floats:
        """Return the speed of the node that every shard is on."""
        plan = self.plan.operators[name]
        speeds: Floats = self._speeds[np.clip(plan.nodes[plan.routing], 0, None)]
        return speeds

    def _run_stage(self, operator: Operator, rows: Floats) -> tuple[Floats, float]:
        """Return the busy seconds of every slot, and the seconds of the stage: of its busiest slot or node."""
        plan = self.plan.operators[operator.name]
        count = len(plan.nodes)
        used = plan.nodes >= 0
        speed = np.where(used, self._speeds[np.clip(plan.nodes, 0, None)], 1.0)
        busy = np.bincount(plan.routing, weights=rows, minlength=count) * operator.cost / speed
        by_slot = np.where(used, busy + self.task, 0.0)
        by_node = np.bincount(plan.nodes[used], weights=by_slot[used], minlength=self.cluster.nodes)
        return busy, float(max(by_slot.max(initial=0.0), (by_node / self.cluster.cores).max(initial=0.0)))

    def _calibrated(self, seen: Observation, busy: float, span: float) -> Observation:
        """Return the observation of an epoch with its length and the law, as calibrated up to it.

        Args:
            seen: what was observed of the epoch.
            busy: how long it took.
            span: seconds in which its rows arrived.
        """
        rows = float(seen.operators[self.job.operators[0].name].rows.sum())
        mean = span / 2 + busy
        latency = LatencySummary(rows, mean, mean, busy + 0.99 * span) if rows > 0 else LatencySummary()
        seen = replace(seen, busy=busy, committed=busy, span=span, cpus=float(self._cores.sum()), latency=latency)
        expected = self._fit.expected(seen)
        expected_latency = self._fit.expected_latency(seen, expected)
        self._fit = self._fit.after(seen)
        costs = self._fit.costs
        return replace(
            seen,
            operators={n: replace(o, cost=costs[n].per_row) if n in costs else o for n, o in seen.operators.items()},
            law=self._fit.law,
            expected=expected,
            expected_latency=expected_latency,
        )

    def _interval(
        self, rows: dict[str, Floats], useful: dict[str, Floats], offered: float, seconds: float, latency: float
    ) -> Interval:
        """Return what happened between the ends of two epochs.

        Args:
            rows: rows that the epoch completed, by operator and shard.
            useful: busy seconds, by operator and slot.
            offered: rows of the workload that arrived between the ends of the two epochs.
            seconds: time between the ends of the two epochs.
            latency: mean latency of the rows, in seconds.
        """
        observed, done, waited = {}, {}, {}
        bins = np.zeros((len(self.job.operators), BINS), dtype=np.int64)
        sends = {name for operator in self.job.operators for name in operator.inputs}
        for place, operator in enumerate(self.job.operators):
            name, counts = operator.name, rows[operator.name]
            self._completed[name] = self._completed[name] + counts
            done[name], waited[name] = counts.astype(np.int64), counts * latency
            bins[place, bin_of(latency)] = int(counts.sum())
            row_traffic = operator.row_bytes + operator.out_bytes * operator.selectivity * (name in sends)
            observed[name] = OperatorObservation(
                plan=self.plan.operators[name],
                arrived=self._completed[name] + self._waiting[name],
                completed=self._completed[name],
                useful=useful[name],
                latency=np.where(counts > 0, latency, np.nan),
                traffic=counts * (row_traffic / seconds),
                state=np.full(operator.shards, operator.state_bytes),
                work=counts * operator.cost / self._speed_of(name),
                coming=self._waiting[name],
                rows=counts,
                level=place,
            )
        admitted = int(rows[self.job.operators[0].name].sum())
        end_rows = sum(float(rows[o.name].sum()) for o in self.job.operators if o.name not in sends)
        migrated, self._migrated_bytes = self._migrated_bytes, 0.0
        rate = admitted / seconds  # as on Spark: the rows of the epoch, whenever they arrived
        observation = Observation(
            time=self.time,
            seconds=seconds,
            operators=observed,
            cores=self._cores,
            external=rate,
            wanted=rate,
            epoch=self.epoch,
        )
        return Interval(
            observation=observation,
            offered=int(offered),
            admitted=admitted,
            done=done,
            waited=waited,
            bins=bins,
            end_rows=int(end_rows),
            end_waited=end_rows * latency,
            remote=0.0,
            migrated=migrated,
            switching=0.0,
        )
