"""The handles a user holds: a stream, and a compute operator that waits for its windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rheostat.durations import Duration
from rheostat.errors import OperatorError, RheostatError, TopologyError
from rheostat.topology.aggregates import Aggregate, Place
from rheostat.topology.nodes import WINDOW, WINDOW_END, WINDOW_START, Compute, Consolidate, Map, SinkNode, Source
from rheostat.topology.process import Input, event_time_of, process_node, state_ddl
from rheostat.topology.sinks import ConsoleSink, ForeachSink, FormatSink, MemorySink, ParquetSink, Sink
from rheostat.types import Schema, is_key, micros_sql
from rheostat.windows.panes import pane_of
from rheostat.windows.partials import ddl, quoted
from rheostat.windows.window import Window

if TYPE_CHECKING:
    from rheostat.topology.graph import Graph

_RESULT_COLUMNS = (WINDOW, WINDOW_START, WINDOW_END)


@dataclass(frozen=True)
class EventTime:
    """How the rows of a stream are placed in time.

    Attributes:
        sql: Spark SQL for the event time in microseconds since 1970.
        type: type of the timestamps it comes from.
        columns: the columns the SQL reads; a map has to keep them.
    """

    sql: str
    type: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Stream:
    """Rows on their way: what a source, a map, a consolidate or a process operator gives.

    Attributes:
        frame: a DataFrame with the stream's columns, to check functions and names against; not the data.
        time: how its rows are placed in time; None for the output of a process operator without event time.
    """

    graph: Graph
    name: str
    frame: Any
    time: EventTime | None
    updating: bool = False

    @property
    def schema(self) -> Schema:
        """Column names and Spark SQL types."""
        return dict(self.frame.dtypes)

    @property
    def aside(self) -> AsideStream:
        """The rows this source kept aside: late ones, and those without event time."""
        node = self.graph.nodes[self.name]
        if not isinstance(node, Source):
            raise TopologyError(f"{self.name!r} is not a source: rows are kept aside where they enter, at a source")
        return AsideStream(self.graph, self.name)

    def map(self, name: str, function: Callable[[Any], Any], *, schema: str | None = None) -> Stream:
        """A stateless step, row by row.

        Args:
            name: the operator's name.
            function: from DataFrame to DataFrame, in Spark expressions; or, with ``schema``, a Python function from
                one Arrow record batch to another.
            schema: the columns the Python function returns, as Spark DDL such as ``"area string, rate double"``.
        """
        step = function if schema is None else arrow_map(name, function, schema)
        try:
            mapped = step(self.frame)
        except RheostatError:
            raise
        except Exception as error:
            raise OperatorError.caused_by(name, "", error) from error
        if not hasattr(mapped, "dtypes"):
            raise TopologyError(
                f"operator {name!r}: the function returned {type(mapped).__name__}, not a DataFrame; "
                "to map Arrow batches in Python, give schema='...'"
            )
        time_columns = self.time.columns if self.time else ()
        for column in time_columns:
            if column not in mapped.columns:
                raise TopologyError(f"operator {name!r} drops the event-time column {column!r}; keep it in its result")
        self.graph.check_map(name, self.frame, mapped, time_columns)
        self.graph.add(Map(name, self.name, step, python=schema is not None))
        return Stream(self.graph, name, mapped, self.time, self.updating)

    def compute(
        self,
        name: str,
        *,
        by: str | Iterable[str] = (),
        aggregates: Mapping[str, Aggregate] | None = None,
        **named: Aggregate,
    ) -> Computed:
        """Partial aggregates per key; ``consolidate`` then makes windows of them.

        Args:
            name: the operator's name.
            by: key attributes; none computes over the whole stream.
            aggregates: aggregates whose names are not Python names; the others are keyword arguments.
            named: result column = aggregate, as in ``loans=rh.count()``.
        """
        keys = (by,) if isinstance(by, str) else tuple(by)
        declared = {**(aggregates or {}), **named}
        self._check_compute(name, keys, declared)
        if self.time is None:
            raise TopologyError(
                f"operator {name!r} needs event time, and the output of {self.name!r} has none: "
                "give that operator event_time='column'"
            )
        schema = self.schema
        bound = tuple(a.bind(Place(name, result, schema, self.time.sql)) for result, a in declared.items())
        node = Compute(name, self.name, keys, tuple(schema[k] for k in keys), bound, self.time.sql, self.time.type)
        self.graph.add(node)
        return Computed(self, node)

    def process(
        self,
        name: str,
        logic: Any,
        *,
        by: str | Iterable[str],
        schema: str,
        state: str | None = None,
        join: Stream | Iterable[Stream] = (),
        on_timer: Callable[..., Any] | None = None,
        event_time: str | None = None,
        order: str | Iterable[str] = (),
        ordered: bool = True,
        reads: str | Iterable[str] | None = None,
        ttl: Duration | None = None,
        clock: str = "processing",
        over: str = "polars",
        time_limit: Duration = "10 minutes",
    ) -> Stream:
        """Your own logic over state that belongs to a key.

        Args:
            name: the operator's name.
            logic: either a function over whole frames, ``(rows, state) -> (output, changed)`` or
                ``(output, changed, removed)``: ``rows`` are all rows of the slot in this epoch, ``state`` the state
                of those of their keys that have one, ``changed`` the keys and state to keep, one row per key,
                ``removed`` the keys to forget. Or a ``KeyProcessor`` class, called key by key.
            by: key attributes.
            schema: columns of the output, as Spark DDL such as ``"stock string, price double"``.
            state: for a function over frames, the state's columns as Spark DDL.
            join: further streams with the same key columns; ``rows`` is then a dict from stream name to frame.
            on_timer: for a function over frames, ``(state) -> (output, changed)``: called with the state of keys
                whose timer is due. ``state`` frames then have a timestamp column ``timer``, which may be set.
            event_time: the output column that places its rows in time; by default the one called as in the input.
            order: columns that decide the order of a key's rows; by default rows are in order of arrival.
            ordered: False for logic that does not care, which saves a column on the way and a sort.
            reads: the columns the logic reads besides the keys; by default all of them travel.
            ttl: how long after its last change a key's state is forgotten.
            clock: whether ``ttl`` goes by ``processing`` time, as in Spark, or by ``event`` time.
            over: whether a function takes and returns ``polars`` or ``arrow`` frames.
            time_limit: how long the logic may take in one task; a processor that never returns fails after this.
        """
        streams = [self, *([join] if isinstance(join, Stream) else join)]
        columns = self._template(name, "schema", schema)
        kept_ddl = state_ddl(name, logic, state)
        kept = dict(self._template(name, "state", kept_ddl).dtypes) if kept_ddl else {}
        node = process_node(
            name,
            logic,
            [Input(s.name, s.schema, s.time.sql if s.time else None) for s in streams],
            by=by,
            schema=dict(columns.dtypes),
            state=kept,
            on_timer=on_timer,
            order=order,
            ordered=ordered,
            reads=reads,
            ttl=ttl,
            clock=clock,
            over=over,
            time_limit=time_limit,
        )
        usual = [c for s in streams if s.time for c in s.time.columns]
        timed = event_time_of(name, dict(columns.dtypes), event_time, usual)
        time = None
        if timed is not None:
            type_ = dict(columns.dtypes)[timed]
            time = EventTime(micros_sql(quoted(timed), type_), type_, (timed,))
            if event_time is None:  # the input's own time, which for windows is their last instant
                time = next(
                    (s.time for s in streams if s.time and (s.time.columns, s.time.type) == ((timed,), type_)), time
                )
        self.graph.add(node)
        return Stream(self.graph, name, columns, time)

    def _template(self, name: str, what: str, ddl: str) -> Any:
        """An empty DataFrame with the columns of a DDL text; Spark reads the text."""
        try:
            return self.frame.sparkSession.createDataFrame([], ddl)
        except Exception as error:
            raise TopologyError(f"operator {name!r}: {what}={ddl!r} is not Spark DDL: {error}") from None

    def sink(self, sink: Sink) -> Stream:
        """Send the stream's rows to a sink; any number of sinks is allowed."""
        _check_sink(self.name, sink)
        self.graph.sinks.append(SinkNode(self.name, sink))
        return self

    def _check_compute(self, name: str, keys: tuple[str, ...], declared: Mapping[str, Aggregate]) -> None:
        if self.updating:
            raise TopologyError(
                f"operator {name!r} would count refreshed results of {self.name!r} again and again; "
                "let that operator emit 'append'"
            )
        if not declared:
            raise TopologyError(f"operator {name!r} computes nothing: give it an aggregate, as in rows=rh.count()")
        for result, aggregate in declared.items():
            if not isinstance(aggregate, Aggregate):
                raise TopologyError(f"operator {name!r}: {result}={aggregate!r} is not an aggregate like rh.count()")
        names = [*_RESULT_COLUMNS, *keys, *declared]
        if duplicate := next((n for i, n in enumerate(names) if n in names[:i]), None):
            raise TopologyError(f"operator {name!r} would have two result columns named {duplicate!r}; rename one")
        schema = self.schema
        for key in keys:
            if key not in schema:
                raise TopologyError(
                    f"operator {name!r} groups by column {key!r}, which stream {self.name!r} does not have; "
                    f"it has {', '.join(schema)}"
                )
            if not is_key(schema[key]):
                raise TopologyError(f"operator {name!r} cannot group by column {key!r} of type {schema[key]}")


