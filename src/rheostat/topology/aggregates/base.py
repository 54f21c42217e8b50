"""The base of all aggregates. An aggregate says which partials it needs, and computes its result from merged ones.

``Stream.aggregate`` and ``Stream.compute`` bind aggregates to the columns of a stream; ``rheostat.planning`` puts the
partials of all bound aggregates into tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from rheostat.errors import TopologyError
from rheostat.types import Schema, is_key, is_numeric
from rheostat.windows.partials import Partial

Finish = Callable[[pl.DataFrame], pl.Expr | pl.Series]
"""A function from a frame of merged partials to the result column."""


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate that has been checked against the columns of its stream.

    Attributes:
        name: result column.
        type: Spark SQL type of the result.
        partials: the partials that it keeps in state.
        finish: the function from a frame of merged partials to the result column.
    """

    name: str
    type: str
    partials: tuple[Partial, ...]
    finish: Finish = field(compare=False)

    @property
    def identity(self) -> str:
        """Result column and partial columns as text. Equal texts mean that the state in a checkpoint fits."""
        return f"{self.name}={','.join(f'{c.name}:{c.type}' for p in self.partials for c in p.columns)}"


@dataclass(frozen=True)
class AggregateSite:
    """The place in a topology where an aggregate is declared: the columns it may read, and the names for its errors.

    Attributes:
        operator: the operator that declares the aggregate.
        result: the result column.
        schema: columns of the stream and their Spark SQL types.
        time_sql: Spark SQL for a row's event time in microseconds.
    """

    operator: str
    result: str
    schema: Schema
    time_sql: str

    def type_of(self, column: str) -> str:
        """The type of an input column. If it does not exist, the error lists the stream's columns."""
        if column not in self.schema:
            raise TopologyError(
                f"operator {self.operator!r}: aggregate {self.result!r} reads column {column!r}, "
                f"which the stream does not have; it has {', '.join(self.schema)}"
            )
        return self.schema[column]

    def numeric_type_of(self, column: str) -> str:
        """The type of an input column, which must be numeric."""
        type_ = self.type_of(column)
        if not is_numeric(type_):
            raise TopologyError(
                f"operator {self.operator!r}: aggregate {self.result!r} needs a number, "
                f"but column {column!r} is {type_}; cast it with map(...)"
            )
        return type_

    def comparable_type_of(self, column: str) -> str:
        """The type of an input column, whose values must be comparable."""
        type_ = self.type_of(column)
        if not is_key(type_):
            raise TopologyError(
                f"operator {self.operator!r}: aggregate {self.result!r} cannot compare column {column!r} "
                f"of type {type_}; choose a column whose values have an order"
            )
        return type_


class Aggregate(ABC):
    """An aggregate, as ``rh.count()`` returns it: one result column per key and window.

    >>> isinstance(rh.count(), rh.Aggregate)
    True
    """

    @abstractmethod
    def bind(self, site: AggregateSite) -> BoundAggregate:
        """Check the input columns, and return the aggregate with its partials."""


def finish_column(column: str) -> Finish:
    """A ``Finish`` whose result is one of the partial columns."""
    return finish_expression(pl.col(column))


def finish_expression(expression: pl.Expr) -> Finish:
    """A ``Finish`` whose result is a Polars expression over the partial columns."""
    return lambda _: expression
