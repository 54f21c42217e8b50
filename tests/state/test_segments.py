"""Segments are read as they were written; errors about damaged ones name the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.table import shards_of
from rheostat.errors import CheckpointError
from rheostat.state.files import Folder
from rheostat.state.segments import Segment, open_segment, write_segment
from rheostat.state.window_table import arrow_schema, to_polars, write_rows
from rheostat.windows.partials import ROW_COUNT, Column, Extreme, Moments, Total
from rheostat.windows.sketches import Quantile
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.state.builders import LAYOUT, SHARDS, Row, frame, written

ROWS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.text(max_size=3), st.integers(1, 9)
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_rows_are_found_by_granule_and_start(tmp_path: Path, rows: list[Row]) -> None:
    folder = Folder.at(tmp_path)
    segment = written(folder, rows)
    opened = open_segment(folder, segment)
    assert set(opened.index) == {(g, s) for g, s, *_ in rows}
    for granule, start in opened.index:
        found = to_polars(opened.slice((granule, start))).rows()
        assert sorted(found) == sorted((h, k, n) for g, s, h, k, n in rows if (g, s) == (granule, start))
        assert [h % 2**64 for h, *_ in found] == sorted(h % 2**64 for h, *_ in found)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_a_segment_knows_its_size_spans_and_shards(tmp_path: Path, rows: list[Row]) -> None:
    folder = Folder.at(tmp_path)
    segment = written(folder, rows, epoch=7, slot=3)
    shards = shards_of(frame(rows)[HASH].to_numpy(), SHARDS)
    assert segment.rows == len(rows)
    assert segment.bytes == (tmp_path / segment.file).stat().st_size
    assert segment.file.startswith("000000000007-3-")
    assert segment.shards == (shards.min(), shards.max())
    starts = {g: [s for h, s, *_ in rows if h == g] for g, *_ in rows}
    assert segment.spans == {g: (min(s), max(s)) for g, s in starts.items()}
    assert Segment.from_json(json.loads(json.dumps(segment.to_json()))) == segment


def test_every_type_of_state_survives(tmp_path: Path) -> None:
    types = {"string": "x", "bigint": 1, "double": 0.5, "boolean": True, "binary": b"\0", "decimal(20,2)": None}
    layout = WindowLayout(
        tuple(Column(f"k.{t}", t) for t in types),
        (
            ROW_COUNT,
            Total("sum(x)", "decimal(20,2)", "", ""),
            Extreme("max", "t", "timestamp"),
            Moments("x"),
            Quantile("x"),
        ),
    )
    schema = arrow_schema(layout)
    table = pa.Table.from_pylist([{HASH: 1, **{f"k.{t}": v for t, v in types.items()}}], schema=schema)
    given = to_polars(table).with_columns(granule=pl.lit(0, dtype=pl.Int16), start=pl.lit(0, dtype=pl.Int64))
    folder = Folder.at(tmp_path)
    segment = write_rows(folder, layout, given, epoch=0, slot=0, shards=1)
    assert segment is not None
    read = open_segment(folder, segment).slice((0, 0))
    assert read.schema.remove_metadata() == schema
    assert read.to_pylist() == table.to_pylist()


def test_no_rows_are_no_segment(tmp_path: Path) -> None:
    assert write_rows(Folder.at(tmp_path), LAYOUT, frame([]), epoch=0, slot=0, shards=1) is None
    assert list(tmp_path.iterdir()) == []


def test_two_attempts_write_two_files(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    assert written(folder, [(0, 0, 1, "a", 1)]).file != written(folder, [(0, 0, 1, "a", 1)]).file


def damaged(tmp_path: Path, damage: Callable[[Path], object]) -> pytest.ExceptionInfo[CheckpointError]:
    """The error of opening a segment after its file was damaged."""
    folder = Folder.at(tmp_path)
    segment = written(folder, [(0, 0, 1, "a", 1)])
    damage(tmp_path / segment.file)
    with pytest.raises(CheckpointError) as error:
        open_segment(folder, segment)
    assert f"segment {tmp_path}/{segment.file}" in str(error.value)
    assert "restore it from a copy of the checkpoint" in str(error.value)
    return error


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    damaged(tmp_path, Path.unlink).match("is missing")


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_a_truncated_segment_is_named(tmp_path: Path, kept: int) -> None:
    damaged(tmp_path, lambda path: path.write_bytes(path.read_bytes()[:kept])).match(
        rf"has {kept} bytes, not the \d+ that were written"
    )


def test_garbage_of_the_right_size_is_named(tmp_path: Path) -> None:
    damaged(tmp_path, lambda path: path.write_bytes(b"\x7f" * path.stat().st_size)).match("cannot be read")


def test_an_arrow_file_that_is_no_segment_is_named(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    size, _ = write_segment(folder, "x.arrow", pa.table({"n": [1]}), [])
    plain = pa.BufferOutputStream()
    with pa.ipc.new_file(plain, pa.schema([("n", pa.int64())])) as writer:
        writer.write_table(pa.table({"n": [1]}))
    (tmp_path / "x.arrow").write_bytes(plain.getvalue().to_pybytes())
    foreign = replace(written(folder, [(0, 0, 1, "a", 1)]), file="x.arrow", bytes=plain.getvalue().size)
    assert size != foreign.bytes
    with pytest.raises(CheckpointError, match=r"segment .*/x\.arrow cannot be read"):
        open_segment(folder, foreign)
