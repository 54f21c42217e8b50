"""Arrival times of a task's rows, thinned to what quantiles of latency need."""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.planning.feeds import ARRIVAL
from rheostat.windows.partials import ROWS

_POINTS = 100


def arrivals_of(frame: pl.DataFrame) -> list[tuple[float, int]]:
    """Arrival times with row counts, thinned to a hundred points that keep the quantiles."""
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
