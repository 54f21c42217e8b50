"""Runs a policy on an engine: observe, decide, apply, interval after interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.elastic.control import Control, turn
from rheostat.elastic.plan import Plan
from rheostat.elastic.policy import Policy
from rheostat.simulate.continuous import Continuous, Interval
from rheostat.simulate.records import BINS
from rheostat.simulate.success import Success
from rheostat.simulate.trace import Decision, Trace, quantile


@dataclass(frozen=True)
class Bound:
    """A latency bound (L, T) that success is measured by.

    Attributes:
        seconds: mean latency that is allowed: L.
        window: seconds over which it is taken: T.
        operators: bounds of single operators, if they differ.
    """

    seconds: float = 1.0
    window: float = 1.0
    operators: Mapping[str, float] | None = None

    def of(self, operator: str) -> float:
        """The bound of an operator."""
        return (self.operators or {}).get(operator, self.seconds)


@dataclass
class Simulation:
    """A policy and an engine that it decides for.

    Attributes:
        every: intervals between two decisions.
        bound: what success is measured by; nothing is measured without one.
        warm_up: seconds that do not count for success.
    """

    engine: Continuous
    policy: Policy
    every: int = 1
    bound: Bound | None = None
    warm_up: float = 0.0
    end_to_end: float | None = None

    def run(self, seconds: float, watch: Callable[[Interval], None] = lambda _: None) -> Trace:
        """Simulate so many seconds."""
        engine, control = self.engine, Control.start(self.policy, self.engine.observed)
        lines: list[tuple[float, ...]] = []
        slots: list[list[int]] = []
        names = [o.name for o in engine.job.operators]
        decisions: list[Decision] = []
        thought: list[float] = []
        bins = np.zeros((len(names), BINS), dtype=np.int64)
        success = self._success(names)
        path = Success(1, self.end_to_end, self._intervals()) if self.end_to_end else None
        for number in range(round(seconds / engine.timing.interval)):
            seen = engine.step()
            watch(seen)
            if engine.time > self.warm_up + 1e-9:
                bins += seen.bins
                for name, kept in success.items():
                    observed = seen.observation.operators[name]
                    kept.add(seen.done[name], seen.waited[name], observed.arrived > observed.completed)
                if path is not None:
                    path.add(np.array([seen.end_rows]), np.array([seen.end_waited]), np.array([True]))
            control = self._decided(control, seen, number, decisions, thought)
            lines.append(_line(seen, engine))
            slots.append([engine.plan.operators[n].slots for n in names])
        columns = np.array(lines).T
        counted = np.array(slots, dtype=np.float64).T
        return Trace(
            self.policy.name,
            *columns[:6],
            operator_latency={n: columns[9 + i] for i, n in enumerate(names)},
            slots={n: counted[i] for i, n in enumerate(names)},
            nodes=columns[6],
            remote=columns[7],
            migrated=columns[8],
            decisions=tuple(decisions),
            decision_seconds=np.array(thought),
            switches=tuple(engine.switches),
            success={name: kept.rates() for name, kept in success.items()},
            end_to_end=float(path.rates()[0]) if path is not None else float("nan"),
            moved=engine.moved(),
            bins=bins,
        )

    def _success(self, names: list[str]) -> dict[str, Success]:
        if self.bound is None:
            return {}
        shards = {o.name: o.shards for o in self.engine.job.operators}
        return {n: Success(shards[n], self.bound.of(n), self._intervals()) for n in names}

    def _intervals(self) -> int:
        window = self.bound.window if self.bound else 1.0
        return max(1, round(window / self.engine.timing.interval))

    def _decided(
        self, control: Control, seen: Interval, number: int, decisions: list[Decision], thought: list[float]
    ) -> Control:
        if (number + 1) % self.every:
            return control
        begin = time.perf_counter()
        before: Plan = self.engine.observed
        result = turn(control, seen.observation, before)
        thought.append(time.perf_counter() - begin)
        for revision in result.accepted:
            old = before.operators[revision.operator]
            moved = int((old.routing != revision.plan.routing).sum())
            pair = (old.slots, revision.plan.slots)
            decisions.append(
                Decision(self.engine.time, revision.operator, str(revision.action), pair, moved, revision.reasons)
            )
        if result.request is not None:
            self.engine.apply(result.request)
        return result.control


def _line(seen: Interval, engine: Continuous) -> tuple[float, ...]:
    """The values of one interval."""
    seconds = engine.timing.interval
    mean = seen.end_waited / seen.end_rows if seen.end_rows else float("nan")
    latencies = [
        float(seen.waited[n].sum() / seen.done[n].sum()) if seen.done[n].any() else float("nan") for n in seen.done
    ]
    return (
        engine.time,
        seen.offered / seconds,
        seen.admitted / seconds,
        seen.end_rows / seconds,
        mean,
        quantile(seen.bins[0], 0.99),
        float(np.count_nonzero(engine.plan.cores(engine.cluster.nodes))),
        seen.remote / seconds,
        seen.migrated / seconds,
        *latencies,
    )
