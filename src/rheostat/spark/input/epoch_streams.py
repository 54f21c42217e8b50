"""The rows of an epoch: Spark's micro-batch as the streams of the topology."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rheostat.planning.feeds import StreamSql
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

_TAG = "rheostat_source"
"""Column with the number of the source that a row is from."""

ReadResults = Callable[[SparkSession], DataFrame]
"""Reads the results of an operator in this epoch."""


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
        arrivals: by stream, Spark SQL for the arrival time that its source gives by itself.
    """

    def __init__(self, graph: Graph, batch: DataFrame, arrivals: Mapping[str, str] | None = None) -> None:
        self._graph = graph
        self._batch = batch
        self._arrivals = arrivals or {}
        self._sources = [n for n in graph.nodes.values() if isinstance(n, Source)]
        self._results: dict[str, ReadResults] = {}
        self._replaced: dict[str, DataFrame] = {}
        self._streams: dict[str, DataFrame] = {}
        self._views: dict[str, str] = {}
        self._cached = False

    @property
    def spark(self) -> SparkSession:
        """The session of the micro-batch."""
        return self._batch.sparkSession

    @property
    def read_by_one_task(self) -> bool:
        """True if one task reads the whole micro-batch; False if that is not known."""
        plan = self._batch._jdf.queryExecution().analyzed()
        return bool(plan.getClass().getSimpleName() == "LogicalRDD" and plan.rdd().getNumPartitions() == 1)

    def cache(self) -> None:
        """Cache the micro-batch, so that sources are read only once."""
        self._batch = self._batch.persist(StorageLevel.MEMORY_AND_DISK)
        self._cached = True

    def release(self) -> None:
        """Remove the micro-batch from the cache if ``cache`` put it there."""
        if self._cached:
            self._batch.unpersist()

    def replace(self, name: str, rows: DataFrame) -> None:
        """Use another DataFrame for the rows of a source from now on, such as one that counts them.

        Args:
            name: name of the source.
            rows: the same rows as before.
        """
        self._replaced[name] = rows
        self._streams.clear()
        self._views.clear()

    def add_results(self, operator: str, read: ReadResults) -> None:
        """Add the results of an operator as a stream, for operators of the next level and for sinks.

        Args:
            operator: name of a consolidate or process operator.
            read: reads its results; called only if they are needed.
        """
        self._results[operator] = read

    def stream(self, name: str) -> DataFrame:
        """The rows of a stream: those of its source or operator, with the maps in between applied."""
        if name not in self._streams:
            node = self._graph.nodes[name]
            path = self._graph.path_to(name)
            if path:
                self._streams[name] = path[-1].function(self.stream(path[-1].upstream))
            elif isinstance(node, Source):
                self._streams[name] = self._source(node)
            else:
                self._streams[name] = self._results[name](self.spark)
        return self._streams[name]

    def view(self, name: str) -> str:
        """The name of a temporary view with the rows of a stream, for SQL in this epoch."""
        if name not in self._views:
            self._views[name] = f"rheostat_stream_{len(self._views)}"
            self.stream(name).createOrReplaceTempView(self._views[name])
        return self._views[name]

    def sql(self, name: str) -> StreamSql | None:
        """The view and arrival time of a stream; None if it begins with an operator without results in this epoch."""
        origin = self._graph.origin_of(name)
        if not isinstance(origin, Source):
            return StreamSql(self.view(name)) if origin.name in self._results else None
        has_arrival = origin.arrival_time is not None and origin.arrival_time in self.stream(name).columns
        return StreamSql(self.view(name), origin.arrival_sql if has_arrival else self._arrivals.get(name))

    def _source(self, source: Source) -> DataFrame:
        if source.name in self._replaced:
            return self._replaced[source.name]
        if len(self._sources) == 1:
            return self._batch
        i = self._sources.index(source)
        return self._batch.where(F.col(_TAG) == i).select(f"s{i}.*")
