"""Staged rows: rows of an epoch as Parquet files, complete before any sink gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from rheostat.state.files import Folder
from rheostat.topology.sinks import ParquetSink, Sink
from rheostat.windows.partials import Column, ddl

STAGING = "_rheostat"
"""Folder inside a Parquet sink for rows that are not complete yet; readers skip names that begin with an underscore."""


@dataclass(frozen=True, kw_only=True)
class StagedRows:
    """Rows of an epoch, as Parquet files in a folder of their own.

    Attributes:
        folder: where the files are.
        files: their names.
        rows: the number of rows in all of them.
        schema: the columns of the rows.
    """

    folder: Folder
    files: tuple[str, ...]
    rows: int
    schema: tuple[Column, ...]

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a DataFrame."""
        paths = [f"{self.folder.spark_uri}/{f}" for f in self.files]
        return spark.read.schema(ddl(self.schema)).parquet(*paths)

    def arrow(self) -> pa.Table:
        """The rows in the driver."""
        read = [pq.read_table(self.folder.path(f), filesystem=self.folder.filesystem) for f in self.files]
        return pa.concat_tables(read)


def stage_frame(frame: DataFrame, folder: Folder) -> StagedRows:
    """Let Spark write the rows of a DataFrame into a folder."""
    frame.write.mode("overwrite").parquet(folder.spark_uri)
    files = tuple(n for n in folder.names() if n.endswith(".parquet"))
    return StagedRows(
        folder=folder,
        files=files,
        rows=sum(pq.read_metadata(folder.path(f), filesystem=folder.filesystem).num_rows for f in files),
        schema=tuple(Column(name, type_) for name, type_ in frame.dtypes),
    )


def staging_folder(sinks: Sequence[Sink], fallback: Folder, epoch: int) -> Folder:
    """Where rows are staged: next to their Parquet sink, so that publishing them is one rename.

    Args:
        sinks: the sinks of the rows.
        fallback: the folder if none of them is a Parquet sink.
        epoch: number of the epoch.
    """
    home = next((Folder.at(s.path) / STAGING for s in sinks if isinstance(s, ParquetSink)), fallback)
    return home / f"epoch={epoch}"
