"""Examine in an engine with epochs: rates, work and latency of the last epochs (StreamSwitch section 4).

On Spark, all rows of an epoch are committed together, and their arrival and commit times are known. So latency is
measured, not estimated from counters as in an engine without epochs. What is estimated is what comes next: the rate of
rows, and how much work a row means for every shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.shift import shifted
from rheostat.elastic.model.smoothing import EWMA_WEIGHT, LOAD_HALF_LIFE, blend, share_of

_CATCH_UP = 5.0
"""A backlog in the source should be worked off within this many times the latency bound."""


_UNKNOWN_LAW = EpochLaw()
"""The law before the first epoch."""


@dataclass(frozen=True, eq=False)
class ShardWork:
    """What rows mean for one operator.

    Attributes:
        rows: rows of the operator per row that enters the topology, by shard; a moving mean.
        cost: seconds per row of the operator, by shard.
        level: number of the stage in which it runs.
    """

    rows: Floats
    cost: Floats
    level: int = 0

    @property
    def work(self) -> Floats:
        """Seconds of work per row that enters the topology, by shard."""
        return self.rows * self.cost

    def after(self, seen: OperatorObservation, entered: float) -> ShardWork:
        """Return the work after one more epoch. If keys have shifted, only the new epoch counts.

        Args:
            seen: what the epoch measured of the operator.
            entered: rows that entered the topology in it.
        """
        if not (entered > 0 and len(seen.rows) == len(self.rows) and np.isfinite(seen.rows).all()):
            return self
        share = share_of(LOAD_HALF_LIFE)
        if not self.rows.any() or shifted(seen.rows, self.rows * entered, 2 / share - 1):
            share = 1.0
        cost = _cost(seen)
        return ShardWork(blend(self.rows, seen.rows / entered, share), self.cost if cost is None else cost, seen.level)

    def ahead(self, seen: OperatorObservation, entering: float) -> ShardWork:
        """Return the work of the next epoch, whose rows have been counted by shard; unchanged if they have not.

        Args:
            seen: the observation that has the counted rows.
            entering: rows that enter the topology in the next epoch.
        """
        counted = len(seen.coming) == len(self.rows) and np.isfinite(seen.coming).all() and entering > 0
        return replace(self, rows=seen.coming / entering) if counted else self


@dataclass(frozen=True, eq=False)
class EpochExamination:
    """What the policy remembers of the epochs so far.

    Attributes:
        operators: the work of every operator, by name.
        law: the micro-batch law, as calibrated so far.
        time: when the last epoch ended, in seconds.
        epochs: end, rows per second that arrived, latency and rows of the recent epochs, the newest last.
        coming: rows of the next epoch, and the seconds in which they arrived; NaN if unknown.
        busy: seconds that the last epoch took.
        behind: rows that wait in the source; NaN if unknown.
        error: by what share the law has missed the length of epochs, as a moving mean; NaN if unknown.
        next_work: the work of every operator in the next epoch: as counted, or else as in ``operators``.
    """

    operators: Mapping[str, ShardWork]
    law: EpochLaw = _UNKNOWN_LAW
    time: float = float("-inf")
    epochs: tuple[tuple[float, float, float, float], ...] = ()
    coming: tuple[float, float] = (float("nan"), float("nan"))
    busy: float = float("nan")
    behind: float = float("nan")
    error: float = float("nan")
    next_work: Mapping[str, ShardWork] = field(default_factory=dict)

    @classmethod
    def start(cls, shards: Mapping[str, int]) -> EpochExamination:
        """Return the state before the first epoch.

        Args:
            shards: number of shards of every operator, by name.
        """
        return cls({name: ShardWork(np.zeros(n), np.full(n, np.nan)) for name, n in shards.items()})

    def after(self, seen: Observation, memory: float) -> EpochExamination:
        """Return the state after one more epoch. An epoch that does not end after the last one is not counted again.

        Args:
            seen: the observation of the epoch.
            memory: seconds for which rates and latencies are remembered.
        """
        coming = (seen.next_rows, seen.next_span)
        if seen.law is None or not self.time < seen.time < np.inf:
            return replace(self, coming=coming, next_work=_ahead(self.operators, seen))
        entered = seen.external * seen.seconds
        operators = {
            name: work.after(seen.operators[name], entered) if name in seen.operators else work
            for name, work in self.operators.items()
        }
        span = seen.span if seen.span > 0 else seen.seconds
        rate = max(entered, 0.0) / span if np.isfinite(entered) and span > 0 else np.nan
        if seen.wanted > seen.external:
            rate = rate * seen.stretch
        # Without arrival times, rows are taken to have arrived evenly over the span.
        latency = seen.latency.mean if seen.latency.rows > 0 else span / 2 + seen.busy
        epochs = tuple(e for e in self.epochs if e[0] > seen.time - memory)
        if np.isfinite(rate) and np.isfinite(latency):
            epochs = (*epochs, (seen.time, rate, latency, max(entered, 0.0)))
        error = self.error
        if np.isfinite(seen.error):
            error = seen.error if np.isnan(error) else blend(error, min(seen.error, 1.0), EWMA_WEIGHT)
        return EpochExamination(
            operators=operators,
            law=seen.law,
            time=seen.time,
            epochs=epochs,
            coming=coming,
            busy=seen.busy,
            behind=seen.behind,
            error=error,
            next_work=_ahead(operators, seen),
        )


@dataclass(frozen=True, eq=False)
class EpochReadings:
    """The result of Examine, which Diagnose decides by.

    Attributes:
        law: the micro-batch law.
        rate: rows per second that have to be processed: those that arrive, and some of the backlog.
        peak: the highest rate of the recent epochs.
        latency: mean latency over the window, in seconds.
        coming: rows of the epoch that begins now; NaN if unknown.
        waited: mean seconds that they have waited; NaN if unknown.
        error: by what share the law has missed the length of epochs lately; NaN if unknown.
        work: seconds of work per row that enters the topology, by operator and shard.
        levels: number of the stage in which every operator runs, by name.
        problem: why nothing can be decided; empty if it can.
    """

    law: EpochLaw
    rate: float
    peak: float
    latency: float
    coming: float
    waited: float
    error: float
    work: Mapping[str, Floats]
    levels: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


def epoch_readings(state: EpochExamination, window: float, bound: float) -> EpochReadings:
    """Return rates, work and latency at the end of the last epoch.

    Args:
        state: what is remembered of the epochs so far.
        window: seconds over which latency is bounded: the paper's T. It covers at least one epoch.
        bound: the latency bound in seconds: the paper's L.
    """
    recent = [e for e in state.epochs if e[0] > state.time - window] or list(state.epochs[-1:])
    rows = sum(e[3] for e in recent)
    latency = sum(e[2] * e[3] for e in recent) / rows if rows > 0 else max((e[2] for e in recent), default=np.nan)
    rate = state.epochs[-1][1] if state.epochs else np.nan
    coming, span = state.coming
    if coming >= 0 and span > 0:
        rate = coming / span
    backlog = state.behind / (_CATCH_UP * bound) if 0 < state.behind < np.inf else 0.0
    work = {name: np.nan_to_num(each.work) for name, each in (state.next_work or state.operators).items()}
    problem = ""
    if not state.epochs or not np.isfinite(rate):
        problem = "nothing has been measured yet"
    elif not any(w.any() for w in work.values()):
        problem = "no row has been processed yet, so the cost of a row is unknown"
    return EpochReadings(
        law=state.law,
        rate=float(rate) + backlog,
        peak=max([rate, *(e[1] for e in state.epochs)]) + backlog,
        latency=float(latency),
        coming=coming,
        # If the engine was idle before, the rows came only at the end of the span, and the epoch began at once.
        waited=min(span, max(state.busy, state.law.trigger)) / 2,
        error=state.error,
        work=work,
        levels={name: each.level for name, each in state.operators.items()},
        problem=problem,
    )


def _ahead(operators: Mapping[str, ShardWork], seen: Observation) -> dict[str, ShardWork]:
    """Return the work of every operator in the next epoch."""
    return {
        name: work.ahead(seen.operators[name], seen.next_rows) if name in seen.operators else work
        for name, work in operators.items()
    }


def _cost(seen: OperatorObservation) -> Floats | None:
    """Return the seconds per row by shard: as calibrated, or as measured in this epoch; None if unknown."""
    if len(seen.cost) == len(seen.rows) and np.isfinite(seen.cost).all():
        return seen.cost
    total, rows = float(np.nansum(seen.work)), float(seen.rows.sum())
    return np.full(len(seen.rows), total / rows) if total > 0 and rows > 0 else None
