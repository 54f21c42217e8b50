"""Run a policy on a simulated engine: observe, decide, apply, in every interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rheostat.elastic.loop.actuation import carry_out
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.model.success import Success
from rheostat.errors import ConfigurationError
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import ROUNDING, Cluster, Job
from rheostat.simulate.latency_bins import BINS, quantile
from rheostat.simulate.trace import Trace, TracedDecision


class SimulationEngine(Protocol):
    """An engine that policies can run on: ``Continuous`` or ``Epochs``.

    Attributes:
        job: the operators.
        cluster: nodes and their network.
        time: seconds simulated so far.
        switches: seconds that slots were stopped or state was sent, one value per change; see the engines.
    """

    job: Job
    cluster: Cluster
    time: float
    switches: list[float]

    @property
    def observed(self) -> Plan:
        """Where operators run now."""

    def step(self) -> Interval:
        """Simulate one interval or epoch."""

    def apply(self, plan: Plan) -> None:
        """Start to change to a plan."""

    def moved(self) -> dict[str, float]:
        """Return how many shards have moved so far, and what that took; see the engines."""


@dataclass(frozen=True)
class LatencyBound:
    """A latency bound (L, T), as in StreamSwitch: the mean latency over a window of T seconds must be at most L.

    Attributes:
        seconds: the largest mean latency of an operator, in seconds (L).
        window: length of the window in seconds (T).
        operators: bounds of operators that have another one than ``seconds``, by name.
        end_to_end: the largest mean latency of the whole job, in seconds; None if it has no bound.
    """

    seconds: float = 1.0
    window: float = 1.0
    operators: Mapping[str, float] = field(default_factory=dict)
    end_to_end: float | None = None

    def __post_init__(self) -> None:
        values = {"seconds": self.seconds, "window": self.window, **self.operators}
        if self.end_to_end is not None:
            values["end_to_end"] = self.end_to_end
        for name, value in values.items():
            if not 0 < value < np.inf:
                raise ConfigurationError(f"{name} = {value}: write a finite number of seconds above 0")


@dataclass
class Simulation:
    """A policy that decides for a simulated engine.

    Attributes:
        engine: the engine.
        policy: the policy.
        every: number of intervals from one decision of the policy to the next.
        bound: the latency bound that success is measured by; None to measure no success.
        warm_up: seconds at the start that do not count for success and latency quantiles.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> from rheostat.elastic.policies import StreamSwitch
    >>> from rheostat.simulate.continuous.engine import Continuous
    >>> from rheostat.simulate.job import Operator
    >>> from rheostat.workloads.arrivals import Constant
    >>> job, load = Job((Operator("count", shards=8, cost=0.01),)), Constant(150.0, weights=[1] * 8)
    >>> engine = Continuous(job, Cluster(1, 4), load, Plan({"count": OperatorPlan.even(8, 1)}, 1))
    >>> trace = Simulation(engine, StreamSwitch()).run(30.0)
    >>> int(trace.slots["count"][0]), int(trace.slots["count"][-1])
    (1, 2)
    """

    engine: SimulationEngine
    policy: Policy
    every: int = 1
    bound: LatencyBound | None = None
    warm_up: float = 0.0

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ConfigurationError(f"every = {self.every}: write a whole number of intervals, 1 or more")

    def run(self, seconds: float, watch: Callable[[Interval], None] = lambda _: None) -> Trace:
        """Simulate and return the trace.

        Args:
            seconds: simulate until this time.
            watch: called with every interval.
        """
        engine, log = self.engine, _Log(self.engine, self.bound)
        control = Control.start(self.policy, engine.observed)
        observations: list[Observation] = []
        while engine.time < seconds - ROUNDING:
            before = engine.time
            interval = engine.step()
            watch(interval)
            log.add(interval, engine.time - before, counts=engine.time > self.warm_up + ROUNDING)
            observations.append(interval.observation)
            if len(observations) == self.every:
                control = self._decide(control, combine(observations), log)
                observations = []
        return log.trace(self.policy.name)

    def _decide(self, control: Control, observation: Observation, log: _Log) -> Control:
        """Let the policy decide, log its decisions, and apply them to the engine."""
        before = self.engine.observed
        begin = time.perf_counter()
        result = turn(control, observation, before)
        log.decision_seconds.append(time.perf_counter() - begin)
        for revision in result.accepted:
            old, new = before.operators[revision.operator], revision.plan
            log.decisions.append(
                TracedDecision(
                    time=self.engine.time,
                    operator=revision.operator,
                    action=str(revision.action),
                    slots=(old.slots, new.slots),
                    moved=int((old.routing != new.routing).sum()),
                    reasons=revision.reasons,
                )
            )
        return carry_out(result, self.engine, self.engine.time)


def combine(observations: Sequence[Observation]) -> Observation:
    """Combine successive observations into one: totals and means over all of them, the rest from the last one."""
    last = observations[-1]
    if len(observations) == 1:
        return last
    seconds = sum(o.seconds for o in observations)
    operators = {}
    for name, final in last.operators.items():
        parts = [o.operators[name] for o in observations]
        useful = np.zeros(max(len(part.useful) for part in parts))
        for part in parts:
            useful[: len(part.useful)] += part.useful
        work = sum((part.work for part in parts), np.zeros(len(final.work)))
        traffic = np.zeros(len(final.traffic))
        for observation, part in zip(observations, parts, strict=True):
            traffic = traffic + part.traffic * observation.seconds
        operators[name] = replace(final, useful=useful, traffic=traffic / seconds, work=work)
    external = sum(o.external * o.seconds for o in observations) / seconds
    wanted = sum(o.wanted * o.seconds for o in observations) / seconds
    return replace(last, seconds=seconds, operators=operators, external=external, wanted=wanted)


class _Log:
    """Collects what a run did, and makes a trace of it.

    Attributes:
        decisions: all decisions so far.
        decision_seconds: real seconds that the policy took, one value per turn.
    """

    def __init__(self, engine: SimulationEngine, bound: LatencyBound | None) -> None:
        self._engine, self._bound = engine, bound
        self._names = [o.name for o in engine.job.operators]
        self._shards = {o.name: o.shards for o in engine.job.operators}
        self._lines: list[tuple[float, ...]] = []  # one per interval, with the columns that ``trace`` reads
        self._success: dict[str, Success] = {}
        self._end_to_end: Success | None = None
        self._bins: npt.NDArray[np.int64] = np.zeros((len(self._names), BINS), dtype=np.int64)
        self.decisions: list[TracedDecision] = []
        self.decision_seconds: list[float] = []

    def add(self, interval: Interval, seconds: float, counts: bool) -> None:
        """Add an interval.

        Args:
            interval: what happened in it.
            seconds: its length.
            counts: True if it counts for success and latency quantiles, False during the warm-up.
        """
        if counts:
            self._bins += interval.bins
            if self._bound is not None:
                self._measure_success(interval, seconds, self._bound)
        mean = interval.end_waited / interval.end_rows if interval.end_rows else np.nan
        plan = self._engine.observed
        latencies = [float(interval.waited[n].sum()) / max(int(interval.done[n].sum()), 1) for n in self._names]
        slots = [float(plan.operators[n].slots) for n in self._names]
        rates = (interval.offered / seconds, interval.admitted / seconds, interval.end_rows / seconds)
        nodes = float(np.count_nonzero(plan.cores(self._engine.cluster.nodes)))
        rest = (quantile(interval.bins[0], 0.99), nodes, interval.remote / seconds, interval.migrated / seconds)
        self._lines.append((self._engine.time, seconds, *rates, mean, *rest, *latencies, *slots))

    def trace(self, policy: str) -> Trace:
        """Return the trace of all intervals, under the name of the policy."""
        count = len(self._names)
        columns = np.array(self._lines).reshape(-1, 10 + 2 * count).T
        return Trace(
            policy=policy,
            time=columns[0],
            seconds=columns[1],
            offered=columns[2],
            admitted=columns[3],
            throughput=columns[4],
            latency=columns[5],
            p99=columns[6],
            nodes=columns[7],
            remote=columns[8],
            migrated=columns[9],
            operator_latency=dict(zip(self._names, columns[10 : 10 + count], strict=True)),
            slots=dict(zip(self._names, columns[10 + count :], strict=True)),
            decisions=tuple(self.decisions),
            decision_seconds=np.array(self.decision_seconds),
            switches=tuple(self._engine.switches),
            success={name: success.rates() for name, success in self._success.items()},
            end_to_end=float(self._end_to_end.rates()[0]) if self._end_to_end is not None else np.nan,
            moved=self._engine.moved(),
            bins=self._bins,
        )

    def _measure_success(self, interval: Interval, seconds: float, bound: LatencyBound) -> None:
        if not self._success:
            limits = {n: bound.operators.get(n, bound.seconds) for n in self._names}
            self._success = {n: Success(self._shards[n], limits[n], bound.window) for n in self._names}
            self._end_to_end = Success(1, bound.end_to_end, bound.window) if bound.end_to_end else None
        for name, success in self._success.items():
            observed = interval.observation.operators[name]
            success.add(interval.done[name], interval.waited[name], observed.arrived > observed.completed, seconds)
        if self._end_to_end is not None:
            # Whether rows are inside the job is not counted: assume that some are.
            self._end_to_end.add(
                np.array([interval.end_rows]), np.array([interval.end_waited]), np.array([True]), seconds
            )
