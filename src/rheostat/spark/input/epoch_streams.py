"""An epoch's rows: Spark's micro-batch seen as the streams of the topology."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rheostat.spark.output.sink_writers import StagedRows
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

_TAG = "rheostat_source"


def streaming_input(sources: Sequence[Source]) -> DataFrame:
    """One streaming DataFrame out of all sources; with several, every row says which one it is from."""
    if len(sources) == 1:
        frame: DataFrame = sources[0].frame
        return frame
    tagged: list[DataFrame] = [
        s.frame.select(F.lit(i).alias(_TAG), F.struct(*(F.col(f"`{c}`") for c in s.frame.columns)).alias(f"s{i}"))
        for i, s in enumerate(sources)
    ]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tagged)


class EpochStreams:
    """The rows of every stream in one epoch.

    Attributes:
        results: what operators with state gave in this epoch, for streams that begin with them.
    """

    def __init__(self, graph: Graph, batch: DataFrame) -> None:
        self._graph = graph
        self._batch = batch
        self._sources = [n for n in graph.nodes.values() if isinstance(n, Source)]
        self._streams: dict[str, DataFrame] = {}
        self._views: dict[str, str] = {}
        self._kept = False
        self.results: dict[str, StagedRows] = {}

    @property
    def spark(self) -> SparkSession:
        """The session of the micro-batch."""
        return self._batch.sparkSession

    def keep(self) -> None:
        """Read the sources only once, because several operators will."""
        self._batch = self._batch.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept = True

    def release(self) -> None:
        """Undo ``keep``."""
        if self._kept:
            self._batch.unpersist()

    def replace(self, name: str, rows: DataFrame) -> None:
        """Put other rows in a source's place: the same ones, observed."""
        self._streams[name] = rows

    def stream(self, name: str) -> DataFrame:
        """The rows of a stream: its origin's, through the maps in between."""
        if name not in self._streams:
            node = self._graph.nodes[name]
            path = self._graph.path_to(name)
            if path:
                self._streams[name] = path[-1].function(self.stream(path[-1].upstream))
            elif isinstance(node, Source):
                self._streams[name] = self._source(node)
            else:
                self._streams[name] = self.results[name].frame(self.spark)
        return self._streams[name]

    def view(self, name: str) -> str:
        """A name under which SQL can read the rows of a stream, in this epoch."""
        if name not in self._views:
            self._views[name] = f"rheostat_stream_{len(self._views)}"
            self.stream(name).createOrReplaceTempView(self._views[name])
        return self._views[name]

    def _source(self, source: Source) -> DataFrame:
        if len(self._sources) == 1:
            return self._batch
        i = self._sources.index(source)
        return self._batch.where(F.col(_TAG) == i).select(f"s{i}.*")
