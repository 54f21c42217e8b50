"""Keyed tables: the rows for a processor, sorted and with the types of the topology."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from rheostat.planning.feeds import SEQUENCE
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec
from rheostat.spark.tasks.feed_rows import feeds_of
from rheostat.state.window_table import to_polars
from rheostat.topology.nodes import Process
from rheostat.types import arrow_type
from rheostat.windows.window_layout import HASH


def read_rows(spec: StageSpec, table_spec: KeyedTableSpec, arrived: pa.Table | None) -> dict[str, pl.DataFrame]:
    """By stream, its rows in order: the stream's own columns as ``r.NAME``, and columns that the runtime added.

    Args:
        spec: the stage.
        table_spec: the table.
        arrived: all rows that the task received; None if there are none.
    """
    process = table_spec.table.process
    rows = {}
    for feed, table in feeds_of(spec, table_spec.table.name, arrived):
        frame = to_polars(cast_stream(process, feed.stream, table))
        order = [*(f"r.{c}" for c in process.order), *([SEQUENCE] if process.ordered else [])]
        in_order = not process.ordered or (len(order) == 1 and frame[SEQUENCE].is_sorted())
        rows[feed.stream] = frame if in_order else frame.sort(order)
    for stream in process.upstreams:
        if stream not in rows:
            schema = pa.schema([(HASH, pa.int64()), *_types(process, stream).items()])
            rows[stream] = to_polars(schema.empty_table())
    return {stream: rows[stream] for stream in process.upstreams}


def user_columns(process: Process, rows: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """By stream, its rows with only its own columns and the routing hash."""
    return {stream: rows[stream].select(HASH, *_types(process, stream)) for stream in process.upstreams}


def cast_stream(process: Process, stream: str, table: pa.Table) -> pa.Table:
    """The rows with the types of the topology; Spark sends timestamps in the time zone of its session."""
    types = _types(process, stream)
    return table.cast(pa.schema([pa.field(f.name, types.get(f.name, f.type)) for f in table.schema]))


def _types(process: Process, stream: str) -> dict[str, pa.DataType]:
    """The types of a stream's columns, which are prefixed to keep them apart from columns that the runtime adds."""
    columns = process.inputs[process.upstreams.index(stream)]
    return {f"r.{c.name}": arrow_type(c.type) for c in columns}
