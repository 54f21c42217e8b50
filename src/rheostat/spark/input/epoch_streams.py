"""The rows of an epoch: Spark's micro-batch as the streams of the topology."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rheostat.planning.feeds import StreamSql
from rheostat.spark.input.result_scans import Results, ResultScans
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

_TAG = "rheostat_source"
"""Column with the number of the source that a row is from."""

_LEAF = "LogicalRDD"
"""The plan of a micro-batch as Spark hands it over."""


def streaming_input(sources: Sequence[Source]) -> DataFrame:
    """One streaming DataFrame with the rows of all sources. If there are several, rows are tagged with their source."""
    if len(sources) == 1:
        frame: DataFrame = sources[0].frame
        return frame
    tagged: list[DataFrame] = [
        s.frame.select(F.lit(i).alias(_TAG), F.struct(*(F.col(f"`{c}`") for c in s.frame.columns)).alias(f"s{i}"))
        for i, s in enumerate(sources)
    ]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tagged)


class EpochStreams:
    """The rows of every stream in one epoch. A stream begins with a source or with the results of an operator.

    Args:
        graph: the topology.
        batch: Spark's micro-batch of ``streaming_input``.
        arrivals: by stream, Spark SQL for a row's arrival time; streams without one are left out.
        scans: reads results of operators.
    """

    def __init__(
        self, graph: Graph, batch: DataFrame, arrivals: Mapping[str, str], scans: ResultScans | None = None
    ) -> None:
        self._graph = graph
        self._batch = batch
        self._arrivals = arrivals
        self._scans = scans or ResultScans()
        self._sources = [n for n in graph.nodes.values() if isinstance(n, Source)]
        self._results: dict[str, Results] = {}
        self._result_rows: dict[str, tuple[Any, Any]] = {}
        self._streams: dict[str, DataFrame] = {}
        self._views: dict[str, str] = {}
        self._created: set[str] = set()
        self._counts: dict[str, Callable[[DataFrame], DataFrame]] = {}
        self._cached = False

    @property
    def spark(self) -> SparkSession:
        """The session of the micro-batch."""
        return self._batch.sparkSession

    def cache(self) -> None:
        """Cache the micro-batch, so that sources are read only once."""
        self._batch = self._batch.persist(StorageLevel.MEMORY_AND_DISK)
        self._cached = True

    def release(self) -> None:
        """Remove the micro-batch from the cache if ``cache`` put it there."""
        if self._cached:
            self._batch.unpersist()

    @property
    def input_rows(self) -> Any:
        """Spark's RDD of the micro-batch; None if the streams do not all begin with this one RDD."""
        if self._cached or len(self._sources) > 1:
            return None
        leaf = self._batch._jdf.queryExecution().logical()
        return leaf.rdd() if leaf.getClass().getSimpleName() == _LEAF else None

    def leaf(self, names: Iterable[str]) -> Any:
        """Spark's RDD that streams begin with, the micro-batch or results; None if they do not all begin with one.

        If it has the results of an operator, plans that are made of these later begin with it.

        Args:
            names: names of streams.
        """
        origins = {origin.name: origin for origin in map(self._graph.origin_of, names)}
        if any(isinstance(origin, Source) for origin in origins.values()):
            return self.input_rows if len(origins) == 1 else None
        if len(origins) > 1 or not origins.keys() <= self._results.keys():
            return None
        (operator,) = origins
        if operator not in self._result_rows:
            self._result_rows[operator] = self._scans.rows(self.spark, operator, self._results[operator])
        return self._result_rows[operator][0]

    @property
    def repeatable(self) -> bool:
        """True if a task that reads rows of the micro-batch again gets them in the same order."""
        leaf = self._batch._jdf.queryExecution().logical()
        if leaf.getClass().getSimpleName() != _LEAF:
            return False
        return str(leaf.rdd().outputDeterministicLevel().toString()) == "DETERMINATE"

    def within_partitions(self) -> EpochStreams:
        """The same streams, for plans in which every partition of the micro-batch is aggregated on its own.

        Spark is told that all rows are in one partition, so that it needs no exchange, where each partition is right by
        itself. Only plans that work row by row and then aggregate may be made of such rows. Names of views are shared.
        """
        jvm, leaf = self.spark.sparkContext._jvm, self._batch._jdf.queryExecution().logical()
        assert jvm is not None
        single = getattr(getattr(jvm.org.apache.spark.sql.catalyst.plans.physical, "SinglePartition$"), "MODULE$")
        none, session = jvm.scala.Option.empty(), self.spark._jsparkSession
        rows = jvm.org.apache.spark.sql.execution.LogicalRDD(
            leaf.output(), leaf.rdd(), single, leaf.outputOrdering(), False, none, session, none, none, False
        )
        frames = getattr(getattr(jvm.org.apache.spark.sql.classic, "Dataset$"), "MODULE$")
        batch = DataFrame(frames.ofRows(session, rows), self.spark)
        streams = EpochStreams(self._graph, batch, self._arrivals)
        streams._counts, streams._views = self._counts, self._views
        return streams

    def count_with(self, name: str, count: Callable[[DataFrame], DataFrame]) -> None:
        """Pass the rows of a source through a function that counts them, once they are used.

        Args:
            name: name of the source.
            count: returns the same rows.
        """
        self._counts[name] = count
        self._streams.clear()
        self._created.clear()

    def add_results(self, operator: str, results: Results) -> None:
        """Add the results of an operator as a stream, for operators of the next level and for sinks.

        Args:
            operator: name of an operator.
            results: its results; read only if they are needed.
        """
        self._results[operator] = results

    def stream(self, name: str) -> DataFrame:
        """The rows of a stream: those of its source or operator, with the maps in between applied."""
        if name not in self._streams:
            node = self._graph.nodes[name]
            path = self._graph.path_to(name)
            if path:
                self._streams[name] = path[-1].function(self.stream(path[-1].upstream))
            elif isinstance(node, Source):
                rows = self._source(node)
                self._streams[name] = self._counts[name](rows) if name in self._counts else rows
            elif name in self._result_rows:
                frame = self.spark._jsparkSession.internalCreateDataFrame(*self._result_rows[name], False)
                self._streams[name] = DataFrame(frame, self.spark)
            else:
                self._streams[name] = self._results[name].frame(self.spark)
        return self._streams[name]

    def begins_with_source(self, name: str) -> bool:
        """True if a stream has rows of a source, False if it has the results of an operator."""
        return isinstance(self._graph.origin_of(name), Source)

    def view(self, name: str) -> str:
        """The name of a temporary view with the rows of a stream, for SQL in this epoch: see ``create_views``."""
        return self._views.setdefault(name, f"rheostat_stream_{len(self._views)}")

    def create_views(self) -> None:
        """Create the views that ``view`` and ``sql`` have named."""
        for name, view in self._views.items():
            if name not in self._created:
                self.stream(name).createOrReplaceTempView(view)
                self._created.add(name)

    def sql(self, name: str) -> StreamSql | None:
        """The view and arrival time of a stream; None if it begins with an operator without results in this epoch."""
        origin = self._graph.origin_of(name)
        if not isinstance(origin, Source):
            return StreamSql(self.view(name)) if origin.name in self._results else None
        return StreamSql(self.view(name), self._arrivals.get(name))

    def _source(self, source: Source) -> DataFrame:
        if len(self._sources) == 1:
            return self._batch
        i = self._sources.index(source)
        return self._batch.where(F.col(_TAG) == i).select(f"s{i}.*")


def with_few_partitions(spark: SparkSession, rows: Any, slots: int) -> tuple[Any, int]:
    """The same rows in at most as many partitions as there are slots or cores, and the number of partitions.

    Partitions are joined without a shuffle. A task in Python costs more than reading a small partition.

    Args:
        spark: the session.
        rows: a Spark RDD.
        slots: number of slots.
    """
    partitions = int(rows.getNumPartitions())
    if partitions > slots:
        most = max(slots, int(spark.sparkContext.defaultParallelism))
        if partitions > most:
            return rows.toJavaRDD().coalesce(most).rdd(), most
    return rows, partitions
