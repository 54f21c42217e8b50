"""Writes the staged rows of an epoch to sinks, idempotent by epoch where the sink allows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table as RichTable

from rheostat.errors import OperatorError
from rheostat.spark.output.staged_rows import STAGING, StagedRows
from rheostat.state.files import Folder
from rheostat.topology.sinks import ConsoleSink, ForeachSink, FormatSink, MemorySink, ParquetSink, Sink


def write_sinks(stream: str, sinks: Iterable[Sink], staged: StagedRows, epoch: int, spark: SparkSession) -> None:
    """Write the rows of a stream in an epoch to all its sinks.

    The Parquet sink in which the rows are staged comes last, because it moves the staged files away.

    Args:
        stream: name of the stream, for messages.
        sinks: the sinks of the stream.
        staged: the staged rows.
        epoch: number of the epoch.
        spark: the session of the epoch.
    """
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
            write_format(sink, staged.frame(spark), epoch)


def clean_staging(sinks: Iterable[Sink]) -> None:
    """Remove the staged files that a killed query left in Parquet sinks."""
    for sink in sinks:
        if isinstance(sink, ParquetSink):
            Folder.at(sink.path).delete_folder(STAGING)


def write_format(sink: FormatSink, frame: DataFrame, epoch: int) -> None:
    """Write the rows of an epoch in a format of Spark. With a path, they replace those of an earlier attempt."""
    writer = frame.write.format(sink.format).options(**sink.options)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    if sink.path is not None:
        writer.mode("overwrite").save(f"{sink.path}/epoch={epoch}")
    else:
        writer.mode("append").save()


def _home(staged: StagedRows) -> Folder:
    return Folder(staged.folder.uri.rsplit("/", 1)[0])


def _publish(staged: StagedRows, target: Folder, epoch: int) -> None:
    """Move the staged files of an epoch into a Parquet sink, replacing those of an earlier attempt."""
    name = f"epoch={epoch}"
    if target / STAGING != _home(staged):
        staged = _copy(staged, target / STAGING / name)
    for stray in set(staged.folder.names(hidden=True)) - set(staged.files):
        staged.folder.delete(stray)  # left by repeated task attempts, or by Spark's own committer
    target.delete_folder(name)
    (target / STAGING).move(name, target, name)


def _copy(staged: StagedRows, folder: Folder) -> StagedRows:
    """The same rows in another folder."""
    folder.create()
    for file in staged.files:
        with folder.filesystem.open_output_stream(folder.path(file)) as out:
            out.write(staged.folder.read(file))
    return replace(staged, folder=folder)


def _print(stream: str, staged: StagedRows, epoch: int, rows: int) -> None:
    table = staged.arrow()
    shown = RichTable(title=f"{stream}, epoch {epoch}: {staged.rows} rows")
    for name in table.column_names:
        shown.add_column(name)
    for row in table.slice(0, rows).to_pylist():
        shown.add_row(*(str(v) for v in row.values()))
    Console().print(shown)
