"""The micro-batch engine: what Spark does, epoch by epoch, with rows counted by shard instead of followed one by one.

Epochs follow each other without a gap. An epoch takes the rows that arrived while the one before it ran; it costs a
fixed time, then every operator's stage, one after the other, each as long as its busiest node. Shards change hands
between epochs, and all that costs is sending their state. With one core per slot and steady load this is the law
``D = o / (1 - rho)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import Plan
from rheostat.errors import ConfigurationError
from rheostat.simulate.continuous.engine import Interval
from rheostat.simulate.continuous.kernel import bin_of
from rheostat.simulate.continuous.records import BINS
from rheostat.simulate.job import Cluster, Job, Operator
from rheostat.workloads.arrivals import Workload

EPOCH_SECONDS = 0.25
"""What an epoch costs without any row: measured on local Spark, with a shuffle."""

TASK_SECONDS = 0.02
"""What a task costs without any row: measured on local Spark, a Python task."""


@dataclass
class Epochs:
    """A running simulation of epochs: ``step`` takes one, ``apply`` changes the plan of the next.

    Attributes:
        job: operators and how rows go between them.
        cluster: nodes and their network.
        workload: where rows come from.
        plan: where the next epoch runs.
        seed: everything random follows from it.
        overhead: seconds that every epoch costs.
        task: seconds of a core that every slot costs in every epoch.
        trigger: an epoch begins at the earliest so many seconds after the one before it.
        time: seconds simulated so far.
        epoch: epochs simulated so far.

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
        if self.job.operators[0].shards != self.workload.shards:
            raise ConfigurationError(
                f"operator {self.job.operators[0].name!r} has {self.job.operators[0].shards} shards, but the workload "
                f"has {self.workload.shards}: they have to be the same"
            )
        if not (self.overhead >= 0 and self.task >= 0 and self.overhead + self.trigger + self.task > 0):
            raise ConfigurationError(f"overhead={self.overhead}, task={self.task}: an epoch takes some time")
        if set(self.plan.operators) != {o.name for o in self.job.operators}:
            raise ConfigurationError(f"the plan has operators {sorted(self.plan.operators)}, not those of the job")
        for operator in self.job.operators:
            self.plan.operators[operator.name].check(operator.shards, self.cluster.nodes)
        self._random = np.random.default_rng(self.seed)
        self._taken = 0.0  # rows that arrived before this time have been taken
        self._waiting = {o.name: np.zeros(o.shards) for o in self.job.operators}  # rows that arrived since
        self._counts = {o.name: np.zeros(o.shards) for o in self.job.operators}
        self._cores = np.full(self.cluster.nodes, self.cluster.cores, dtype=np.int64)
        self._speeds = np.ones(self.cluster.nodes)
        self._speeds[: len(self.cluster.speeds)] = self.cluster.speeds
        self._sent, self._transfer, self._moved = 0.0, 0.0, 0
        self.switches: list[float] = []

    @property
    def observed(self) -> Plan:
        """Where the next epoch runs."""
        return self.plan

    def step(self) -> Interval:
        """One epoch, and the time until it began."""
        before = self.time
        begin = max(before, self._taken + self.trigger)
        span = begin - self._taken
        late = self._arrived(before, begin)
        rows = {name: waiting + late[name] for name, waiting in self._waiting.items()}
        seconds, useful = self.overhead + self._transfer, {}
        for operator in self.job.operators:
            useful[operator.name], stage = self._stage(operator, rows[operator.name])
            seconds += stage
        self._taken, self.time, self.epoch = begin, begin + seconds, self.epoch + 1
        self._transfer = 0.0
        self._waiting = self._arrived(begin, self.time)
        first = self.job.operators[0].name
        offered = float(late[first].sum() + self._waiting[first].sum())
        # A row waits half the time in which rows of its epoch arrive, and then for the whole epoch.
        return self._interval(rows, useful, offered, self.time - before, span / 2 + seconds)

    def apply(self, plan: Plan) -> None:
        """The plan of the next epoch; state that changes its node is sent before that."""
        for name, wanted in plan.operators.items():
            old = self.plan.operators[name]
            operator = next(o for o in self.job.operators if o.name == name)
            wanted.check(operator.shards, self.cluster.nodes)
            before, after = old.nodes[old.routing], wanted.nodes[wanted.routing]
            moved = before != after
            self._moved += int((old.routing != wanted.routing).sum())
            if moved.any():
                out = np.bincount(before[moved], minlength=self.cluster.nodes)
                into = np.bincount(after[moved], minlength=self.cluster.nodes)
                busiest = max(int(out.max()), int(into.max()))
                self._sent += operator.state_bytes * float(moved.sum())
                seconds = busiest * operator.state_bytes / self.cluster.bandwidth
                self._transfer += seconds
                self.switches.append(seconds)
        self.plan = Plan({**self.plan.operators, **plan.operators}, plan.nodes)

    def moved(self) -> dict[str, float]:
        """How many shards ever changed their slot."""
        return {"moves": float(self._moved)}

    def _arrived(self, begin: float, end: float) -> dict[str, Floats]:
        """Rows of the workload in some time, and what they become in every operator: stages of one epoch take them."""
        first, *others = self.job.operators
        if end <= begin:
            return {o.name: np.zeros(o.shards) for o in self.job.operators}
        drawn = self._random.poisson(self.workload.rates(begin, end) * (end - begin)).astype(np.float64)
        rows = {first.name: drawn}
        for operator in others:
            rows[operator.name] = self._received(operator, rows)
        return rows

    def _received(self, operator: Operator, rows: dict[str, Floats]) -> Floats:
        """Rows that come from other operators, in the proportions of the weights, or shard by shard."""
        total = np.zeros(operator.shards)
        for name in operator.inputs:
            sender = next(o for o in self.job.operators if o.name == name)
            sent = np.floor(rows[name] * sender.selectivity + self._random.random(len(rows[name])))
            if operator.weights is not None:
                total += self._random.multinomial(int(sent.sum()), operator.weights / operator.weights.sum())
            else:
                total += np.bincount(np.arange(len(sent)) % operator.shards, weights=sent, minlength=operator.shards)
        return total

    def _stage(self, operator: Operator, rows: Floats) -> tuple[Floats, float]:
        """Busy seconds of every slot, and how long the stage lasts: its busiest slot, or its busiest node's cores."""
        plan = self.plan.operators[operator.name]
        count = len(plan.nodes)
        used = plan.nodes >= 0
        speed = np.where(used, self._speeds[np.clip(plan.nodes, 0, None)], 1.0)
        busy = np.bincount(plan.routing, weights=rows, minlength=count) * operator.cost / speed
        whole = np.where(used, busy + self.task, 0.0)
        by_node = np.bincount(plan.nodes[used], weights=whole[used], minlength=self.cluster.nodes) / self.cluster.cores
        return busy, float(max(whole.max(initial=0.0), by_node.max(initial=0.0)))

    def _interval(
        self, rows: dict[str, Floats], useful: dict[str, Floats], offered: float, seconds: float, latency: float
    ) -> Interval:
        """What was observed between the ends of two epochs; counters and seconds both cover that time."""
        observed, done, waited = {}, {}, {}
        bins = np.zeros((len(self.job.operators), BINS), dtype=np.int64)
        sends = {name for operator in self.job.operators for name in operator.inputs}
        for place, operator in enumerate(self.job.operators):
            name, counts = operator.name, rows[operator.name]
            self._counts[name] = self._counts[name] + counts
            done[name], waited[name] = counts.astype(np.int64), counts * latency
            bins[place, bin_of(latency)] = int(counts.sum())
            size = operator.row_bytes + operator.out_bytes * operator.selectivity * (name in sends)
            observed[name] = OperatorObservation(
                plan=self.plan.operators[name],
                arrived=self._counts[name] + self._waiting[name],
                completed=self._counts[name],
                useful=useful[name],
                latency=np.where(counts > 0, latency, np.nan),
                traffic=counts * (size / seconds),
                state=np.full(operator.shards, operator.state_bytes),
                coming=self._waiting[name],
            )
        taken = int(rows[self.job.operators[0].name].sum())
        ends = sum(float(rows[o.name].sum()) for o in self.job.operators if o.name not in sends)
        sent, self._sent = self._sent, 0.0
        rate = offered / seconds
        observation = Observation(
            time=self.time,
            seconds=seconds,
            operators=observed,
            cores=self._cores,
            external=rate,
            wanted=rate,
            epoch=self.epoch,
        )
        return Interval(observation, int(offered), taken, done, waited, bins, int(ends), ends * latency, 0.0, sent, 0.0)
