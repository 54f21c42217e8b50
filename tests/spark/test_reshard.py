"""Sharding a table again keeps every row, in the order of its new hash; no Spark session is needed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import WindowTable
from rheostat.spark.reshard import _read, _write
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from rheostat.state.window_table import TableReader, write_rows
from rheostat.topology import aggregates as rh
from rheostat.windows.window_layout import GRANULE, HASH, START
from tests.planning.builders import add
from tests.topology.builders import loans

SHARDS = 8


def by_area() -> WindowTable:
    stream = loans()
    add(stream, "a", "area", aggregates={"n": rh.count(), "top": rh.max("ts"), "s": rh.sum("price")})
    (table,) = plan_physical(stream.graph).tables.values()
    return table


def rows_of(table: WindowTable, folder: Folder, segments: list[Segment]) -> pl.DataFrame:
    reader = TableReader(folder, table.layout, segments, np.ones(SHARDS, dtype=bool))
    return pl.concat(list(reader.live(lambda _granule, _start: True)))


def test_rows_stay_and_hashes_change(tmp_path: Path) -> None:
    table, folder = by_area(), Folder.at(str(tmp_path))
    folder.create()
    rng = np.random.default_rng(1)
    types = {GRANULE: pl.Int16, START: pl.Int64}
    segments = []
    for epoch in range(3):
        count = 20
        frame = pl.DataFrame(
            {
                GRANULE: rng.integers(0, 2, count),
                START: rng.integers(0, 3, count) * 60,
                HASH: rng.integers(-(2**62), 2**62, count),
                "k.area": [None if i % 7 == 0 else f"area {i}" for i in range(count)],
                **{c.name: None for p in table.layout.partials for c in p.columns},
            }
        ).with_columns(pl.lit(3, pl.Int64).alias("p.count(*)"), *(pl.col(c).cast(t) for c, t in types.items()))
        typed = frame.with_columns(
            pl.lit(None, pl.Datetime("us", "UTC")).alias("p.max(ts)"),
            *(pl.col(c).cast(pl.Decimal(20, 2)) for c in frame.columns if c == "p.sum(price)"),
            *(pl.col(c).cast(pl.Int64) for c in frame.columns if c == "p.count(price)"),
        )
        segment = write_rows(folder, table.layout, typed, epoch=epoch, slot=0, shards=SHARDS)
        assert segment is not None
        segments.append(segment)
    before = rows_of(table, folder, segments)
    again = []
    read, write = (make(table, folder, tuple(segments), SHARDS) for make in (_read, _write))
    for number in range(3):
        batches = list(read(iter([pa.RecordBatch.from_pydict({"id": [number]})])))
        hashes = 3  # after the number, the granule and the start
        assert batches[0].schema.names[:3] == ["number", "c0", "c1"]
        hashed = []
        for batch in batches:
            flipped = pa.array(-batch.column(hashes).to_numpy())
            hashed.append(batch.set_column(hashes, batch.schema.field(hashes), flipped))
        (report,) = write(iter(hashed))
        found, value = json.loads(report.column(0)[0].as_py())
        assert found == number
        again.append(Segment.from_json(value))
    assert [s.epoch for s in again] == [s.epoch for s in segments]
    after = rows_of(table, folder, again)
    order = [GRANULE, START, HASH]
    assert after.with_columns(-pl.col(HASH)).sort(order).equals(before.sort(order))
    assert {s.file for s in again}.isdisjoint(s.file for s in segments), "the old segments are still there"


def test_a_segment_without_rows_is_left_out(tmp_path: Path) -> None:
    write = _write(by_area(), Folder.at(str(tmp_path)), (), SHARDS)
    assert list(write(iter([]))) == []
