"""Aggregates that a user writes, as three functions over whole frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rheostat.choices import Over, check_choice
from rheostat.errors import OperatorError
from rheostat.topology.aggregates.base import Aggregate, AggregateSite, BoundAggregate
from rheostat.types import arrow_type
from rheostat.windows.custom import Custom, call_over
from rheostat.windows.partials import Column

GroupFunction = Callable[[Any], Any]
"""A function from one Polars or Arrow frame to another, with one row per value of its column ``group``."""

ColumnFunction = Callable[[Any], Any]
"""A function from a Polars or Arrow frame to a column of the same length."""


def own_aggregate(
    *,
    inputs: Sequence[str],
    partial: GroupFunction,
    partials: Mapping[str, str],
    merge: GroupFunction,
    finish: ColumnFunction,
    result: str,
    over: Over = "polars",
) -> Aggregate:
    """An aggregate of your own, as three functions over whole frames.

    Each function is called once per slot and epoch, not once per key: rows with the same value in the column ``group``
    belong together.

    Args:
        inputs: the columns that ``partial`` reads.
        partial: function from rows (``group`` and the inputs) to one row per group (``group`` and the partial columns).
        partials: the partial columns and their Spark SQL types; they are the state.
        merge: function from partials (``group`` and the partial columns) to one row per group, with the same columns.
            It must be commutative and associative: partials are merged in any order and in any number of steps.
        finish: function from merged partials, one row per result, to the column of results.
        result: Spark SQL type of the result.
        over: ``polars`` or ``arrow``, the kind of frame that the functions take and return.

    A volume-weighted average price:

    >>> import polars as pl
    >>> vwap = rh.own_aggregate(
    ...     inputs=["price", "size"],
    ...     partial=lambda rows: rows.group_by("group").agg(
    ...         value=(pl.col("price") * pl.col("size")).sum(), size=pl.col("size").sum()),
    ...     partials={"value": "double", "size": "bigint"},
    ...     merge=lambda parts: parts.group_by("group").agg(pl.col("value").sum(), pl.col("size").sum()),
    ...     finish=lambda parts: parts["value"] / parts["size"],
    ...     result="double",
    ... )
    """
    check_choice("own_aggregate()", "over", over, Over)
    for type_ in (*partials.values(), result):
        arrow_type(type_)  # a type that cannot be kept in state fails here, at the call
    fields = tuple(Column(name, type_) for name, type_ in partials.items())
    return _OwnAggregate(
        partial=partial, merge=merge, finish=finish, inputs=tuple(inputs), fields=fields, result=result, over=over
    )


@dataclass(frozen=True)
class _OwnAggregate(Aggregate):
    partial: GroupFunction
    merge: GroupFunction
    finish: ColumnFunction
    inputs: tuple[str, ...]
    fields: tuple[Column, ...]
    result: str
    over: Over

    def bind(self, site: AggregateSite) -> BoundAggregate:
        for column in self.inputs:
            site.type_of(column)
        custom = Custom(
            name=site.result,
            operator=site.operator,
            fields=self.fields,
            inputs=self.inputs,
            partial_function=self.partial,
            merge_function=self.merge,
            over=self.over,
        )

        def finish(frame: pl.DataFrame) -> pl.Series:
            merged = frame.select(
                pl.col(c.name).alias(f.name) for c, f in zip(custom.columns, custom.fields, strict=True)
            )
            what = f"finish of aggregate {site.result!r}"
            column = call_over(self.over, self.finish, merged, site.operator, what)
            if not isinstance(column, pl.Series) or len(column) != len(merged):
                raise OperatorError(
                    site.operator, f"{what} must return one column with a value for each of {len(merged)} rows"
                )
            return column.alias(site.result)

        return BoundAggregate(site.result, self.result, (custom,), finish)
