"""The handles that users chain calls on: a stream, and a compute operator that still needs its windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from rheostat.choices import CalledWith, Emit, GroupingName, Over
from rheostat.durations import Duration
from rheostat.errors import OperatorError, RheostatError, TopologyError
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.apply import ApplyRequest, apply_node
from rheostat.topology.aside_stream import AsideStream
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
    output_time,
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
    """A stream of rows: the output of a source, or of an operator such as ``map``, ``aggregate`` or ``process``.

    Attributes:
        graph: the topology it belongs to.
        name: the operator that outputs its rows.
        frame: a DataFrame with the stream's columns, used only to check columns and functions while the topology is
            written.
        time: the event time of its rows; None for the output of a process operator without event time.
        updating: True if a result may be emitted again with a new value, as with ``emit="update"``.

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
        """The stream's columns: from column name to Spark SQL type.

        >>> rh.Topology("lending").source(loans, event_time="ts").schema["amount"]
        'double'
        """
        return dict(self.frame.dtypes)

    @property
    def aside(self) -> AsideStream:
        """The rows that this source kept aside: late rows, and rows without event time.

        They have all columns of the source, and a column ``reason``, which is ``late`` or ``null``. Without a sink
        they stay in the checkpoint.

        >>> source = rh.Topology("lending").source(loans, event_time="ts", late="aside")
        >>> late = source.aside.sink(rh.sinks.parquet(f"{folder}/late"))
        """
        node = self.graph.nodes[self.name]
        if not isinstance(node, Source):
            raise TopologyError(f"{self.name!r} is not a source, and only a source keeps rows aside: use source.aside")
        return AsideStream(self.graph, self.name)

    @overload
    def map(self, name: str, function: FrameMap) -> Stream: ...

    @overload
    def map(self, name: str, function: BatchMap, *, schema: str) -> Stream: ...

    def map(self, name: str, function: Any, *, schema: str | None = None) -> Stream:
        """Add a stateless operator that transforms rows one by one.

        Args:
            name: the operator's name.
            function: a function from DataFrame to DataFrame; or, with ``schema``, a Python function from one Arrow
                record batch to another. It must not change the event-time column.
            schema: the columns that the Python function returns, as Spark DDL such as ``"area string, rate double"``.

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
                "to map Arrow batches in Python, pass schema='...'"
            )
        time_columns = self.time.columns if self.time else ()
        for column in time_columns:
            if column not in mapped.columns:
                raise TopologyError(f"operator {name!r} drops the event-time column {column!r}; keep it in its result")
        if self.graph.check_map is not None:
            self.graph.check_map(name, self.frame, mapped, time_columns)
        self.graph.add(Map(name, self.name, step, python=schema is not None))
        return Stream(self.graph, name, mapped, self.time, self.updating)

    def apply(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        schema: str,
        cost_by: str | Iterable[str] = (),
        grouping: GroupingName = "lpt",
        over: CalledWith = "rows",
        order: bool = False,
        slots: int | None = None,
        reads: str | Iterable[str] | None = None,
        event_time: str | None = None,
        time_limit: Duration = "10 minutes",
    ) -> Stream:
        """Run a Python function that keeps no state, on rows that are dealt to slots by what they cost (POSG).

        What a row costs is measured in the slots and learned by the values of ``cost_by``, epoch by epoch. While costs
        hardly differ, rows are dealt in turn, which is cheaper; ``query.decisions()`` and ``explain`` say so.

        Args:
            name: the name of the operator and of its output stream.
            function: called with one row, a named tuple. It returns a row (a tuple, or a dict by column), None for no
                row, or a list of rows. With ``over="polars"`` or ``"arrow"`` it is called with a frame of some of the
                slot's rows, and returns a frame. It may run again for the same row if a task or an epoch is repeated.
            schema: columns of the output, as Spark DDL such as ``"entity string, score double"``.
            cost_by: the column or columns that decide what a row costs, such as the entity that a tweet mentions. By
                default all rows cost the same and are dealt in turn.
            grouping: ``lpt`` deals the rows of an epoch longest first; ``posg`` greedily in order of arrival, as in
                the paper; ``round_robin`` in turn, whatever rows cost.
            over: ``rows``, or ``polars`` or ``arrow`` for a function over frames.
            order: True to keep the order of the input in the output, at the price of one more task per epoch. A
                function over frames must then return one row for each row.
            slots: how many tasks run the function at once; by default as many as Spark has cores.
                ``query.rescale(slots, component=name)`` changes it during a run.
            reads: the columns that the function reads; only these are shuffled. By default all.
            event_time: the output column with the event time of its rows. By default the column that has the name of
                the input's event-time column; without one, the output has no event time.
            time_limit: how long the function may run in one task before the query fails.

        >>> t = rh.Topology("lending")
        >>> source = t.source(loans, event_time="ts")
        >>> out = rh.sinks.memory()
        >>> scored = source.apply(
        ...     "score", lambda loan: (loan.area, loan.amount / 100), schema="area string, score double", cost_by="area"
        ... ).sink(out)
        >>> t.start(folder, trigger=rh.AVAILABLE_NOW).await_termination()
        True
        >>> out.frame().sort("area", "score").rows()[:2]
        [('north', 1.0), ('north', 2.0)]
        """
        output = self._template(name, "schema", schema)
        request = ApplyRequest(
            name=name,
            function=function,
            cost_by=cost_by,
            grouping=grouping,
            over=over,
            order=order,
            slots=slots,
            reads=reads,
            time_limit=time_limit,
        )
        node = apply_node(request, self.name, self.schema, dict(output.dtypes))
        times = [self.time] if self.time else []
        time = output_time(request.where, event_time, dict(output.dtypes), times)
        self.graph.add(node)
        return Stream(self.graph, name, output, time, self.updating)

    def aggregate(
        self,
        name: str,
        *,
        windows: Windows,
        by: str | Iterable[str] = (),
        emit: Emit = "append",
        fuse: bool | str = True,
        aggregates: Mapping[str, Aggregate] | None = None,
        **named: Aggregate,
    ) -> Stream:
        """Aggregate rows per key and window.

        This is ``compute`` and ``consolidate`` in one call. The compute operator is called ``NAME.partials``: the
        checkpoint keeps its state under that name, and ``start(drop=["NAME.partials"])`` discards it.

        Args:
            name: the name of the operator and of the stream of results.
            windows: what ``rh.tumbling`` and ``rh.sliding`` return, or a list of that.
            by: key attributes, the columns to group by; by default the whole stream is one group.
            emit: ``append`` emits every window once, when the watermark passes its end; ``update`` emits its current
                value in every epoch that changed it.
            fuse: True lets costs decide which operators share slots and partials with this one. False keeps it apart.
                The name of another operator fuses both, whatever it costs; they need a common key attribute.
            aggregates: aggregates by result column, for names that cannot be keyword arguments, such as ``"mean rate"``
                or ``by``.
            named: aggregates by result column, as in ``loans=rh.count()``.

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
        compute_name = f"{name}{PARTIALS}"
        declared = {**(aggregates or {}), **named}
        compute = compute_node(
            operator=name,
            name=compute_name,
            upstream=self.name,
            schema=self.schema,
            time=self.time,
            by=by,
            declared=declared,
            fuse=fuse,
        )
        consolidate = consolidate_node(name, compute_name, windows, emit)
        self.graph.add(compute, consolidate)
        return _results(self, compute, consolidate)

    def compute(
        self,
        name: str,
        *,
        by: str | Iterable[str] = (),
        fuse: bool | str = True,
        aggregates: Mapping[str, Aggregate] | None = None,
        **named: Aggregate,
    ) -> Computed:
        """Aggregate rows per key, to be shared by several ``consolidate`` operators; for one, use ``aggregate``.

        Args:
            name: the operator's name.
            by: key attributes, the columns to group by; by default the whole stream is one group.
            fuse: True lets costs decide which operators share slots and partials with this one. False keeps it apart.
                The name of another operator fuses both, whatever it costs; they need a common key attribute.
            aggregates: aggregates by result column, for names that cannot be keyword arguments, such as ``"mean rate"``
                or ``by``.
            named: aggregates by result column, as in ``loans=rh.count()``.

        >>> source = rh.Topology("lending").source(loans, event_time="ts")
        >>> areas = source.compute("by_area", by="area", loans=rh.count())
        >>> hours = areas.consolidate("hours", rh.tumbling("1 hour"))
        >>> live = areas.consolidate("live", rh.sliding("1 hour", every="1 minute"), emit="update")
        """
        self._check_appending(name)
        declared = {**(aggregates or {}), **named}
        node = compute_node(
            operator=name,
            name=name,
            upstream=self.name,
            schema=self.schema,
            time=self.time,
            by=by,
            declared=declared,
            fuse=fuse,
        )
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
        """Run your own function over keyed state. It is called once per slot and epoch, with whole frames.

        Args:
            name: the name of the operator and of its output stream.
            function: ``(rows, state) -> (output, changed)`` or ``(output, changed, removed)``. ``rows`` has all rows
                of the slot in this epoch, ``state`` the stored state of their keys, with no row for a new key.
                ``changed`` has keys and their new state, one row per key, ``removed`` the keys to forget. None stands
                for an empty frame.
            by: key attributes.
            schema: columns of the output, as Spark DDL such as ``"stock string, price double"``.
            state: the columns of a key's state and how long it is kept, as in
                ``rh.keyed_state("total double", ttl="1 hour")``.
            on_timer: ``(state) -> (output, changed)``, called with the state of all keys whose timer is due. State
                frames then have a timestamp column ``timer``, which both functions may set.
            join: other streams with the same key columns; ``rows`` is then a dict from stream name to frame.
            order: how a key's rows are sorted: ``"arrival"``, a column, or a list of columns (also for a column that is
                called ``arrival``). None if the order does not matter, which saves a column and a sort.
            reads: the columns that the function reads besides the keys; only these are shuffled. By default all.
            event_time: the output column with the event time of its rows. By default the column that has the name of
                the input's event-time column; without one, the output has no event time.
            over: ``polars`` or ``arrow``, the kind of frame that the functions take and return.
            time_limit: how long the functions may run in one task before the query fails.

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
        """Run your own logic over keyed state, one key at a time. Slower than ``process``, which takes whole frames.

        Args:
            name: the name of the operator and of its output stream.
            processor: a ``KeyProcessor`` class. Its fields are the state, its methods the logic.
            by: key attributes.
            schema: columns of the output, as Spark DDL such as ``"stock string, price double"``.
            state: how long a key's state is kept, as in ``rh.keyed_state(ttl="1 hour")``; by default forever.
            join: other streams with the same key columns; ``rows`` is then a dict from stream name to rows.
            order: how a key's rows are sorted: ``"arrival"``, a column, or a list of columns (also for a column that is
                called ``arrival``). None if the order does not matter, which saves a column and a sort.
            reads: the columns that the processor reads besides the keys; only these are shuffled. By default all.
            event_time: the output column with the event time of its rows. By default the column that has the name of
                the input's event-time column; without one, the output has no event time.
            time_limit: how long the processor may run in one task before the query fails.

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
        """Send the stream's rows to a sink, and return the stream itself. A stream may have several sinks.

        >>> source = rh.Topology("lending").source(loans, event_time="ts")
        >>> archived = source.sink(rh.sinks.parquet(f"{folder}/all")).sink(rh.sinks.console(5))
        """
        check_sink(self.name, sink)
        self.graph.sinks.append(SinkNode(self.name, sink))
        return self

    def _check_appending(self, name: str) -> None:
        if self.updating:
            raise TopologyError(
                f"operator {name!r} would aggregate every update of {self.name!r} as a new row: "
                "use emit='append' for the windows it reads"
            )

    def _process(self, request: ProcessRequest, join: Stream | Iterable[Stream]) -> Stream:
        streams = [self, *([join] if isinstance(join, Stream) else join)]
        output = self._template(request.name, "schema", request.schema)
        state_ddl = request.state_columns
        state = dict(self._template(request.name, "state", state_ddl).dtypes) if state_ddl else {}
        inputs = [ProcessInput(s.name, s.schema, s.time.sql if s.time else None) for s in streams]
        node = process_node(request, inputs, dict(output.dtypes), state)
        time = output_time(request.where, request.event_time, dict(output.dtypes), [s.time for s in streams if s.time])
        self.graph.add(node)
        return Stream(self.graph, request.name, output, time)

    def _template(self, name: str, option: str, ddl: str) -> DataFrame:
        """An empty DataFrame with the columns of a DDL text, which Spark parses."""
        try:
            return self.frame.sparkSession.createDataFrame([], ddl)
        except Exception as error:
            raise TopologyError(f"operator {name!r}: {option}={ddl!r} is not Spark DDL: {error}") from None


@dataclass(frozen=True)
class Computed:
    """A compute operator, as ``Stream.compute`` returns it. Call ``consolidate`` on it, once or more, for results.

    Attributes:
        stream: the stream that it aggregates.
        node: the operator.
    """

    stream: Stream
    node: Compute

    def consolidate(self, name: str, *windows: Windows, emit: Emit = "append") -> Stream:
        """Merge the computed partials into the results of windows.

        Args:
            name: the name of the operator and of the stream of results.
            windows: what ``rh.tumbling`` and ``rh.sliding`` return, one or more of them.
            emit: ``append`` emits every window once, when the watermark passes its end; ``update`` emits its current
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


def _results(stream: Stream, compute: Compute, consolidate: Consolidate) -> Stream:
    """The stream of a consolidate operator's results."""
    template = stream.frame.sparkSession.createDataFrame([], ddl(compute.result_columns))
    time = EventTime.of_window_end(WINDOW_END, compute.time_type)
    return Stream(stream.graph, consolidate.name, template, time, updating=consolidate.emit == "update")
