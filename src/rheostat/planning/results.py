"""Results: from merged partials to the columns a user asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl
import pyarrow as pa

from rheostat.planning.physical import WindowOutput
from rheostat.topology.nodes import WINDOW, WINDOW_END, WINDOW_START
from rheostat.types import arrow_type
from rheostat.windows.close import ClosedGranule
from rheostat.windows.window import Window


def result_schema(output: WindowOutput, key_types: Mapping[str, str]) -> dict[str, str]:
    """Columns and Spark SQL types of an operator's results."""
    return {
        WINDOW: "string",
        WINDOW_START: output.time_type,
        WINDOW_END: output.time_type,
        **{k: key_types[k] for k in output.keys},
        **{a.name: a.type for a in output.aggregates},
    }


def finish(
    output: WindowOutput, windows: Mapping[int, Window], key_types: Mapping[str, str], closed: Iterable[ClosedGranule]
) -> pa.Table | None:
    """The results of one operator out of everything that closed; None if none of it concerns the operator."""
    labels = dict(output.windows)
    parts = [
        c.frame.with_columns(
            pl.lit(labels[c.granule]).alias(WINDOW),
            pl.lit(c.start, dtype=pl.Int64).alias(WINDOW_START),
            pl.lit(c.start + windows[c.granule].size, dtype=pl.Int64).alias(WINDOW_END),
        )
        for c in closed
        if c.granule in labels
    ]
    if not parts:
        return None
    merged = pl.concat(parts)
    finished: list[pl.Expr | pl.Series] = []
    for aggregate in output.aggregates:
        value = aggregate.finish(merged)
        finished.append(value.alias(aggregate.name))
    frame = merged.select(
        WINDOW, WINDOW_START, WINDOW_END, *(pl.col(f"k.{k}").alias(k) for k in output.keys), *finished
    )
    schema = pa.schema([pa.field(n, arrow_type(t)) for n, t in result_schema(output, key_types).items()])
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)
