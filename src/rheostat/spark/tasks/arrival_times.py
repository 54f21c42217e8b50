"""When the rows of a task arrived, thinned to what quantiles of latency need."""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.planning.feeds import ARRIVAL
from rheostat.windows.partials import ROWS

_POINTS = 100
"""How many arrival times a task reports at most."""


def arrivals_of(frame: pl.DataFrame) -> list[tuple[float, int]]:
    """Arrival times in microseconds with the number of rows at each, thinned so that the quantiles stay."""
    known = frame.filter(pl.col(ARRIVAL).is_not_null()).sort(ARRIVAL)
    if known.is_empty():
        return []
    if ROWS not in known.columns:
        known = known.select(ARRIVAL, pl.lit(1, dtype=pl.Int64).alias(ROWS))
    weights = known[ROWS].to_numpy()
    cut = np.cumsum(weights) * _POINTS // max(int(weights.sum()), 1)
    thinned = known.with_columns(pl.Series("cut", cut)).group_by("cut", maintain_order=True)
    points = thinned.agg((pl.col(ARRIVAL) * pl.col(ROWS)).sum() / pl.col(ROWS).sum(), pl.col(ROWS).sum())
    return [(float(a), int(n)) for _, a, n in points.iter_rows()]
