"""A world that keeps the micro-batch law, with parameters that nobody is told, and the recording of a run in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.loop.actuation import requested
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.law_fit import LawFit
from rheostat.elastic.model.observation import LatencySummary, Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.elastic.record.recording import (
    Header,
    LineWriter,
    RecordedComponent,
    RecordedTurn,
    Recording,
    settings_of,
)

SHARDS = 32
_STEP = 0.05
TRUE = EpochLaw(overhead=0.3, task=0.03, reading=1e-5, parallelism=16.0, tail=0.05)


def surge(time: float) -> float:
    """Rows per second: calm, a surge from 40 to 80 s, calm."""
    return 800.0 if 40 <= time < 80 else 200.0


def skewed(time: float) -> Floats:
    """The share of every shard; the hot one wanders every half minute."""
    weights = np.ones(SHARDS)
    weights[int(time // 30) * 7 % SHARDS] = 8.0
    shares: Floats = weights / weights.sum()
    return shares


def even(_time: float) -> Floats:
    """The same share for every shard."""
    return np.full(SHARDS, 1 / SHARDS)


@dataclass
class World:
    """Epochs as Spark would run them."""

    policy: Policy
    slots: int = 4
    rate: Callable[[float], float] = surge
    shares: Callable[[float], Floats] = skewed
    cost: float = 0.004
    law: EpochLaw = TRUE
    noise: float = 0.0
    seconds: float = 120.0
    levels: int = 1
    known: bool = True  # the observer calibrates the law, and knows the rows of the next epoch
    promise: tuple[float, float] = (2.0, 1.0)

    def recording(self) -> Recording:
        """The run under the policy, written as lines and read back."""
        names = [f"level {n}" for n in range(self.levels)]
        plan = Plan({name: OperatorPlan.even(SHARDS, self.slots) for name in names}, 1)
        lines = LineWriter()
        bound, window = self.promise
        header = Header(
            topology="world",
            components=tuple(RecordedComponent(name, SHARDS, level) for level, name in enumerate(names)),
            plan=plan,
            policy=self.policy.name,
            settings=settings_of(self.policy),
            bound=bound,
            window=window,
            slots=(1, 16),
        )
        text = [lines.header(header)]
        text += [lines.turn(t) for t in self._turns(plan)]
        return Recording.of(text)

    def _turns(self, plan: Plan) -> list[RecordedTurn]:
        control, fit, turns = Control.start(self.policy, plan), LawFit.start(self.law.trigger), []
        random = np.random.default_rng(5)
        before, begin, end, epoch = 0.0, 0.5, 0.0, 0
        done = {name: np.zeros(SHARDS) for name in plan.operators}
        rows = self._rows(before, begin)
        while begin < self.seconds:
            seen = self._epoch(plan, rows, before, begin, end, epoch, done)
            seen = replace(seen, busy=seen.busy * (1 + self.noise * random.standard_normal()))
            seen = self._completed(seen, begin, end)
            expected, fit = fit.expected(seen), fit.after(seen)
            end, before = seen.time, begin
            begin = max(begin + seen.busy, begin + self.law.trigger)
            rows = self._rows(before, begin)
            if self.known:
                parts = {n: replace(p, cost=fit.costs[n].per_row) for n, p in seen.operators.items()}
                seen = replace(seen, law=fit.law, expected=expected, operators=parts)
                seen = replace(seen, next_rows=float(rows.sum()), next_span=begin - before, behind=0.0)
            result = requested(turn(control, seen, plan), _Nothing(), seen.time)
            control = result.control
            turns.append(
                RecordedTurn(
                    epoch=epoch + 1,
                    observation=seen,
                    plan=plan,
                    accepted=result.accepted,
                    refused=result.refused,
                    proposal=result.proposal,
                    request=result.request,
                )
            )
            plan, epoch = result.request or plan, epoch + 1
        return turns

    def _rows(self, begin: float, end: float) -> Floats:
        """Whole rows by shard; parts of rows that are left over come later."""
        begun = np.arange(SHARDS) / SHARDS  # shards do not get their rows all at once
        return np.floor(self._until(end) + begun) - np.floor(self._until(begin) + begun)

    def _until(self, time: float) -> Floats:
        place = int(time / _STEP)
        before, after = self._arrived[place], self._arrived[place + 1]
        grown: Floats = before + (time / _STEP - place) * (after - before)
        return grown

    @cached_property
    def _arrived(self) -> Floats:
        """Rows by shard that have arrived until every step of time."""
        times = np.arange(0.0, 3 * self.seconds, _STEP)
        return np.concatenate(
            [np.zeros((1, SHARDS)), np.cumsum([self.rate(t) * _STEP * self.shares(t) for t in times], 0)]
        )

    def _epoch(
        self, plan: Plan, rows: Floats, before: float, begin: float, end: float, epoch: int, done: dict[str, Floats]
    ) -> Observation:
        operators, length = {}, 0.0
        for level, (name, part) in enumerate(plan.operators.items()):
            work = rows * self.cost
            useful: Floats = np.bincount(part.routing, weights=work, minlength=len(part.nodes)).astype(np.float64)
            length += self.law.stage(useful[part.nodes >= 0])
            done[name] = done[name] + rows
            operators[name] = OperatorObservation(
                plan=part,
                arrived=done[name],
                completed=done[name],
                useful=useful,
                work=work,
                rows=rows,
                level=level,
            )
        fixed = float(self.law.fixed(sum(part.slots for part in plan.operators.values())))
        busy = fixed + self.law.reading * float(rows.sum()) + length
        return Observation(
            time=0.0,
            seconds=1.0,
            operators=operators,
            cores=np.array([16]),
            cpus=16.0,
            epoch=epoch,
            busy=busy,
            span=begin - before,
        )

    def _completed(self, seen: Observation, begin: float, end: float) -> Observation:
        """What follows from the length of the epoch."""
        committed, seconds = seen.busy - self.law.tail, begin + seen.busy - self.law.tail - end
        rows = float(next(iter(seen.operators.values())).rows.sum())
        mean = seen.span / 2 + committed
        parts = {n: replace(p, latency=np.where(p.rows > 0, mean, np.nan)) for n, p in seen.operators.items()}
        return replace(
            seen,
            time=begin + committed,
            seconds=seconds,
            operators=parts,
            committed=committed,
            external=rows / seconds,
            wanted=rows / seconds,
            latency=LatencySummary(rows, mean, mean, committed + 0.99 * seen.span),
        )


class _Nothing:
    """The world reads the request itself."""

    def apply(self, plan: Any) -> None:
        pass
