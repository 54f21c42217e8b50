"""Rates of shards and slots as moving means: the history of policies that plan by rates (Elasticutor section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.elastic.model.observation import OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.elastic.model.smoothing import RATE_WEIGHT, blend

_SHIFT = 1.5
"""Times what chance explains, from which on a difference between two intervals is a shift."""

_STOPPED = 3.0
"""Stretch above which an interval says little, since its source was stopped for most of it."""

_CATCH_UP = 5.0
"""Seconds in which rows that wait are to be worked off, besides those that arrive."""

_BEHIND = 3
"""Intervals after which a counter that went back is believed: it started again, or had been wrong before."""

_EXACT = 2.0**53
"""No counter is larger: beyond it, one row more makes no difference."""

_SHORTEST, _LONGEST = 1e-9, 1e9
"""Seconds that an interval can have: a clock that says otherwise is wrong."""


@dataclass(frozen=True, eq=False)
class ShardRates:
    """What is known of one operator, by shard.

    Attributes:
        arrival: rows per second.
        backlog: rows that wait.
        service: rows per second of one core; NaN while no row was completed.
        traffic: bytes per second in and out.
        state: bytes.
        arrived: counters of arrived rows when they were last there.
        completed: counters of completed rows when they were last there.
        intervals: how many intervals said anything.
        missed: seconds for which the counters of each shard have been missing; None if none has.
        behind: for how many intervals they have been lower than before; None if none has.
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
        """Before anything was observed."""
        zeros = np.zeros(shards)
        return cls(zeros, zeros, np.nan, zeros, zeros, zeros, zeros)

    def after(
        self, seen: OperatorObservation, seconds: float, stretch: float = 1.0, weight: float = RATE_WEIGHT
    ) -> ShardRates:
        """After one more interval. Counters that are missing or absurd leave their shard as it was.

        What comes after a gap is divided by the time since the counters were last there. Counters that have gone back
        are left alone for a few intervals; if they stay back, counting goes on from there.

        Args:
            stretch: how much more would have arrived without back-pressure. The more, the less is known of what: an
                interval in which the source was stopped most of the time counts little.

        >>> plan = OperatorPlan.even(2, 1)
        >>> seen = OperatorObservation(
        ...     plan=plan, arrived=np.array([8.0, 2.0]), completed=np.array([5.0, 1.0]), useful=np.array([0.6]))
        >>> found = ShardRates.nothing(2).after(seen, seconds=2.0)
        >>> found.arrival.tolist(), found.backlog.tolist(), found.service
        ([4.0, 1.0], [3.0, 1.0], 10.0)
        """
        if not _SHORTEST <= seconds <= _LONGEST or len(seen.arrived) != len(self.arrived):
            return self
        came, went = np.asarray(seen.arrived, dtype=np.float64), np.asarray(seen.completed, dtype=np.float64)
        fine = (came >= self.arrived) & (went >= self.completed) & (came < _EXACT) & (went < _EXACT)
        whole = bool(fine.all())
        missed, behind, taken = (None, None, fine) if whole else self._gaps(came, went, fine, seconds)
        # Rows of this interval, as far as one can tell: of those in a gap, their share of it.
        part = 1.0 if self.missed is None else seconds / (self.missed + seconds)
        counts, done = (came - self.arrived) * part, (went - self.completed) * part
        if not whole:
            counts = np.where(fine, counts, self.arrival * (seconds / stretch))
        new = counts * (stretch / seconds)
        if self.intervals == 0 or (stretch < _STOPPED and shifted(counts, self.arrival, 2 / weight - 1)):
            share = 1.0
        else:
            share = weight * min(1.0, (_STOPPED / max(stretch, 1.0)) ** 2)
        arrival = blend(self.arrival, new, share)
        arrived, completed = came, went
        if not whole:
            arrival = np.where(fine, arrival, self.arrival)
            arrived, completed = np.where(taken, came, self.arrived), np.where(taken, went, self.completed)
        return ShardRates(
            arrival,
            np.clip(arrived - completed, 0.0, None),
            self._served(seen, done, fine, share),
            blend(self.traffic, _known(seen.traffic, self.traffic), share),
            _known(seen.state, self.state),
            arrived,
            completed,
            self.intervals + int(whole or fine.any()),
            missed,
            behind,
        )

    def _gaps(self, came: Floats, went: Floats, fine: Flags, seconds: float) -> tuple[Floats, Ints | None, Flags]:
        """How long counters have been missing or behind, and which counters are accepted as they are now."""
        there = (came >= 0) & (went >= 0) & (came < _EXACT) & (went < _EXACT)
        before = np.zeros(len(fine), dtype=np.int64) if self.behind is None else self.behind
        behind = np.where(fine, 0, before + there)
        taken = fine | (there & (behind >= _BEHIND))
        behind[taken] = 0
        missed = np.where(taken, 0.0, (0.0 if self.missed is None else self.missed) + seconds)
        return missed, behind if behind.any() else None, taken

    def _served(self, seen: OperatorObservation, done: Floats, fine: Flags, share: float) -> float:
        """Rows per second of one core, by the slots all of whose shards were counted."""
        useful = _finite(seen.useful)
        if not fine.all():
            routing = np.clip(seen.plan.routing, 0, max(len(useful) - 1, 0))
            if not len(useful) or len(routing) != len(fine):
                return self.service
            counted = np.bincount(routing[~fine], minlength=len(useful)) == 0
            useful, done = useful[counted], done[counted[routing]]
        rows, time = float(done.sum()), float(useful.sum())
        if not (rows > 0 and time > 0 and rows / time < 1e12):
            return self.service
        return rows / time if np.isnan(self.service) else blend(self.service, rows / time, share)

    def demand(self, waiting: float = 0.0) -> Floats:
        """Rows per second that every shard needs served, so that what waits is worked off soon.

        Args:
            waiting: where rows come in epochs, some always wait for the next one. The rows of so many seconds are no
                backlog.

        >>> one, zero = np.ones(1), np.zeros(1)
        >>> known = ShardRates(100 * one, 600 * one, 1e3, zero, zero, zero, zero)
        >>> known.demand().tolist(), known.demand(waiting=4.0).tolist(), known.demand(waiting=9.0).tolist()
        ([220.0], [140.0], [100.0])
        """
        return self.arrival + np.maximum(self.backlog - waiting * self.arrival, 0.0) / _CATCH_UP

    def work(self, waiting: float = 0.0) -> Floats:
        """Cores that every shard keeps busy; just rows per second while no service rate is known."""
        return self.demand(waiting) / (self.service if self.service > 0 else 1.0)

    def known(self, plan: OperatorPlan) -> bool:
        """True if there is anything to decide by."""
        return self.intervals > 0 and self.service > 0 and len(self.arrival) == len(plan.routing)


def shifted(counts: Floats, before: Floats, intervals: float) -> bool:
    """True if rows come from other shards than before, by more than chance explains.

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
    if not (rows >= 1 and total > 0):
        return False
    old = before / total
    chance = np.sqrt(2 * old * (1 + 1 / max(intervals, 1.0)) / (np.pi * rows)).sum() / 2
    return bool(np.abs(counts / rows - old).sum() / 2 > _SHIFT * chance + 0.01)


def _known(values: Floats, before: Floats) -> Floats:
    """Values by shard as far as they are numbers; those of before if none were measured."""
    return _finite(values) if len(values) == len(before) else before


def _finite(values: Floats) -> Floats:
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1e18)