@dataclass(frozen=True)
class Computed:
    """A compute operator. Its partials become results through ``consolidate``, once or several times."""

    stream: Stream
    node: Compute

    def consolidate(self, name: str, *windows: Window | Iterable[Window], emit: str = "append") -> Stream:
        """Windows over the computed partials.

        Args:
            name: the operator's name.
            windows: any number of window sets, as from ``rh.tumbling``, ``rh.hopping`` and ``rh.sliding``.
            emit: ``append`` gives every window once, when the watermark passes its end; ``update`` gives its current
                value whenever it changed in an epoch.
        """
        if emit not in ("append", "update"):
            raise TopologyError(f"operator {name!r}: emit={emit!r} is neither 'append' nor 'update'")
        flat: list[Window] = []
        for given in windows:
            flat += [given] if isinstance(given, Window) else given if isinstance(given, Iterable) else []
            if not flat or not all(isinstance(w, Window) for w in flat):
                raise TopologyError(
                    f"operator {name!r}: windows come from rh.tumbling(), rh.hopping() or rh.sliding(), not {given!r}"
                )
        graph = self.stream.graph
        others = [w for n in graph.consolidates_of(self.node.name) for w in n.windows]
        try:
            pane_of([*flat, *others])  # an impossible window set fails here, where it was written
        except TopologyError as error:
            raise TopologyError(f"operator {name!r}: {error}") from None
        graph.add(Consolidate(name, self.node.name, tuple(dict.fromkeys(flat)), emit))
        template = self.stream.frame.sparkSession.createDataFrame([], ddl(self.node.result_columns))
        # A result belongs to the last instant of its window: windows over windows then close with them.
        time = EventTime(f"{micros_sql(WINDOW_END, self.node.time_type)} - 1", self.node.time_type, (WINDOW_END,))
        return Stream(graph, name, template, time, updating=emit == "update")


