"""The aggregates a user declares. Each one names the partials it needs and finishes a result out of them.

Aggregates of one operator share partials: ``mean("x")`` next to ``sum("x")`` keeps nothing more. Nulls are skipped,
as in SQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from rheostat.errors import OperatorError, TopologyError
from rheostat.types import INTEGERS, Schema, arrow_type, is_key, is_numeric, sum_type
from rheostat.windows.custom import Custom, FrameFunction, call_over
from rheostat.windows.partials import ROW_COUNT, ROWS, Column, Edge, Extreme, Moments, Partial, Total, quoted
from rheostat.windows.sketches import Distinct, Frequent, Quantile

Finish = Callable[[pl.DataFrame], pl.Expr | pl.Series]


@dataclass(frozen=True)
class Bound:
    """An aggregate that knows its operator and its input types.

    Attributes:
        name: result column.
        type: Spark SQL type of the result.
        partials: what it needs in state.
        finish: from a frame of merged partials to the result column.
    """

    name: str
    type: str
    partials: tuple[Partial, ...]
    finish: Finish = field(compare=False)

    @property
    def identity(self) -> str:
        """What must stay the same for the state in a checkpoint to fit."""
        return f"{self.name}={','.join(f'{c.name}:{c.type}' for p in self.partials for c in p.columns)}"


@dataclass(frozen=True)
class Place:
    """Where an aggregate is bound: everything it may need to know, and to name in an error."""

    operator: str
    result: str
    schema: Schema
    time_sql: str

    def type_of(self, column: str) -> str:
        """The type of an input column, or an error that lists the columns there are."""
        if column not in self.schema:
            raise TopologyError(
                f"operator {self.operator!r}: aggregate {self.result!r} reads column {column!r}, "
                f"which the stream does not have; it has {', '.join(self.schema)}"
            )
        return self.schema[column]

    def numeric_type_of(self, column: str) -> str:
        """The same for a column that must be a number."""
        type_ = self.type_of(column)
        if not is_numeric(type_):
            raise TopologyError(
                f"operator {self.operator!r}: aggregate {self.result!r} needs a number, "
                f"but column {column!r} is {type_}"
            )
        return type_


class Aggregate(ABC):
    """Something ``compute`` can keep per key and window."""

    @abstractmethod
    def bind(self, place: Place) -> Bound:
        """Check the input columns and say which partials are needed."""


@dataclass(frozen=True)
class _Count(Aggregate):
    column: str | None

    def bind(self, place: Place) -> Bound:
        if self.column is None:
            return Bound(place.result, "bigint", (ROW_COUNT,), _take(ROWS))
        place.type_of(self.column)
        counted = _non_null(self.column)
        return Bound(place.result, "bigint", (counted,), _take(counted.columns[0].name))


@dataclass(frozen=True)
class _Sum(Aggregate):
    column: str

    def bind(self, place: Place) -> Bound:
        type_ = sum_type(place.numeric_type_of(self.column))
        total, counted = _total(self.column, type_), _non_null(self.column)
        return Bound(place.result, type_, (total, counted), _where_counted(counted, pl.col(total.columns[0].name)))


@dataclass(frozen=True)
class _Mean(Aggregate):
    column: str

    def bind(self, place: Place) -> Bound:
        total = _total(self.column, sum_type(place.numeric_type_of(self.column)))
        counted = _non_null(self.column)
        ratio = pl.col(total.columns[0].name).cast(pl.Float64) / pl.col(counted.columns[0].name)
        return Bound(place.result, "double", (total, counted), _where_counted(counted, ratio))


@dataclass(frozen=True)
class _Extreme(Aggregate):
    function: str
    column: str

    def bind(self, place: Place) -> Bound:
        type_ = _orderable(place, self.column)
        partial = Extreme(self.function, self.column, type_)
        return Bound(place.result, type_, (partial,), _take(partial.columns[0].name))


@dataclass(frozen=True)
class _Spread(Aggregate):
    column: str
    sample: bool
    root: bool

    def bind(self, place: Place) -> Bound:
        place.numeric_type_of(self.column)
        moments = Moments(self.column)
        n, _, m2 = (pl.col(c.name) for c in moments.columns)
        freedom = n - 1 if self.sample else n
        value = m2 / freedom
        if self.root:
            value = value.sqrt()
        return Bound(place.result, "double", (moments,), _constant(pl.when(freedom > 0).then(value)))


@dataclass(frozen=True)
class _Edge(Aggregate):
    function: str
    column: str

    def bind(self, place: Place) -> Bound:
        type_ = _orderable(place, self.column)
        edge = Edge(self.function, self.column, type_, place.time_sql)
        return Bound(place.result, type_, (edge,), _take(edge.columns[1].name))


@dataclass(frozen=True)
class _Distinct(Aggregate):
    column: str
    lg_k: int

    def bind(self, place: Place) -> Bound:
        type_ = place.type_of(self.column)
        cast = "bigint" if type_ in INTEGERS else "binary" if type_ == "binary" else "string"
        sketch = Distinct(self.column, cast, self.lg_k)
        return Bound(place.result, "bigint", (sketch,), _each(sketch, Distinct.estimate, pl.Int64))


@dataclass(frozen=True)
class _Quantiles(Aggregate):
    column: str
    ranks: tuple[float, ...]
    k: int

    def bind(self, place: Place) -> Bound:
        place.numeric_type_of(self.column)
        sketch, ranks = Quantile(self.column, self.k), self.ranks
        finish = _each(sketch, lambda blob: Quantile.estimate(blob, ranks), pl.List(pl.Float64))
        return Bound(place.result, "array<double>", (sketch,), finish)


@dataclass(frozen=True)
class _TopK(Aggregate):
    column: str
    k: int
    capacity: int

    def bind(self, place: Place) -> Bound:
        integer = place.type_of(self.column) in INTEGERS
        cast, item = ("bigint", pl.Int64) if integer else ("string", pl.String)
        sketch, k = Frequent(self.column, cast, self.capacity), self.k
        listed = pl.List(pl.Struct({"item": item, "count": pl.Int64}))
        finish = _each(sketch, lambda blob: sketch.estimate(blob, k), listed)
        return Bound(place.result, f"array<struct<item:{cast},count:bigint>>", (sketch,), finish)


@dataclass(frozen=True)
class _UserWritten(Aggregate):
    partial: FrameFunction
    merge: FrameFunction
    finish: FrameFunction
    inputs: tuple[str, ...]
    fields: tuple[Column, ...]
    result: str
    over: str

    def bind(self, place: Place) -> Bound:
        for column in self.inputs:
            place.type_of(column)
        custom = Custom(place.result, place.operator, self.fields, self.inputs, self.partial, self.merge, self.over)

        def finish(frame: pl.DataFrame) -> pl.Series:
            given = frame.select(
                pl.col(c.name).alias(f.name) for c, f in zip(custom.columns, custom.fields, strict=True)
            )
            what = f"finish of aggregate {place.result!r}"
            column = call_over(self.over, self.finish, given, place.operator, what)
            if not isinstance(column, pl.Series) or len(column) != len(given):
                raise OperatorError(
                    place.operator, f"{what} must return one column with a value for each of {len(given)} rows"
                )
            return column.alias(place.result)

        return Bound(place.result, self.result, (custom,), finish)


def count(column: str | None = None) -> Aggregate:
    """Rows, or the rows in which a column is not null."""
    return _Count(column)


def sum(column: str) -> Aggregate:
    """Sum of a number; null if there was none. Integers add up to bigint, as in Spark."""
    return _Sum(column)


def mean(column: str) -> Aggregate:
    """Arithmetic mean of a number, as a double; null if there was none."""
    return _Mean(column)


def min(column: str) -> Aggregate:
    """Smallest value of anything that has an order."""
    return _Extreme("min", column)


def max(column: str) -> Aggregate:
    """Largest value of anything that has an order."""
    return _Extreme("max", column)


def variance(column: str, *, sample: bool = True) -> Aggregate:
    """Variance; ``sample=False`` divides by n instead of n - 1."""
    return _Spread(column, sample, root=False)


def stddev(column: str, *, sample: bool = True) -> Aggregate:
    """Standard deviation; ``sample=False`` divides by n instead of n - 1."""
    return _Spread(column, sample, root=True)


def first(column: str) -> Aggregate:
    """The value with the earliest event time; at equal times the smallest."""
    return _Edge("first", column)


def last(column: str) -> Aggregate:
    """The value with the latest event time; at equal times the largest."""
    return _Edge("last", column)


def approx_distinct(column: str, *, lg_k: int = 12) -> Aggregate:
    """About how many different values (HyperLogLog; standard error 1.04 / sqrt(2 ** lg_k), 1.6 % at 12)."""
    if not 4 <= lg_k <= 21:
        raise TopologyError(f"approx_distinct({column!r}, lg_k={lg_k}): lg_k goes from 4 to 21")
    return _Distinct(column, lg_k)


def quantiles(column: str, *ranks: float, k: int = 200) -> Aggregate:
    """Approximate values at the given ranks in [0, 1], as an array (KLL; rank error about 1.33 % at k = 200)."""
    if not ranks or any(not 0 <= r <= 1 for r in ranks):
        raise TopologyError(f"quantiles({column!r}, ...) needs ranks between 0 and 1, as in 0.5, 0.99; got {ranks}")
    return _Quantiles(column, ranks, k)


def top_k(column: str, k: int = 10, *, capacity: int = 1_000) -> Aggregate:
    """The k most frequent values with their counts, as an array of (item, count).

    ``capacity`` is how many values the sketch follows: with no more distinct values than about three quarters of
    the next power of two above it, counts are exact.
    """
    if not 1 <= k <= capacity:
        raise TopologyError(f"top_k({column!r}, {k}): k goes from 1 to the capacity, {capacity}")
    return _TopK(column, k, capacity)


def aggregate(
    *,
    inputs: Sequence[str],
    partial: FrameFunction,
    partials: Mapping[str, str],
    merge: FrameFunction,
    finish: FrameFunction,
    result: str,
    over: str = "polars",
) -> Aggregate:
    """An aggregate of your own, as three functions over whole frames.

    Args:
        inputs: the columns ``partial`` reads.
        partial: rows (``group`` and the inputs) to one row per group (``group`` and the partial columns).
        partials: the partial columns and their Spark SQL types; they are the state.
        merge: partials (``group`` and the partial columns) to one row per group, the same columns.
        finish: merged partials, one row per result, to one column.
        result: Spark SQL type of the result.
        over: ``polars`` or ``arrow``: what the functions take and return.

    A volume-weighted average price:

    >>> vwap = aggregate(
    ...     inputs=["price", "size"],
    ...     partial=lambda rows: rows.group_by("group").agg(
    ...         value=(pl.col("price") * pl.col("size")).sum(), size=pl.col("size").sum()),
    ...     partials={"value": "double", "size": "bigint"},
    ...     merge=lambda parts: parts.group_by("group").agg(pl.col("value").sum(), pl.col("size").sum()),
    ...     finish=lambda parts: parts["value"] / parts["size"],
    ...     result="double",
    ... )
    """
    if over not in ("polars", "arrow"):
        raise TopologyError(f"aggregate(over={over!r}): functions run over 'polars' or 'arrow'")
    for type_ in (*partials.values(), result):
        arrow_type(type_)  # a type that cannot be kept fails here, where it was written
    fields = tuple(Column(name, type_) for name, type_ in partials.items())
    return _UserWritten(partial, merge, finish, tuple(inputs), fields, result, over)


def _take(column: str) -> Finish:
    return _constant(pl.col(column))


def _constant(expression: pl.Expr) -> Finish:
    return lambda _: expression


def _where_counted(counted: Total, value: pl.Expr) -> Finish:
    return _constant(pl.when(pl.col(counted.columns[0].name) > 0).then(value))


def _each(sketch: Partial, estimate: Callable[[bytes], object], dtype: pl.DataType | type[pl.DataType]) -> Finish:
    (column,) = sketch.columns
    return lambda frame: pl.Series(
        [None if blob is None else estimate(blob) for blob in frame[column.name]], dtype=dtype
    )


def _non_null(column: str) -> Total:
    return Total(f"count({column})", "bigint", f"count({quoted(column)})")


def _total(column: str, type_: str) -> Total:
    return Total(f"sum({column})", type_, f"coalesce(cast(sum({quoted(column)}) as {type_}), cast(0 as {type_}))")


def _orderable(place: Place, column: str) -> str:
    type_ = place.type_of(column)
    if not is_key(type_):
        raise TopologyError(
            f"operator {place.operator!r}: aggregate {place.result!r} cannot compare column {column!r} of type {type_}"
        )
    return type_
