"""The arrival times of the rows of a task, thinned for the quantiles of latency."""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.planning.feeds import ARRIVAL
from rheostat.windows.partials import ROWS

_POINTS = 100
"""About how many arrival times a task reports at most."""


def arrivals_of(frame: pl.DataFrame) -> list[tuple[float, int]]:
    """Arrival times in microseconds with the number of rows at each, thinned to about ``_POINTS``.

    Rows are cut into groups of about equal size, in the order of time, and each group is replaced by its mean. So the
    quantiles stay nearly the same.

    Args:
        frame: rows or partials with an arrival time; partials have a number of rows.
    """
    timed = frame.filter(pl.col(ARRIVAL).is_not_null()).sort(ARRIVAL)
    if timed.is_empty():
        return []
    if ROWS not in timed.columns:
        timed = timed.select(ARRIVAL, pl.lit(1, dtype=pl.Int64).alias(ROWS))
    weights = timed[ROWS].to_numpy()
    group = np.cumsum(weights) * _POINTS // max(int(weights.sum()), 1)
    groups = timed.with_columns(pl.Series("group", group)).group_by("group", maintain_order=True)
    points = groups.agg((pl.col(ARRIVAL) * pl.col(ROWS)).sum() / pl.col(ROWS).sum(), pl.col(ROWS).sum())
    return [(float(a), int(n)) for _, a, n in points.iter_rows()]
