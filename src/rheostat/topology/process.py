"""The checks of ``Stream.process`` and ``Stream.process_keys``, which turn the arguments into a ``Process`` node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa

from rheostat.choices import Clock, Over, check_choice
from rheostat.durations import Duration, micros
from rheostat.errors import TopologyError
from rheostat.topology.event_time import EventTime
from rheostat.topology.keyed_state import KeyedState
from rheostat.topology.nodes import Process
from rheostat.topology.processors import KeyProcessor
from rheostat.types import TIMESTAMPS, Schema, arrow_type, is_key
from rheostat.windows.partials import Column, quoted

TIMER = "timer"
"""Column of state frames with a key's timer, if ``process`` has ``on_timer``."""

ARRIVAL = "arrival"
"""The default of ``order``: a key's rows come in the order in which they arrived."""

Frame: TypeAlias = pl.DataFrame | pa.Table
"""The frames that a function over whole frames takes and returns."""

FrameResult = tuple[Frame | None, Frame | None] | tuple[Frame | None, Frame | None, Frame | None]
"""Output, changed state and, optionally, the keys to forget; None stands for an empty frame."""

FrameLogic = Callable[[Any, Any], FrameResult]
"""``(rows, state) -> (output, changed)`` or ``(output, changed, removed)``; with joined streams, ``rows`` is a dict."""

TimerLogic = Callable[[Any], FrameResult]
"""``(state) -> (output, changed)`` or ``(output, changed, removed)``."""


@dataclass(frozen=True)
class ProcessInput:
    """A stream that a process operator reads.

    Attributes:
        name: the name of the stream.
        schema: from column name to Spark SQL type.
        time_sql: Spark SQL for a row's event time in microseconds; None if its rows have none.
    """

    name: str
    schema: Schema
    time_sql: str | None


@dataclass(frozen=True, kw_only=True)
class ProcessRequest:
    """The arguments of a call of ``process`` or ``process_keys``.

    Attributes:
        name: the operator's name.
        logic: the function over frames, or the ``KeyProcessor`` class.
        per_key: True for ``process_keys``.
        by: key attributes.
        schema: columns of the output, as Spark DDL.
        state: the options of the state; None if it has none.
        on_timer: for ``process``, the function that gets the state of keys whose timer is due.
        order: ``arrival``, the columns that a key's rows are sorted by, or None for any order.
        reads: the columns that the logic reads besides the keys; None for all.
        event_time: the output column with the event time; None for the column named as in the input.
        over: ``polars`` or ``arrow``, the kind of frame; always ``polars`` for ``process_keys``.
        time_limit: how long the logic may run in one task.
    """

    name: str
    logic: Any
    per_key: bool
    by: str | Iterable[str]
    schema: str
    state: KeyedState | None
    on_timer: TimerLogic | None
    order: str | Iterable[str] | None
    reads: str | Iterable[str] | None
    event_time: str | None
    over: Over
    time_limit: Duration

    @property
    def where(self) -> str:
        """The beginning of an error text: which operator it is about."""
        return f"operator {self.name!r}"

    @property
    def state_options(self) -> KeyedState:
        """The options of the state, checked; the defaults if there are none."""
        if self.state is None:
            return KeyedState()
        if not isinstance(self.state, KeyedState):
            raise TopologyError(f"{self.where}: write state=rh.keyed_state(...) instead of state={self.state!r}")
        check_choice(self.where, "clock", self.state.clock, Clock)
        return self.state

    @property
    def state_columns(self) -> str | None:
        """Spark DDL of the state's columns: those of ``state``, or the ``KeyProcessor`` fields. None if it has none."""
        self._check_logic()
        columns = self.state_options.columns
        if not self.per_key:
            return columns
        if columns is not None:
            raise TopologyError(
                f"{self.where}: {self.logic.__name__} declares its own state: call rh.keyed_state() without columns"
            )
        return ", ".join(f"{quoted(n)} {f.column_type}" for n, f in self.logic.fields.items()) or None

    def _check_logic(self) -> None:
        is_processor = isinstance(self.logic, type) and issubclass(self.logic, KeyProcessor)
        if self.per_key and not is_processor:
            raise TopologyError(
                f"{self.where}: {self.logic!r} is not a KeyProcessor class; use process(...) for a function over frames"
            )
        if not self.per_key and is_processor:
            raise TopologyError(f"{self.where}: {self.logic.__name__} is a KeyProcessor; use process_keys(...) for it")
        if not self.per_key and not callable(self.logic):
            raise TopologyError(
                f"{self.where}: {self.logic!r} is not a function; pass one from (rows, state) to (output, changed)"
            )


