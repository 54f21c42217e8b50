"""Calls the function of an apply operator with the rows of a slot, and measures what the rows of each item cost."""

from __future__ import annotations

import time
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from rheostat.arrays import Floats, Ints
from rheostat.errors import OperatorError
from rheostat.keyed.declared_types import cast_frame, cast_rows
from rheostat.topology.nodes import Apply

OWN_CALLS, SHARED_CALLS = 48, 16
"""Calls of a function over frames in a slot, at most: with the rows of one frequent item, and with those of others."""

_FREQUENT = 8
"""Rows of an item that are worth a call of their own."""


@dataclass(frozen=True, eq=False)
class AppliedRows:
    """What came of the calls.

    Attributes:
        output: output rows in the declared columns and types; None if there are none.
        costs: the item of every row that was measured, and its seconds; None if costs were not measured by item.
        origin: of every output row, the position of the input row that it is from; None if the order does not matter.
    """

    output: pa.Table | None
    costs: tuple[Ints, Floats] | None = None
    origin: Ints | None = None


def call_function(apply: Apply, rows: pa.Table, items: Ints | None, seed: int = 0) -> AppliedRows:
    """Call the user's function with the rows of a slot.

    Args:
        apply: the operator.
        rows: the rows, with the columns in ``apply.inputs``.
        items: the item of every row; None if costs are not to be measured by item.
        seed: decides which rare items share a call of a function over frames; another one in every epoch, so that no
            two items share all their calls.

    Raises:
        OperatorError: a call failed, or returned something that was not declared.
    """
    if apply.over == "rows":
        return _call_rows(apply, rows, items)
    groups = [np.arange(len(rows))] if items is None else list(_groups(items, seed))
    return _call_frames(apply, rows, items, groups)


def _call_rows(apply: Apply, rows: pa.Table, items: Ints | None) -> AppliedRows:
    """Call the function row by row."""
    row_of: Any = namedtuple("Row", [c.name for c in apply.inputs], rename=True)  # type: ignore[misc]
    values = _polars(rows).rows() if rows.num_columns else [()] * len(rows)
    function, output, counts, clock = apply.function, list[Any](), list[int](), time.perf_counter
    ticks = [clock()]
    for row in map(row_of._make, values):
        try:
            result = function(row)
            output += _rows_in(result)
        except OperatorError:
            raise
        except Exception as error:
            raise OperatorError.caused_by(apply.name, f"row {_shortened(row)}", error) from error
        counts.append(len(output))
        ticks.append(clock())
    table = cast_rows(apply.name, "an output row", output, apply.schema) if output else None
    costs = None if items is None else (items, np.diff(ticks))
    origin = np.repeat(np.arange(len(counts)), np.diff(counts, prepend=0)) if apply.ordered else None
    return AppliedRows(table, costs, origin)


def _rows_in(result: Any) -> Iterable[Any]:
    """The output rows that a call returned: none, one, or those of a list or iterator."""
    if result is None:
        return ()
    return (result,) if isinstance(result, (tuple, Mapping)) else result


def _call_frames(apply: Apply, rows: pa.Table, items: Ints | None, groups: list[Ints]) -> AppliedRows:
    """Call the function with frames: the rows at each group of positions."""
    tables, measured, seconds, origin = [], [], [], []
    for positions in groups:
        part = rows if len(positions) == len(rows) else rows.take(pa.array(positions))
        began = time.perf_counter()
        try:
            result = apply.function(_polars(part) if apply.over == "polars" else part)
        except OperatorError:
            raise
        except Exception as error:
            raise OperatorError.caused_by(apply.name, "", error) from error
        took = time.perf_counter() - began
        tables.append(_checked(apply, result, len(positions)))
        measured.append(positions)
        seconds.append(np.full(len(positions), took / max(len(positions), 1)))
        origin.append(positions)
    output = pa.concat_tables(tables) if tables else None
    costs = None if items is None else (items[np.concatenate(measured)], np.concatenate(seconds))
    filled = output if output is not None and len(output) else None
    return AppliedRows(filled, costs, np.concatenate(origin) if apply.ordered else None)


def _checked(apply: Apply, result: Any, rows: int) -> pa.Table:
    """What a function over frames returned, in the declared columns and types."""
    if isinstance(result, (pa.Table, pa.RecordBatch)):
        table = pa.Table.from_batches([result]) if isinstance(result, pa.RecordBatch) else result
        frame = _polars(table)
    elif isinstance(result, pl.DataFrame):
        frame = result
    else:
        raise OperatorError(
            apply.name, f"the function returned {type(result).__name__}, not a Polars frame or an Arrow table"
        )
    if apply.ordered and len(frame) != rows:
        raise OperatorError(
            apply.name,
            f"the function returned {len(frame)} rows for {rows}: with order=True return one row for each, "
            "or let it take one row at a time with over='rows'",
        )
    return cast_frame(apply.name, "the output", frame, apply.schema)


def _groups(items: Ints, seed: int) -> Iterator[Ints]:
    """The positions of the rows of each call: frequent items one by one, the others in groups by a hash.

    A call measures all its rows together. So what a frequent item costs is known exactly, and a rare item counts with
    the mean of those it shares a call with.

    >>> [group.tolist() for group in _groups(np.array([7] * 8 + [5]), seed=0)]
    [[0, 1, 2, 3, 4, 5, 6, 7], [8]]
    """
    values, which, counts = np.unique(items, return_inverse=True, return_counts=True)
    least = max(_FREQUENT, len(items) / OWN_CALLS)
    frequent = counts >= least
    shared = (values ^ np.int64(seed * 0x9E3779B1)).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    group = np.where(frequent, np.arange(len(values)), -1 - (shared >> np.uint64(60)).astype(np.int64) % SHARED_CALLS)
    of_row = group[which]
    order = np.argsort(of_row, kind="stable")
    begins = np.flatnonzero(np.diff(of_row[order], prepend=np.iinfo(np.int64).min))
    parts = np.split(order, begins[1:]) if len(order) else []
    yield from sorted(parts, key=lambda part: int(part[0]))


def _polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _shortened(row: Any) -> str:
    text = repr(row)
    return text if len(text) <= 200 else f"{text[:200]}..."
