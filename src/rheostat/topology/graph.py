"""A topology as a graph of named operators, and the checks on the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rheostat.choices import Kept, check_choice
from rheostat.durations import Duration, micros
from rheostat.errors import TopologyError
from rheostat.topology.event_time import EventTime
from rheostat.topology.nodes import Apply, Compute, Consolidate, Map, Node, Process, SinkNode, Source, upstreams_of
from rheostat.topology.stream import Stream
from rheostat.types import TIMESTAMPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MapCheck = Callable[[str, "DataFrame", "DataFrame", Iterable[str]], None]
"""Raises ``TopologyError`` if a map does more than transform rows one by one, or changes the given columns.

Called with the operator's name, the frame before and after the map, and the columns that must not change. It needs to
look into Spark's frames, so ``rheostat.spark`` provides it."""

CLOCK_JOINT = "+"
"""Joins the names of sources in the name of a clock; names of operators cannot contain it."""


class Graph:
    """The operators and sinks of a topology.

    Attributes:
        name: the topology's name.
        nodes: operators by name, in the order in which they were added.
        sinks: the sinks, each with the stream that it reads.
        check_map: the engine's check of a map; None checks only that event-time columns are kept.
    """

    def __init__(self, name: str, check_map: MapCheck | None = None) -> None:
        if not name or "/" in name:
            raise TopologyError(f"a topology needs a name without slashes, not {name!r}")
        self.name = name
        self.nodes: dict[str, Node] = {}
        self.sinks: list[SinkNode] = []
        self.check_map = check_map

    def source(
        self,
        frame: DataFrame,
        *,
        event_time: str,
        slack: Duration = "0 seconds",
        arrival_time: str | None = None,
        name: str = "source",
        late: Kept = "drop",
        nulls: Kept = "aside",
    ) -> Stream:
        """Add a streaming DataFrame as a source.

        Args:
            frame: any streaming DataFrame. Select only the columns you need: all of them are read.
            event_time: the timestamp column with a row's event time. Maps must not change it.
            slack: how late a row may come. The watermark is the newest event time seen minus the slack.
            arrival_time: a timestamp column that says when a row entered the system; latency is measured from it. By
                default the ``timestamp`` of a Kafka, rate or socket source, if the frame passes it on unchanged.
                For files, select ``_metadata.file_modification_time`` as a column and name it.
            name: name of the source; needed if there are several.
            late: whether to ``drop`` rows that missed a window or keep them ``aside``. Both are counted.
            nulls: whether to ``drop`` rows without event time or keep them ``aside``. Both are counted.

        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts", slack="10 seconds", late="aside", name="loans")
        >>> source.name
        'loans'
        """
        types = dict(frame.dtypes)
        for role, column in (("event_time", event_time), ("arrival_time", arrival_time)):
            if column is not None:
                _check_timestamp(name, role, column, types)
        if not frame.isStreaming:
            raise TopologyError(f"source {name!r} is not a streaming DataFrame: make it with spark.readStream")
        check_choice(f"source {name!r}", "late", late, Kept)
        check_choice(f"source {name!r}", "nulls", nulls, Kept)
        if micros(slack) < 0:
            raise TopologyError(f"source {name!r}: slack={slack!r} must not be negative")
        self.add(
            Source(
                name=name,
                frame=frame,
                event_time=event_time,
                event_time_type=types[event_time],
                slack=micros(slack),
                arrival_time=arrival_time,
                arrival_time_type=types[arrival_time] if arrival_time else None,
                late=late,
                nulls=nulls,
            )
        )
        return Stream(self, name, frame, EventTime.of_column(event_time, types[event_time]))

    def add(self, *nodes: Node) -> None:
        """Add operators. If a name is invalid or already taken, raise ``TopologyError`` and add none."""
        for node in nodes:
            if not node.name or node.name in (".", "..") or any(c in node.name for c in f"/{CLOCK_JOINT}"):
                raise TopologyError(
                    f"an operator needs a name without '/' and '+', not {node.name!r}: it names a folder"
                )
            if node.name in self.nodes:
                raise TopologyError(f"two operators are named {node.name!r}: give every operator a name of its own")
        self.nodes |= {node.name: node for node in nodes}

    def validate(self) -> None:
        """Raise ``TopologyError`` for a missing source or sink, an unknown upstream, a cycle, or an unused compute."""
        if not any(isinstance(n, Source) for n in self.nodes.values()):
            raise TopologyError(f"topology {self.name!r} has no source: begin with source(...)")
        if not self.sinks:
            raise TopologyError(f"topology {self.name!r} has no sink: end a stream with .sink(rh.sinks...)")
        in_order(self.nodes.values())
        consolidated = {n.upstream for n in self.nodes.values() if isinstance(n, Consolidate)}
        for node in self.nodes.values():
            if isinstance(node, Compute) and node.name not in consolidated:
                raise TopologyError(f"operator {node.name!r} has partials that nothing uses: add .consolidate(...)")

    def clock_of(self, name: str) -> str:
        """The clock whose watermark a stream follows: the name of its source.

        Where streams are joined, the sources' names are joined with ``+``, which names cannot contain; the slowest
        source then sets the watermark.
        """
        sources: set[str] = set()
        pending = [self.nodes[name]]
        while pending:
            node = pending.pop()
            if isinstance(node, Source):
                sources.add(node.name)
            pending += [self.nodes[u] for u in upstreams_of(node)]
        return CLOCK_JOINT.join(sorted(sources))

    def path_to(self, name: str) -> list[Map]:
        """The maps at the end of the path to a stream, in order: those after the last operator that is not a map."""
        maps: list[Map] = []
        node = self.nodes[name]
        while isinstance(node, Map):
            maps.append(node)
            node = self.nodes[node.upstream]
        return maps[::-1]

    def consolidates_of(self, compute: str) -> list[Consolidate]:
        """The consolidate operators of a compute operator."""
        return [n for n in self.nodes.values() if isinstance(n, Consolidate) and n.upstream == compute]

    def origin_of(self, name: str) -> Source | Apply | Consolidate | Process:
        """The nearest operator upstream that is not a map, the stream's own operator included."""
        node = self.nodes[name]
        while isinstance(node, Map):
            node = self.nodes[node.upstream]
        if isinstance(node, Compute):
            raise TopologyError(f"operator {name!r} has partials, not rows: add .consolidate(...)")
        return node

    def level_of(self, name: str) -> int:
        """How many operators with results come before an apply, compute or process operator, on the longest path."""
        levels = []
        for upstream in upstreams_of(self.nodes[name]):
            origin = self.origin_of(upstream)
            if isinstance(origin, Consolidate):
                levels.append(1 + self.level_of(origin.upstream))
            elif isinstance(origin, (Apply, Process)):
                levels.append(1 + self.level_of(origin.name))
        return max(levels, default=0)


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """The operators in topological order, each after those it reads. A cycle is an error that names its operators.

    >>> a, b = Map("a", "b", print), Map("b", "a", print)
    >>> in_order([a, b])
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: operators form a cycle: a -> b -> a
    """
    by_name = {n.name: n for n in nodes}
    done: dict[str, Node] = {}

    def visit(node: Node, path: list[str]) -> None:
        if node.name in done:
            return
        if node.name in path:
            cycle = [node.name, *reversed(path[path.index(node.name) :])]
            raise TopologyError(f"operators form a cycle: {' -> '.join(cycle)}")
        for upstream in upstreams_of(node):
            if upstream not in by_name:
                raise TopologyError(f"operator {node.name!r} reads from {upstream!r}, which does not exist")
            visit(by_name[upstream], [*path, node.name])
        done[node.name] = node

    for node in by_name.values():
        visit(node, [])
    return list(done.values())


def _check_timestamp(source: str, role: str, column: str, types: dict[str, str]) -> None:
    if column not in types:
        raise TopologyError(
            f"source {source!r}: {role} column {column!r} does not exist; the stream has {', '.join(types)}"
        )
    if types[column] not in TIMESTAMPS:
        raise TopologyError(
            f"source {source!r}: {role} column {column!r} is {types[column]}, not a timestamp; "
            f"cast it first, as in df.withColumn({column!r}, F.col({column!r}).cast('timestamp'))"
        )
