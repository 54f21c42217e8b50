"""Helpers for the simulator's tests: rows that arrive at given times, and small engines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.workloads.arrivals import Arrivals

UNBOUNDED = 10**9


class Scripted:
    """Rows as pairs of time and shard."""

    def __init__(self, rows: Iterable[tuple[float, int]], shards: int) -> None:
        found = sorted(rows)
        self.shards, self.seconds = shards, np.inf
        self._times = np.array([time for time, _ in found], dtype=np.float64)
        self._goals = np.array([shard for _, shard in found], dtype=np.int32)

    def between(self, begin: float, end: float) -> Arrivals:
        first, last = self._times.searchsorted((begin, end))
        return Arrivals(self._times[first:last].copy(), self._goals[first:last].copy())

    def rates(self, begin: float, end: float) -> npt.NDArray[np.float64]:
        counts = np.bincount(self.between(begin, end).shards, minlength=self.shards)
        return counts / (end - begin)


def slots_of(*routing: int, nodes: Iterable[int] | None = None) -> OperatorPlan:
    """A plan with this routing; all slots are on node 0 by default."""
    where = np.zeros(max(routing) + 1, dtype=np.int64) if nodes is None else np.array(list(nodes))
    return OperatorPlan(np.array(routing), where)


def engine(
    rows: Iterable[tuple[float, int]],
    plan: OperatorPlan,
    cost: float = 0.01,
    nodes: int = 1,
    interval: float = 0.1,
    tick: float = 0.01,
    bandwidth: float = np.inf,
    state: float = 1000.0,
    row_bytes: float = 0.0,
    queue: int = UNBOUNDED,
    costs: dict[str, Any] | None = None,
    **more: Any,
) -> Continuous:
    """An engine with one operator, ``work``, that gets the rows."""
    shards = len(plan.routing)
    work = Operator("work", shards, cost, row_bytes=row_bytes, state_bytes=state)
    return Continuous(
        Job((work,)),
        Cluster(nodes, 16, bandwidth),
        Scripted(rows, shards),
        Plan({"work": plan}, nodes),
        timing=Timing(tick, interval),
        costs=Costs(queue=queue, **(costs or {})),
        **{"room": 8, **more},
    )


def steps(running: Continuous, count: int) -> list[Interval]:
    return [running.step() for _ in range(count)]


def done(seen: Iterable[Interval], operator: str = "work") -> list[int]:
    """Rows completed, by shard."""
    total: list[int] = np.sum([interval.done[operator] for interval in seen], axis=0).tolist()
    return total


def waited(seen: Iterable[Interval], operator: str = "work") -> list[float]:
    """Sum of latencies, by shard."""
    total: list[float] = np.sum([interval.waited[operator] for interval in seen], axis=0).tolist()
    return total


def exact(expected: Any) -> Any:
    """Compare up to rounding."""
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


def move(running: Continuous, plan: OperatorPlan, operator: str = "work") -> None:
    running.apply(Plan({**running.plan.operators, operator: plan}, running.plan.nodes))
