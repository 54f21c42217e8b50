"""Calibrates the micro-batch law from observed epochs.

Each epoch gives one equation: its length, less the time of its busiest slots, is the fixed overhead plus a time per
task plus a time per row read. Recursive least squares with fading memory solves the equations for these three; what the
epochs so far do not tell, such as the time of a task while the number of slots never changed, stays at what is usual.
Errors count relative to the length of the epoch, so one very long epoch, as after a restart, does little harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.row_costs import RowCosts
from rheostat.elastic.model.smoothing import EWMA_WEIGHT, blend

_MEMORY = 0.95
"""Weight of an epoch relative to the next one: about the last twenty count."""

_SCALE = np.array([1.0, 1.0, 1e4])
"""Units of the equations: an epoch, a task, ten thousand rows."""

_USUAL = np.array([0.25, 0.02, 0.0])
"""Seconds that an epoch, a task and a row are expected to take before anything was measured."""

_SPREAD = np.array([0.25, 0.02, 0.02])
"""How far, in the units of the equations, the true values may be from the usual ones."""

_NOISE = 0.05
"""Usual relative error of an equation."""

_WARM = 5
"""Epochs at the beginning that count less, because code is still being compiled and processes started."""

_SATURATED = 0.75
"""Share of all processors that tasks use, above which they wait for each other."""


@dataclass(frozen=True, eq=False)
class LawFit:
    """The law with everything that its calibration remembers.

    Attributes:
        law: the parameters so far.
        costs: by operator, the cost of a row of every shard.
        blocked: seconds that a task waits, for a disk, a service or a sleep, per second of computing; NaN if unknown.

    >>> from rheostat.elastic.model.plan import OperatorPlan
    >>> fit = LawFit.start()
    >>> for epoch in range(60):
    ...     slots, rows = 1 + epoch % 4, np.full(4, 100.0)
    ...     plan, work = OperatorPlan.even(4, slots), rows * 0.001
    ...     count = OperatorObservation(plan=plan, arrived=rows, completed=rows, useful=work, work=work, rows=rows)
    ...     busy = 0.3 + 0.03 * slots + np.bincount(plan.routing, weights=work).max()
    ...     seen = Observation(time=epoch, seconds=1.0, operators={"count": count}, cores=np.array([4]), busy=busy)
    ...     expected, fit = fit.expected(seen), fit.after(seen)
    >>> round(fit.law.overhead, 1), round(fit.law.task, 2), bool(abs(expected - busy) < 0.01 * busy)
    (0.3, 0.03, True)
    """

    law: EpochLaw
    costs: Mapping[str, RowCosts]
    blocked: float = float("nan")
    _matrix: Floats = field(default_factory=lambda: np.diag(_SPREAD**-2.0))
    _vector: Floats = field(default_factory=lambda: _USUAL * _SCALE / _SPREAD**2)

    @classmethod
    def start(cls, trigger: float = 0.0) -> LawFit:
        """Return the fit before the first epoch.

        Args:
            trigger: least seconds between the begins of two epochs.
        """
        return cls(EpochLaw(overhead=_USUAL[0], task=_USUAL[1], trigger=trigger), {})

    def expected(self, seen: Observation) -> float:
        """Return the length that the law expects of an epoch, given its rows and plan; NaN if costs are unknown."""
        work = {}
        for name, operator in seen.operators.items():
            costs = self.costs.get(name)
            if costs is None or len(operator.rows) != len(costs.rows) or np.isnan(costs.mean):
                return float("nan")
            work[name] = costs.per_row * np.nan_to_num(operator.rows)
        stages, slots = _stages(seen.operators, work, self.law)
        return float(self.law.fixed(slots) + self.law.reading * _rows_read(seen) + stages)

    def expected_latency(self, seen: Observation, length: float) -> float:
        """Return the mean latency to expect of an epoch with this length; NaN if unknown.

        Args:
            seen: the epoch.
            length: the expected length of the epoch.
        """
        return seen.span / 2 + max(length - self.law.tail, 0.0)

    def after(self, seen: Observation) -> LawFit:
        """Return the fit after one more epoch. An epoch whose length or work is unknown changes nothing."""
        if not (0 < seen.busy < np.inf) or not seen.operators:
            return self
        blocked, work = self._own_work(seen)
        costs = dict(self.costs)
        for name, operator in seen.operators.items():
            if len(operator.rows) and len(operator.rows) == len(work[name]):
                costs[name] = costs.get(name, RowCosts.none(len(work[name]))).after(work[name], operator.rows)
        parallelism = float(max(seen.cores.sum(), 1))
        if seen.cpus > 0 and np.isfinite(blocked):
            parallelism = min(parallelism, seen.cpus * (1 + blocked))
        law = replace(self.law, parallelism=parallelism, epochs=self.law.epochs + 1)
        if seen.committed >= 0:
            tail = max(seen.busy - seen.committed, 0.0)
            law = replace(law, tail=tail if self.law.epochs == 0 else blend(law.tail, tail, EWMA_WEIGHT))
        stages, slots = _stages(seen.operators, work, law)
        if not np.isfinite(stages):
            return LawFit(law, costs, blocked, self._matrix, self._vector)
        rest = max(seen.busy - stages, 0.0)
        weight = (_NOISE * seen.busy) ** -2.0 * min(law.epochs / _WARM, 1.0) ** 2
        equation = np.array([1.0, slots, _rows_read(seen)]) / _SCALE
        prior = np.diag(_SPREAD**-2.0)
        # What fades is what was learned, not what is usual.
        matrix = prior + _MEMORY * (self._matrix - prior) + weight * np.outer(equation, equation)
        vector = _USUAL * _SCALE / _SPREAD**2
        vector = vector + _MEMORY * (self._vector - vector) + weight * equation * rest
        overhead, task, reading = _not_negative(matrix, vector) / _SCALE
        law = replace(law, overhead=float(overhead), task=float(task), reading=float(reading))
        return LawFit(law, costs, blocked, matrix, vector)

    def _own_work(self, seen: Observation) -> tuple[float, dict[str, Floats]]:
        """Return how long tasks wait per second of computing, and by operator the work of every shard by itself.

        Where tasks used nearly all processors, they also waited for each other. That time says nothing about the rows,
        and is taken out: the time of computing, and the usual time of waiting for other things, remain.
        """
        work = {name: _work_by_shard(operator) for name, operator in seen.operators.items()}
        cpu = sum(float(np.nansum(o.cpu_seconds)) for o in seen.operators.values())
        wall = sum(float(np.nansum(w)) for w in work.values())
        longest, _ = _stages(seen.operators, work, EpochLaw())
        if not (cpu > 0 and wall > 0 and longest > 0 and seen.cpus > 0):
            return self.blocked, work
        if cpu < _SATURATED * seen.cpus * longest:
            now = max(wall / cpu - 1, 0.0)
            return (now if np.isnan(self.blocked) else blend(self.blocked, now, EWMA_WEIGHT)), work
        own = min(cpu * (1 + np.nan_to_num(self.blocked)) / wall, 1.0)
        return self.blocked if np.isfinite(self.blocked) else 0.0, {name: w * own for name, w in work.items()}


def _work_by_shard(seen: OperatorObservation) -> Floats:
    """Return the useful seconds of an epoch by shard; zeros if nothing was measured."""
    return np.nan_to_num(seen.work) if len(seen.work) else np.zeros(len(seen.plan.routing))


def _rows_read(seen: Observation) -> float:
    """Return the rows that the source handed over in an epoch; 0 if unknown."""
    rows = seen.external * seen.seconds
    return float(rows) if np.isfinite(rows) else 0.0


def _stages(
    operators: Mapping[str, OperatorObservation], work: Mapping[str, Floats], law: EpochLaw
) -> tuple[float, int]:
    """Return the seconds of all levels, one after the other, and the number of slots of all operators."""
    levels: dict[int, list[Floats]] = {}
    for name, seen in operators.items():
        slots = np.bincount(seen.plan.routing, weights=work[name], minlength=len(seen.plan.nodes)).astype(np.float64)
        levels.setdefault(seen.level, []).append(slots[seen.plan.nodes >= 0])
    seconds = sum(law.stage(np.concatenate(slots)) for slots in levels.values())
    return float(seconds), sum(len(s) for slots in levels.values() for s in slots)


def _not_negative(matrix: Floats, vector: Floats) -> Floats:
    """Return the solution of the equations in which no value is negative; those that would be are 0."""
    free = np.ones(len(vector), dtype=bool)
    solution = np.zeros(len(vector))
    while free.any():
        solution[:] = 0.0
        solution[free] = np.linalg.solve(matrix[np.ix_(free, free)], vector[free])
        if (solution >= 0).all():
            break
        free &= solution >= 0
    return np.maximum(solution, 0.0)
