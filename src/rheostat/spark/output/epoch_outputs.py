"""What an epoch gives away: staged results, then sinks, then rows kept aside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from rheostat.planning.physical import PhysicalPlan
from rheostat.planning.results import result_schema
from rheostat.spark.epoch.query_context import QueryContext
from rheostat.spark.input.counts import Counts
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.spark.output.aside import rows_aside
from rheostat.spark.output.sink_writers import StagedRows, staging_folder, write_sinks
from rheostat.spark.stage.specs import PartReport
from rheostat.state.files import Folder
from rheostat.topology.nodes import Consolidate, Process, Source
from rheostat.topology.sinks import ParquetSink, Sink
from rheostat.types import micros_sql
from rheostat.windows.partials import quoted


class EpochOutputs:
    """The results of one epoch on their way out.

    Attributes:
        staging: for every operator whose results anybody reads, the folder tasks write them to.
    """

    def __init__(self, job: QueryContext, epoch: int, rows: EpochStreams) -> None:
        self._job = job
        self._epoch = epoch
        self._rows = rows
        read = [t.upstream for t in job.plan.tables.values()] + [s.upstream for s in job.graph.sinks]
        read += [upstream for t in job.plan.keyed.values() for upstream in t.process.upstreams]
        origins = {job.graph.origin_of(stream).name for stream in read}
        self.staging = {
            n.name: self._folder(n.name, job.sinks_of(n.name))
            for n in job.graph.nodes.values()
            if isinstance(n, (Consolidate, Process)) and n.name in origins
        }

    @property
    def counts(self) -> dict[str, int]:
        """Result rows per operator."""
        return {name: staged.rows for name, staged in self._rows.results.items()}

    def stage(self, reports: Iterable[PartReport]) -> None:
        """Note the result files that the tasks of a level wrote."""
        files: dict[str, list[tuple[str, int]]] = {}
        for report in reports:
            for result in report.results:
                files.setdefault(result.operator, []).append((result.file, result.rows))
        for operator, written in files.items():
            names, rows = tuple(f for f, _ in written), sum(n for _, n in written)
            schema = _schema_of(self._job.plan, operator)
            self._rows.results[operator] = StagedRows(self.staging[operator], names, rows, schema)

    def write(self, before: Mapping[str, int | None], counts: Mapping[str, Counts]) -> None:
        """Write all sinks.

        Args:
            before: per source, the watermark that made rows late.
            counts: per source, whether there is anything to keep aside.
        """
        for stream in dict.fromkeys(s.upstream for s in self._job.graph.sinks if not s.aside):
            staged = self._staged(stream)
            if staged is not None:
                self._write(stream, self._job.sinks_of(stream), staged)
        for source in self._job.sources:
            late = source.late == "aside" and counts[source.name].late > 0
            nulls = source.nulls == "aside" and counts[source.name].nulls > 0
            if late or nulls:
                self._keep_aside(source, before[source.name], late=late, nulls=nulls)

    def discard(self) -> None:
        """Delete what was staged for others to read; the epoch is committed."""
        home = self._job.checkpoint.folder / "results"
        for name in home.folders():
            home.delete_folder(name)

    def _staged(self, stream: str) -> StagedRows | None:
        """A stream's rows: as tasks left them, or, for a stream behind maps, as Spark writes them."""
        origin = self._job.graph.origin_of(stream)
        if isinstance(origin, Source):
            return _written(self._rows.stream(stream), self._folder(stream, self._job.sinks_of(stream)))
        if stream == origin.name or origin.name not in self._rows.results:
            return self._rows.results.get(origin.name)
        return _written(self._rows.stream(stream), self._folder(stream, self._job.sinks_of(stream)))

    def _keep_aside(self, source: Source, watermark: int | None, *, late: bool, nulls: bool) -> None:
        stream = f"{source.name} aside"
        default: Sink = ParquetSink((self._job.checkpoint.folder / "aside" / source.name).uri)
        sinks = self._job.sinks_of(source.name, aside=True) or [default]
        time_sql = micros_sql(quoted(source.event_time), source.event_time_type)
        tables = [t for t in self._job.plan.tables_at(0) if t.source == source.name]
        rows = rows_aside(self._rows.stream(source.name), time_sql, tables, watermark, late=late, nulls=nulls)
        self._write(stream, sinks, _written(rows, self._folder(stream, sinks)))

    def _write(self, stream: str, sinks: list[Sink], staged: StagedRows) -> None:
        if staged.rows:
            write_sinks(stream, sinks, staged, self._epoch, self._rows.spark)

    def _folder(self, stream: str, sinks: list[Sink]) -> Folder:
        folder = staging_folder(sinks, self._job.checkpoint.folder / "results" / stream, self._epoch)
        folder.create()
        return folder


def _schema_of(plan: PhysicalPlan, operator: str) -> str:
    if operator in plan.keyed:
        return ", ".join(f"{quoted(c.name)} {c.type}" for c in plan.keyed[operator].process.schema)
    table, output = next((t, o) for t in plan.tables.values() for o in t.outputs if o.operator == operator)
    types = {c.name.removeprefix("k."): c.type for c in table.layout.keys}
    return ", ".join(f"{quoted(n)} {t}" for n, t in result_schema(output, types).items())


def _written(rows: DataFrame, folder: Folder) -> StagedRows:
    rows.write.mode("overwrite").parquet(folder.spark_uri)
    files = tuple(n for n in folder.names() if n.endswith(".parquet"))
    count = sum(pq.read_metadata(folder.path(f), filesystem=folder.filesystem).num_rows for f in files)
    schema = ", ".join(f"{quoted(n)} {t}" for n, t in rows.dtypes)
    return StagedRows(folder, files, count, schema)
