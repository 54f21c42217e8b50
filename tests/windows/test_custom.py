"""User-written aggregates: called over whole frames, checked for what they return."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from rheostat.errors import OperatorError
from rheostat.windows.custom import Custom, FrameFunction, call_over
from rheostat.windows.partials import ROW_COUNT, ROWS, Column
from rheostat.windows.window_layout import HASH, WindowLayout

VALUE, SIZE = "p.by_stock.vwap.value", "p.by_stock.vwap.size"


def total(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.group_by("group").agg(pl.col("value").sum(), pl.col("size").sum())


def vwap(merge: FrameFunction = total, over: str = "polars", partial: FrameFunction = total) -> Custom:
    fields = (Column("value", "double"), Column("size", "bigint"))
    return Custom("vwap", "by_stock", fields, ("value", "size"), partial, merge, over)


def partials(*rows: tuple[str | None, float | None, int | None]) -> pl.DataFrame:
    schema = {HASH: pl.Int64, "k.stock": pl.String, ROWS: pl.Int64, VALUE: pl.Float64, SIZE: pl.Int64}
    return pl.DataFrame([(hash(k) & 7, k, 1, v, n) for k, v, n in rows], schema=schema, orient="row")


def layout(custom: Custom) -> WindowLayout:
    return WindowLayout((Column("k.stock", "string"),), (ROW_COUNT, custom))


def merged(custom: Custom, frame: pl.DataFrame) -> dict[str | None, list[Any]]:
    result = layout(custom).merge(frame)
    return {k: rest for k, *rest in result.select("k.stock", ROWS, VALUE, SIZE).rows()}


def arrow_total(parts: pa.Table) -> pa.Table:
    grouped = parts.group_by("group").aggregate([("value", "sum"), ("size", "sum")])
    return grouped.rename_columns({"value_sum": "value", "size_sum": "size"})


@pytest.mark.parametrize("custom", [vwap(), vwap(arrow_total, "arrow")], ids=["polars", "arrow"])
def test_groups_are_merged_in_one_call(custom: Custom) -> None:
    frame = partials(("a", 1.0, 1), ("b", 10.0, 2), ("a", 2.0, 3), (None, 5.0, 1), (None, 6.0, 1))
    assert merged(custom, frame) == {"a": [2, 3.0, 4], "b": [1, 10.0, 2], None: [2, 11.0, 2]}


def test_the_function_is_called_once_whatever_the_number_of_groups() -> None:
    calls = []

    def counting(parts: pl.DataFrame) -> pl.DataFrame:
        calls.append(len(parts))
        return total(parts)

    merged(vwap(counting), partials(*((f"stock {i}", 1.0, 1) for i in range(100))))
    assert calls == [100]


def test_rows_without_the_aggregate_are_not_shown_to_the_user() -> None:
    frame = partials(("a", None, None), ("a", 2.0, 3), ("b", None, None), ("c", None, 1))
    assert merged(vwap(), frame) == {"a": [2, 2.0, 3], "b": [1, None, None], "c": [1, 0.0, 1]}


def test_partials_are_computed_from_the_inputs_only() -> None:
    seen: list[list[str]] = []

    def watching(rows: pl.DataFrame) -> pl.DataFrame:
        seen.append(rows.columns)
        return total(rows)

    rows = pl.DataFrame({"group": [0, 1, 0], "value": [1.0, 2.0, 3.0], "size": [1, 1, 2], "other": ["x", "y", "z"]})
    result = vwap(partial=watching).compute_groups(rows).sort("group")
    assert seen == [["group", "value", "size"]]
    assert result.rows() == [(0, 4.0, 3), (1, 2.0, 1)]
    assert result.columns == ["group", VALUE, SIZE]


def test_a_failing_function_is_named() -> None:
    def fails(parts: pl.DataFrame) -> pl.DataFrame:
        raise ZeroDivisionError("no size")

    message = r"operator 'by_stock' failed: merge of aggregate 'vwap': ZeroDivisionError: no size"
    with pytest.raises(OperatorError, match=message) as failed:
        merged(vwap(fails), partials(("a", 1.0, 1)))
    assert failed.value.operator == "by_stock"
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda parts: total(parts).drop("size"), r"returned no column 'size'; it must return 'group' and \['value'"),
        (lambda parts: total(parts).drop("group"), "returned no column 'group'"),
        (lambda parts: parts, "exactly one row per group: it got 1 groups and returned 2 rows"),
        (lambda parts: parts[:0], "exactly one row per group: it got 1 groups and returned 0 rows"),
        (lambda _: {"value": 1}, "merge of aggregate 'vwap' returned dict, not a polars frame or column"),
    ],
)
def test_a_function_that_returns_something_else_is_an_error(function: FrameFunction, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        merged(vwap(function), partials(("a", 1.0, 1), ("a", 2.0, 1)))


def test_arrow_arrays_and_tables_come_back_as_polars() -> None:
    frame = pl.DataFrame({"x": [1, 2]})
    column = call_over("arrow", lambda t: t.column("x"), frame, "op", "finish")
    assert isinstance(column, pl.Series)
    assert column.to_list() == [1, 2]
    assert isinstance(call_over("arrow", lambda t: t, frame, "op", "merge"), pl.DataFrame)


def test_user_written_partials_have_no_polars_expression_and_no_sql() -> None:
    assert vwap().sql == ()
    assert vwap().rollup_sql == ()
    with pytest.raises(NotImplementedError, match="merge_groups"):
        vwap().merge()


def test_aggregates_with_different_functions_are_equal() -> None:
    """Plans are compared after a restart, when every function is a new object."""
    assert vwap() == vwap(lambda parts: parts)


def test_merged_partials_have_the_declared_types() -> None:
    def narrow(parts: pl.DataFrame) -> pl.DataFrame:
        return total(parts).with_columns(pl.col("size").cast(pl.Int32))

    frame = partials(("a", 1.0, 1), ("a", 2.0, 1))
    of = layout(vwap(narrow))
    assert of.merge(of.concat([of.merge(frame), frame]))[SIZE].to_list() == [4]
