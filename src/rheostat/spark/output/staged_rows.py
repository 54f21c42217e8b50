"""Staged rows: rows of an epoch as Parquet files, all written before any sink is."""

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
"""Folder inside a Parquet sink for rows of the current epoch. Readers skip names that begin with an underscore."""


@dataclass(frozen=True, kw_only=True)
class StagedRows:
    """Rows of an epoch, as Parquet files in a folder of their own.

    Attributes:
        folder: the folder of the files.
        files: names of the files.
        rows: number of rows in all files.
        schema: the columns of the rows.
    """

    folder: Folder
    files: tuple[str, ...]
    rows: int
    schema: tuple[Column, ...]

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a Spark DataFrame."""
        paths = [f"{self.folder.spark_uri}/{f}" for f in self.files]
        return spark.read.schema(ddl(self.schema)).parquet(*paths)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table in the driver."""
        tables = [pq.read_table(self.folder.path(f), filesystem=self.folder.filesystem) for f in self.files]
        return pa.concat_tables(tables)


def stage_frame(frame: DataFrame, folder: Folder) -> StagedRows:
    """Write the rows of a DataFrame into a folder, with Spark."""
    frame.write.mode("overwrite").parquet(folder.spark_uri)
    files = tuple(n for n in folder.names() if n.endswith(".parquet"))
    return StagedRows(
        folder=folder,
        files=files,
        rows=sum(pq.read_metadata(folder.path(f), filesystem=folder.filesystem).num_rows for f in files),
        schema=tuple(Column(name, type_) for name, type_ in frame.dtypes),
    )


def staging_folder(sinks: Sequence[Sink], fallback: Folder, epoch: int) -> Folder:
    """The folder to stage rows in: inside their Parquet sink, so that one rename publishes them.

    Args:
        sinks: the sinks of the rows.
        fallback: the folder to use if none of them is a Parquet sink.
        epoch: number of the epoch.
    """
    home = next((Folder.at(s.path) / STAGING for s in sinks if isinstance(s, ParquetSink)), fallback)
    return home / f"epoch={epoch}"
