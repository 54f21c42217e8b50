"""One example of every kind of partial, each with a slow definition of its values for given rows."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import datasketches as ds
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from rheostat.windows.custom import Custom
from rheostat.windows.partials import ROW_COUNT, Column, Edge, Extreme, Moments, Partial, Total
from rheostat.windows.sketches import Distinct, Frequent, Quantile

Row = tuple[int, Any]
"""Event time and value."""

TIME = st.integers(-5, 5)
FLOATS = st.floats(-1e6, 1e6, width=32)


@dataclass(frozen=True)
class Kind:
    """A partial, the values it may meet, and its columns for given rows by definition.

    Attributes:
        dtypes: Polars types of its columns.
        make: the columns of the partial of some rows, at least one.
        same: whether two partials mean the same.
    """

    partial: Partial
    dtypes: tuple[pl.DataType, ...]
    values: st.SearchStrategy[Any]
    make: Callable[[Sequence[Row]], tuple[Any, ...]]
    same: Callable[[Any, Any], bool] = lambda a, b: bool(a == b)

    @property
    def rows(self) -> st.SearchStrategy[list[Row]]:
        return st.lists(st.tuples(TIME, self.values), min_size=1, max_size=12)


def known(rows: Sequence[Row]) -> list[Row]:
    """The rows whose value is not null."""
    return [r for r in rows if r[1] is not None]


def in_spark_order(value: Any) -> tuple[bool, Any]:
    """NaN is larger than every number."""
    nan = isinstance(value, float) and math.isnan(value)
    return nan, 0 if nan else value


def extreme(function: Callable[..., Any]) -> Callable[[Sequence[Row]], tuple[Any, ...]]:
    return lambda rows: (function((v for _, v in known(rows)), key=in_spark_order, default=None),)


def edge(function: Callable[..., Any]) -> Callable[[Sequence[Row]], tuple[Any, ...]]:
    return lambda rows: function(known(rows), key=lambda r: (r[0], in_spark_order(r[1])), default=(None, None))


def equal_with_nan(a: Any, b: Any) -> bool:
    return list(map(in_spark_order, a)) == list(map(in_spark_order, b))


def moments(rows: Sequence[Row]) -> tuple[Any, ...]:
    values = np.array([v for _, v in known(rows)], dtype=float)
    if not len(values):
        return 0, None, None
    return len(values), float(values.mean()), float(values.var() * len(values))


def about_equal(a: Any, b: Any) -> bool:
    return all(
        x is y or (x is not None and y is not None and x == pytest.approx(y, rel=1e-6, abs=1e-3))
        for x, y in zip(a, b, strict=True)
    )


def hll(rows: Sequence[Row], lg_k: int = 12) -> tuple[Any, ...]:
    sketch = ds.hll_sketch(lg_k, ds.HLL_8)
    for _, value in known(rows):
        sketch.update(value)
    return (sketch.serialize_updatable(),)


def kll(rows: Sequence[Row]) -> tuple[Any, ...]:
    sketch = ds.kll_doubles_sketch(200)
    for _, value in known(rows):
        sketch.update(value)
    return (sketch.serialize(),)


def frequent(rows: Sequence[Row]) -> tuple[Any, ...]:
    sketch = ds.frequent_strings_sketch(11)
    for _, value in known(rows):
        sketch.update(value)
    return (sketch.serialize(),)


def frequent_numbers(rows: Sequence[Row]) -> tuple[Any, ...]:
    sketch = ds.frequent_items_sketch(11)
    for _, value in known(rows):
        sketch.update(value)
    return (sketch.serialize(ds.PyLongsSerDe()),)


def spread_of(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.group_by("group").agg(pl.col("low").min(), pl.col("n").sum())


SPREAD = Custom(
    "spread", "by_key", (Column("low", "bigint"), Column("n", "bigint")), ("x",), lambda rows: rows, spread_of
)
RANKS = (0.0, 0.25, 0.5, 1.0)
TOP = Frequent("x", "string")
TOP_NUMBERS = Frequent("x", "bigint")
NUMBERS = st.one_of(st.none(), FLOATS)
WORDS = st.one_of(st.none(), st.sampled_from(["", "a", "Zürich", "東京", "a b"]))
INT64, FLOAT64 = pl.Int64(), pl.Float64()

KINDS = {
    "count": Kind(ROW_COUNT, (INT64,), st.none(), lambda rows: (len(rows),)),
    "sum of integers": Kind(
        Total("sum(x)", "bigint", "", ""), (INT64,), st.integers(-99, 99), lambda r: (sum(v for _, v in r),)
    ),
    "sum of decimals": Kind(
        Total("sum(x)", "decimal(20,2)", "", ""),
        (pl.Decimal(20, 2),),
        st.decimals(-99, 99, places=2),
        lambda rows: (sum((v for _, v in rows), Decimal()),),
    ),
    "sum of doubles": Kind(
        Total("sum(x)", "double", "", ""), (FLOAT64,), FLOATS, lambda r: (math.fsum(v for _, v in r),), about_equal
    ),
    "smallest double": Kind(
        Extreme("min", "x", "double"),
        (FLOAT64,),
        st.one_of(NUMBERS, st.just(math.nan)),
        extreme(min),
        equal_with_nan,
    ),
    "largest double": Kind(
        Extreme("max", "x", "double"),
        (FLOAT64,),
        st.one_of(NUMBERS, st.just(math.nan)),
        extreme(max),
        equal_with_nan,
    ),
    "largest float": Kind(
        Extreme("max", "x", "float"),
        (pl.Float32(),),
        st.one_of(NUMBERS, st.just(math.nan)),
        extreme(max),
        equal_with_nan,
    ),
    "smallest text": Kind(Extreme("min", "x", "string"), (pl.String(),), WORDS, extreme(min)),
    "largest text": Kind(Extreme("max", "x", "string"), (pl.String(),), WORDS, extreme(max)),
    "largest date": Kind(
        Extreme("max", "x", "date"), (pl.Date(),), st.one_of(st.none(), st.dates(dt.date(1900, 1, 1))), extreme(max)
    ),
    "smallest boolean": Kind(
        Extreme("min", "x", "boolean"), (pl.Boolean(),), st.one_of(st.none(), st.booleans()), extreme(min)
    ),
    "largest bytes": Kind(
        Extreme("max", "x", "binary"), (pl.Binary(),), st.one_of(st.none(), st.binary(max_size=2)), extreme(max)
    ),
    "moments": Kind(Moments("x"), (INT64, FLOAT64, FLOAT64), NUMBERS, moments, about_equal),
    "first number": Kind(
        Edge("first", "x", "double", "t"),
        (INT64, FLOAT64),
        st.one_of(NUMBERS, st.just(math.nan)),
        edge(min),
        equal_with_nan,
    ),
    "last text": Kind(Edge("last", "x", "string", "t"), (INT64, pl.String()), WORDS, edge(max)),
    "distinct": Kind(
        Distinct("x", "string"),
        (pl.Binary(),),
        WORDS,
        hll,
        lambda a, b: Distinct.estimate(a[0]) == Distinct.estimate(b[0]),
    ),
    "quantiles": Kind(
        Quantile("x"),
        (pl.Binary(),),
        NUMBERS,
        kll,
        lambda a, b: Quantile.estimate(a[0], RANKS) == Quantile.estimate(b[0], RANKS),
    ),
    "frequent texts": Kind(
        TOP, (pl.Binary(),), WORDS, frequent, lambda a, b: TOP.estimate(a[0], 9) == TOP.estimate(b[0], 9)
    ),
    "frequent numbers": Kind(
        TOP_NUMBERS,
        (pl.Binary(),),
        st.integers(-4, 4),
        frequent_numbers,
        lambda a, b: TOP_NUMBERS.estimate(a[0], 9) == TOP_NUMBERS.estimate(b[0], 9),
    ),
    "user-written": Kind(
        SPREAD, (INT64, INT64), st.integers(-99, 99), lambda rows: (min(v for _, v in rows), len(rows))
    ),
}
