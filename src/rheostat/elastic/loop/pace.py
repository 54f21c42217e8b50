"""How many rows an epoch should have at most, so that a backlog is worked off in epochs near the promise's length.

An epoch of n rows takes ``F + c n`` seconds: F without rows, c for every row. By the micro-batch law the promise's
bound gives the longest epoch that keeps it, and that the number of rows. Two things may need longer epochs: more rows
must be worked off than arrive, and under overload most of the time should go to rows, not to F. How fast rows arrive
is not seen while a source holds some back, unless it says so; then epochs grow slowly until the backlog is worked off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, nan

from rheostat.elastic.loop.forecast import row_seconds
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.model.plan import Plan
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.units import rows_per_second

_CATCH_UP = 1.25
"""Rows of an epoch in a backlog, over the rows that arrive meanwhile, at least."""

_EFFICIENT = 10.0
"""Length of an epoch, over its length without rows, at which longer epochs hardly process more rows per second."""

_PATIENCE = 10
"""Full epochs in a row after which epochs may be a tenth longer, and another tenth after as many more."""

_NOTICEABLE = 0.08
"""Share by which a limit must differ from the present one to be worth a change."""

_FULL = 0.9
"""Share of the limit from which an epoch counts as full: there was more to read."""

_CALM_EPOCHS = 5
"""Epochs in a row that are not full, after which a backlog counts as worked off."""


def longest_epoch(law: EpochLaw, bound: float) -> float:
    """Return the length of an epoch at which mean latency reaches a bound.

    >>> [longest_epoch(law, 1.5) for law in (EpochLaw(), EpochLaw(tail=0.3), EpochLaw(trigger=2.0))]
    [1.0, 1.2, 0.5]
    """
    length = (bound + law.tail) / 1.5
    return length if length >= law.trigger else max(bound + law.tail - law.trigger / 2, 0.0)


def rows_per_epoch(law: EpochLaw, per_row: float, slots: int, rate: float, promise: Latency, full: int = 0) -> float:
    """Return the most rows that an epoch should have; NaN if the cost of a row is unknown.

    At least half of an epoch is for rows, whatever the promise.

    Args:
        law: the micro-batch law.
        per_row: seconds that a row adds to an epoch with the plan in force.
        slots: the number of slots of all operators.
        rate: rows per second that arrive; NaN if unknown.
        promise: the promise to keep.
        full: number of full epochs in a row.

    >>> law, promise = EpochLaw(overhead=0.18, task=0.02), Latency("1.5 seconds")
    >>> round(rows_per_epoch(law, per_row=0.001, slots=1, rate=100.0, promise=promise))  # 1 s = 0.2 s + 800 ms
    800
    >>> round(rows_per_epoch(law, per_row=0.001, slots=1, rate=800.0, promise=promise))  # 1 s would not catch up
    1000
    >>> round(rows_per_epoch(law, per_row=0.001, slots=1, rate=2000.0, promise=promise))  # overload: 2 s
    1800
    """
    if not 0 < per_row < inf:
        return nan
    fixed = float(law.fixed(slots))
    kept = max((longest_epoch(law, promise.seconds) - fixed) / per_row, fixed / per_row, 1.0)
    busy = rate * per_row if rate > 0 else 0.0
    settled = rate * fixed / (1 - busy) if 0 < busy < 1 else inf if busy >= 1 else 0.0
    patient = kept * 1.1 ** min(full // _PATIENCE, 100)
    return max(kept, min(max(_CATCH_UP * settled, patient), (_EFFICIENT - 1) * fixed / per_row))


@dataclass(frozen=True)
class Pace:
    """The limit on the rows of an epoch, and whether there is a backlog.

    Attributes:
        rows: the most rows of an epoch; NaN while there is no limit.
        backlog: True if epochs are full.
        full: number of full epochs in a row.
        calm: number of epochs since the last full one.
        rate: rows per second that arrived when epochs were last not full; NaN if unknown.

    >>> Pace(rows=100.0).noting(95.0).backlog, Pace(rows=100.0).noting(50.0).backlog
    (True, False)
    """

    rows: float = nan
    backlog: bool = False
    full: int = 0
    calm: int = 0
    rate: float = nan

    def after(self, seen: Observation, plan: Plan, promise: Latency) -> Pace:
        """Return the pace after one more epoch, for the plan that is in force now."""
        read = seen.external * seen.seconds
        pace = self.noting(read)
        if pace.rows > 0 and pace.full == 0 and seen.span > 0:
            pace = replace(pace, rate=read / seen.span)
        if seen.law is None:
            return pace
        rate = seen.wanted if seen.wanted >= 0 else pace.rate
        slots = sum(part.slots for part in plan.operators.values())
        wanted = rows_per_epoch(seen.law, row_seconds(seen, plan.operators), slots, rate, promise, pace.full)
        if not isfinite(wanted) or abs(wanted - self.rows) <= _NOTICEABLE * self.rows:
            return pace
        return replace(pace, rows=float(round(wanted)))

    def noting(self, read: float) -> Pace:
        """Return the pace after an epoch that read so many rows: it was full, or it was not."""
        if self.rows > 0 and read >= _FULL * self.rows:
            return replace(self, backlog=True, full=self.full + 1, calm=0)
        calm = self.calm + 1
        return replace(self, backlog=self.backlog and calm < _CALM_EPOCHS, full=0, calm=calm)


def sustained(seen: Observation, plan: Plan) -> str:
    """Return in words how many rows per second a plan can process at most; empty if unknown."""
    per_row = row_seconds(seen, plan.operators)
    return f"this plan processes at most about {rows_per_second(1 / per_row)}" if 0 < per_row < inf else ""
