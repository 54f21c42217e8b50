"""The partials of user-written aggregates. Their functions take whole frames, once per slot and epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from rheostat.errors import OperatorError
from rheostat.types import arrow_type
from rheostat.windows.partials import Column, Partial

GROUP = "group"
"""Column with the number of a row's group, in the frames that a user's functions take and return."""

FrameFunction = Callable[[Any], Any]
"""A user's function from one Polars or Arrow frame to another."""


@dataclass(frozen=True)
class Custom(Partial):
    """The partial of a user-written aggregate.

    Attributes:
        name: name of the aggregate, unique in its operator.
        operator: the operator it belongs to, for error messages.
        fields: the partial columns as the user named them.
        inputs: the columns of rows that ``partial_function`` reads.
        partial_function: the user's function from rows to one partial per group.
        merge_function: the user's function from partials to one partial per group.
        over: ``polars`` or ``arrow``, the frames that the functions take and return.
    """

    name: str
    operator: str
    fields: tuple[Column, ...]
    inputs: tuple[str, ...]
    partial_function: FrameFunction = field(compare=False)
    merge_function: FrameFunction = field(compare=False)
    over: str = "polars"

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f"p.{self.operator}.{self.name}.{f.name}", f.type) for f in self.fields)

    @property
    def sql(self) -> tuple[str, ...]:
        return ()

    def merge(self) -> list[pl.Expr]:
        raise NotImplementedError("user-written partials are merged as whole frames: call merge_groups()")

    def compute_groups(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One partial per group of rows.

        Args:
            rows: has the column ``group`` and the inputs.
        """
        return self._call("partial", self.partial_function, rows.select(GROUP, *self.inputs))

    def merge_groups(self, partials: pl.DataFrame) -> pl.DataFrame:
        """One partial per group of partials; rows without a partial of this aggregate are ignored."""
        names = [c.name for c in self.columns]
        present = partials.filter(~pl.all_horizontal(pl.col(names).is_null()))
        renamed = present.select(GROUP, *(pl.col(c.name).alias(f.name) for c, f in self._pairs))
        return self._call("merge", self.merge_function, renamed)

    @property
    def _pairs(self) -> Sequence[tuple[Column, Column]]:
        return tuple(zip(self.columns, self.fields, strict=True))

    def _call(self, step: str, function: FrameFunction, frame: pl.DataFrame) -> pl.DataFrame:
        result = call_over(self.over, function, frame, self.operator, f"{step} of aggregate {self.name!r}")
        missing = [n for n in (GROUP, *(f.name for f in self.fields)) if n not in result.columns]
        if missing:
            raise OperatorError(
                self.operator,
                f"the {step} function of aggregate {self.name!r} returned no column {missing[0]!r}; "
                f"it must return {GROUP!r} and {[f.name for f in self.fields]}",
            )
        if result[GROUP].n_unique() != len(result) or len(result) != frame[GROUP].n_unique():
            raise OperatorError(
                self.operator,
                f"the {step} function of aggregate {self.name!r} must return exactly one row per group: "
                f"it got {frame[GROUP].n_unique()} groups and returned {len(result)} rows",
            )
        selected = result.select(GROUP, *(pl.col(f.name).alias(c.name) for c, f in self._pairs)).to_arrow()
        schema = pa.schema([(GROUP, pa.uint32()), *((c.name, arrow_type(c.type)) for c in self.columns)])
        try:
            typed = pl.from_arrow(selected.cast(schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise OperatorError(
                self.operator,
                f"the {step} function of aggregate {self.name!r} returned types other than the declared ones: {error}",
            ) from error
        assert isinstance(typed, pl.DataFrame)
        return typed


def call_over(over: str, function: FrameFunction, frame: pl.DataFrame, operator: str, what: str) -> Any:
    """Call a user's function with a Polars or Arrow frame, and return its result as a Polars frame or column.

    Args:
        over: ``polars`` or ``arrow``, the kind of frame that the function takes and returns.
        function: the user's function.
        frame: its argument.
        operator: the operator's name, for errors.
        what: the function in words, for errors.
    """
    argument = frame if over == "polars" else frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    try:
        result = function(argument)
    except Exception as error:
        raise OperatorError.caused_by(operator, what, error) from error
    if isinstance(result, (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)):
        result = pl.from_arrow(result)
    if not isinstance(result, (pl.DataFrame, pl.Series)):
        raise OperatorError(operator, f"{what} returned {type(result).__name__}, not a {over} frame or column")
    return result
