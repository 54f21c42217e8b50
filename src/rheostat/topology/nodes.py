"""The nodes of a topology: its operators as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rheostat.choices import CalledWith, Clock, Emit, GroupingName, Kept, Over
from rheostat.topology.aggregates import BoundAggregate
from rheostat.topology.event_time import EventTime
from rheostat.topology.sinks import Sink
from rheostat.windows.partials import Column
from rheostat.windows.window import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW, WINDOW_START, WINDOW_END = "window", "window_start", "window_end"
"""The first three columns of every result of a consolidate operator."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A streaming DataFrame that the topology reads.

    Attributes:
        name: the operator's name.
        frame: the streaming DataFrame.
        event_time: its event-time column.
        event_time_type: Spark SQL type of that column.
        slack: how late a row may come, in microseconds.
        arrival_time: column with the time when a row entered the system; None if latency is not measured.
        arrival_time_type: Spark SQL type of that column; None without one.
        late: ``drop`` or ``aside``: what to do with rows that missed a window.
        nulls: ``drop`` or ``aside``: what to do with rows without event time.
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
    """A stateless operator.

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
    """An operator that aggregates rows into partials per key and pane.

    Attributes:
        name: the operator's name.
        upstream: the stream it reads.
        keys: key attributes; empty if the whole stream is one group.
        key_types: Spark SQL types of the keys.
        aggregates: its aggregates, one per result column.
        time_sql: Spark SQL for a row's event time in microseconds.
        time_type: Spark SQL type of ``window_start`` and ``window_end``.
        fuse: True if the planner decides what it is fused with, False to keep it apart, or the name of the compute
            operator that it must be fused with.
    """

    name: str
    upstream: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    aggregates: tuple[BoundAggregate, ...]
    time_sql: str
    time_type: str
    fuse: bool | str = True

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
    """An operator that merges partials into the results of windows.

    Attributes:
        name: the operator's name.
        upstream: the compute operator whose partials it reads.
        windows: the requested windows.
        emit: ``append`` (each window once, when complete) or ``update`` (in every epoch that changed it).
    """

    name: str
    upstream: str
    windows: tuple[Window, ...]
    emit: Emit


@dataclass(frozen=True, kw_only=True)
class Process:
    """An operator that runs the user's logic over keyed state.

    Attributes:
        name: the operator's name.
        upstreams: the streams it reads, joined by key if there are several.
        inputs: for every stream, the columns that the logic reads.
        keys: key attributes.
        key_types: Spark SQL types of the keys.
        state: the fields of a key's state.
        schema: the columns of its output.
        logic: a function over whole frames, or a ``KeyProcessor`` class.
        on_timer: for logic over frames, the function that gets the state of keys whose timer is due; None without one.
        per_key: True if ``logic`` is a ``KeyProcessor`` class, called key by key.
        over: ``polars`` or ``arrow``, the frames of logic over frames.
        order: columns that a key's rows are sorted by; empty for the order of arrival.
        ordered: False if the order does not matter, which saves a column and a sort.
        ttl: microseconds after its last change until a key's state is forgotten; None for never.
        clock: the time that ``ttl`` is measured in, ``processing`` or ``event``.
        time_limit: seconds that the logic may run in one task.
        time_sql: for every stream, Spark SQL for a row's event time in microseconds; None if its rows have none.
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
        """True if keys may set timers."""
        return self.per_key or self.on_timer is not None


@dataclass(frozen=True, kw_only=True)
class Apply:
    """A stateless operator whose rows are dealt to slots by what they cost (POSG).

    Attributes:
        name: the operator's name.
        upstream: the stream it reads.
        inputs: the columns that the function reads.
        schema: the columns of its output.
        function: the user's function.
        over: what the function is called with: ``rows``, one at a time, or all of a slot as ``polars`` or ``arrow``.
        cost_by: columns that decide what a row costs; empty if all rows cost the same.
        grouping: how rows are dealt: ``lpt``, ``posg`` or ``round_robin``.
        ordered: True if the output keeps the order of the input.
        slots: number of slots; None for as many as Spark has cores.
        time_limit: seconds that the function may run in one task.
    """

    name: str
    upstream: str
    inputs: tuple[Column, ...]
    schema: tuple[Column, ...]
    function: Callable[..., Any] = field(compare=False, repr=False)
    over: CalledWith = "rows"
    cost_by: tuple[str, ...] = ()
    grouping: GroupingName = "lpt"
    ordered: bool = False
    slots: int | None = None
    time_limit: float = 600.0

    @property
    def learns(self) -> bool:
        """True if costs are measured and rows may be dealt by them."""
        return self.grouping != "round_robin" and bool(self.cost_by)


@dataclass(frozen=True)
class SinkNode:
    """A sink and the stream that it reads.

    Attributes:
        upstream: the stream.
        sink: the sink.
        aside: True if it gets the rows that the source kept aside, instead of the rows of the stream.
    """

    upstream: str
    sink: Sink = field(compare=False)
    aside: bool = False


Node = Source | Map | Apply | Compute | Consolidate | Process


def upstreams_of(node: Node) -> tuple[str, ...]:
    """The names of the operators that a node reads."""
    if isinstance(node, Source):
        return ()
    return node.upstreams if isinstance(node, Process) else (node.upstream,)
