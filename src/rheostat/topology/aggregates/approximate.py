"""Approximate aggregates of bounded size: distinct values, quantiles and the most frequent values.

Spark builds the sketches in the JVM; the package ``datasketches`` (extra ``sketches``) merges and reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from rheostat.errors import TopologyError
from rheostat.topology.aggregates.base import Aggregate, AggregateSite, BoundAggregate, Finish
from rheostat.types import INTEGERS
from rheostat.windows.partials import Partial
from rheostat.windows.sketches import Distinct, Frequent, Quantile


def approx_distinct(column: str, *, lg_k: int = 12) -> Aggregate:
    """The approximate number of distinct values of a column, as a bigint (HyperLogLog).

    Args:
        column: the column.
        lg_k: size of the sketch, from 4 to 21; the standard error is 1.04 / sqrt(2 ** lg_k), 1.6 % at 12.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), users=rh.approx_distinct("user"))
    >>> hours.schema["users"]
    'bigint'
    """
    if not 4 <= lg_k <= 21:
        raise TopologyError(f"approx_distinct({column!r}, lg_k={lg_k}): lg_k must be between 4 and 21")
    return _Distinct(column, lg_k)


def quantiles(column: str, *ranks: float, k: int = 200) -> Aggregate:
    """Approximate quantiles of a numeric column, as an array of double (KLL).

    Args:
        column: the column.
        ranks: which quantiles, from 0 to 1: 0.5 is the median; 0 and 1 are exact.
        k: size of the sketch; the rank error is about 1.33 % at 200.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), amounts=rh.quantiles("amount", 0.5, 0.99))
    >>> hours.schema["amounts"]
    'array<double>'
    """
    if not ranks or any(not 0 <= r <= 1 for r in ranks):
        raise TopologyError(f"quantiles({column!r}, ...) needs ranks between 0 and 1, as in 0.5, 0.99; got {ranks}")
    return _Quantiles(column, ranks, k)


def top_k(column: str, k: int = 10, *, capacity: int = 1_000) -> Aggregate:
    """The approximately most frequent values and their counts, as an array of (item, count), most frequent first.

    Args:
        column: the column.
        k: how many values to return.
        capacity: how many values the sketch tracks. Counts are exact as long as the number of distinct values is at
            most about three quarters of the next power of two above it.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> hours = source.aggregate("hours", windows=rh.tumbling("1 hour"), busiest=rh.top_k("area", 3))
    >>> hours.schema["busiest"]
    'array<struct<item:string,count:bigint>>'
    """
    if not 1 <= k <= capacity:
        raise TopologyError(f"top_k({column!r}, {k}): k must be between 1 and the capacity, {capacity}")
    return _TopK(column, k, capacity)


@dataclass(frozen=True)
class _Distinct(Aggregate):
    column: str
    lg_k: int

    def bind(self, site: AggregateSite) -> BoundAggregate:
        type_ = site.type_of(self.column)
        cast = "bigint" if type_ in INTEGERS else "binary" if type_ == "binary" else "string"
        sketch = Distinct(self.column, cast, self.lg_k)
        return BoundAggregate(site.result, "bigint", (sketch,), _finish_sketch(sketch, Distinct.estimate, pl.Int64))


@dataclass(frozen=True)
class _Quantiles(Aggregate):
    column: str
    ranks: tuple[float, ...]
    k: int

    def bind(self, site: AggregateSite) -> BoundAggregate:
        site.numeric_type_of(self.column)
        sketch, ranks = Quantile(self.column, self.k), self.ranks
        finish = _finish_sketch(sketch, lambda blob: Quantile.estimate(blob, ranks), pl.List(pl.Float64))
        return BoundAggregate(site.result, "array<double>", (sketch,), finish)


@dataclass(frozen=True)
class _TopK(Aggregate):
    column: str
    k: int
    capacity: int

    def bind(self, site: AggregateSite) -> BoundAggregate:
        integer = site.type_of(self.column) in INTEGERS
        cast, item = ("bigint", pl.Int64) if integer else ("string", pl.String)
        sketch, k = Frequent(self.column, cast, self.capacity), self.k
        listed = pl.List(pl.Struct({"item": item, "count": pl.Int64}))
        finish = _finish_sketch(sketch, lambda blob: sketch.estimate(blob, k), listed)
        return BoundAggregate(site.result, f"array<struct<item:{cast},count:bigint>>", (sketch,), finish)


def _finish_sketch(
    sketch: Partial, estimate: Callable[[bytes], object], dtype: pl.DataType | type[pl.DataType]
) -> Finish:
    """A ``Finish`` whose result is the estimate of every sketch; null where there is no sketch."""
    (column,) = sketch.columns
    return lambda frame: pl.Series(
        [None if blob is None else estimate(blob) for blob in frame[column.name]], dtype=dtype
    )
