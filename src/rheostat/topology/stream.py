"""The handles a user holds: a stream, and a compute operator that waits for its windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from rheostat.choices import Emit, Over
from rheostat.durations import Duration
from rheostat.errors import OperatorError, RheostatError, TopologyError
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.event_time import EventTime
from rheostat.topology.keyed_state import KeyedState
from rheostat.topology.maps import BatchMap, FrameMap, arrow_map
from rheostat.topology.nodes import WINDOW_END, Compute, Consolidate, Map, SinkNode, Source
from rheostat.topology.process import (
    ARRIVAL,
    FrameLogic,
    ProcessInput,
    ProcessRequest,
    TimerLogic,
    event_time_column,
    process_node,
)
from rheostat.topology.processors import KeyProcessor
from rheostat.topology.sinks import Sink, check_sink
from rheostat.topology.window_nodes import PARTIALS, Windows, compute_node, consolidate_node
from rheostat.types import Schema
from rheostat.windows.partials import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rheostat.topology.graph import Graph


@dataclass(frozen=True)
class Stream:
    """Rows on their way: what ``source``, ``map``, ``aggregate``, ``consolidate`` and ``process`` return.

    Attributes:
        graph: the topology it belongs to.
        name: the operator whose rows it carries.
        frame: a DataFrame with the stream's columns, to check functions and names against; not the data.
        time: how its rows are placed in time; None for the output of a process operator without event time.
        updating: True if the same result may come again with a new value, as ``emit="update"`` gives it.

    >>> source = rh.Topology("lending").source(loans, event_time="ts")
    >>> rated = source.map("rate", lambda df: df.selectExpr("*", "repaid / amount - 1 as rate"))
    >>> rated.name, rated.schema["rate"]
    ('rate', 'double')
    """

    graph: Graph
    name: str
    frame: DataFrame
    time: EventTime | None
    updating: bool = False

    @property
    def schema(self) -> Schema:
        """Column names and Spark SQL types.

        >>> rh.Topology("lending").source(loans, event_time="ts").schema["amount"]
        'double'
        """
        return dict(self.frame.dtypes)

    @property
    def aside(self) -> AsideStream:
        """The rows that this source kept aside: late ones, and those without event time.

        They have all columns of the source and ``reason``, which is ``late`` or ``null``. Without a sink they stay in
        the checkpoint.

        >>> source = rh.Topology("lending").source(loans, event_time="ts", late="aside")
        >>> late = source.aside.sink(rh.sinks.parquet(f"{folder}/late"))
        """
        node = self.graph.nodes[self.name]
        if not isinstance(node, Source):
            raise TopologyError(f"{self.name!r} is not a source: rows are kept aside where they enter, at a source")
        return AsideStream(self.graph, self.name)

    @overload
    def map(self, name: str, function: FrameMap) -> Stream: ...

    @overload
    def map(self, name: str, function: BatchMap, *, schema: str) -> Stream: ...

    def map(self, name: str, function: Any, *, schema: str | None = None) -> Stream:
        """A stateless step, row by row.

        Args:
            name: the operator's name.
            function: from DataFrame to DataFrame, in Spark expressions; or, with ``schema``, a Python function from
                one Arrow record batch to another. It must keep the event-time column as it is.
            schema: the columns the Python function returns, as Spark DDL such as ``"area string, rate double"``.

        >>> source = rh.Topology("lending").source(loans, event_time="ts")
        >>> large = source.map("large", lambda df: df.where("amount > 1000"))
        >>> areas = large.map("areas", lambda batch: batch.select(["ts", "area"]), schema="ts timestamp, area string")
        >>> areas.schema
        {'ts': 'timestamp', 'area': 'string'}
        """
        step: FrameMap = function if schema is None else arrow_map(name, function, schema)
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
        if self.graph.check_map is not None:
            self.graph.check_map(name, self.frame, mapped, time_columns)
        self.graph.add(Map(name, self.name, step, python=schema is not None))
        return Stream(self.graph, name, mapped, self.time, self.updating)

    def aggregate(
        self,
        name: str,
        *,
        windows: Windows,
        by: str | Iterable[str] = (),
        emit: Emit = "append",
        aggregates: Mapping[str, Aggregate] | None = None,
        **named: Aggregate,
    ) -> Stream:
        """Aggregates per key and window.

        This is ``compute`` and ``consolidate`` in one. The compute operator is called ``NAME.partials``: under that
        name its state is in the checkpoint, and ``start(drop=...)`` gives it up.

        Args:
            name: the operator's name, and that of the stream of results.
            windows: a window or any number of them, in lists: what ``rh.tumbling`` and ``rh.sliding`` give.
            by: key attributes; none aggregates over the whole stream.
            emit: ``append`` gives every window once, when the watermark passes its end; ``update`` gives its current
                value in every epoch that changed it.
            aggregates: aggregates whose result columns cannot be keyword arguments, such as ``"mean rate"`` or ``by``.
            named: result column = aggregate, as in ``loans=rh.count()``.

        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> out = rh.sinks.memory()
        >>> areas = source.aggregate("areas", by="area", windows=rh.tumbling("1 hour"), loans=rh.count()).sink(out)
        >>> t.start(folder, trigger=rh.AVAILABLE_NOW).await_termination()
        True
        >>> out.frame().select("window", "area", "loans").sort("area").rows()
        [('1 hour', 'north', 2), ('1 hour', 'south', 1)]
        """
        self._check_appending(name)
        made = f"{name}{PARTIALS}"
        compute = compute_node(name, made, self.name, self.schema, self.time, by, {**(aggregates or {}), **named})
        consolidate = consolidate_node(name, made, windows, emit)
        self.graph.add(compute, consolidate)
        return _results(self, compute, consolidate)

    def compute(
        self,
        name: str,
        *,
        by: str | Iterable[str] = (),
        aggregates: Mapping[str, Aggregate] | None = None,
        **named: Aggregate,
    ) -> Computed:
        """Aggregates per key, for several ``consolidate`` operators that make windows of them; see ``aggregate``.

        Args:
            name: the operator's name.
            by: key attributes; none aggregates over the whole stream.
            aggregates: aggregates whose result columns cannot be keyword arguments, such as ``"mean rate"`` or ``by``.
            named: result column = aggregate, as in ``loans=rh.count()``.

        >>> source = rh.Topology("lending").source(loans, event_time="ts")
        >>> areas = source.compute("by_area", by="area", loans=rh.count())
        >>> hours = areas.consolidate("hours", rh.tumbling("1 hour"))
        >>> live = areas.consolidate("live", rh.sliding("1 hour", every="1 minute"), emit="update")
        """
        self._check_appending(name)
        declared = {**(aggregates or {}), **named}
        node = compute_node(name, name, self.name, self.schema, self.time, by, declared)
        self.graph.add(node)
        return Computed(self, node)

    def process(
        self,
        name: str,
        function: FrameLogic,
        *,
        by: str | Iterable[str],
        schema: str,
        state: KeyedState | None = None,
        on_timer: TimerLogic | None = None,
        join: Stream | Iterable[Stream] = (),
        order: str | Iterable[str] | None = ARRIVAL,
        reads: str | Iterable[str] | None = None,
        event_time: str | None = None,
        over: Over = "polars",
        time_limit: Duration = "10 minutes",
    ) -> Stream:
        """Your own logic over keyed state: a function that is called once per slot and epoch, with whole frames.

        Args:
            name: the operator's name, and that of its output.
            function: ``(rows, state) -> (output, changed)`` or ``(output, changed, removed)``. ``rows`` are all rows
                of the slot in this epoch, ``state`` the state of those of their keys that have one, ``changed`` the
                keys and state to keep, one row per key, ``removed`` the keys to forget. None stands for no rows.
            by: key attributes.
            schema: columns of the output, as Spark DDL such as ``"stock string, price double"``.
            state: what is kept per key and for how long, as in ``rh.keyed_state("total double", ttl="1 hour")``.
            on_timer: ``(state) -> (output, changed)``, called with the state of keys whose timer is due. ``state``
                frames then have a timestamp column ``timer``, which either function may set.
            join: further streams with the same key columns; ``rows`` is then a dict from stream name to frame.
            order: the order of a key's rows: ``"arrival"``, or the columns that decide it (in a list, if a column is
                itself called ``arrival``), or None if it does not matter, which saves a column and a sort.
            reads: the columns the function reads besides the keys; by default all of them travel.
            event_time: the output column that places its rows in time; by default the one called as in the input.
            over: ``polars`` or ``arrow``, the frames that the functions take and return.
            time_limit: how long the functions may take in one task; the query fails after that.

        >>> import polars as pl
        >>> def totals(rows, state):
        ...     new = rows.group_by("area").agg(more=pl.col("amount").sum())
        ...     old = new.join(state, on="area", how="left")
        ...     kept = old.select("area", total=pl.col("more") + pl.col("total").fill_null(0))
        ...     return kept, kept
        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> out = rh.sinks.memory()
        >>> lent = source.process(
        ...     "lent", totals, by="area", schema="area string, total double", state=rh.keyed_state("total double")
        ... ).sink(out)
        >>> t.start(folder, trigger=rh.AVAILABLE_NOW).await_termination()
        True
        >>> out.frame().sort("area", "total").rows()
        [('north', 300.0), ('north', 700.0), ('south', 300.0), ('south', 800.0)]
        """
        return self._process(
            ProcessRequest(
                name=name,
                logic=function,
                per_key=False,
                by=by,
                schema=schema,
                state=state,
                on_timer=on_timer,
                order=order,
                reads=reads,
                event_time=event_time,
                over=over,
                time_limit=time_limit,
            ),
            join,
        )

    def process_keys(
        self,
        name: str,
        processor: type[KeyProcessor],
        *,
        by: str | Iterable[str],
        schema: str,
        state: KeyedState | None = None,
        join: Stream | Iterable[Stream] = (),
        order: str | Iterable[str] | None = ARRIVAL,
        reads: str | Iterable[str] | None = None,
        event_time: str | None = None,
        time_limit: Duration = "10 minutes",
    ) -> Stream:
        """Your own logic over keyed state, key by key: for logic that cannot be written over whole frames.

        Args:
            name: the operator's name, and that of its output.
            processor: a ``KeyProcessor`` class; its fields are the state, its methods the logic.
            by: key attributes.
            schema: columns of the output, as Spark DDL such as ``"stock string, price double"``.
            state: for how long a key's state is kept, as in ``rh.keyed_state(ttl="1 hour")``; for ever by default.
            join: further streams with the same key columns; ``rows`` is then a dict from stream name to rows.
            order: the order of a key's rows: ``"arrival"``, or the columns that decide it (in a list, if a column is
                itself called ``arrival``), or None if it does not matter, which saves a column and a sort.
            reads: the columns the processor reads besides the keys; by default all of them travel.
            event_time: the output column that places its rows in time; by default the one called as in the input.
            time_limit: how long the processor may take in one task; the query fails after that.

        >>> class Streak(rh.KeyProcessor):
        ...     approved = rh.value("bigint", default=0)
        ...     def process(self, key, rows, context):
        ...         for row in rows:
        ...             self.approved = self.approved + 1 if row.ok else 0
        ...         yield key.area, self.approved
        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> out = rh.sinks.memory()
        >>> streaks = source.process_keys(
        ...     "streaks", Streak, by="area", schema="area string, approved bigint"
        ... ).sink(out)
        >>> t.start(folder, trigger=rh.AVAILABLE_NOW).await_termination()
        True
        >>> out.frame().sort("area", "approved").rows()
        [('north', 2), ('north', 3), ('south', 0), ('south', 1)]
        """
        return self._process(
            ProcessRequest(
                name=name,
                logic=processor,
                per_key=True,
                by=by,
                schema=schema,
                state=state,
                on_timer=None,
                order=order,
                reads=reads,
                event_time=event_time,
                over="polars",
                time_limit=time_limit,
            ),
            join,
        )

    def sink(self, sink: Sink) -> Stream:
        """Send the stream's rows to a sink; a stream may have several.

        >>> source = rh.Topology("lending").source(loans, event_time="ts")
        >>> archived = source.sink(rh.sinks.parquet(f"{folder}/all")).sink(rh.sinks.console(5))
        """
        check_sink(self.name, sink)
        self.graph.sinks.append(SinkNode(self.name, sink))
        return self

    def _check_appending(self, name: str) -> None:
        if self.updating:
            raise TopologyError(
                f"operator {name!r} would count refreshed results of {self.name!r} again and again; "
                "let that operator emit 'append'"
            )

    def _process(self, request: ProcessRequest, join: Stream | Iterable[Stream]) -> Stream:
        streams = [self, *([join] if isinstance(join, Stream) else join)]
        output = self._template(request.name, "schema", request.schema)
        kept = request.state_columns
        state = dict(self._template(request.name, "state", kept).dtypes) if kept else {}
        inputs = [ProcessInput(s.name, s.schema, s.time.sql if s.time else None) for s in streams]
        node = process_node(request, inputs, dict(output.dtypes), state)
        time = _output_time(request, dict(output.dtypes), [s.time for s in streams if s.time])
        self.graph.add(node)
        return Stream(self.graph, request.name, output, time)

    def _template(self, name: str, what: str, ddl: str) -> DataFrame:
        """An empty DataFrame with the columns of a DDL text; Spark reads the text."""
        try:
            return self.frame.sparkSession.createDataFrame([], ddl)
        except Exception as error:
            raise TopologyError(f"operator {name!r}: {what}={ddl!r} is not Spark DDL: {error}") from None


@dataclass(frozen=True)
class Computed:
    """A compute operator. Its partials become results through ``consolidate``, once or several times.

    Attributes:
        stream: the stream whose rows it aggregates.
        node: the operator.
    """

    stream: Stream
    node: Compute

    def consolidate(self, name: str, *windows: Windows, emit: Emit = "append") -> Stream:
        """Windows over the computed partials.

        Args:
            name: the operator's name, and that of the stream of results.
            windows: any number of windows, as from ``rh.tumbling`` and ``rh.sliding``.
            emit: ``append`` gives every window once, when the watermark passes its end; ``update`` gives its current
                value in every epoch that changed it.

        >>> source = rh.Topology("lending").source(loans, event_time="ts")
        >>> areas = source.compute("by_area", by="area", loans=rh.count())
        >>> areas.consolidate("hours", rh.tumbling("1 hour"), rh.sliding("1 hour", every="5 minutes")).schema["loans"]
        'bigint'
        """
        graph = self.stream.graph
        others = [w for n in graph.consolidates_of(self.node.name) for w in n.windows]
        consolidate = consolidate_node(name, self.node.name, windows, emit, others)
        graph.add(consolidate)
        return _results(self.stream, self.node, consolidate)


@dataclass(frozen=True)
class AsideStream:
    """Rows that a source kept aside, with ``reason`` (``late`` or ``null``); see ``Stream.aside``.

    Attributes:
        graph: the topology it belongs to.
        source: the source that kept them.
    """

    graph: Graph
    source: str

    def sink(self, sink: Sink) -> AsideStream:
        """Send rows that were kept aside to a sink.

        >>> source = rh.Topology("lending").source(loans, event_time="ts", late="aside")
        >>> late = source.aside.sink(rh.sinks.memory())
        """
        check_sink(f"{self.source} aside", sink)
        self.graph.sinks.append(SinkNode(self.source, sink, aside=True))
        return self


def _results(stream: Stream, compute: Compute, consolidate: Consolidate) -> Stream:
    """The stream of results of windows over a stream."""
    template = stream.frame.sparkSession.createDataFrame([], ddl(compute.result_columns))
    time = EventTime.of_window_end(WINDOW_END, compute.time_type)
    return Stream(stream.graph, consolidate.name, template, time, updating=consolidate.emit == "update")


def _output_time(request: ProcessRequest, schema: Schema, times: list[EventTime]) -> EventTime | None:
    """How the output of a process operator is placed in time."""
    column = event_time_column(request, schema, [c for time in times for c in time.columns])
    if column is None:
        return None
    type_ = schema[column]
    if request.event_time is None:  # the input's own time, which for windows is their last instant
        for time in times:
            if (time.columns, time.type) == ((column,), type_):
                return time
    return EventTime.of_column(column, type_)