def process_node(request: ProcessRequest, inputs: list[ProcessInput], schema: Schema, state: Schema) -> Process:
    """The node of a process operator, checked.

    Args:
        request: the arguments of the call.
        inputs: the streams it reads.
        schema: columns of the output and their Spark SQL types.
        state: columns of the state and their Spark SQL types.

    Raises:
        TopologyError: an argument does not fit; the message names the operator and the column.
    """
    where, options = request.where, request.state_options
    keys = names_of(request.by)
    ordered = request.order is not None
    order = () if request.order in (None, ARRIVAL) else names_of(request.order or ())
    _check_keys(request, keys)
    check_choice(where, "over", request.over, Over)
    _check_inputs(where, inputs, (*keys, *order), keys)
    if request.reads is not None:
        inputs = _only_read(where, inputs, names_of(request.reads), {*keys, *order})
    _check_state(where, state, keys, has_timer=request.on_timer is not None)
    for column, type_ in (*schema.items(), *state.items()):
        try:
            arrow_type(type_)
        except TopologyError as error:
            raise TopologyError(f"{where}: column {column!r}: {error}") from None
    return Process(
        name=request.name,
        upstreams=tuple(i.name for i in inputs),
        inputs=tuple(columns_of_schema(i.schema) for i in inputs),
        keys=keys,
        key_types=tuple(inputs[0].schema[k] for k in keys),
        state=columns_of_schema(state),
        schema=columns_of_schema(schema),
        logic=request.logic,
        on_timer=request.on_timer,
        per_key=request.per_key,
        over=request.over,
        order=order,
        ordered=ordered,
        ttl=positive(where, "ttl", options.ttl) if options.ttl is not None else None,
        clock=options.clock,
        time_limit=positive(where, "time_limit", request.time_limit) / 1e6,
        time_sql=tuple(i.time_sql for i in inputs),
    )


def output_time(where: str, event_time: str | None, schema: Schema, times: list[EventTime]) -> EventTime | None:
    """The event time of an operator's output; None if it has none.

    Args:
        where: the beginning of an error text: which operator it is about.
        event_time: the output column that the user named; None for the column named as in the input.
        schema: columns of the output and their Spark SQL types.
        times: the event times of its inputs.
    """
    column = _event_time_column(where, event_time, schema, [c for time in times for c in time.columns])
    if column is None:
        return None
    type_ = schema[column]
    if event_time is None:  # keep the input's definition: for window results, the window's last instant
        for time in times:
            if (time.columns, time.type) == ((column,), type_):
                return time
    return EventTime.of_column(column, type_)


def _event_time_column(where: str, column: str | None, schema: Schema, input_columns: Iterable[str]) -> str | None:
    """The output column with the event time of its rows; None if the output has none.

    Args:
        where: the beginning of an error text.
        column: the column that the user named; None to take the first event-time column of the input.
        schema: columns of the output and their Spark SQL types.
        input_columns: the event-time columns of the input.
    """
    if column is None:
        return next((c for c in input_columns if schema.get(c) in TIMESTAMPS), None)
    if column not in schema:
        raise TopologyError(f"{where}: event_time={column!r} is not in its output ({', '.join(schema)})")
    if schema[column] not in TIMESTAMPS:
        raise TopologyError(
            f"{where}: event_time={column!r} is {schema[column]}, not a timestamp; change its type in schema="
        )
    return column


def _check_keys(request: ProcessRequest, keys: tuple[str, ...]) -> None:
    if not keys:
        raise TopologyError(f"{request.where} needs a key: pass by='column'")
    if len(set(keys)) < len(keys):
        raise TopologyError(f"{request.where} names a key twice: {', '.join(keys)}; name each key once")
    if request.on_timer is not None and TIMER in keys:
        raise TopologyError(
            f"{request.where}: key column {TIMER!r} has the name of the column with a key's timer; rename it"
        )


def _check_inputs(where: str, inputs: list[ProcessInput], needed: tuple[str, ...], keys: tuple[str, ...]) -> None:
    if len({i.name for i in inputs}) < len(inputs):
        raise TopologyError(f"{where} reads a stream twice: {', '.join(i.name for i in inputs)}; join each once")
    for stream in inputs:
        for column in needed:
            if column not in stream.schema:
                raise TopologyError(
                    f"{where} needs column {column!r}, which stream {stream.name!r} does not have; "
                    f"it has {', '.join(stream.schema)}"
                )
    for key in keys:
        types = {i.schema[key] for i in inputs}
        if len(types) > 1:
            raise TopologyError(
                f"{where}: key column {key!r} is {' in one stream and '.join(sorted(types))} in another; "
                "cast them to one type with map(...)"
            )
        if not is_key(next(iter(types))):
            raise TopologyError(
                f"{where} cannot be keyed by column {key!r} of type {next(iter(types))}; cast it with map(...)"
            )


def _check_state(where: str, state: Schema, keys: tuple[str, ...], *, has_timer: bool) -> None:
    reserved = {*keys, *([TIMER] if has_timer else [])}
    for column in state:
        if column in reserved:
            raise TopologyError(f"{where}: state field {column!r} has the name of a key or timer; rename it")


def _only_read(where: str, inputs: list[ProcessInput], reads: tuple[str, ...], always: set[str]) -> list[ProcessInput]:
    """The streams, each with only the columns that the logic reads and those that are always needed."""
    for column in reads:
        if not any(column in i.schema for i in inputs):
            columns = dict.fromkeys(c for i in inputs for c in i.schema)
            raise TopologyError(f"{where}: reads={column!r} is in none of its streams; they have {', '.join(columns)}")
    wanted = {*reads, *always}
    return [ProcessInput(i.name, {n: t for n, t in i.schema.items() if n in wanted}, i.time_sql) for i in inputs]


def columns_of_schema(schema: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns of a schema, in order."""
    return tuple(Column(n, t) for n, t in schema.items())


def names_of(columns: str | Iterable[str]) -> tuple[str, ...]:
    """The names in an argument that may be one name or several."""
    return (columns,) if isinstance(columns, str) else tuple(columns)


def positive(where: str, option: str, duration: Duration) -> int:
    """The duration in microseconds; an error if it is not positive."""
    microseconds = micros(duration)
    if microseconds <= 0:
        raise TopologyError(f"{where}: {option}={duration!r} is not a positive duration, such as '1 hour'")
    return microseconds
