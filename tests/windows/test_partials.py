"""Every kind of partial against every check: merging is a commutative monoid that agrees with the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.windows.partials import ROW_COUNT, ROWS, Edge, Extreme, Moments, Partial, Total, quoted
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.windows.kinds import KINDS, Kind, Row

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


def layout_of(partial: Partial) -> WindowLayout:
    return WindowLayout((), tuple(dict.fromkeys([ROW_COUNT, partial])))


def frame(kind: Kind, groups: list[list[Row]]) -> pl.DataFrame:
    """One row of partials per group of rows, all of one key."""
    made = [kind.make(rows) for rows in groups]
    columns: dict[str, pl.Series] = {
        HASH: pl.Series([7] * len(groups), dtype=pl.Int64),
        ROWS: pl.Series([len(rows) for rows in groups], dtype=pl.Int64),
    }
    for i, (column, dtype) in enumerate(zip(kind.partial.columns, kind.dtypes, strict=True)):
        columns[column.name] = pl.Series([m[i] for m in made], dtype=dtype)
    return pl.DataFrame(columns)


def state(kind: Kind, merged: pl.DataFrame) -> tuple[Any, ...]:
    assert len(merged) == 1
    return merged.select(c.name for c in kind.partial.columns).row(0)


@every_kind
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_merging_partials_is_the_partial_of_all_rows(kind: Kind, data: st.DataObject) -> None:
    groups = data.draw(st.lists(kind.rows, min_size=1, max_size=4))
    layout = layout_of(kind.partial)
    merged = layout.merge(frame(kind, groups))
    assert merged[ROWS].to_list() == [sum(map(len, groups))]
    assert kind.same(state(kind, merged), kind.make([row for rows in groups for row in rows]))


@every_kind
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_order_and_grouping_do_not_matter(kind: Kind, data: st.DataObject) -> None:
    groups = data.draw(st.lists(kind.rows, min_size=2, max_size=5))
    layout = layout_of(kind.partial)
    parts = frame(kind, groups)
    cut = data.draw(st.integers(1, len(groups) - 1))
    nested = layout.merge(layout.concat([layout.merge(parts[cut:]), layout.merge(parts[:cut])]))
    assert kind.same(state(kind, nested), state(kind, layout.merge(parts)))
    assert kind.same(state(kind, layout.merge(parts.reverse())), state(kind, layout.merge(parts)))


@every_kind
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_merging_a_single_partial_changes_nothing(kind: Kind, data: st.DataObject) -> None:
    alone = frame(kind, [data.draw(kind.rows)])
    merged = layout_of(kind.partial).merge(alone)
    assert merged.columns == alone.columns
    assert kind.same(state(kind, merged), state(kind, alone))


@every_kind
@settings(max_examples=5, deadline=None)
@given(st.data())
def test_rows_of_nulls_change_nothing(kind: Kind, data: st.DataObject) -> None:
    """Beside user-written aggregates, rows arrive in which all other partials are null."""
    some = frame(kind, [data.draw(kind.rows)])
    nothing = some.with_columns(pl.lit(None, dtype=some.schema[n]).alias(n) for n in some.columns if n != HASH)
    merged = layout_of(kind.partial).merge(pl.concat([nothing, some, nothing]))
    assert kind.same(state(kind, merged), state(kind, some))
    assert merged[ROWS].to_list() == some[ROWS].to_list()


@every_kind
def test_every_column_has_one_sql_expression(kind: Kind) -> None:
    """Partials that are not made in the JVM have none; those that roll up say how for every column."""
    assert len(kind.partial.sql) in (0, len(kind.partial.columns))
    assert len(kind.partial.rollup_sql) in (0, len(kind.partial.columns))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e6, 1e9, -1e12]), st.integers(1, 6))
def test_moments_keep_their_digits_when_the_mean_is_large(seed: int, mean: float, groups: int) -> None:
    values = np.random.default_rng(seed).normal(mean, 1000.0, size=60)
    cut = np.array_split(values, groups)
    merged = layout_of(Moments("x")).merge(frame(KINDS["moments"], [[(0, float(v)) for v in part] for part in cut]))
    n, centre, m2 = state(KINDS["moments"], merged)
    assert n == 60
    assert centre == pytest.approx(values.mean(), rel=1e-12)
    assert m2 / n == pytest.approx(values.var(), rel=1e-6)


def test_edges_at_equal_times_take_the_smaller_and_the_larger_value() -> None:
    for function, expected in (("first", "a"), ("last", "c")):
        edge = Edge(function, "x", "string", "t")
        time, value = (c.name for c in edge.columns)
        parts = pl.DataFrame({HASH: [7, 7, 7], ROWS: [1, 1, 1], time: [5, 5, 5], value: ["b", "a", "c"]})
        assert layout_of(edge).merge(parts).select(time, value).rows() == [(5, expected)]


def test_nan_is_larger_than_every_number() -> None:
    for function, expected in (("min", -1.0), ("max", math.nan)):
        extreme = Extreme(function, "x", "double")
        parts = pl.DataFrame({HASH: [7, 7, 7], ROWS: [1, 1, 1], extreme.columns[0].name: [math.inf, math.nan, -1.0]})
        (value,) = layout_of(extreme).merge(parts)[extreme.columns[0].name]
        assert value == pytest.approx(expected, nan_ok=True)


def test_only_exact_totals_can_be_subtracted() -> None:
    kinds = {name for name, kind in KINDS.items() if kind.partial.subtractable}
    assert kinds == {"count", "sum of integers", "sum of decimals"}
    assert WindowLayout((), (ROW_COUNT, Total("sum(x)", "bigint", "", ""))).subtractable
    assert not WindowLayout((), (ROW_COUNT, Total("sum(x)", "double", "", ""))).subtractable


def test_column_names_are_quoted_for_sql() -> None:
    assert Extreme("max", "odd `x`", "int").sql == ("max(`odd ``x```)",)
    assert quoted("a.b") == "`a.b`"
