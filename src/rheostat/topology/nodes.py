"""The nodes of a topology: plain values that say what every operator does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rheostat.topology.aggregates import Bound
from rheostat.topology.sinks import Sink
from rheostat.windows.window import Window

WINDOW, WINDOW_START, WINDOW_END = "window", "window_start", "window_end"
"""Columns every result of a consolidate operator begins with."""


@dataclass(frozen=True)
class Source:
    """A stream that comes from Spark.

    Attributes:
        frame: the streaming DataFrame.
        event_time: its event-time column.
        slack: how far behind the newest row a row may come, in microseconds.
        arrival_time: column that says when a row entered the system, for latency.
        late: ``drop`` or ``aside``, what happens to rows that missed a window.
        nulls: ``drop`` or ``aside``, what happens to rows without event time.
    """

    name: str
    frame: Any = field(compare=False, repr=False)
    event_time: str
    event_time_type: str
    slack: int
    arrival_time: str | None
    arrival_time_type: str | None
    late: str
    nulls: str


@dataclass(frozen=True)
class Map:
    """A stateless step. ``function`` takes a DataFrame and returns one; Python functions are wrapped into that."""

    name: str
    upstream: str
    function: Callable[[Any], Any] = field(compare=False, repr=False)
    python: bool = False


@dataclass(frozen=True)
class Compute:
    """Partials per key and pane."""

    name: str
    upstream: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    aggregates: tuple[Bound, ...]
    time_sql: str
    time_type: str


@dataclass(frozen=True)
class Consolidate:
    """Windows out of partials. ``emit`` is ``append`` (once, when complete) or ``update`` (whenever changed)."""

    name: str
    upstream: str
    windows: tuple[Window, ...]
    emit: str


@dataclass(frozen=True)
class SinkNode:
    """Results of ``upstream`` go to ``sink``; ``aside`` means the rows its source kept aside instead."""

    upstream: str
    sink: Sink = field(compare=False)
    aside: bool = False


Node = Source | Map | Compute | Consolidate
