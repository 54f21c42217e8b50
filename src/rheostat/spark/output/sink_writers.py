"""Writing sinks: from an epoch's staged Parquet files to where the user wants them, idempotently by epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table as RichTable

from rheostat.errors import OperatorError
from rheostat.state.files import Folder
from rheostat.topology.sinks import ConsoleSink, ForeachSink, FormatSink, MemorySink, ParquetSink, Sink

STAGING = "_rheostat"
"""Folder inside a Parquet sink for what is not complete yet; readers skip names that begin with an underscore."""


@dataclass(frozen=True)
class StagedRows:
    """Rows of an epoch, as Parquet files in a folder of their own."""

    folder: Folder
    files: tuple[str, ...]
    rows: int
    schema: str

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a DataFrame."""
        paths = [f"{self.folder.spark_uri}/{f}" for f in self.files]
        return spark.read.schema(self.schema).parquet(*paths)

    def arrow(self) -> pa.Table:
        """The rows in the driver."""
        read = [pq.read_table(self.folder.path(f), filesystem=self.folder.filesystem) for f in self.files]
        return pa.concat_tables(read)


def staging_folder(sinks: Sequence[Sink], fallback: Folder, epoch: int) -> Folder:
    """Where an operator's results are written first: next to its Parquet sink, so that publishing is one rename."""
    home = next((Folder.at(s.path) / STAGING for s in sinks if isinstance(s, ParquetSink)), fallback)
    return home / f"epoch={epoch}"


def write_sinks(stream: str, sinks: Iterable[Sink], staged: StagedRows, epoch: int, spark: SparkSession) -> None:
    """Write one stream's rows of an epoch to all its sinks; the Parquet sink that holds the staging comes last."""
    ordered = sorted(sinks, key=lambda s: isinstance(s, ParquetSink) and Folder.at(s.path) / STAGING == _home(staged))
    for sink in ordered:
        if isinstance(sink, ParquetSink):
            _publish(staged, Folder.at(sink.path), epoch)
        elif isinstance(sink, MemorySink):
            sink.put(epoch, staged.arrow())
        elif isinstance(sink, ConsoleSink):
            _print(stream, staged, epoch, sink.rows)
        elif isinstance(sink, ForeachSink):
            try:
                sink.function(staged.frame(spark), epoch)
            except Exception as error:
                raise OperatorError.caused_by(stream, "its foreach sink", error) from error
        else:
            _write_format(sink, staged.frame(spark), epoch)


def clean_staging(sinks: Iterable[Sink]) -> None:
    """Remove what a killed query left unfinished in Parquet sinks."""
    for sink in sinks:
        if isinstance(sink, ParquetSink):
            Folder.at(sink.path).delete_folder(STAGING)


def _home(staged: StagedRows) -> Folder:
    return Folder(staged.folder.uri.rsplit("/", 1)[0])


def _publish(staged: StagedRows, target: Folder, epoch: int) -> None:
    """Move the complete epoch into place, instead of whatever an earlier attempt left there."""
    name = f"epoch={epoch}"
    if target / STAGING != _home(staged):
        staged = _copied(staged, target / STAGING / name)
    for stray in set(staged.folder.names(hidden=True)) - set(staged.files):
        staged.folder.delete(stray)  # left by task attempts that were repeated, or by Spark's own committer
    target.delete_folder(name)
    (target / STAGING).move(name, target, name)


def _copied(staged: StagedRows, folder: Folder) -> StagedRows:
    folder.create()
    for file in staged.files:
        with folder.filesystem.open_output_stream(folder.path(file)) as out:
            out.write(staged.folder.read(file))
    return StagedRows(folder, staged.files, staged.rows, staged.schema)


def _write_format(sink: FormatSink, frame: DataFrame, epoch: int) -> None:
    writer = frame.write.format(sink.format).options(**sink.options)
    if sink.path is not None:
        writer.mode("overwrite").save(f"{sink.path}/epoch={epoch}")
    else:
        writer.mode("append").save()


def _print(stream: str, staged: StagedRows, epoch: int, rows: int) -> None:
    table = staged.arrow()
    shown = RichTable(title=f"{stream}, epoch {epoch}: {staged.rows} rows")
    for name in table.column_names:
        shown.add_column(name)
    for row in table.slice(0, rows).to_pylist():
        shown.add_row(*(str(v) for v in row.values()))
    Console().print(shown)
