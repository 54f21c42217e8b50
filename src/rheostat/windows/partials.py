"""Partial results: what ``compute`` keeps per key and pane, and how they are merged (Enorm section 4.2).

A partial consists of four parts: Spark SQL that aggregates rows, in the JVM; Spark SQL for the partial of a single row,
and Spark SQL that rolls finer partials up into coarser ones, where that is possible; and Polars expressions that merge
partials of a group. Merging is commutative and associative up to floating-point rounding, and merging a single partial
does not change it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

ROWS = "p.count(*)"
"""Column with the number of rows, which every table keeps. A key with no rows left is not in the table."""


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: its name.
        type: its Spark SQL type, as ``DataFrame.dtypes`` gives it.
    """

    name: str
    type: str


class Partial(ABC):
    """One or more columns of state that are merged together."""

    subtractable = False
    """True if partials can be subtracted exactly, which running totals need."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The state columns, in order."""

    @property
    @abstractmethod
    def sql(self) -> tuple[str, ...]:
        """Spark SQL aggregates over rows, one per column; empty if the partial is computed in Python."""

    @property
    def row_sql(self) -> tuple[str, ...]:
        """Spark SQL for the partial of a single row, one per column; empty if that has no short form."""
        return ()

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        """Spark SQL aggregates over finer partials, one per column; empty if Spark cannot roll them up."""
        return ()

    @abstractmethod
    def merge(self) -> list[pl.Expr]:
        """Polars aggregates over a group of partials, one per column."""


def quoted(name: str) -> str:
    """A column name, quoted for Spark SQL.

    >>> quoted("odd `name`")
    '`odd ``name```'
    """
    return "`" + name.replace("`", "``") + "`"


def ddl(columns: Iterable[Column]) -> str:
    """Columns as Spark DDL.

    >>> ddl([Column("area", "string"), Column("odd name", "bigint")])
    '`area` string, `odd name` bigint'
    """
    return ", ".join(f"{quoted(c.name)} {c.type}" for c in columns)


@dataclass(frozen=True)
class Total(Partial):
    """A count of rows, or the sum of a column.

    Attributes:
        name: name of the total, such as ``sum(amount)``; equal names are kept once.
        type: ``bigint``, ``double`` or a decimal.
        expression: the Spark SQL aggregate over rows; it is never null.
        row: Spark SQL for the total of a single row, which is never null.
    """

    name: str
    type: str
    expression: str
    row: str

    @property
    def subtractable(self) -> bool:  # type: ignore[override]
        """True for integers and decimals. Subtracting from floating-point sums loses digits."""
        return self.type != "double"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column(f"p.{self.name}", self.type),)

    @property
    def sql(self) -> tuple[str, ...]:
        return (self.expression,)

    @property
    def row_sql(self) -> tuple[str, ...]:
        return (self.row,)

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        return (f"cast(sum({quoted(self.columns[0].name)}) as {self.type})",)

    def merge(self) -> list[pl.Expr]:
        column = pl.col(self.columns[0].name)
        if self.type == "bigint" and not self.name.startswith("count("):
            # Polars sums wrap around silently; the cast back makes a sum that does not fit an error, as in Spark.
            return [column.cast(pl.Int128).sum().cast(pl.Int64)]
        return [column.sum()]


ROW_COUNT = Total("count(*)", "bigint", "count(*)", "1L")
"""The partial that counts rows, in the column ``ROWS``. Every table has it."""


@dataclass(frozen=True)
class Extreme(Partial):
    """The smallest or the largest value of a column. NaN is larger than every number, as in Spark.

    Attributes:
        function: ``min`` or ``max``.
        column: the input column.
        type: its Spark SQL type.
    """

    function: str
    column: str
    type: str

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column(f"p.{self.function}({self.column})", self.type),)

    @property
    def sql(self) -> tuple[str, ...]:
        return (f"{self.function}({quoted(self.column)})",)

    @property
    def row_sql(self) -> tuple[str, ...]:
        return (quoted(self.column),)

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        return (f"{self.function}({quoted(self.columns[0].name)})",)

    def merge(self) -> list[pl.Expr]:
        column = pl.col(self.columns[0].name)
        if self.function == "min":
            return [column.min()]
        return [column.nan_max() if self.type in ("double", "float") else column.max()]


@dataclass(frozen=True)
class Moments(Partial):
    """Count, mean and sum of squared deviations of a column, merged by the pairwise update of Chan et al.

    Sums of squares would be cheaper to merge, but lose all precision if the mean is large.

    Attributes:
        column: the input column.
    """

    column: str

    @property
    def columns(self) -> tuple[Column, ...]:
        c = self.column
        return Column(f"p.n({c})", "bigint"), Column(f"p.mean({c})", "double"), Column(f"p.m2({c})", "double")

    @property
    def sql(self) -> tuple[str, ...]:
        x = f"cast({quoted(self.column)} as double)"
        return f"count({x})", f"avg({x})", f"var_pop({x}) * count({x})"

    @property
    def row_sql(self) -> tuple[str, ...]:
        x = f"cast({quoted(self.column)} as double)"
        # The difference is null for null, and NaN where Spark's variance is NaN.
        return f"cast({x} IS NOT NULL as bigint)", x, f"{x} - {x}"

    def merge(self) -> list[pl.Expr]:
        n, mean, m2 = (pl.col(c.name) for c in self.columns)
        total = n.sum()
        centre = (n * mean).sum() / total
        spread = m2.sum() + (n * (mean - centre).pow(2)).sum()
        if_any = pl.when(total > 0)
        return [
            total,
            if_any.then(centre).alias(self.columns[1].name),
            if_any.then(spread).alias(self.columns[2].name),
        ]


@dataclass(frozen=True)
class Edge(Partial):
    """The first (last) non-null value of a column by event time; the smallest (largest) of several at that time.

    Attributes:
        function: ``first`` or ``last``.
        column: the input column.
        type: its Spark SQL type.
        time: Spark SQL for the event time in microseconds.
    """

    function: str
    column: str
    type: str
    time: str

    @property
    def columns(self) -> tuple[Column, ...]:
        f, c = self.function, self.column
        return Column(f"p.{f}_time({c})", "bigint"), Column(f"p.{f}({c})", self.type)

    @property
    def sql(self) -> tuple[str, ...]:
        x = quoted(self.column)
        pair = f"named_struct('t', {self.time}, 'v', {x})"
        best = f"({self._extreme}({pair}) FILTER (WHERE {x} IS NOT NULL))"
        return f"{best}.t", f"{best}.v"

    @property
    def row_sql(self) -> tuple[str, ...]:
        x = quoted(self.column)
        return f"if({x} IS NULL, NULL, {self.time})", x

    @property
    def rollup_sql(self) -> tuple[str, ...]:
        t, v = (quoted(c.name) for c in self.columns)
        best = f"({self._extreme}(named_struct('t', {t}, 'v', {v})) FILTER (WHERE {t} IS NOT NULL))"
        return f"{best}.t", f"{best}.v"

    @property
    def _extreme(self) -> str:
        return "min" if self.function == "first" else "max"

    def merge(self) -> list[pl.Expr]:
        t, v = (pl.col(c.name) for c in self.columns)
        if self.function == "first":
            return [t.min(), v.sort_by([t, v], nulls_last=True).first()]
        return [t.max(), v.sort_by([t, v], nulls_last=False).last()]
