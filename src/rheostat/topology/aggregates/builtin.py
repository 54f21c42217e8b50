"""Exact aggregates: count, sum, mean, min, max, variance, standard deviation, first and last.

Aggregates of one operator share partials: ``mean("x")`` next to ``sum("x")`` needs no additional state. Nulls are
skipped, as in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rheostat.topology.aggregates.base import (
    Aggregate,
    AggregateSite,
    BoundAggregate,
    Finish,
    finish_column,
    finish_expression,
)
from rheostat.types import sum_type
from rheostat.windows.partials import ROW_COUNT, ROWS, Edge, Extreme, Moments, Total, quoted


def count(column: str | None = None) -> Aggregate:
    """The number of rows, as a bigint.

    Args:
        column: count only the rows in which this column is not null; by default all rows.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hour = rh.tumbling("1 hour")
    >>> hours = source.aggregate("hours", windows=hour, loans=rh.count(), with_user=rh.count("user"))
    >>> hours.schema["loans"]
    'bigint'
    """
    return _Count(column)


def sum(column: str) -> Aggregate:
    """The sum of a numeric column; null if all values are null. The sum of integers is a bigint, as in Spark.

    Args:
        column: the column.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), lent=rh.sum("amount"))
    >>> hours.schema["lent"]
    'double'
    """
    return _Sum(column)


def mean(column: str) -> Aggregate:
    """The arithmetic mean of a numeric column, as a double; null if all values are null.

    Args:
        column: the column.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), usual=rh.mean("amount"))
    >>> hours.schema["usual"]
    'double'
    """
    return _Mean(column)


def min(column: str) -> Aggregate:
    """The smallest value of a column of numbers, strings, dates, timestamps or booleans.

    Args:
        column: the column.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), since=rh.min("ts"))
    >>> hours.schema["since"]
    'timestamp'
    """
    return _Extreme("min", column)


def max(column: str) -> Aggregate:
    """The largest value of a column of numbers, strings, dates, timestamps or booleans.

    NaN is larger than any other number, as in Spark.

    Args:
        column: the column.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), largest=rh.max("amount"))
    >>> hours.schema["largest"]
    'double'
    """
    return _Extreme("max", column)


def variance(column: str, *, sample: bool = True) -> Aggregate:
    """The variance of a numeric column, as a double.

    Args:
        column: the column.
        sample: True divides by n - 1, False by n.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), spread=rh.variance("amount"))
    >>> hours.schema["spread"]
    'double'
    """
    return _Spread(column, sample, root=False)


def stddev(column: str, *, sample: bool = True) -> Aggregate:
    """The standard deviation of a numeric column, as a double.

    Args:
        column: the column.
        sample: True divides by n - 1, False by n.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), spread=rh.stddev("amount", sample=False))
    >>> hours.schema["spread"]
    'double'
    """
    return _Spread(column, sample, root=True)


def first(column: str) -> Aggregate:
    """The value with the earliest event time; the smallest of several at that time.

    Args:
        column: the column.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", by="area", windows=rh.tumbling("1 hour"), opened_by=rh.first("user"))
    >>> hours.schema["opened_by"]
    'string'
    """
    return _Edge("first", column)


def last(column: str) -> Aggregate:
    """The value with the latest event time; the largest of several at that time.

    Args:
        column: the column.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", by="area", windows=rh.tumbling("1 hour"), closed_at=rh.last("amount"))
    >>> hours.schema["closed_at"]
    'double'
    """
    return _Edge("last", column)


@dataclass(frozen=True)
class _Count(Aggregate):
    column: str | None

    def bind(self, site: AggregateSite) -> BoundAggregate:
        if self.column is None:
            return BoundAggregate(site.result, "bigint", (ROW_COUNT,), finish_column(ROWS))
        site.type_of(self.column)
        non_null = _non_null(self.column)
        return BoundAggregate(site.result, "bigint", (non_null,), finish_column(non_null.columns[0].name))


@dataclass(frozen=True)
class _Sum(Aggregate):
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = sum_type(site.numeric_type_of(self.column))
        total, non_null = _total(self.column, type_), _non_null(self.column)
        finish = _null_if_none(non_null, pl.col(total.columns[0].name))
        return BoundAggregate(site.result, type_, (total, non_null), finish)


@dataclass(frozen=True)
class _Mean(Aggregate):
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        total = _total(self.column, sum_type(site.numeric_type_of(self.column)))
        non_null = _non_null(self.column)
        ratio = pl.col(total.columns[0].name).cast(pl.Float64) / pl.col(non_null.columns[0].name)
        return BoundAggregate(site.result, "double", (total, non_null), _null_if_none(non_null, ratio))


@dataclass(frozen=True)
class _Extreme(Aggregate):
    function: str
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = site.comparable_type_of(self.column)
        partial = Extreme(self.function, self.column, type_)
        return BoundAggregate(site.result, type_, (partial,), finish_column(partial.columns[0].name))


@dataclass(frozen=True)
class _Spread(Aggregate):
    column: str
    sample: bool
    root: bool

    def bind(self, site: AggregateSite) -> BoundAggregate:
        site.numeric_type_of(self.column)
        moments = Moments(self.column)
        n, _, m2 = (pl.col(c.name) for c in moments.columns)
        divisor = n - 1 if self.sample else n
        value = m2 / divisor
        if self.root:
            value = value.sqrt()
        return BoundAggregate(site.result, "double", (moments,), finish_expression(pl.when(divisor > 0).then(value)))


@dataclass(frozen=True)
class _Edge(Aggregate):
    function: str
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = site.comparable_type_of(self.column)
        edge = Edge(self.function, self.column, type_, site.time_sql)
        return BoundAggregate(site.result, type_, (edge,), finish_column(edge.columns[1].name))


def _null_if_none(non_null: Total, value: pl.Expr) -> Finish:
    """A result that is null if no row of the group has a value."""
    return finish_expression(pl.when(pl.col(non_null.columns[0].name) > 0).then(value))


def _non_null(column: str) -> Total:
    """The partial that counts the rows in which a column is not null."""
    x = quoted(column)
    return Total(f"count({column})", "bigint", f"count({x})", f"cast({x} IS NOT NULL as bigint)")


def _total(column: str, type_: str) -> Total:
    """The partial that sums a column."""
    x, zero = quoted(column), f"cast(0 as {type_})"
    return Total(
        f"sum({column})",
        type_,
        f"coalesce(cast(sum({x}) as {type_}), {zero})",
        f"coalesce(cast({x} as {type_}), {zero})",
    )
