"""Checks behind ``process`` and ``process_keys``: what a user wrote, turned into a node or into an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa

from rheostat.choices import Clock, Over, check_choice
from rheostat.durations import Duration, micros
from rheostat.errors import TopologyError
from rheostat.topology.keyed_state import KeyedState
from rheostat.topology.nodes import Process
from rheostat.topology.processors import KeyProcessor
from rheostat.types import TIMESTAMPS, Schema, arrow_type, is_key
from rheostat.windows.partials import Column, quoted

TIMER = "timer"
"""Column of the state frame that holds a key's timer, for logic over frames."""

ARRIVAL = "arrival"
"""The order of rows that a process operator gets unless it asks for another."""

Frame: TypeAlias = pl.DataFrame | pa.Table
"""What a function over frames takes and returns."""

FrameResult = tuple[Frame | None, Frame | None] | tuple[Frame | None, Frame | None, Frame | None]
"""Output and changed state, and perhaps the keys to forget; None for nothing."""

FrameLogic = Callable[[Any, Any], FrameResult]
"""``(rows, state) -> (output, changed)`` or ``(output, changed, removed)``; with joined streams, rows is a dict."""

TimerLogic = Callable[[Any], FrameResult]
"""``(state) -> (output, changed)`` or ``(output, changed, removed)``."""


@dataclass(frozen=True)
class ProcessInput:
    """A stream that a process operator reads.

    Attributes:
        name: the stream.
        schema: its columns and their types.
        time_sql: Spark SQL for a row's event time in microseconds; None if its rows have none.
    """

    name: str
    schema: Schema
    time_sql: str | None


