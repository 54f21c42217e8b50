"""Exact aggregates: count, sum, mean, min, max, variance, standard deviation, first and last.

Aggregates of one operator share partials: ``mean("x")`` next to ``sum("x")`` keeps nothing more. Nulls are skipped,
as in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rheostat.topology.aggregates.base import (
    Aggregate,
    AggregateSite,
    BoundAggregate,
    Finish,
    column_as_it_is,
    expression,
)
from rheostat.types import sum_type
from rheostat.windows.partials import ROW_COUNT, ROWS, Edge, Extreme, Moments, Total, quoted


def count(column: str | None = None) -> Aggregate:
    """Number of rows, or of the rows in which a column is not null, as a bigint.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hour = rh.tumbling("1 hour")
    >>> hours = source.aggregate("hours", windows=hour, loans=rh.count(), with_user=rh.count("user"))
    >>> hours.schema["loans"]
    'bigint'
    """
    return _Count(column)


def sum(column: str) -> Aggregate:
    """Sum of a number; null if there was none. Integers add up to bigint, as in Spark.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), lent=rh.sum("amount"))
    >>> hours.schema["lent"]
    'double'
    """
    return _Sum(column)


def mean(column: str) -> Aggregate:
    """Arithmetic mean of a number, as a double; null if there was none.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), usual=rh.mean("amount"))
    >>> hours.schema["usual"]
    'double'
    """
    return _Mean(column)


def min(column: str) -> Aggregate:
    """Smallest value of a number, text, date, timestamp or boolean.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), since=rh.min("ts"))
    >>> hours.schema["since"]
    'timestamp'
    """
    return _Extreme("min", column)


def max(column: str) -> Aggregate:
    """Largest value of a number, text, date, timestamp or boolean. NaN is the largest number, as in Spark.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), largest=rh.max("amount"))
    >>> hours.schema["largest"]
    'double'
    """
    return _Extreme("max", column)


def variance(column: str, *, sample: bool = True) -> Aggregate:
    """Variance of a number, as a double.

    Args:
        column: the column.
        sample: divide by n - 1; False divides by n.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), spread=rh.variance("amount"))
    >>> hours.schema["spread"]
    'double'
    """
    return _Spread(column, sample, root=False)


def stddev(column: str, *, sample: bool = True) -> Aggregate:
    """Standard deviation of a number, as a double.

    Args:
        column: the column.
        sample: divide by n - 1; False divides by n.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), spread=rh.stddev("amount", sample=False))
    >>> hours.schema["spread"]
    'double'
    """
    return _Spread(column, sample, root=True)


def first(column: str) -> Aggregate:
    """The value with the earliest event time; at equal times the smallest.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", by="area", windows=rh.tumbling("1 hour"), opened_by=rh.first("user"))
    >>> hours.schema["opened_by"]
    'string'
    """
    return _Edge("first", column)


def last(column: str) -> Aggregate:
    """The value with the latest event time; at equal times the largest.

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
            return BoundAggregate(site.result, "bigint", (ROW_COUNT,), column_as_it_is(ROWS))
        site.type_of(self.column)
        counted = _non_null(self.column)
        return BoundAggregate(site.result, "bigint", (counted,), column_as_it_is(counted.columns[0].name))


@dataclass(frozen=True)
class _Sum(Aggregate):
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = sum_type(site.numeric_type_of(self.column))
        total, counted = _total(self.column, type_), _non_null(self.column)
        finish = _where_counted(counted, pl.col(total.columns[0].name))
        return BoundAggregate(site.result, type_, (total, counted), finish)


@dataclass(frozen=True)
class _Mean(Aggregate):
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        total = _total(self.column, sum_type(site.numeric_type_of(self.column)))
        counted = _non_null(self.column)
        ratio = pl.col(total.columns[0].name).cast(pl.Float64) / pl.col(counted.columns[0].name)
        return BoundAggregate(site.result, "double", (total, counted), _where_counted(counted, ratio))


@dataclass(frozen=True)
class _Extreme(Aggregate):
    function: str
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = site.comparable_type_of(self.column)
        partial = Extreme(self.function, self.column, type_)
        return BoundAggregate(site.result, type_, (partial,), column_as_it_is(partial.columns[0].name))


@dataclass(frozen=True)
class _Spread(Aggregate):
    column: str
    sample: bool
    root: bool

    def bind(self, site: AggregateSite) -> BoundAggregate:
        site.numeric_type_of(self.column)
        moments = Moments(self.column)
        n, _, m2 = (pl.col(c.name) for c in moments.columns)
        freedom = n - 1 if self.sample else n
        value = m2 / freedom
        if self.root:
            value = value.sqrt()
        return BoundAggregate(site.result, "double", (moments,), expression(pl.when(freedom > 0).then(value)))


@dataclass(frozen=True)
class _Edge(Aggregate):
    function: str
    column: str

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = site.comparable_type_of(self.column)
        edge = Edge(self.function, self.column, type_, site.time_sql)
        return BoundAggregate(site.result, type_, (edge,), column_as_it_is(edge.columns[1].name))


def _where_counted(counted: Total, value: pl.Expr) -> Finish:
    return expression(pl.when(pl.col(counted.columns[0].name) > 0).then(value))


def _non_null(column: str) -> Total:
    return Total(f"count({column})", "bigint", f"count({quoted(column)})")


def _total(column: str, type_: str) -> Total:
    return Total(f"sum({column})", type_, f"coalesce(cast(sum({quoted(column)}) as {type_}), cast(0 as {type_}))")
