"""Shards the state of a window table again, after its routing attributes have changed.

One Spark job reads every segment of the table, lets Spark hash the new attributes, and writes a segment with the same
rows in their new order. The new segments count once a manifest lists them, in the commit of the next epoch; if that
does not happen, the next start finds the old ones and begins again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import SparkSession

from rheostat.planning.tables import WindowTable
from rheostat.spark.stage.stage import explained
from rheostat.state.checkpoint import Checkpoint
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from rheostat.state.window_table import TableReader, arrow_schema, fit_to_schema, to_polars, write_rows
from rheostat.windows.partials import Column, ddl, quoted
from rheostat.windows.window_layout import GRANULE, HASH, START

_NUMBER = "number"
"""Column with the number of a row's segment."""

_Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def reshard(
    spark: SparkSession, table: WindowTable, folder: Folder, segments: Sequence[Segment], shards: int
) -> tuple[Segment, ...]:
    """The segments that replace those of a table whose routing attributes have changed.

    Args:
        spark: the session.
        table: the table as it is planned now.
        folder: the folder of its segments.
        segments: its live segments, oldest first.
        shards: the number of shards.
    """
    if not segments:
        return ()
    columns = _wire(table)
    names = {c.name: w.name for c, w in zip(_columns(table), columns, strict=True)}
    route_by = ", ".join(quoted(names[f"k.{k}"]) for k in table.route_by)
    hashed = f"xxhash64({route_by})" if route_by else "0L"
    selected = [f"{hashed} AS {w}" if c == HASH else w for c, w in names.items()]
    numbers = spark.range(0, len(segments), 1, len(segments))
    rows = numbers.mapInArrow(_read(table, folder, tuple(segments), shards), f"{_NUMBER} int, {ddl(columns)}")
    written = rows.selectExpr(_NUMBER, *selected).mapInArrow(
        _write(table, folder, tuple(segments), shards), "segment string"
    )
    with explained():
        found = [json.loads(row.segment) for row in written.collect()]
    by_number = {number: Segment.from_json(value) for number, value in found}
    return tuple(by_number[number] for number in sorted(by_number))


def reshard_tables(spark: SparkSession, checkpoint: Checkpoint, tables: Iterable[WindowTable]) -> None:
    """Shard tables of a checkpoint again; its next commit makes that count.

    Args:
        spark: the session.
        checkpoint: the checkpoint.
        tables: the tables as they are planned now.
    """
    for table in tables:
        segments, folder = checkpoint.manifest.tables.get(table.name, ()), checkpoint.table_folder(table.name)
        checkpoint.replace_segments(table.name, reshard(spark, table, folder, segments, checkpoint.shards))


def _columns(table: WindowTable) -> list[Column]:
    """The columns of a table's rows with their granule."""
    return [Column(GRANULE, "smallint"), Column(START, "bigint"), *table.layout.columns]


def _wire(table: WindowTable) -> list[Column]:
    """The same columns with names that ``mapInArrow`` can handle: without dots."""
    return [Column(f"c{i}", c.type) for i, c in enumerate(_columns(table))]


def _read(table: WindowTable, folder: Folder, segments: tuple[Segment, ...], shards: int) -> _Batches:
    """The task that reads one segment."""
    names, wire = [c.name for c in _columns(table)], _wire(table)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(_Layout(tuple(wire)))
        for number in [n for batch in batches for n in batch.column(0).to_pylist()]:
            reader = TableReader(folder, table.layout, segments[number : number + 1], np.ones(shards, dtype=bool))
            for frame in reader.live(lambda _granule, _start: True):
                rows = frame.select(names).to_arrow(compat_level=pl.CompatLevel.oldest())
                fitted = fit_to_schema(rows.rename_columns([c.name for c in wire]), schema)
                tagged = fitted.add_column(0, _NUMBER, pa.array([number] * len(fitted), pa.int32()))
                yield from tagged.combine_chunks().to_batches()

    return run


def _write(table: WindowTable, folder: Folder, segments: tuple[Segment, ...], shards: int) -> _Batches:
    """The task that writes the rows of one segment in their new order."""
    names = [c.name for c in _columns(table)]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived = list(batches)
        if not arrived:
            return
        rows = pa.Table.from_batches(arrived)
        number = int(rows.column(_NUMBER)[0].as_py())
        state = arrow_schema(_Layout(tuple(_columns(table))))
        frame = to_polars(rows.drop_columns([_NUMBER]).rename_columns(names).cast(state))
        segment = write_rows(folder, table.layout, frame, epoch=segments[number].epoch, slot=number, shards=shards)
        assert segment is not None
        yield pa.RecordBatch.from_pydict({"segment": [json.dumps([number, segment.to_json()])]})

    return run


class _Layout:
    """Columns as ``arrow_schema`` takes them."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns
