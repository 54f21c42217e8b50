"""Results: turns the merged partials of windows into the result columns of an operator."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from rheostat.planning.tables import WindowOutput
from rheostat.topology.nodes import WINDOW, WINDOW_END, WINDOW_START
from rheostat.types import arrow_type
from rheostat.windows.close import MergedGranule


def finish(output: WindowOutput, granules: Iterable[MergedGranule]) -> pa.Table | None:
    """The results of one consolidate operator; None if no granule is one of its windows.

    Args:
        output: the operator's results as planned.
        granules: the granule instances that were closed or refreshed in the operator's table.
    """
    parts = [
        g.frame.with_columns(
            pl.lit(output.windows[g.granule].label).alias(WINDOW),
            pl.lit(g.start, dtype=pl.Int64).alias(WINDOW_START),
            pl.lit(g.start + output.windows[g.granule].size, dtype=pl.Int64).alias(WINDOW_END),
        )
        for g in granules
        if g.granule in output.windows
    ]
    if not parts:
        return None
    merged = pl.concat(parts)
    keys = [pl.col(f"k.{k}").alias(k) for k in output.keys]
    values = [a.finish(merged).alias(a.name) for a in output.aggregates]
    frame = merged.select(WINDOW, WINDOW_START, WINDOW_END, *keys, *values)
    schema = pa.schema([(c.name, arrow_type(c.type)) for c in output.schema])
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)
