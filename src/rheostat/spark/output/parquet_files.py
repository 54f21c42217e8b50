"""Spark writes the rows of a finished plan to Parquet files.

``DataFrame.write`` would analyse and plan the query anew in every epoch. This calls what it calls in the end, with a
plan that may have been kept, and with a committer that moves files once: the folder is nobody's to read before all
tasks have ended, and a repeated task replaces its own file.
"""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rheostat.state.files import Folder

_COMMIT = {
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

_LOCAL = {
    # Without checksum files, each of which costs as much as a small file itself.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}


def write_parquet(spark: SparkSession, plan: Any, folder: Folder) -> None:
    """Write the rows of a plan as Parquet files into an empty folder. Call it in the thread that runs the epoch.

    Args:
        spark: the session of the epoch.
        plan: Spark's physical plan, which is executed once.
        folder: the folder.
    """
    jvm, session = spark.sparkContext._jvm, spark._jsparkSession
    classes = _Classes.of(jvm)
    state = session.sessionState()
    conf = state.newHadoopConf()
    for name, value in (_COMMIT | _LOCAL if folder.is_local else _COMMIT).items():
        conf.set(name, value)
    protocol, path = state.conf().fileCommitProtocolClass(), folder.spark_uri
    classes.writer.write(
        session,
        plan,
        classes.parquet(),
        classes.protocol.instantiate(protocol, uuid.uuid4().hex, path, False),
        classes.spec(path, classes.no_map, plan.output()),
        conf,
        classes.no_items,
        classes.none,
        classes.no_items,
        classes.no_map,
        0,
        *classes.before,
    )


class _Classes:
    """Spark's classes for writing. Py4J looks up every part of a name with a message of its own, so once is enough.

    Args:
        jvm: Spark's JVM.
    """

    def __init__(self, jvm: Any) -> None:
        sources = jvm.org.apache.spark.sql.execution.datasources
        self.writer = sources.FileFormatWriter
        self.spec = getattr(sources, "FileFormatWriter$OutputSpec")
        self.parquet = sources.parquet.ParquetFileFormat
        self.protocol = jvm.org.apache.spark.internal.io.FileCommitProtocol
        try:
            self.before: tuple[Any, ...] = (getattr(self.writer, "write$default$12")(),)
        except Py4JError:  # Spark before 4.3 calls nothing before it writes
            self.before = ()
        self.none = jvm.scala.Option.empty()
        self.no_items = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
        self.no_map = getattr(getattr(jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()

    @staticmethod
    @lru_cache(maxsize=1)
    def of(jvm: Any) -> _Classes:
        """The classes of a JVM."""
        return _Classes(jvm)
