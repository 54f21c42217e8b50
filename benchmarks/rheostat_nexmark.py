"""NEXMark's queries on Rheostat, as ``examples/nexmark`` has them, and what reading their rows takes."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import rheostat as rh
from examples.nexmark import QUERIES
from examples.nexmark.events import read_events
from examples.nexmark.stateless import log_files
from rheostat.topology.nodes import Source


def run(spark: SparkSession, name: str, *, data: Path, scratch: Path, files_per_epoch: int) -> None:
    """Run a query over all files.

    Args:
        spark: the session.
        name: name of the query.
        data: folder of the input files.
        scratch: folder for results (``out``) and the checkpoint (``checkpoint``).
        files_per_epoch: files per epoch.
    """
    t = rh.Topology(name)
    results = QUERIES[name].build(t, read_events(spark, data, files_per_epoch))
    out = str(scratch / "out")
    results.sink(log_files(out) if name == "q10" else rh.sinks.parquet(out))
    t.start(str(scratch / "checkpoint"), trigger=rh.AVAILABLE_NOW).await_termination()


def read(spark: SparkSession, name: str, *, data: Path, scratch: Path, files_per_epoch: int) -> None:
    """Read the rows that a query reads, in epochs of plain Spark, and drop them.

    The arguments are those of ``run``.
    """
    t = rh.Topology(name)
    QUERIES[name].build(t, read_events(spark, data, files_per_epoch))
    (rows,) = (node.frame for node in t.nodes.values() if isinstance(node, Source))
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(scratch / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
