"""What a call of user logic gave, checked against what the operator declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from rheostat.errors import OperatorError
from rheostat.types import INTEGERS, arrow_type
from rheostat.windows.partials import Column


@dataclass(frozen=True)
class CallMoment:
    """Where and when user logic runs.

    Attributes:
        watermark: in microseconds; None before the first epoch is through.
        now: what time to live is measured by, in microseconds; None if nothing expires.
    """

    epoch: int
    watermark: int | None
    now: int | None = None


@dataclass(frozen=True)
class CallResult:
    """What came of a call.

    Attributes:
        output: rows with the declared columns and types; None if there are none.
        state: state rows to keep, in the columns of the layout.
        wakes: keys with timers that are new: hash, key columns and ``start``.
        costs: routing hashes and the seconds spent on each, where that was measured key by key.
    """

    output: pa.Table | None
    state: pl.DataFrame
    wakes: pl.DataFrame | None = None
    costs: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None = None


def cast_frame(operator: str, what: str, frame: pl.DataFrame, columns: Sequence[Column]) -> pa.Table:
    """A frame with exactly the declared columns and types; an error names the column that does not fit."""
    missing = [c.name for c in columns if c.name not in frame.columns]
    if missing:
        raise OperatorError(
            operator, f"{what} has no column {missing[0]!r}; declared are {', '.join(c.name for c in columns)}"
        )
    table = frame.select([c.name for c in columns]).to_arrow(compat_level=pl.CompatLevel.oldest())
    arrays = [_cast(operator, what, c, table.column(c.name)) for c in columns]
    return pa.table(arrays, schema=pa.schema([(c.name, arrow_type(c.type)) for c in columns]))


def cast_rows(operator: str, what: str, rows: Sequence[Any], columns: Sequence[Column]) -> pa.Table:
    """The same for rows that are sequences, or mappings by column name."""
    names = [c.name for c in columns]
    plain = [_plain_row(operator, what, row, names) for row in rows]
    values = zip(*plain, strict=True) if plain else [()] * len(names)
    arrays = []
    for column, given in zip(columns, values, strict=True):
        try:
            if column.type in INTEGERS:
                _check_whole(given)
            arrays.append(pa.array(given, type=arrow_type(column.type)))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError, ValueError) as error:
            raise OperatorError(operator, f"{what}: column {column.name!r} is not {column.type}: {error}") from error
    return pa.table(arrays, names=names)


def _plain_row(operator: str, what: str, row: Any, names: list[str]) -> Sequence[Any]:
    """A row's values in the order of the columns."""
    if type(row) is tuple and len(row) == len(names):
        return row
    if isinstance(row, Mapping):
        if unknown := next((n for n in row if n not in names), None):
            raise OperatorError(operator, f"{what} has a column {unknown!r} that is not declared: {', '.join(names)}")
        return tuple(row.get(n) for n in names)
    if not isinstance(row, (tuple, list)) or len(row) != len(names):
        raise OperatorError(operator, f"{what} {row!r} does not fit the declared columns {', '.join(names)}")
    return row


def _check_whole(values: Sequence[Any]) -> None:
    """Arrow would cut fractions off integers without a word."""
    for value in values:
        if type(value) is not int and isinstance(value, Number) and value != int(value):  # type: ignore[call-overload]
            raise ValueError(f"{value!r} is not a whole number")


def _cast(operator: str, what: str, column: Column, values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(arrow_type(column.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise OperatorError(operator, f"{what}: column {column.name!r} is not {column.type}: {error}") from error
