"""Spark SQL types, and the sinks that describe where rows go."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rheostat.errors import TopologyError
from rheostat.topology import sinks
from rheostat.types import arrow_type, is_key, is_numeric, micros_sql, sum_type


@pytest.mark.parametrize(
    ("type_", "arrow"),
    [
        ("bigint", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("decimal(10, 2)", pa.decimal128(10, 2)),
        ("array<double>", pa.list_(pa.field("element", pa.float64()))),
        ("struct<a:int,b:string>", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ],
)
def test_types_have_arrow_counterparts(type_: str, arrow: pa.DataType) -> None:
    assert arrow_type(type_) == arrow


@pytest.mark.parametrize("type_", ["map<string,int>", "void", "interval", "float64", ""])
def test_other_types_are_refused(type_: str) -> None:
    with pytest.raises(TopologyError, match=f"columns of type {type_} cannot be kept in state"):
        arrow_type(type_)


@pytest.mark.parametrize("type_", ["struct<a:decimal(10,2),b:int>", "struct<a:struct<x:int,y:int>,b:int>"])
def test_structs_may_have_fields_with_commas_in_their_types(type_: str) -> None:
    assert [f.name for f in arrow_type(type_)] == ["a", "b"]


def test_numbers_and_keys() -> None:
    numbers = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,0)"}
    others = {"string", "boolean", "date", "timestamp", "binary"}
    assert all(is_numeric(t) and is_key(t) for t in numbers)
    assert all(is_key(t) and not is_numeric(t) for t in others)
    assert not any(is_key(t) or is_numeric(t) for t in ("array<int>", "struct<a:int>", "map<int,int>"))


def test_sums_have_sparks_types() -> None:
    assert [sum_type(t) for t in ("tinyint", "float", "decimal(30,4)")] == ["bigint", "double", "decimal(38,4)"]


def test_times_are_exact_microseconds() -> None:
    assert micros_sql("t", "timestamp") == "unix_micros(t)"
    assert "MICROSECOND" in micros_sql("t", "timestamp_ntz")


def test_sinks_say_where_rows_go() -> None:
    assert sinks.parquet("out/").path == "out"
    assert sinks.format("csv", "out/", header="true") == sinks.FormatSink("csv", "out", {"header": "true"})
    assert sinks.format("kafka", topic="t").path is None
    assert sinks.console(5).rows == 5
    assert sinks.foreach(print).function is print
    with pytest.raises(TopologyError, match=r"sinks.foreach\(\) needs a function of \(df, epoch\), not 'out'"):
        sinks.foreach("out")  # type: ignore[arg-type]


def test_memory_replaces_a_repeated_epoch() -> None:
    sink = sinks.memory()
    assert sink.frame().is_empty()
    sink.put(1, pa.table({"n": [3]}))
    sink.put(0, pa.table({"n": [1, 2]}))
    sink.put(1, pa.table({"n": [4]}))
    assert sink.epochs == [0, 1]
    assert sink.frame()["n"].to_list() == [1, 2, 4]
