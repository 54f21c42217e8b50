"""The whole-frame form of ``process``: one call for all rows of a slot, with the state of their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from rheostat.errors import OperatorError
from rheostat.keyed.call_result import CallMoment, CallResult
from rheostat.keyed.declared_types import cast_frame
from rheostat.keyed.keyed_layout import DEAD, TIMERS, TOUCHED, KeyedLayout
from rheostat.topology.nodes import Process
from rheostat.topology.process import TIMER
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH, START

_TIMESTAMP = pl.Datetime("us", "UTC")


def call_rows(
    process: Process, layout: KeyedLayout, rows: Mapping[str, pl.DataFrame], state: pl.DataFrame, moment: CallMoment
) -> CallResult:
    """Call the user's function with the rows of a slot.

    Args:
        process: the operator.
        layout: the columns of its state.
        rows: by stream, its rows in order: ``hash``, and the stream's own columns as ``r.NAME``.
        state: the state of their keys, in the columns of the layout.
        moment: the time of the call.

    Raises:
        OperatorError: the function failed, or returned something that was not declared.
    """
    frames = {
        name: frame.select(pl.col(n).alias(n.removeprefix("r.")) for n in frame.columns if n != HASH)
        for name, frame in rows.items()
    }
    argument: Any = (
        {n: _to_user_frame(process, f) for n, f in frames.items()}
        if len(process.upstreams) > 1
        else _to_user_frame(process, frames[process.upstream])
    )
    parts = _call(process, "", process.logic, argument, _to_user_frame(process, _visible_state(process, state)))
    return _to_result(process, layout, parts, state, list(rows.values()), moment)


def call_timers(process: Process, layout: KeyedLayout, due: pl.DataFrame, moment: CallMoment) -> CallResult:
    """Call ``on_timer`` with the state of keys whose timer is due. A timer that is not set again is removed.

    Args:
        process: the operator.
        layout: the columns of its state.
        due: the state of the keys whose timer is due.
        moment: the time of the call.

    Raises:
        OperatorError: the function failed, or returned something that was not declared.
    """
    assert process.on_timer is not None
    parts = _call(process, "on_timer", process.on_timer, _to_user_frame(process, _visible_state(process, due)))
    fired = due.with_columns(pl.lit([], dtype=pl.List(pl.Int64)).alias(TIMERS))
    result = _to_result(process, layout, parts, fired, [], moment)
    changed = result.state.select(*layout.key_names)
    unchanged = fired.join(changed, on=layout.key_names, how="anti", nulls_equal=True)
    return CallResult(result.output, pl.concat([result.state, unchanged.select(layout.names)]), result.wakes)


def _to_user_frame(process: Process, frame: pl.DataFrame) -> Any:
    """A frame in the library that the operator's function is written for."""
    return frame if process.over == "polars" else frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def _visible_state(process: Process, state: pl.DataFrame) -> pl.DataFrame:
    """The state that the user's function gets: key columns, fields, and the timer if the operator has timers."""
    columns = [
        *(pl.col(f"k.{k}").alias(k) for k in process.keys),
        *(pl.col(f"s.{c.name}").alias(c.name) for c in process.state),
    ]
    if process.on_timer is not None:
        columns.append(pl.col(TIMERS).list.min().cast(_TIMESTAMP).alias(TIMER))
    return state.select(columns)


def _call(process: Process, step: str, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any, Any]:
    """Call a function of the user. Return its output, changed state and removed keys, each a Polars frame or None.

    Args:
        process: the operator.
        step: ``on_timer``; empty for the operator's main function.
        function: the function to call.
        arguments: its arguments.
    """
    what = step or "the function"
    try:
        result = function(*arguments)
    except OperatorError:
        raise
    except Exception as error:
        raise OperatorError.caused_by(process.name, step, error) from error
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise OperatorError(
            process.name,
            f"{what} returned {type(result).__name__}, not (output, changed state) or "
            "(output, changed state, removed keys)",
        )
    output, changed, removed = (*result, None) if len(result) == 2 else result
    return (
        _polars(process, f"the output of {what}", output),
        _polars(process, f"the state from {what}", changed),
        _polars(process, f"the removed keys from {what}", removed),
    )


def _polars(process: Process, what: str, frame: Any) -> pl.DataFrame | None:
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        frame = pl.from_arrow(frame)
    if frame is None or isinstance(frame, pl.DataFrame):
        return frame
    raise OperatorError(process.name, f"{what} is {type(frame).__name__}, not a {process.over} frame")


