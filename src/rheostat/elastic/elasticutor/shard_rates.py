"""Rates of one operator by shard, as moving means of its counters (Elasticutor section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.elastic.model.observation import OperatorObservation
from rheostat.elastic.model.shift import shifted
from rheostat.elastic.model.smoothing import RATE_WEIGHT, blend

_HELD_BACK = 3.0
"""Stretch above which an interval says little about rates, because its source was stopped most of the time."""

_CATCH_UP = 5.0
"""Seconds within which waiting rows are to be processed, besides those that arrive."""

_BELIEVED_AFTER = 3
"""Intervals after which a counter that went back is believed: it was reset, or had been wrong before."""

_MAX_COUNT = 2.0**53
"""Counters from here on are absurd: a float cannot count single rows any more."""

_MAX_SERVICE = 1e12
"""Rows per second of one core from which on a service rate is absurd."""

_SHORTEST, _LONGEST = 1e-9, 1e9
"""Limits of an interval in seconds. Intervals outside come from a wrong clock, and are skipped."""


@dataclass(frozen=True, eq=False)
class ShardRates:
    """The rates of one operator, by shard.

    Attributes:
        arrival: rows per second that arrive, by shard.
        backlog: rows that wait, by shard.
        service: rows per second that one core processes; NaN before a row was completed.
        traffic: bytes per second in and out, by shard.
        state: bytes of state, by shard.
        arrived: the last usable counter of arrived rows, by shard.
        completed: the last usable counter of completed rows, by shard.
        intervals: the number of intervals with usable counters.
        missed: seconds since the last usable counters, by shard; None if no counters are missing.
        behind: the number of intervals for which counters have been lower than before, by shard; None if none are.
    """

    arrival: Floats
    backlog: Floats
    service: float
    traffic: Floats
    state: Floats
    arrived: Floats
    completed: Floats
    intervals: int = 0
    missed: Floats | None = None
    behind: Ints | None = None

    @classmethod
    def nothing(cls, shards: int) -> ShardRates:
        """Return the rates before the first observation."""
        zeros = np.zeros(shards)
        return cls(
            arrival=zeros, backlog=zeros, service=np.nan, traffic=zeros, state=zeros, arrived=zeros, completed=zeros
        )

    def after(
        self, seen: OperatorObservation, seconds: float, stretch: float = 1.0, weight: float = RATE_WEIGHT
    ) -> ShardRates:
        """Return the rates after one more interval. A shard whose counters are missing or absurd keeps its rates.

        An interval that does not have counters for every shard is skipped. Rows after a gap are divided by the time
        since the last usable counters. Counters that go back are ignored for a few intervals; if they stay back,
        counting continues from there.

        Args:
            seen: what the interval measured of the operator.
            seconds: the length of the interval.
            stretch: how many times as many rows would have arrived without back-pressure. The larger it is, the less
                the interval counts, because its few rows say little about the keys.
            weight: weight of the newest interval in the moving means.

        >>> from rheostat.elastic.model.plan import OperatorPlan
        >>> plan = OperatorPlan.even(2, 1)
        >>> seen = OperatorObservation(
        ...     plan=plan, arrived=np.array([8.0, 2.0]), completed=np.array([5.0, 1.0]), useful=np.array([0.6]))
        >>> rates = ShardRates.nothing(2).after(seen, seconds=2.0)
        >>> rates.arrival.tolist(), rates.backlog.tolist(), rates.service
        ([4.0, 1.0], [3.0, 1.0], 10.0)
        """
        counted = len(seen.arrived) == len(seen.completed) == len(self.arrived)
        if not counted or not _SHORTEST <= seconds <= _LONGEST:
            return self
        arrived, completed = np.asarray(seen.arrived, dtype=np.float64), np.asarray(seen.completed, dtype=np.float64)
        usable = _countable(arrived, completed, self.arrived, self.completed)
        all_usable = bool(usable.all())
        # Rows of this interval. After a gap, the interval gets its share of the rows since the last usable counters.
        part = 1.0 if self.missed is None else seconds / (self.missed + seconds)
        counts, done = (arrived - self.arrived) * part, (completed - self.completed) * part
        if not all_usable:
            counts = np.where(usable, counts, self.arrival * (seconds / stretch))
        if self.intervals == 0 or (stretch < _HELD_BACK and shifted(counts, self.arrival, 2 / weight - 1)):
            share = 1.0
        else:
            share = weight * min(1.0, (_HELD_BACK / max(stretch, 1.0)) ** 2)
        arrival = blend(self.arrival, counts * (stretch / seconds), share)
        missed, behind = None, None
        if not all_usable:
            missed, behind, accepted = self._gaps(arrived, completed, usable, seconds)
            arrival = np.where(usable, arrival, self.arrival)
            arrived = np.where(accepted, arrived, self.arrived)
            completed = np.where(accepted, completed, self.completed)
        return ShardRates(
            arrival=arrival,
            backlog=np.clip(arrived - completed, 0.0, None),
            service=self._service_rate(seen, done, usable, share),
            traffic=blend(self.traffic, _measured_or(seen.traffic, self.traffic), share),
            state=_measured_or(seen.state, self.state),
            arrived=arrived,
            completed=completed,
            intervals=self.intervals + int(all_usable or usable.any()),
            missed=missed,
            behind=behind,
        )

    def _gaps(
        self, arrived: Floats, completed: Floats, usable: Flags, seconds: float
    ) -> tuple[Floats, Ints | None, Flags]:
        """Return the new ``missed`` and ``behind``, and for every shard True if its counters are accepted from now."""
        possible = _countable(arrived, completed, 0.0, 0.0)
        before = np.zeros(len(usable), dtype=np.int64) if self.behind is None else self.behind
        behind = np.where(usable, 0, before + possible)
        accepted = usable | (possible & (behind >= _BELIEVED_AFTER))
        behind[accepted] = 0
        missed = np.where(accepted, 0.0, (0.0 if self.missed is None else self.missed) + seconds)
        return missed, behind if behind.any() else None, accepted

    def _service_rate(self, seen: OperatorObservation, done: Floats, usable: Flags, share: float) -> float:
        """Return rows per second of one core, measured on the slots whose shards all have usable counters.

        Args:
            seen: what the interval measured of the operator.
            done: rows completed in the interval, by shard.
            usable: True for shards with usable counters.
            share: weight of the interval in the moving mean.
        """
        useful = _finite(seen.useful)
        if not usable.all():
            routing = np.clip(seen.plan.routing, 0, max(len(useful) - 1, 0))
            if not len(useful) or len(routing) != len(usable):
                return self.service
            complete = np.bincount(routing[~usable], minlength=len(useful)) == 0
            useful, done = useful[complete], done[complete[routing]]
        rows, time = float(done.sum()), float(useful.sum())
        if not (rows > 0 and time > 0 and rows / time < _MAX_SERVICE):
            return self.service
        return rows / time if np.isnan(self.service) else blend(self.service, rows / time, share)

    def demand(self, waiting: float = 0.0) -> Floats:
        """Return rows per second to be processed, by shard: those that arrive, and the backlog within five seconds.

        Args:
            waiting: seconds that rows may wait without being a backlog. In an engine with epochs, rows always wait for
                the next epoch.

        >>> one, zero = np.ones(1), np.zeros(1)
        >>> rates = ShardRates(100 * one, 600 * one, 1e3, zero, zero, zero, zero)
        >>> rates.demand().tolist(), rates.demand(waiting=4.0).tolist(), rates.demand(waiting=9.0).tolist()
        ([220.0], [140.0], [100.0])
        """
        return self.arrival + np.maximum(self.backlog - waiting * self.arrival, 0.0) / _CATCH_UP

    def work(self, waiting: float = 0.0) -> Floats:
        """Return the number of cores that every shard keeps busy; rows per second if the service rate is unknown.

        Args:
            waiting: seconds that rows may wait without being a backlog.
        """
        return self.demand(waiting) / (self.service if self.service > 0 else 1.0)


def _countable(arrived: Floats, completed: Floats, least_arrived: Floats | float, least_done: Floats | float) -> Flags:
    """Return True for shards whose counters are numbers that can be counted with, and not below the least values."""
    flags: Flags = (arrived >= least_arrived) & (completed >= least_done)
    return flags & (arrived < _MAX_COUNT) & (completed < _MAX_COUNT)


def _measured_or(values: Floats, before: Floats) -> Floats:
    """Return the measured values by shard; those from before if none were measured."""
    return _finite(values) if len(values) == len(before) else before


def _finite(values: Floats) -> Floats:
    """Return the values as finite numbers: NaN, infinite and negative values count as 0."""
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1e18)