@dataclass(frozen=True, kw_only=True)
class ProcessRequest:
    """What a user wrote for ``process`` or ``process_keys``.

    Attributes:
        name: the operator's name.
        logic: the function over frames, or the ``KeyProcessor`` class.
        per_key: True for ``process_keys``.
        by: key attributes.
        schema: columns of the output, as Spark DDL.
        state: the state's columns and how long it is kept.
        on_timer: for logic over frames, what is called with the state of keys whose timer is due.
        order: ``arrival``, columns, or None for no order.
        reads: the columns that the logic reads besides the keys; None for all.
        event_time: the output column that places its rows in time; None for the one called as in the input.
        over: ``polars`` or ``arrow``.
        time_limit: how long the logic may take in one task.
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
        """Who is meant, at the beginning of an error."""
        return f"operator {self.name!r}"

    @property
    def kept(self) -> KeyedState:
        """The options of the state, checked; an operator that was given none keeps no columns."""
        if self.state is None:
            return KeyedState()
        if not isinstance(self.state, KeyedState):
            raise TopologyError(f"{self.where}: write state=rh.keyed_state(...) instead of state={self.state!r}")
        check_choice(self.where, "clock", self.state.clock, Clock)
        return self.state

    @property
    def state_columns(self) -> str | None:
        """The state's columns as Spark DDL: what was given, or the fields of the ``KeyProcessor``."""
        self._check_logic()
        columns = self.kept.columns
        if not self.per_key:
            return columns
        if columns is not None:
            raise TopologyError(
                f"{self.where}: {self.logic.__name__} declares its state itself; give rh.keyed_state() no columns"
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
            raise TopologyError(f"{self.where}: {self.logic!r} is not a function over frames")


def process_node(request: ProcessRequest, inputs: list[ProcessInput], schema: Schema, state: Schema) -> Process:
    """The node for what was written, or an error that names the operator and the column.

    Args:
        request: what was written.
        inputs: the streams it reads.
        schema: columns and types of the output.
        state: columns and types of the state.
    """
    name, where, kept = request.name, request.where, request.kept
    keys = _names(request.by)
    ordered = request.order is not None
    order = () if request.order in (None, ARRIVAL) else _names(request.order or ())
    _check_keys(request, keys)
    check_choice(where, "over", request.over, Over)
    _check_inputs(where, inputs, (*keys, *order), keys)
    if request.reads is not None:
        inputs = _narrowed(where, inputs, _names(request.reads), {*keys, *order})
    _check_state(where, state, keys, has_timer=request.on_timer is not None)
    for column, type_ in (*schema.items(), *state.items()):
        try:
            arrow_type(type_)
        except TopologyError as error:
            raise TopologyError(f"{where}: column {column!r}: {error}") from None
    return Process(
        name=name,
        upstreams=tuple(i.name for i in inputs),
        inputs=tuple(_columns(i.schema) for i in inputs),
        keys=keys,
        key_types=tuple(inputs[0].schema[k] for k in keys),
        state=_columns(state),
        schema=_columns(schema),
        logic=request.logic,
        on_timer=request.on_timer,
        per_key=request.per_key,
        over=request.over,
        order=order,
        ordered=ordered,
        ttl=_positive(where, "ttl", kept.ttl) if kept.ttl is not None else None,
        clock=kept.clock,
        time_limit=_positive(where, "time_limit", request.time_limit) / 1e6,
        time_sql=tuple(i.time_sql for i in inputs),
    )


def event_time_column(request: ProcessRequest, schema: Schema, usual: Iterable[str]) -> str | None:
    """The output column that carries event time: the one named, or one that is called as in the input."""
    given = request.event_time
    if given is None:
        return next((c for c in usual if schema.get(c) in TIMESTAMPS), None)
    if given not in schema:
        raise TopologyError(f"{request.where}: event_time={given!r} is not in its output ({', '.join(schema)})")
    if schema[given] not in TIMESTAMPS:
        raise TopologyError(f"{request.where}: event_time={given!r} is {schema[given]}, not a timestamp")
    return given


def _check_keys(request: ProcessRequest, keys: tuple[str, ...]) -> None:
    if not keys:
        raise TopologyError(f"{request.where} has keyed state and no key: give it by='column'")
    if len(set(keys)) < len(keys):
        raise TopologyError(f"{request.where} names a key twice: {', '.join(keys)}")
    if request.on_timer is not None and TIMER in keys:
        raise TopologyError(
            f"{request.where}: a key is called {TIMER!r}, as the column that holds a key's timer; rename it"
        )


def _check_inputs(where: str, inputs: list[ProcessInput], needed: tuple[str, ...], keys: tuple[str, ...]) -> None:
    if len({i.name for i in inputs}) < len(inputs):
        raise TopologyError(f"{where} reads a stream twice: {', '.join(i.name for i in inputs)}")
    for given in inputs:
        for column in needed:
            if column not in given.schema:
                raise TopologyError(
                    f"{where} needs column {column!r}, which stream {given.name!r} does not have; "
                    f"it has {', '.join(given.schema)}"
                )
    for key in keys:
        types = {i.schema[key] for i in inputs}
        if len(types) > 1:
            raise TopologyError(
                f"{where}: key column {key!r} is {' in one stream and '.join(sorted(types))} in another; "
                "cast them to one type with map(...)"
            )
        if not is_key(next(iter(types))):
            raise TopologyError(f"{where} cannot be keyed by column {key!r} of type {next(iter(types))}")


def _check_state(where: str, state: Schema, keys: tuple[str, ...], *, has_timer: bool) -> None:
    reserved = {*keys, *([TIMER] if has_timer else [])}
    for column in state:
        if column in reserved:
            raise TopologyError(f"{where}: state field {column!r} has the name of a key or timer; rename it")


def _narrowed(where: str, inputs: list[ProcessInput], reads: tuple[str, ...], always: set[str]) -> list[ProcessInput]:
    """The streams with only those of their columns that the logic reads."""
    for column in reads:
        if not any(column in i.schema for i in inputs):
            raise TopologyError(f"{where}: reads={column!r} is in none of its streams")
    wanted = {*reads, *always}
    return [ProcessInput(i.name, {n: t for n, t in i.schema.items() if n in wanted}, i.time_sql) for i in inputs]


def _columns(schema: Mapping[str, str]) -> tuple[Column, ...]:
    return tuple(Column(n, t) for n, t in schema.items())


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _positive(where: str, option: str, given: Duration) -> int:
    duration = micros(given)
    if duration <= 0:
        raise TopologyError(f"{where}: {option}={given!r} is not a positive duration")
    return duration
