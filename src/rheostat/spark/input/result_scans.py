"""Reads the result files of operators as Spark's rows, without a query for it.

Spark would list the files, analyse a query and plan it anew in every epoch, about 40 ms for a few rows. What differs
between epochs is only the names of the files. So the function that reads a file is made once for an operator, and every
epoch puts its files into the RDD that Spark's own scan makes in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from rheostat.state.files import Folder
from rheostat.windows.partials import Column, ddl

FEW = 10_000
"""So many results are read by one task: a second task, and its file, would cost more than they save."""


class Results(Protocol):
    """The results of an operator in an epoch, as Parquet files."""

    @property
    def folder(self) -> Folder:
        """The folder of the files."""

    @property
    def files(self) -> Sequence[str]:
        """Names of the files."""

    @property
    def rows(self) -> int:
        """Number of rows in all files."""

    @property
    def schema(self) -> Sequence[Column]:
        """The columns of the rows."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows as a Spark DataFrame."""


class ResultScans:
    """Reads the results of the operators of one query."""

    def __init__(self) -> None:
        self._readers: dict[str, _Reader] = {}

    def rows(self, spark: SparkSession, operator: str, results: Results) -> tuple[Any, Any]:
        """Spark's RDD with the results of an operator, and its schema: a partition per file, one for all if few.

        Args:
            spark: the session of the epoch.
            operator: name of the operator.
            results: its results in this epoch.
        """
        if operator not in self._readers:
            self._readers[operator] = _Reader(spark, results.schema)
        reader = self._readers[operator]
        return reader.rows(results), reader.schema


class _Reader:
    """What the epochs of an operator have in common, so that few messages to the JVM are left for each of them.

    Args:
        spark: the session of the query.
        columns: the columns of the operator's results.

    Attributes:
        schema: Spark's schema of the rows.
    """

    def __init__(self, spark: SparkSession, columns: Sequence[Column]) -> None:
        context: Any = spark.sparkContext
        jvm, self._gateway, self._session = context._jvm, context._gateway, spark._jsparkSession
        sources, struct = jvm.org.apache.spark.sql.execution.datasources, jvm.org.apache.spark.sql.types.StructType
        self._scan, self._partition, self._file = sources.FileScanRDD, sources.FilePartition, sources.PartitionedFile
        self._path, self._sequence = jvm.org.apache.spark.paths.SparkPath.fromPathString, jvm.PythonUtils.toSeq
        self._no_items, self._no_map = self._sequence([]), jvm.PythonUtils.toScalaMap({})
        self._no_values = jvm.org.apache.spark.sql.catalyst.InternalRow.empty()
        self._nowhere = self._gateway.new_array(jvm.java.lang.String, 0)
        self._options = getattr(sources.FileScanRDD, "$lessinit$greater$default$7")()
        self.schema = struct.fromDDL(ddl(columns))
        self._read = sources.parquet.ParquetFileFormat().buildReaderWithPartitionValues(
            self._session,
            self.schema,
            struct(),  # no columns in the names of folders
            self.schema,
            self._no_items,
            jvm.PythonUtils.toScalaMap({"returning_batch": "false"}),
            self._session.sessionState().newHadoopConf(),
        )

    def rows(self, results: Results) -> Any:
        """Spark's RDD with the rows of an epoch."""
        folder = results.folder
        sizes = [i.size for i in folder.filesystem.get_file_info([folder.path(file) for file in results.files])]
        files = [self._described(f"{folder.spark_uri}/{f}", s) for f, s in zip(results.files, sizes, strict=True)]
        groups = [files] if results.rows <= FEW else [[file] for file in files]
        partitions = self._sequence([self._partition(i, self._array(group)) for i, group in enumerate(groups)])
        none, options = self._no_items, self._options
        return self._scan(self._session, self._read, partitions, self.schema, none, self._no_map, options)

    def _described(self, path: str, size: int) -> Any:
        """A whole file as Spark describes it."""
        return self._file(self._no_values, self._path(path), 0, size, self._nowhere, 0, size, self._no_map)

    def _array(self, files: Sequence[Any]) -> Any:
        array = self._gateway.new_array(self._file, len(files))
        for i, file in enumerate(files):
            array[i] = file
        return array
