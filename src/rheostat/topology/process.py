"""Checks behind ``Stream.process``: what a user gave, turned into a node or into an error that says what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rheostat.durations import Duration, micros
from rheostat.errors import TopologyError
from rheostat.topology.nodes import Process
from rheostat.topology.processors import KeyProcessor
from rheostat.types import TIMESTAMPS, Schema, arrow_type, is_key
from rheostat.windows.partials import Column, quoted

TIMER = "timer"
"""Column of the state frame that holds a key's timer, for logic over frames."""


@dataclass(frozen=True)
class Input:
    """A stream that a process operator reads: its name, its columns, and its event time as SQL if it has one."""

    name: str
    schema: Schema
    time_sql: str | None


def process_node(
    name: str,
    logic: Any,
    inputs: list[Input],
    *,
    by: str | Iterable[str],
    schema: Schema,
    state: Schema,
    on_timer: Callable[..., Any] | None,
    order: str | Iterable[str],
    ordered: bool,
    reads: str | Iterable[str] | None,
    ttl: Duration | None,
    clock: str,
    over: str,
    time_limit: Duration,
) -> Process:
    """The node for what was written, or an error that names the operator and the column."""
    keys, orders = _names(by), _names(order)
    per_key = isinstance(logic, type) and issubclass(logic, KeyProcessor)
    if not keys:
        raise TopologyError(f"operator {name!r} has keyed state and no key: give it by='column'")
    if len(set(keys)) < len(keys):
        raise TopologyError(f"operator {name!r} names a key twice: {', '.join(keys)}")
    if on_timer is not None and TIMER in keys:
        raise TopologyError(
            f"operator {name!r}: a key is called {TIMER!r}, as the column that holds a key's timer; rename it"
        )
    if not per_key and not callable(logic):
        raise TopologyError(f"operator {name!r}: {logic!r} is neither a function over frames nor a KeyProcessor class")
    if per_key and on_timer is not None:
        raise TopologyError(f"operator {name!r}: a KeyProcessor has its own method on_timer")
    for option, value, known in (("over", over, ("polars", "arrow")), ("clock", clock, ("processing", "event"))):
        if value not in known:
            raise TopologyError(f"operator {name!r}: {option}={value!r} is neither {known[0]!r} nor {known[1]!r}")
    if orders and not ordered:
        raise TopologyError(f"operator {name!r}: order={order!r} and ordered=False contradict each other")
    _check_inputs(name, inputs, keys, orders)
    inputs = [_narrowed(i, {*keys, *orders, *_names(reads)}) if reads is not None else i for i in inputs]
    for column in _names(reads or ()):
        if not any(column in i.schema for i in inputs):
            raise TopologyError(f"operator {name!r}: reads={column!r} is in none of its streams")
    _check_state(name, state, keys, has_timer=on_timer is not None)
    for column, type_ in (*schema.items(), *state.items()):
        try:
            arrow_type(type_)
        except TopologyError as error:
            raise TopologyError(f"operator {name!r}: column {column!r}: {error}") from None
    return Process(
        name=name,
        upstreams=tuple(i.name for i in inputs),
        inputs=tuple(tuple(Column(n, t) for n, t in i.schema.items()) for i in inputs),
        keys=keys,
        key_types=tuple(inputs[0].schema[k] for k in keys),
        state=tuple(Column(n, t) for n, t in state.items()),
        schema=tuple(Column(n, t) for n, t in schema.items()),
        logic=logic,
        on_timer=on_timer,
        per_key=per_key,
        over=over,
        order=orders,
        ordered=ordered,
        ttl=_positive(name, "ttl", ttl) if ttl is not None else None,
        clock=clock,
        time_limit=_positive(name, "time_limit", time_limit) / 1e6,
        time_sql=tuple(i.time_sql for i in inputs),
    )


def state_ddl(name: str, logic: Any, state: str | None) -> str | None:
    """The state's columns as Spark DDL: what was given, or the fields of a ``KeyProcessor``."""
    if isinstance(logic, type) and issubclass(logic, KeyProcessor):
        if state is not None:
            raise TopologyError(f"operator {name!r}: {logic.__name__} declares its state itself; leave state= out")
        return ", ".join(f"{quoted(n)} {f.column_type}" for n, f in logic.fields.items()) or None
    return state


def event_time_of(name: str, schema: Schema, given: str | None, usual: Iterable[str]) -> str | None:
    """The output column that carries event time: the one named, or one that is called as in the input."""
    if given is None:
        return next((c for c in usual if schema.get(c) in TIMESTAMPS), None)
    if given not in schema:
        raise TopologyError(f"operator {name!r}: event_time={given!r} is not in its output ({', '.join(schema)})")
    if schema[given] not in TIMESTAMPS:
        raise TopologyError(f"operator {name!r}: event_time={given!r} is {schema[given]}, not a timestamp")
    return given


def _check_inputs(name: str, inputs: list[Input], keys: tuple[str, ...], order: tuple[str, ...]) -> None:
    if len({i.name for i in inputs}) < len(inputs):
        raise TopologyError(f"operator {name!r} reads a stream twice: {', '.join(i.name for i in inputs)}")
    for given in inputs:
        for column in (*keys, *order):
            if column not in given.schema:
                raise TopologyError(
                    f"operator {name!r} needs column {column!r}, which stream {given.name!r} does not have; "
                    f"it has {', '.join(given.schema)}"
                )
    for key in keys:
        types = {i.schema[key] for i in inputs}
        if len(types) > 1:
            raise TopologyError(
                f"operator {name!r}: key column {key!r} is {' in one stream and '.join(sorted(types))} in another; "
                "cast them to one type with map(...)"
            )
        if not is_key(next(iter(types))):
            raise TopologyError(f"operator {name!r} cannot be keyed by column {key!r} of type {next(iter(types))}")


def _check_state(name: str, state: Schema, keys: tuple[str, ...], *, has_timer: bool) -> None:
    reserved = {*keys, *([TIMER] if has_timer else [])}
    for column in state:
        if column in reserved:
            raise TopologyError(f"operator {name!r}: state field {column!r} has the name of a key or timer; rename it")


def _narrowed(given: Input, columns: set[str]) -> Input:
    """A stream with some of its columns."""
    return Input(given.name, {n: t for n, t in given.schema.items() if n in columns}, given.time_sql)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _positive(name: str, option: str, given: Duration) -> int:
    duration = micros(given)
    if duration <= 0:
        raise TopologyError(f"operator {name!r}: {option}={given!r} is not a positive duration")
    return duration
