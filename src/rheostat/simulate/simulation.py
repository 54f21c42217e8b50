"""Runs a policy on an engine: observe, decide, apply, interval after interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rheostat.elastic.loop.loop import Control, carry_out, turn
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError
from rheostat.simulate.continuous.engine import Interval
from rheostat.simulate.continuous.records import BINS
from rheostat.simulate.job import Cluster, Job
from rheostat.simulate.success import Success
from rheostat.simulate.trace import Trace, TracedDecision, quantile


class SimulationEngine(Protocol):
    """What a policy can be run on: ``Continuous`` or ``Epochs``.

    Attributes:
        job: what it runs.
        cluster: what it runs on.
        time: seconds simulated so far.
        switches: seconds that each change stopped its slots.
    """

    job: Job
    cluster: Cluster
    time: float
    switches: list[float]

    @property
    def observed(self) -> Plan:
        """Where everything runs."""

    def step(self) -> Interval:
        """One interval or epoch."""

    def apply(self, plan: Plan) -> None:
        """Begin to make a plan real."""

    def moved(self) -> dict[str, float]:
        """What moving shards has taken so far."""


@dataclass(frozen=True)
class LatencyBound:
    """A latency bound (L, T) that success is measured by.

    Attributes:
        seconds: mean latency that is allowed: L.
        window: seconds over which it is taken: T.
        operators: bounds of single operators, if they differ.
        end_to_end: bound of the whole job, if there is one.
    """

    seconds: float = 1.0
    window: float = 1.0
    operators: Mapping[str, float] = field(default_factory=dict)
    end_to_end: float | None = None

    def __post_init__(self) -> None:
        whole = {} if self.end_to_end is None else {"end_to_end": self.end_to_end}
        given = {"seconds": self.seconds, "window": self.window, **whole, **self.operators}
        for name, value in given.items():
            if not 0 < value < np.inf:
                raise ConfigurationError(
                    f"{name} = {value}: a bound and its window are a finite number of seconds above 0"
                )


@dataclass
class Simulation:
    """A policy and an engine that it decides for.

    Attributes:
        engine: what is simulated.
        policy: who decides.
        every: intervals between two decisions.
        bound: what success is measured by; nothing is measured without one.
        warm_up: seconds that do not count for success.

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
            raise ConfigurationError(
                f"every = {self.every}: a policy is asked every interval, or every second, third, ..."
            )

    def run(self, seconds: float, watch: Callable[[Interval], None] = lambda _: None) -> Trace:
        """Simulate so many seconds; ``watch`` sees every interval."""
        engine, log = self.engine, _Log(self.engine, self.bound)
        control = Control.start(self.policy, engine.observed)
        seen: list[Observation] = []
        while engine.time < seconds - 1e-9:
            before = engine.time
            interval = engine.step()
            watch(interval)
            log.add(interval, engine.time - before, counts=engine.time > self.warm_up + 1e-9)
            seen.append(interval.observation)
            if len(seen) == self.every:
                control = self._decided(control, combined(seen), log)
                seen = []
        return log.trace(self.policy.name)

    def _decided(self, control: Control, seen: Observation, log: _Log) -> Control:
        before = self.engine.observed
        begin = time.perf_counter()
        result = turn(control, seen, before)
        log.thought.append(time.perf_counter() - begin)
        for revision in result.accepted:
            old, new = before.operators[revision.operator], revision.plan
            moved = int((old.routing != new.routing).sum())
            log.decisions.append(
                TracedDecision(
                    self.engine.time,
                    revision.operator,
                    str(revision.action),
                    (old.slots, new.slots),
                    moved,
                    revision.reasons,
                )
            )
        return carry_out(result, self.engine, self.engine.time)


def combined(seen: Sequence[Observation]) -> Observation:
    """Several observations, one after the other, as one: counters of the last, times of all."""
    last = seen[-1]
    if len(seen) == 1:
        return last
    seconds = sum(o.seconds for o in seen)
    operators = {}
    for name, part in last.operators.items():
        parts = [o.operators[name] for o in seen]
        useful = np.zeros(max(len(p.useful) for p in parts))
        for p in parts:
            useful[: len(p.useful)] += p.useful
        work = sum((p.work for p in parts), np.zeros(len(part.work)))
        traffic = sum((o.operators[name].traffic * o.seconds for o in seen), np.zeros(len(part.traffic))) / seconds
        operators[name] = replace(part, useful=useful, traffic=traffic, work=work)
    external = sum(o.external * o.seconds for o in seen) / seconds
    wanted = sum(o.wanted * o.seconds for o in seen) / seconds
    return replace(last, seconds=seconds, operators=operators, external=external, wanted=wanted)


class _Log:
    """What a run has seen so far."""

    def __init__(self, engine: SimulationEngine, bound: LatencyBound | None) -> None:
        self._engine, self._bound = engine, bound
        self._names = [o.name for o in engine.job.operators]
        self._shards = {o.name: o.shards for o in engine.job.operators}
        self._lines: list[tuple[float, ...]] = []
        self._success: dict[str, Success] = {}
        self._path: Success | None = None
        self._bins: npt.NDArray[np.int64] = np.zeros((len(self._names), BINS), dtype=np.int64)
        self.decisions: list[TracedDecision] = []
        self.thought: list[float] = []

    def add(self, seen: Interval, seconds: float, counts: bool) -> None:
        """One more interval; ``counts`` for success."""
        if counts:
            self._bins += seen.bins
            if self._bound is not None:
                self._judge(seen, seconds, self._bound)
        mean = seen.end_waited / seen.end_rows if seen.end_rows else np.nan
        plan = self._engine.observed
        latencies = [float(seen.waited[n].sum()) / max(int(seen.done[n].sum()), 1) for n in self._names]
        slots = [float(plan.operators[n].slots) for n in self._names]
        rates = (seen.offered / seconds, seen.admitted / seconds, seen.end_rows / seconds)
        nodes = float(np.count_nonzero(plan.cores(self._engine.cluster.nodes)))
        rest = (quantile(seen.bins[0], 0.99), nodes, seen.remote / seconds, seen.migrated / seconds)
        self._lines.append((self._engine.time, seconds, *rates, mean, *rest, *latencies, *slots))

    def trace(self, policy: str) -> Trace:
        """All of it."""
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
            decision_seconds=np.array(self.thought),
            switches=tuple(self._engine.switches),
            success={name: kept.rates() for name, kept in self._success.items()},
            end_to_end=float(self._path.rates()[0]) if self._path is not None else np.nan,
            moved=self._engine.moved(),
            bins=self._bins,
        )

    def _judge(self, seen: Interval, seconds: float, bound: LatencyBound) -> None:
        if not self._success:
            limits = {n: bound.operators.get(n, bound.seconds) for n in self._names}
            self._success = {n: Success(self._shards[n], limits[n], bound.window) for n in self._names}
            self._path = Success(1, bound.end_to_end, bound.window) if bound.end_to_end else None
        for name, kept in self._success.items():
            observed = seen.observation.operators[name]
            kept.add(seen.done[name], seen.waited[name], observed.arrived > observed.completed, seconds)
        if self._path is not None:
            self._path.add(np.array([seen.end_rows]), np.array([seen.end_waited]), np.array([True]), seconds)
