"""Checks what the user's functions return against the columns and types that the operator declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import polars as pl
import pyarrow as pa

from rheostat.errors import OperatorError
from rheostat.types import INTEGERS, arrow_type
from rheostat.windows.partials import Column


def cast_frame(operator: str, what: str, frame: pl.DataFrame, columns: Sequence[Column]) -> pa.Table:
    """A frame cast to exactly the declared columns and types; other columns are left out.

    Args:
        operator: name of the operator, for errors.
        what: what the frame is, in words, for errors.
        frame: the frame that the user's function returned.
        columns: the declared columns.

    Raises:
        OperatorError: a column is missing or has another type.
    """
    missing = [c.name for c in columns if c.name not in frame.columns]
    if missing:
        raise OperatorError(
            operator,
            f"column {missing[0]!r} is missing from {what}; declared columns: {', '.join(c.name for c in columns)}",
        )
    table = frame.select([c.name for c in columns]).to_arrow(compat_level=pl.CompatLevel.oldest())
    arrays = [_cast(operator, what, c, table.column(c.name)) for c in columns]
    return pa.table(arrays, schema=pa.schema([(c.name, arrow_type(c.type)) for c in columns]))


def cast_rows(operator: str, what: str, rows: Sequence[Any], columns: Sequence[Column]) -> pa.Table:
    """The same as ``cast_frame``, for rows that are tuples, lists, or mappings by column name.

    Args:
        operator: name of the operator, for errors.
        what: what a row is, in words, for errors.
        rows: the rows that the user's function returned.
        columns: the declared columns.

    Raises:
        OperatorError: a row has other columns, or a value of another type.
    """
    names = [c.name for c in columns]
    plain = [_plain_row(operator, what, row, names) for row in rows]
    values = zip(*plain, strict=True) if plain else [()] * len(names)
    arrays = []
    for column, column_values in zip(columns, values, strict=True):
        try:
            if column.type in INTEGERS:
                _check_whole(column_values)
            arrays.append(pa.array(column_values, type=arrow_type(column.type)))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError, ValueError) as error:
            raise OperatorError(operator, f"{what}: column {column.name!r} is not {column.type}: {error}") from error
    return pa.table(arrays, names=names)


def _plain_row(operator: str, what: str, row: Any, names: list[str]) -> Sequence[Any]:
    """A row's values in the order of the columns."""
    if type(row) is tuple and len(row) == len(names):
        return row
    if isinstance(row, Mapping):
        if unknown := next((n for n in row if n not in names), None):
            raise OperatorError(
                operator, f"{what} has an undeclared column {unknown!r}; declared columns: {', '.join(names)}"
            )
        return tuple(row.get(n) for n in names)
    if not isinstance(row, (tuple, list)) or len(row) != len(names):
        raise OperatorError(operator, f"{what} {row!r} does not fit the declared columns {', '.join(names)}")
    return row


def _check_whole(values: Sequence[Any]) -> None:
    """Refuse numbers with a fraction: Arrow would silently cut the fraction off."""
    for value in values:
        if type(value) is not int and isinstance(value, Number) and value != int(value):  # type: ignore[call-overload]
            raise ValueError(f"{value!r} is not a whole number")


def _cast(operator: str, what: str, column: Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(arrow_type(column.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise OperatorError(operator, f"{what}: column {column.name!r} is not {column.type}: {error}") from error