def _to_result(
    process: Process,
    layout: KeyedLayout,
    parts: tuple[pl.DataFrame | None, pl.DataFrame | None, pl.DataFrame | None],
    state: pl.DataFrame,
    rows: list[pl.DataFrame],
    moment: CallMoment,
) -> CallResult:
    """The result of a call: what the function returned, checked, and with routing hashes.

    Args:
        process: the operator.
        layout: the columns of its state.
        parts: output, changed state and removed keys.
        state: the state that the function was called with.
        rows: the rows of every stream that the function was called with.
        moment: the time of the call.
    """
    output, changed, removed = parts
    timer = [Column(TIMER, "timestamp")] if process.on_timer is not None else []
    new_parts = []
    for returned, dead in ((changed, False), (removed, True)):
        if returned is None or returned.is_empty():
            continue
        columns = process.key_columns if dead else (*process.key_columns, *process.state, *timer)
        table = cast_frame(process.name, "the removed keys" if dead else "the changed state", returned, columns)
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        new_parts.append(_to_state(process, frame, state, moment.now, dead))
    new_state = pl.concat(new_parts) if new_parts else state.clear().drop(HASH)
    if new_state.select(layout.key_names).is_duplicated().any():
        raise OperatorError(process.name, "the changed state has two rows for one key")
    hashed = _with_hash(process, layout, new_state, state, rows)
    output_rows = None
    if output is not None and not output.is_empty():
        output_rows = cast_frame(process.name, "the output", output, process.schema)
    wakes = wakes_of(layout, hashed, state) if timer else None
    return CallResult(output_rows, hashed, wakes)


def _to_state(process: Process, frame: pl.DataFrame, state: pl.DataFrame, now: int | None, dead: bool) -> pl.DataFrame:
    """A frame of the user in the columns and types of the state, without the hash.

    Args:
        process: the operator.
        frame: changed state, or the keys to remove.
        state: the state that the function was called with, which has the types.
        now: the time by which state expires, in microseconds; None if nothing expires.
        dead: True if the keys are to be removed.
    """
    times = pl.lit([], dtype=pl.List(pl.Int64))
    if process.on_timer is not None and not dead:
        at = pl.col(TIMER).cast(pl.Int64)
        times = pl.when(at.is_null()).then(times).otherwise(pl.concat_list(at))
    rows = frame.select(
        *(pl.col(k).alias(f"k.{k}") for k in process.keys),
        *((pl.lit(None) if dead else pl.col(c.name)).alias(f"s.{c.name}") for c in process.state),
        pl.lit(dead).alias(DEAD),
        pl.lit(now, dtype=pl.Int64).alias(TOUCHED),
        times.alias(TIMERS),
    )
    return rows.cast({name: state.schema[name] for name in rows.columns})


def _with_hash(
    process: Process, layout: KeyedLayout, new_state: pl.DataFrame, state: pl.DataFrame, rows: list[pl.DataFrame]
) -> pl.DataFrame:
    """New state rows with their routing hash, taken from the rows and the state that the function was called with.

    Keys that are in neither are refused, since they may belong to another slot.
    """
    names = layout.key_names
    renamed = [pl.col(f"r.{k}").alias(f"k.{k}") for k in process.keys]
    first_rows = [state.select(HASH, *names), *(f.unique(subset=[HASH]).select(HASH, *renamed) for f in rows)]
    hash_of = pl.concat(first_rows).unique(subset=names)
    hashed = new_state.join(hash_of, on=names, how="left", nulls_equal=True)
    if hashed[HASH].null_count():  # two keys may have the same hash: look at all rows
        all_rows = [state.select(HASH, *names), *(f.select(HASH, *renamed) for f in rows)]
        hash_of = pl.concat(all_rows).unique(subset=names)
        hashed = new_state.join(hash_of, on=names, how="left", nulls_equal=True)
    if hashed[HASH].null_count():
        unknown = hashed.filter(pl.col(HASH).is_null()).select(names).row(0)
        raise OperatorError(
            process.name,
            f"the changed state has key {unknown}, which is not among the rows it was called with; "
            "return state only for those keys",
        )
    return hashed.select(layout.names)


def wakes_of(layout: KeyedLayout, state: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """The timers in ``state`` that are not in ``before``, one row each: hash, key columns, and the time as ``start``.

    Args:
        layout: the columns of the state.
        state: the state after the call.
        before: the state before the call.
    """
    by = [HASH, *layout.key_names]
    timers, old_timers = (
        f.select(*by, pl.col(TIMERS).alias(START)).explode(START).filter(pl.col(START).is_not_null())
        for f in (state, before)
    )
    return timers.join(old_timers, on=[*by, START], how="anti", nulls_equal=True)
