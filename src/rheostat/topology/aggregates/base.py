"""What every aggregate is: it names the partials it keeps in state and finishes a result out of merged partials.

``Stream.aggregate`` and ``Stream.compute`` bind the aggregates that a user declares to the columns of a stream;
``rheostat.planning`` puts the partials of all bound aggregates into tables.
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
"""From a frame of merged partials to the result column."""


@dataclass(frozen=True)
class BoundAggregate:
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
class AggregateSite:
    """The place in a topology where an aggregate is declared: what it may read, and what its errors name.

    Attributes:
        operator: the operator that has the aggregate.
        result: the result column.
        schema: the columns of the stream that it reads.
        time_sql: Spark SQL for a row's event time in microseconds.
    """

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

    def comparable_type_of(self, column: str) -> str:
        """The same for a column whose values must have an order."""
        type_ = self.type_of(column)
        if not is_key(type_):
            raise TopologyError(
                f"operator {self.operator!r}: aggregate {self.result!r} cannot compare column {column!r} "
                f"of type {type_}"
            )
        return type_


class Aggregate(ABC):
    """What ``rh.count()`` and its like return: something to keep per key and window.

    >>> isinstance(rh.count(), rh.Aggregate)
    True
    """

    @abstractmethod
    def bind(self, site: AggregateSite) -> BoundAggregate:
        """Check the input columns and say which partials are needed."""


def column_as_it_is(column: str) -> Finish:
    """A result that is one of the partial columns."""
    return expression(pl.col(column))


def expression(given: pl.Expr) -> Finish:
    """A result that is a Polars expression over the partial columns."""
    return lambda _: given