@dataclass(frozen=True)
class AsideStream:
    """Rows a source kept aside, with ``reason`` (``late`` or ``null``). Without a sink they stay in the checkpoint."""

    graph: Graph
    source: str

    def sink(self, sink: Sink) -> AsideStream:
        """Send rows that were kept aside to a sink."""
        _check_sink(f"{self.source} aside", sink)
        self.graph.sinks.append(SinkNode(self.source, sink, aside=True))
        return self


def arrow_map(name: str, function: Callable[[Any], Any], schema: str) -> Callable[[Any], Any]:
    """A DataFrame function that runs a Python function over the Arrow batches of every task."""

    def over_batches(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            try:
                result = function(batch)
            except Exception as error:
                raise OperatorError.caused_by(name, "", error) from error
            if isinstance(result, pa.RecordBatch):
                yield result
            elif isinstance(result, pa.Table):
                yield from result.to_batches()
            else:
                raise OperatorError(name, f"the function returned {type(result).__name__}, not an Arrow batch or table")

    return lambda frame: frame.mapInArrow(over_batches, schema)


def _check_sink(stream: str, sink: Sink) -> None:
    if not isinstance(sink, (ParquetSink, ForeachSink, FormatSink, ConsoleSink, MemorySink)):
        raise TopologyError(f"stream {stream!r}: {sink!r} is not a sink; use rh.sinks.parquet(...) and its like")
