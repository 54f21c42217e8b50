"""What the user's functions return is cast to the declared types, or refused with an error that names the column."""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.keyed.declared_types import cast_frame, cast_rows
from rheostat.keyed.keyed_layout import KeyedLayout, layout_of
from rheostat.types import arrow_type
from rheostat.windows.partials import Column
from tests.keyed.builders import failed, operator

PAIR = (Column("a", "int"), Column("b", "string"))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tinyint": st.integers(-128, 127),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "string": st.text(st.characters(codec="utf-8"), max_size=5),
    "binary": st.binary(max_size=5),
    "date": st.dates(),
    "timestamp_ntz": st.datetimes(),
    "decimal(10,2)": st.decimals(-(10**7), 10**7, places=2),
    "array<bigint>": st.lists(st.integers(-9, 9), max_size=3),
    "array<struct<key:string,value:int>>": st.lists(
        st.fixed_dictionaries({"key": st.text("ab", max_size=2), "value": st.integers(-9, 9)}), max_size=2
    ),
}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_values_of_every_type_come_through_both_ways(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    columns = [Column(f"c{i}", t) for i, t in enumerate(types)]
    rows = data.draw(st.lists(st.tuples(*(st.none() | VALUES[t] for t in types)), max_size=4))
    table = cast_rows("op", "a row", rows, columns)
    assert [tuple(r.values()) for r in table.to_pylist()] == rows
    assert table.schema.types == [arrow_type(t) for t in types]
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    again = cast_frame("op", "the output", frame, columns)
    assert again.schema == pa.schema([(c.name, arrow_type(c.type)) for c in columns])
    assert again.to_pylist() == table.to_pylist()


def test_a_frame_is_put_in_order_and_cast() -> None:
    frame = pl.DataFrame({"b": ["x"], "more": [0], "a": [1]}, schema={"b": pl.String, "more": pl.Int8, "a": pl.Int64})
    table = cast_frame("op", "the output", frame, PAIR)
    assert table.to_pylist() == [{"a": 1, "b": "x"}]
    assert table.schema.types == [pa.int32(), pa.string()]


def test_a_column_of_nothing_but_nulls_fits_every_type() -> None:
    table = cast_frame("op", "the output", pl.DataFrame({"a": [None], "b": [None]}), PAIR)
    assert table.schema.types == [pa.int32(), pa.string()]


@pytest.mark.parametrize("value", ["x", 2**40, 1.5, [1], {"a": 1}])
def test_a_frame_with_a_value_that_would_change_is_refused(value: Any) -> None:
    with failed("the output: column 'a' is not int"):
        cast_frame("op", "the output", pl.DataFrame({"a": [value], "b": ["x"]}), PAIR)


@pytest.mark.parametrize(
    "value",
    [
        "x",
        2**40,
        [1],
        {"a": 1},
        float("nan"),
        1.5,
        Decimal("1.5"),
        np.float64(1.5),
    ],
)
def test_a_row_with_a_value_that_would_change_is_refused(value: Any) -> None:
    with failed("a row: column 'a' is not int"):
        cast_rows("op", "a row", [(value, "x")], PAIR)


def test_a_missing_column_is_named() -> None:
    with failed("column 'b' is missing from the output; declared columns: a, b"):
        cast_frame("op", "the output", pl.DataFrame({"a": [1]}), PAIR)


def test_rows_may_be_mappings() -> None:
    rows = [{"b": "x", "a": 1}, {"a": 2}]
    assert cast_rows("op", "a row", rows, PAIR).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_no_rows_are_an_empty_table_of_the_types() -> None:
    table = cast_rows("op", "a row", [], PAIR)
    assert len(table) == 0
    assert table.schema.types == [pa.int32(), pa.string()]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([(1, "x"), {"a": 2, "b": "y"}], id="tuple first"),
        pytest.param([{"a": 1, "b": "x"}, (2, "y")], id="dict first"),
    ],
)
def test_tuples_and_dicts_may_be_mixed(rows: Any) -> None:
    assert cast_rows("op", "a row", rows, PAIR).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_any_mapping_is_a_row() -> None:
    assert cast_rows("op", "a row", [MappingProxyType({"a": 1, "b": "x"})], PAIR).to_pylist() == [{"a": 1, "b": "x"}]


def test_a_row_that_is_none_names_the_operator() -> None:
    with failed("a row None does not fit"):
        cast_rows("op", "a row", [{"a": 1}, None], PAIR)


def test_invalid_text_names_the_operator() -> None:
    with failed("a row: column 'b' is not string"):
        cast_rows("op", "a row", [(1, "\ud800")], PAIR)


def test_the_layout_keeps_keys_and_fields_apart() -> None:
    layout = layout_of(operator(print, by=("word",), state={"hash": "int", "dead": "array<string>"}))
    assert layout == KeyedLayout(
        (Column("k.word", "string"),), (Column("s.hash", "int"), Column("s.dead", "array<string>"))
    )
    assert layout.names == ["hash", "k.word", "s.hash", "s.dead", "dead", "touched", "timers"]
    assert layout.key_names == ["k.word"]
