"""What a row of every shard costs: moving sums of seconds and rows, with the operator's mean where a shard had few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats

_MEMORY = 0.75
"""Weight of an epoch relative to the next one."""

_OUTLIER = 2.0
"""An epoch whose rows cost more than this many times the mean so far counts as if they had cost that much.

The first epoch in a new process, or one that met a pause of the machine, says little about rows.
"""

_PRIOR_ROWS = 10.0
"""Rows of mean cost that every shard counts as having had, so that one slow row does not decide a shard's cost."""


@dataclass(frozen=True, eq=False)
class RowCosts:
    """Seconds per row of one operator.

    Attributes:
        seconds: recent useful seconds, by shard; older epochs count less.
        rows: the rows that took them, by shard.

    >>> costs = RowCosts.none(2).after(np.array([1.0, 3.0]), np.array([1000.0, 1000.0]))
    >>> costs.mean, costs.per_row.round(4).tolist()
    (0.002, [0.001, 0.003])
    """

    seconds: Floats
    rows: Floats

    @classmethod
    def none(cls, shards: int) -> RowCosts:
        """Return the costs before the first measurement."""
        return cls(np.zeros(shards), np.zeros(shards))

    @property
    def mean(self) -> float:
        """Seconds per row over all shards; NaN before the first row."""
        rows = float(self.rows.sum())
        return float(self.seconds.sum()) / rows if rows > 0 else float("nan")

    @property
    def per_row(self) -> Floats:
        """Seconds per row, by shard; NaN before the first row of the operator."""
        return (self.seconds + _PRIOR_ROWS * self.mean) / (self.rows + _PRIOR_ROWS)

    def after(self, seconds: Floats, rows: Floats) -> RowCosts:
        """Return the costs after one more epoch. An epoch without rows changes nothing.

        Args:
            seconds: useful seconds of the epoch, by shard.
            rows: rows of the epoch, by shard.
        """
        known = np.isfinite(seconds) & np.isfinite(rows) & (seconds >= 0) & (rows > 0)
        if not known.any():
            return self
        spent, done = np.where(known, seconds, 0.0), np.where(known, rows, 0.0)
        mean = float(spent.sum() / done.sum())
        if mean > _OUTLIER * self.mean > 0:
            spent = spent * (_OUTLIER * self.mean / mean)
        return RowCosts(
            np.where(known, _MEMORY * self.seconds + spent, self.seconds),
            np.where(known, _MEMORY * self.rows + done, self.rows),
        )
