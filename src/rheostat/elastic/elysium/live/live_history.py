"""What ELYSIUM's policies remember of a running query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.assessment_periods import Assessments
from rheostat.elastic.elysium.live.epoch_use import sensible, waiting_rows
from rheostat.elastic.elysium.live.query_profile import HALF_LIFE, KEPT_LOADS, QueryProfile
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.routing.shard_load import ShardLoads, spread_over_shards


@dataclass(frozen=True, eq=False)
class MeasuredShards:
    """The work of one operator, by shard.

    Attributes:
        loads: useful seconds per epoch.
        completed: rows completed since the start, in the last epoch that told; None before.
    """

    loads: ShardLoads
    completed: Floats | None = None

    def after(self, seen: OperatorObservation) -> MeasuredShards:
        """Return the work after one more epoch. What was not measured, or makes no sense, changes nothing."""
        shards, completed = len(self.loads.seconds), self.completed
        if len(seen.plan.routing) != shards:
            return self
        if sensible(seen.completed, shards):
            completed = np.asarray(seen.completed, dtype=np.float64)
        seconds = seen.work if sensible(seen.work, shards) else None
        if seconds is None and self.completed is not None and completed is not None:
            rows = completed - self.completed
            if (rows >= 0).all() and rows.any() and sensible(seen.useful, len(seen.plan.nodes)):
                seconds = spread_over_shards(seen.useful, rows, seen.plan.routing)
        return MeasuredShards(self.loads if seconds is None else self.loads.with_epoch(seconds), completed)


@dataclass(frozen=True, eq=False)
class LiveHistory:
    """The profile so far, the assessment periods, and what the last epoch looked like.

    Attributes:
        profile: what is known of the query; its loads are those of the periods that have ended.
        assessments: the period that runs, and the last one that has ended.
        work: work of every shard, by operator.
        levels: number of the stage of each operator.
        waiting: rows that have arrived and are in no completed epoch.
        newest: rows per second that arrived for the epoch that begins now; NaN if unknown.
        cores: cores of every node; empty before the first observation.
        law: the micro-batch law; None in an engine without epochs.
    """

    profile: QueryProfile
    assessments: Assessments
    work: Mapping[str, MeasuredShards]
    levels: Mapping[str, int] = field(default_factory=dict)
    waiting: float = 0.0
    newest: float = float("nan")
    cores: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    law: EpochLaw | None = None

    @classmethod
    def start(cls, plan: Plan, period: float, profile: QueryProfile) -> LiveHistory:
        """Return the history before the first observation.

        Args:
            plan: the plan in force.
            period: least seconds of an assessment period.
            profile: what is known already.
        """
        loads = profile.loads if profile.loads.step == period else Series(np.zeros(0), 0.0, period)
        work = {name: MeasuredShards(ShardLoads.none(len(part.routing))) for name, part in plan.operators.items()}
        return cls(replace(profile, loads=loads), Assessments(period), work)

    def after(self, seen: Observation, half_life: float = HALF_LIFE) -> LiveHistory:
        """Return the history after one more epoch.

        Args:
            seen: the epoch.
            half_life: seconds after which an epoch counts half as much in the profile.
        """
        before = {name: work.completed for name, work in self.work.items() if work.completed is not None}
        profile = self.profile.after(seen, before, half_life)
        assessments, loads = self.assessments.after(seen), profile.loads
        if assessments.fresh and assessments.last is not None:
            load = assessments.last.load
            values = loads.values
            if not np.isnan(load):
                values = np.r_[values, np.full(min(assessments.steps, KEPT_LOADS), load)]
            loads = Series(values, loads.start, loads.step).last(KEPT_LOADS)
        work = dict(self.work)
        for name, found in seen.operators.items():
            if name in work:
                work[name] = work[name].after(found)
        return LiveHistory(
            replace(profile, loads=loads),
            assessments,
            work,
            {**self.levels, **{name: found.level for name, found in seen.operators.items()}},
            waiting_rows(seen),
            seen.next_rows / seen.next_span if seen.next_rows >= 0 and seen.next_span > 0 else float("nan"),
            seen.cores if seen.seconds > 0 else self.cores,
            seen.law,
        )

    def shard_work(self, operator: str, shards: int) -> Floats:
        """Return the work of every shard of an operator; equal for all if it is not known."""
        known = self.work.get(operator)
        if known is None or len(known.loads.seconds) != shards or not known.loads.seconds.any():
            return np.ones(shards)
        return known.loads.seconds
