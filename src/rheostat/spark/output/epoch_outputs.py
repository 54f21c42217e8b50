"""The output of one epoch: results are staged by tasks, then written to sinks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.output.aside import rows_aside
from rheostat.spark.output.sink_writers import write_format, write_sinks
from rheostat.spark.output.staged_rows import StagedRows, stage_frame, staging_folder
from rheostat.spark.stage.task_reports import ResultFile
from rheostat.state.files import Folder
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Apply, Consolidate, Process, Source
from rheostat.topology.sinks import FormatSink, ParquetSink, Sink


class Stager(Protocol):
    """Stages streams that no task has staged: the rows of sources, and what maps make of rows and results."""

    def frame(self, stream: str) -> DataFrame:
        """The rows of a stream, not staged."""

    def stage(self, stream: str, folder: Folder) -> StagedRows:
        """Write the rows of a stream into an empty folder."""


class EpochOutputs:
    """The output of one epoch.

    Args:
        graph: the topology.
        plan: its physical plan.
        checkpoint: the folder of the checkpoint.
        epoch: number of the epoch.
        spark: the session of the epoch.

    Attributes:
        staging: by operator whose results are read, the folder that tasks write them to.
        staged: by operator with results in this epoch, its staged rows.
    """

    def __init__(
        self, *, graph: Graph, plan: PhysicalPlan, checkpoint: Folder, epoch: int, spark: SparkSession
    ) -> None:
        self._graph = graph
        self._plan = plan
        self._checkpoint = checkpoint
        self._epoch = epoch
        self._spark = spark
        read = [s.upstream for s in graph.sinks]
        origins = {graph.origin_of(stream).name for stream in (*read, *plan.streams_read)}
        self.staging = {
            n.name: self._folder(n.name, self._sinks_of(n.name))
            for n in graph.nodes.values()
            if isinstance(n, (Apply, Consolidate, Process)) and n.name in origins
        }
        self.staged: dict[str, StagedRows] = {}
        self._of_sources: dict[str, StagedRows | None] = {}

    @property
    def counts(self) -> dict[str, int]:
        """By operator, its number of result rows."""
        return {name: staged.rows for name, staged in self.staged.items()}

    def stage(self, results: Iterable[ResultFile]) -> dict[str, StagedRows]:
        """Add the result files that the tasks of a level wrote, and return them by operator."""
        files: dict[str, list[tuple[str, int]]] = {}
        for result in results:
            files.setdefault(result.operator, []).append((result.file, result.rows))
        new = {
            operator: StagedRows(
                folder=self.staging[operator],
                files=tuple(file for file, _ in written),
                rows=sum(rows for _, rows in written),
                schema=self._plan.result_schema(operator),
            )
            for operator, written in files.items()
        }
        self.staged |= new
        return new

    def is_direct(self, stream: str) -> bool:
        """True if Spark writes a stream to its only sink, a folder per epoch in a format of Spark, without staging."""
        sinks = self._sinks_of(stream)
        return len(sinks) == 1 and isinstance(sinks[0], FormatSink) and sinks[0].path is not None

    def stage_sources(self, stager: Stager) -> None:
        """Stage the streams that begin with a source, so that their rows are computed now and not with the sinks.

        Args:
            stager: stages streams.
        """
        for stream in {s.upstream: None for s in self._graph.sinks if not s.aside}:
            if isinstance(self._graph.origin_of(stream), Source):
                self._of_sources[stream] = self._staged(stream, self._sinks_of(stream), stager)

    def write(self, stager: Stager) -> None:
        """Write the sinks of all streams, in this order:

        1. Stage every stream that is not staged yet: sources and the results of maps.
        2. Write the sinks. A Parquet sink moves staged files away, so all streams must be staged before.

        Args:
            stager: stages streams that tasks have not staged.
        """
        sinks = {s.upstream: self._sinks_of(s.upstream) for s in self._graph.sinks if not s.aside}
        staged = {stream: self._staged(stream, sinks[stream], stager) for stream in sinks}
        for stream, rows in staged.items():
            if rows is not None:
                self._write(stream, sinks[stream], rows)

    def keep_aside(self, source: Source, rows: DataFrame, watermark: int | None, *, late: bool, nulls: bool) -> None:
        """Write the rows of a source to keep aside, to its sinks for such rows or else into the checkpoint.

        Args:
            source: the source.
            rows: all its rows in this epoch.
            watermark: the watermark before the epoch, which decides which rows are late; None before the first.
            late: True to keep rows that missed at least one window.
            nulls: True to keep rows without event time.
        """
        stream = f"{source.name} aside"
        default: Sink = ParquetSink((self._checkpoint / "aside" / source.name).uri)
        sinks = self._sinks_of(source.name, aside=True) or [default]
        windows = self._plan.windows_over(source.name)
        kept = rows_aside(rows, source.time_sql, windows, watermark, late=late, nulls=nulls)
        self._write(stream, sinks, stage_frame(kept, self._empty_folder(stream, sinks)))

    def discard(self) -> None:
        """Delete the rows that were staged in the checkpoint. Call it after the commit."""
        home = self._checkpoint / "results"
        for name in home.folders():
            home.delete_folder(name)

    def _staged(self, stream: str, sinks: list[Sink], stager: Stager) -> StagedRows | None:
        """The staged rows of a stream, which Spark writes now if no task has.

        None if its operator has no results, or if Spark has written the rows to their only sink, a folder per epoch.
        """
        if stream in self._of_sources:
            return self._of_sources[stream]
        origin = self._graph.origin_of(stream)
        if not isinstance(origin, Source):
            if origin.name not in self.staged:
                return None
            if stream == origin.name:
                return self.staged[stream]
        if self.is_direct(stream):
            (sink,) = sinks
            assert isinstance(sink, FormatSink)
            write_format(sink, stager.frame(stream), self._epoch)
            return None
        return stager.stage(stream, self._empty_folder(stream, sinks))

    def _write(self, stream: str, sinks: list[Sink], staged: StagedRows) -> None:
        if staged.rows:
            write_sinks(stream, sinks, staged, self._epoch, self._spark)

    def _sinks_of(self, stream: str, *, aside: bool = False) -> list[Sink]:
        """The sinks of a stream, or with ``aside`` those for the rows that it keeps aside."""
        return [s.sink for s in self._graph.sinks if s.upstream == stream and s.aside == aside]

    def _empty_folder(self, stream: str, sinks: list[Sink]) -> Folder:
        folder = self._folder(stream, sinks)
        folder.empty()  # of what an earlier attempt has left
        return folder

    def _folder(self, stream: str, sinks: list[Sink]) -> Folder:
        folder = staging_folder(sinks, self._checkpoint / "results" / stream, self._epoch)
        folder.create()
        return folder
