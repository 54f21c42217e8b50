"""Rates of shards and slots as moving means: the history of policies that plan by rates (Elasticutor section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.elastic.observation import OperatorObservation
from rheostat.elastic.plan import OperatorPlan

Values = npt.NDArray[np.float64]

WEIGHT = 0.5
"""Share of the newest interval in the means: half, so that a shift of keys is seen after one interval or two."""

_SHIFT = 1.5
"""Times what chance explains, from which on a difference between two intervals is a shift."""

_STOPPED = 3.0
"""A stretch from which on an interval says little: its source was stopped for most of it."""

_CATCH_UP = 5.0
"""Seconds in which rows that wait are to be worked off, besides those that arrive."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What is known of one operator, by shard.

    Attributes:
        arrival: rows per second; ``backlog``, rows that wait.
        service: rows per second of one core; NaN while no row was completed.
        traffic: bytes per second in and out; ``state``, bytes.
        arrived: counters when they were last there, and ``completed``.
    """

    arrival: Values
    backlog: Values
    service: float
    traffic: Values
    state: Values
    arrived: Values
    completed: Values
    intervals: int = 0

    @classmethod
    def nothing(cls, shards: int) -> Measured:
        """Before anything was observed."""
        zeros = np.zeros(shards)
        return cls(zeros, zeros, np.nan, zeros, zeros, zeros, zeros)

    def after(self, seen: OperatorObservation, seconds: float, stretch: float = 1.0, weight: float = WEIGHT) -> Measured:
        """After one more interval. Counters that are missing or absurd leave their shard as it was.

        Args:
            stretch: how much more would have arrived without back-pressure. The more, the less is known of what: an
                interval in which the source was stopped most of the time counts little.

        >>> plan, zeros = OperatorPlan.even(2, 1), np.zeros(2)
        >>> seen = OperatorObservation(plan, np.array([8.0, 2.0]), np.array([5.0, 1.0]), np.array([0.6]), *[zeros] * 3)
        >>> found = Measured.nothing(2).after(seen, seconds=2.0)
        >>> found.arrival.tolist(), found.backlog.tolist(), found.service
        ([4.0, 1.0], [3.0, 1.0], 10.0)
        """
        if not 0 < seconds < np.inf or len(seen.arrived) != len(self.arrived):
            return self
        arrived, completed = _counted(seen.arrived, self.arrived), _counted(seen.completed, self.completed)
        known = np.isfinite(seen.arrived) & np.isfinite(seen.completed) & (seen.arrived >= 0)
        counts = np.clip(arrived - self.arrived, 0.0, None)
        new = counts * (stretch / seconds)
        if self.intervals == 0 or (stretch < _STOPPED and shifted(counts, self.arrival, 2 / weight - 1)):
            share = 1.0
        else:
            share = weight * min(1.0, (_STOPPED / max(stretch, 1.0)) ** 2)
        arrival = np.where(known, (1 - share) * self.arrival + share * new, self.arrival)
        done = float(np.clip(completed - self.completed, 0.0, None).sum())
        useful = float(np.nansum(np.clip(np.nan_to_num(seen.useful, nan=0.0, posinf=0.0), 0.0, None)))
        service = self.service
        if done > 0 and useful > 0 and done / useful < 1e12:
            rate = done / useful
            service = rate if np.isnan(service) else (1 - share) * service + share * rate
        traffic = _finite(seen.traffic)
        return Measured(
            arrival,
            np.clip(arrived - completed, 0.0, None),
            service,
            (1 - share) * self.traffic + share * traffic,
            _finite(seen.state),
            arrived,
            completed,
            self.intervals + 1,
        )

    def demand(self) -> Values:
        """Rows per second that every shard needs served, so that what waits is worked off soon."""
        return self.arrival + self.backlog / _CATCH_UP

    def work(self) -> Values:
        """Cores that every shard keeps busy; just rows per second while no service rate is known."""
        return self.demand() / (self.service if self.service > 0 else 1.0)

    def known(self, plan: OperatorPlan) -> bool:
        """Whether there is anything to decide by."""
        return self.intervals > 0 and self.service > 0 and len(self.arrival) == len(plan.routing)


def shifted(counts: Values, before: Values, intervals: float) -> bool:
    """Whether rows come from other shards than before, by more than chance explains.

    Compares how rows spread over shards: half the sum of absolute differences, against what two samples of the same
    distribution have on average.

    Args:
        counts: rows by shard in the newest interval; ``before``, mean rates so far.
        intervals: how many intervals like the newest those means are worth.

    >>> before, rng = np.full(100, 10.0), np.random.default_rng(1)
    >>> shifted(rng.poisson(before), before, 3.0), shifted(np.roll(np.arange(100.0), 50), np.arange(100.0), 3.0)
    (False, True)
    """
    rows, total = counts.sum(), before.sum()
    if not (rows > 0 and total > 0):
        return False
    old = before / total
    chance = np.sqrt(2 * old * (1 + 1 / max(intervals, 1.0)) / (np.pi * rows)).sum() / 2
    return bool(np.abs(counts / rows - old).sum() / 2 > _SHIFT * chance + 0.01)


def _counted(new: Values, old: Values) -> Values:
    """A counter, or what it was if it is missing or has gone back."""
    values = np.asarray(new, dtype=np.float64)
    return np.where(np.isfinite(values) & (values >= old) & (values < 2.0**53), values, old)


def _finite(values: Values) -> Values:
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1e18)
