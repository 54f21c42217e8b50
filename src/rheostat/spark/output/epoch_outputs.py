"""The results of one epoch on their way out: staged by tasks, then written to sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame, SparkSession

from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.output.aside import rows_aside
from rheostat.spark.output.sink_writers import write_sinks
from rheostat.spark.output.staged_rows import StagedRows, stage_frame, staging_folder
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.files import Folder
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Consolidate, Process, Source
from rheostat.topology.sinks import ParquetSink, Sink


class EpochOutputs:
    """The results of one epoch on their way out.

    Args:
        graph: the topology.
        plan: its plan.
        checkpoint: the folder of the checkpoint.
        epoch: number of the epoch.
        spark: the session of the epoch.

    Attributes:
        staging: per operator whose results are read, the folder that tasks write them to.
        staged: per operator that gave results, where they are.
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
        read += [stream for level in range(plan.levels) for stream in plan.streams_at(level)]
        origins = {graph.origin_of(stream).name for stream in read}
        self.staging = {
            n.name: self._folder(n.name, self._sinks_of(n.name))
            for n in graph.nodes.values()
            if isinstance(n, (Consolidate, Process)) and n.name in origins
        }
        self.staged: dict[str, StagedRows] = {}

    @property
    def counts(self) -> dict[str, int]:
        """Result rows per operator."""
        return {name: staged.rows for name, staged in self.staged.items()}

    def stage(self, reports: Iterable[PartReport]) -> dict[str, StagedRows]:
        """Note the result files that the tasks of a level wrote; returns them by operator."""
        files: dict[str, list[tuple[str, int]]] = {}
        for report in reports:
            for result in report.results:
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

    def write(self, read: Callable[[str], DataFrame]) -> None:
        """Write the sinks of all streams, in this order:

        1. Stage every stream that tasks have not staged: sources, and streams behind maps.
        2. Write the sinks. A Parquet sink moves staged files away, so by then no stream may need them any more.

        Args:
            read: from the name of a stream to its rows, for streams that tasks have not staged.
        """
        sinks = {s.upstream: self._sinks_of(s.upstream) for s in self._graph.sinks if not s.aside}
        staged = {stream: self._staged(stream, sinks[stream], read) for stream in sinks}
        for stream, rows in staged.items():
            if rows is not None:
                self._write(stream, sinks[stream], rows)

    def keep_aside(self, source: Source, rows: DataFrame, watermark: int | None, *, late: bool, nulls: bool) -> None:
        """Write the rows of a source that are kept aside, to its sinks for them or into the checkpoint.

        Args:
            source: the source.
            rows: all its rows in this epoch.
            watermark: the watermark that made rows late.
            late: keep rows that missed a window.
            nulls: keep rows without event time.
        """
        stream = f"{source.name} aside"
        default: Sink = ParquetSink((self._checkpoint / "aside" / source.name).uri)
        sinks = self._sinks_of(source.name, aside=True) or [default]
        windows = self._plan.windows_over(source.name)
        kept = rows_aside(rows, source.time_sql, windows, watermark, late=late, nulls=nulls)
        self._write(stream, sinks, stage_frame(kept, self._folder(stream, sinks)))

    def discard(self) -> None:
        """Delete what was staged in the checkpoint; the epoch is committed."""
        home = self._checkpoint / "results"
        for name in home.folders():
            home.delete_folder(name)

    def _staged(self, stream: str, sinks: list[Sink], read: Callable[[str], DataFrame]) -> StagedRows | None:
        """A stream's rows as tasks staged them or, for a source or a stream behind maps, as Spark stages them."""
        origin = self._graph.origin_of(stream)
        if not isinstance(origin, Source):
            if origin.name not in self.staged:
                return None
            if stream == origin.name:
                return self.staged[stream]
        return stage_frame(read(stream), self._folder(stream, sinks))

    def _write(self, stream: str, sinks: list[Sink], staged: StagedRows) -> None:
        if staged.rows:
            write_sinks(stream, sinks, staged, self._epoch, self._spark)

    def _sinks_of(self, stream: str, *, aside: bool = False) -> list[Sink]:
        """Where a stream's rows go, or those that its source keeps aside."""
        return [s.sink for s in self._graph.sinks if s.upstream == stream and s.aside == aside]

    def _folder(self, stream: str, sinks: list[Sink]) -> Folder:
        folder = staging_folder(sinks, self._checkpoint / "results" / stream, self._epoch)
        folder.create()
        return folder
