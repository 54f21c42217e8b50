"""Keyed tables: the rows for a processor, in order and in the types of the topology."""

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


def read_rows(spec: StageSpec, given: KeyedTableSpec, arrived: pa.Table | None) -> dict[str, pl.DataFrame]:
    """Per stream, its rows in order, with the columns that the runtime added to them.

    Args:
        spec: the stage.
        given: the table.
        arrived: everything that arrived at the task; None if nothing did.
    """
    process = given.table.process
    rows = {}
    for feed, table in feeds_of(spec, given.table.name, arrived):
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
    """The rows with the stream's own columns and the hash, without the columns that the runtime added."""
    return {stream: rows[stream].select(HASH, *_types(process, stream)) for stream in process.upstreams}


def cast_stream(process: Process, stream: str, table: pa.Table) -> pa.Table:
    """The rows in the types of the topology; Spark sends timestamps in the zone of its session."""
    types = _types(process, stream)
    return table.cast(pa.schema([pa.field(f.name, types.get(f.name, f.type)) for f in table.schema]))


def _types(process: Process, stream: str) -> dict[str, pa.DataType]:
    """A stream's columns as they travel. The prefix keeps them apart from the columns that the runtime adds."""
    columns = process.inputs[process.upstreams.index(stream)]
    return {f"r.{c.name}": arrow_type(c.type) for c in columns}
