"""The nodes of a topology: plain values that say what every operator does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rheostat.choices import Clock, Emit, Kept, Over
from rheostat.topology.aggregates import BoundAggregate
from rheostat.topology.event_time import EventTime
from rheostat.topology.sinks import Sink
from rheostat.windows.partials import Column
from rheostat.windows.window import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW, WINDOW_START, WINDOW_END = "window", "window_start", "window_end"
"""Columns every result of a consolidate operator begins with."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A stream that comes from Spark.

    Attributes:
        name: the operator's name.
        frame: the streaming DataFrame.
        event_time: its event-time column.
        event_time_type: Spark SQL type of that column.
        slack: how far behind the newest row a row may come, in microseconds.
        arrival_time: column that says when a row entered the system, for latency; None if there is none.
        arrival_time_type: Spark SQL type of that column.
        late: ``drop`` or ``aside``, what happens to rows that missed a window.
        nulls: ``drop`` or ``aside``, what happens to rows without event time.
    """

    name: str
    frame: DataFrame = field(compare=False, repr=False)
    event_time: str
    event_time_type: str
    slack: int
    arrival_time: str | None
    arrival_time_type: str | None
    late: Kept
    nulls: Kept

    @property
    def time_sql(self) -> str:
        """Spark SQL for a row's event time in microseconds since 1970."""
        return EventTime.of_column(self.event_time, self.event_time_type).sql

    @property
    def arrival_sql(self) -> str | None:
        """Spark SQL for a row's arrival time in microseconds since 1970; None without an arrival-time column."""
        if self.arrival_time is None or self.arrival_time_type is None:
            return None
        return EventTime.of_column(self.arrival_time, self.arrival_time_type).sql


@dataclass(frozen=True)
class Map:
    """A stateless step.

    Attributes:
        name: the operator's name.
        upstream: the stream it reads.
        function: from DataFrame to DataFrame; a function over Arrow batches is wrapped into one.
        python: True if it runs a Python function over Arrow batches.
    """

    name: str
    upstream: str
    function: Callable[[DataFrame], DataFrame] = field(compare=False, repr=False)
    python: bool = False


@dataclass(frozen=True)
class Compute:
    """Partials per key and pane.

    Attributes:
        name: the operator's name.
        upstream: the stream it reads.
        keys: key attributes; none for the whole stream.
        key_types: Spark SQL types of the keys.
        aggregates: what it keeps.
        time_sql: Spark SQL for a row's event time in microseconds.
        time_type: Spark SQL type of ``window_start`` and ``window_end``.
    """

    name: str
    upstream: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    aggregates: tuple[BoundAggregate, ...]
    time_sql: str
    time_type: str

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key attributes with their types."""
        return tuple(Column(k, t) for k, t in zip(self.keys, self.key_types, strict=True))

    @property
    def result_columns(self) -> tuple[Column, ...]:
        """The columns of the results of its windows, in order."""
        times = (Column(WINDOW_START, self.time_type), Column(WINDOW_END, self.time_type))
        values = (Column(a.name, a.type) for a in self.aggregates)
        return (Column(WINDOW, "string"), *times, *self.key_columns, *values)


@dataclass(frozen=True)
class Consolidate:
    """Windows out of partials.

    Attributes:
        name: the operator's name.
        upstream: the compute operator whose partials it reads.
        windows: the windows that were asked for.
        emit: ``append`` (once, when complete) or ``update`` (in every epoch that changed them).
    """

    name: str
    upstream: str
    windows: tuple[Window, ...]
    emit: Emit


@dataclass(frozen=True, kw_only=True)
class Process:
    """User logic over keyed state.

    Attributes:
        name: the operator's name.
        upstreams: the streams it reads; with more than one, rows of the same key meet.
        inputs: per stream, the columns the logic reads and their types.
        keys: key attributes.
        key_types: Spark SQL types of the keys.
        state: the fields of a key's state.
        schema: the columns of its output.
        logic: a function over whole frames, or a ``KeyProcessor`` class.
        on_timer: for logic over frames, the function that is called with the state of keys whose timer is due.
        per_key: True if ``logic`` is called key by key.
        over: ``polars`` or ``arrow``, for logic over frames.
        order: columns that decide the order of a key's rows; without them it is the order of arrival.
        ordered: False if the order does not matter, which saves a column and a sort.
        ttl: microseconds after its last change at which a key's state is forgotten; None for never.
        clock: what ``ttl`` is measured by: ``processing`` or ``event`` time.
        time_limit: seconds the logic may take in one task.
        time_sql: per stream, Spark SQL for a row's event time in microseconds; None where rows have none.
    """

    name: str
    upstreams: tuple[str, ...]
    inputs: tuple[tuple[Column, ...], ...]
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    state: tuple[Column, ...]
    schema: tuple[Column, ...]
    logic: Any = field(compare=False, repr=False)
    on_timer: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    per_key: bool = False
    over: Over = "polars"
    order: tuple[str, ...] = ()
    ordered: bool = True
    ttl: int | None = None
    clock: Clock = "processing"
    time_limit: float = 600.0
    time_sql: tuple[str | None, ...] = ()

    @property
    def upstream(self) -> str:
        """The first of its streams."""
        return self.upstreams[0]

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key attributes with their types."""
        return tuple(Column(k, t) for k, t in zip(self.keys, self.key_types, strict=True))

    @property
    def has_timers(self) -> bool:
        """True if a key may ask to be called back."""
        return self.per_key or self.on_timer is not None


@dataclass(frozen=True)
class SinkNode:
    """Where the rows of a stream go.

    Attributes:
        upstream: the stream.
        sink: the sink.
        aside: True for the rows that a source kept aside, instead of those it passed on.
    """

    upstream: str
    sink: Sink = field(compare=False)
    aside: bool = False


Node = Source | Map | Compute | Consolidate | Process


def upstreams_of(node: Node) -> tuple[str, ...]:
    """The operators whose rows a node reads."""
    if isinstance(node, Source):
        return ()
    return node.upstreams if isinstance(node, Process) else (node.upstream,)
