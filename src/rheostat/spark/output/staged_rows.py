"""Staged rows: rows of an epoch as Parquet files, all written before any sink is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import TopologyError
from rheostat.spark.output.parquet_files import write_parquet
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
    """Write the rows of a DataFrame into an empty folder, with Spark."""
    return stage_plan(frame.sparkSession, frame._jdf.queryExecution().executedPlan(), folder)


def stage_plan(spark: SparkSession, plan: Any, folder: Folder) -> StagedRows:
    """Write the rows of Spark's physical plan into an empty folder.

    Args:
        spark: the session of the epoch.
        plan: the plan.
        folder: the folder.
    """
    schema = _columns(plan.schema().json())
    write_parquet(spark, plan, folder)
    files = tuple(n for n in folder.names() if n.endswith(".parquet"))
    return StagedRows(
        folder=folder,
        files=files,
        rows=sum(pq.read_metadata(folder.path(f), filesystem=folder.filesystem).num_rows for f in files),
        schema=schema,
    )


@lru_cache(maxsize=64)
def _columns(schema: str) -> tuple[Column, ...]:
    """The columns of a schema that Spark wrote as JSON."""
    fields = StructType.fromJson(json.loads(schema)).fields
    names = Counter(f.name.lower() for f in fields)
    if twice := [name for name, times in names.items() if times > 1]:
        raise TopologyError(f"several columns are called {twice[0]!r}: rename all but one before they are written")
    return tuple(Column(f.name, f.dataType.simpleString()) for f in fields)


def staging_folder(sinks: Sequence[Sink], fallback: Folder, epoch: int) -> Folder:
    """The folder to stage rows in: inside their Parquet sink, so that one rename publishes them.

    Args:
        sinks: the sinks of the rows.
        fallback: the folder to use if none of them is a Parquet sink.
        epoch: number of the epoch.
    """
    home = next((Folder.at(s.path) / STAGING for s in sinks if isinstance(s, ParquetSink)), fallback)
    return home / f"epoch={epoch}"
