"""``rheostat bench rescale`` on plain Spark: stop the query, repartition its state offline, and restart it.

Spark 4.2 added ``StreamingCheckpointManager.repartition``, which is not yet public in PySpark. It reads the state of
the last committed micro-batch, shuffles it by key to the new partitions and writes it as one more micro-batch of the
checkpoint. It needs RocksDB and a stopped query. The query is the one that Spark runs best: ``groupBy(key)`` with a
count and a sum in update mode, entirely in the JVM.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.native_settings import ROCKSDB, settings
from rheostat.errors import RheostatError

USED = "StreamingCheckpointManager.repartition"
_INTERRUPTED = "STATE_REPARTITION_INVALID_CHECKPOINT.LAST_BATCH_FAILED"
_TIMEOUT = 120.0  # seconds that a micro-batch may take


class InterruptedBatchError(RheostatError):
    """The last micro-batch in the checkpoint was started but not committed."""


@dataclass(frozen=True, kw_only=True)
class PartitionChange:
    """One change of the number of state partitions.

    Attributes:
        partitions: the number after the change.
        at: when it was requested, by ``time.monotonic``.
        stop: seconds to stop the query.
        finish: seconds to complete the micro-batch that the stop interrupted; 0 if it interrupted none.
        repartition: seconds to repartition the state.
        restart: seconds from the restart of the query to its first results.
    """

    partitions: int
    at: float
    stop: float
    finish: float
    repartition: float
    restart: float


@dataclass(frozen=True, kw_only=True)
class RescaleRun:
    """The result of a run.

    Attributes:
        used: the Spark function that changed the partitions.
        completions: when the results of each micro-batch were written, by ``time.monotonic``.
        changes: the changes of the number of partitions, in order.
        partitions: number of state partitions at the end, as Spark reports it.
        out: folder of the results, with a folder ``epoch=N`` per micro-batch. The last row of a key is the one with the
            highest ``n``.
    """

    used: str
    completions: tuple[float, ...]
    changes: tuple[PartitionChange, ...]
    partitions: int
    out: Path


def rescale(
    spark: SparkSession,
    *,
    data: Path,
    schema: str,
    scratch: Path,
    sizes: Sequence[int] = (2, 4, 8, 2),
    batches: int = 30,
    delay: float = 0.0,
) -> RescaleRun:
    """Run the query over all files, one per micro-batch without a break, and change its partitions meanwhile.

    Args:
        spark: a session; its state store and shuffle partitions are set for the run and then restored.
        data: folder of Parquet files with the columns ``key`` and ``value``, at least ``batches + 1`` for each size.
        schema: schema of the files.
        scratch: empty folder for results (``out``) and the checkpoint (``checkpoint``).
        sizes: numbers of partitions, one after the other.
        batches: number of micro-batches with each size; with the last one, as many as there are files left.
        delay: seconds from the commit of a micro-batch to the stop. 0 is the best time for Spark: the next micro-batch
            has hardly started, so little or nothing is interrupted.
    """
    if len(list(data.glob("*.parquet"))) < (batches + 1) * len(sizes):
        raise RheostatError(
            f"{data} has too few files: {batches} micro-batches with each of {len(sizes)} sizes need "
            f"{(batches + 1) * len(sizes)}"
        )
    job = _TotalsQuery(spark, data, schema, scratch)
    with settings(spark, {**ROCKSDB, "spark.sql.shuffle.partitions": str(sizes[0])}):
        job.start()
        try:
            job.complete(batches)
            changes = []
            for size in sizes[1:]:
                time.sleep(delay)
                changes.append(job.change(size))
                job.complete(batches - 1)  # the change has already waited for the first one
            partitions = job.drain()
        finally:
            job.stop()
    return RescaleRun(
        used=USED,
        completions=tuple(job.completions),
        changes=tuple(changes),
        partitions=partitions,
        out=job.out,
    )


def repartition(spark: SparkSession, checkpoint: Path, partitions: int) -> None:
    """Repartition the state of a stopped query whose last micro-batch was committed.

    Raises:
        InterruptedBatchError: the last micro-batch was not committed. With a third argument of ``False`` Spark would
            skip it and read its rows again in the next one. But then a query with a file source does not start any more
            (in 4.3.0, an assertion on offsets fails).
    """
    manager: Any = getattr(spark, "_streamingCheckpointManager", None)
    if manager is None:
        raise RheostatError(f"PySpark {spark.version} cannot repartition state: use 4.2 or later")
    try:
        manager.repartition(str(checkpoint), partitions)
    except Py4JJavaError as error:  # PySpark does not convert it to an exception of its own
        if _INTERRUPTED in str(error):
            raise InterruptedBatchError(
                f"the last micro-batch in {checkpoint} was not committed: run the query once more"
            ) from error
        raise


class _TotalsQuery:
    """A streaming query that can be restarted with other partitions.

    Attributes:
        completions: when the results of each micro-batch were written, by ``time.monotonic``.
        out: folder of the results.
    """

    def __init__(self, spark: SparkSession, data: Path, schema: str, scratch: Path) -> None:
        self.completions: list[float] = []
        self.out = scratch / "out"
        self._spark = spark
        self._data = data
        self._schema = schema
        self._checkpoint = scratch / "checkpoint"
        self._done: queue.SimpleQueue[tuple[int, float]] = queue.SimpleQueue()
        self._query: StreamingQuery

    def start(self, **trigger: bool) -> None:
        """Start or restart the query, with the arguments of Spark's ``trigger``."""
        rows = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1).parquet(str(self._data))
        totals = rows.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("s"))
        writer = totals.writeStream.outputMode("update").foreachBatch(self._write)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        self._query = (writer.trigger(**trigger) if trigger else writer).start()

    def complete(self, batches: int) -> None:
        """Wait until this many more micro-batches are committed."""
        batch = -1
        for _ in range(batches):
            batch, at = self._next()
            self.completions.append(at)
        while batch >= 0 and not self._committed(batch):
            time.sleep(0.001)

    def stop(self) -> None:
        """Stop, and record the micro-batches committed until then; an interrupted one will run again."""
        self._query.stop()
        while not self._done.empty():
            batch, at = self._done.get()
            if self._committed(batch):
                self.completions.append(at)

    def change(self, partitions: int) -> PartitionChange:
        """Stop, finish an interrupted micro-batch, repartition, restart, and wait for the first results."""
        began = time.monotonic()
        self.stop()
        ready = stopped = time.monotonic()
        try:
            repartition(self._spark, self._checkpoint, partitions)
        except InterruptedBatchError:
            self.start(once=True)
            self._query.awaitTermination()
            self.complete(1)
            ready = time.monotonic()
            repartition(self._spark, self._checkpoint, partitions)
        repartitioned = time.monotonic()
        self.start()
        self.complete(1)
        restart = self.completions[-1] - repartitioned
        return PartitionChange(
            partitions=partitions,
            at=began,
            stop=stopped - began,
            finish=ready - stopped,
            repartition=repartitioned - ready,
            restart=restart,
        )

    def drain(self) -> int:
        """Process the remaining files and stop; return the number of state partitions."""
        self._query.processAllAvailable()
        self.stop()
        progress = next(p for p in reversed(self._query.recentProgress) if p.stateOperators)
        return int(progress.stateOperators[0].numShufflePartitions)

    def _committed(self, batch: int) -> bool:
        return (self._checkpoint / "commits" / str(batch)).exists()

    def _write(self, totals: DataFrame, batch: int) -> None:
        totals.write.mode("overwrite").parquet(str(self.out / f"epoch={batch}"))
        self._done.put((batch, time.monotonic()))

    def _next(self) -> tuple[int, float]:
        """Return the next completed micro-batch and its time; raise the query's error if it failed."""
        deadline = time.monotonic() + _TIMEOUT
        while time.monotonic() < deadline:
            try:
                return self._done.get(timeout=1.0)
            except queue.Empty:
                error = self._query.exception()
                if error is not None:
                    raise error from None
        raise RheostatError(f"Spark completed no micro-batch within {_TIMEOUT:.0f} s")
