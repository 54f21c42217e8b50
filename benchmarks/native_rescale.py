"""Changing the number of state partitions under load, Spark's own way: stop, repartition the state offline, restart.

What ``rheostat bench rescale`` compares with. Spark 4.2 added ``StreamingCheckpointManager.repartition``, which PySpark
does not yet make public: it reads the state of the last committed micro-batch, shuffles it by key to the new partitions
and writes it as one more micro-batch of the checkpoint. It needs RocksDB, and no query may be running. The job is the
one Spark does best: ``groupBy(key)`` with a count and a sum in update mode, all of it in the JVM.
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
_PATIENCE = 120.0  # seconds that a single micro-batch may take


class InterruptedBatchError(RheostatError):
    """The last micro-batch in the checkpoint was begun and not committed."""


@dataclass(frozen=True, kw_only=True)
class PartitionChange:
    """One change of the number of state partitions; times in seconds.

    Attributes:
        partitions: the number after the change.
        at: when it was asked for, on the clock of ``time.monotonic``.
        stop: to stop the query.
        finish: to complete the micro-batch that the stop interrupted; 0 if it interrupted none.
        repartition: to write the state anew for the new partitions.
        restart: from starting the query again to the first results.
    """

    partitions: int
    at: float
    stop: float
    finish: float
    repartition: float
    restart: float


@dataclass(frozen=True, kw_only=True)
class RescaleRun:
    """What one run measured.

    Attributes:
        used: the mechanism that changed the partitions.
        completions: when the results of each micro-batch had been written, on the clock of ``time.monotonic``.
        changes: the changes of the number of partitions, in order.
        partitions: the number of state partitions at the end, as Spark reports it.
        out: the results, a folder ``epoch=N`` per micro-batch; a key's row with the highest ``n`` is its last.
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
    """Run the job over all files, one per micro-batch and back to back, and change its partitions on the way.

    Args:
        spark: a session; its state store and shuffle partitions are set for the run and put back.
        data: a folder of Parquet files with the columns ``key`` and ``value``, at least ``batches + 1`` for every size.
        schema: the schema of the files.
        scratch: an empty folder for results and checkpoint.
        sizes: the partitions to begin with and to change to.
        batches: micro-batches to complete at every size; at the last one, as many as there are files left.
        delay: seconds from the commit of a micro-batch to the stop. At 0, the best moment for Spark, the next one has
            hardly begun and little or nothing is interrupted.
    """
    if len(list(data.glob("*.parquet"))) < (batches + 1) * len(sizes):
        raise RheostatError(f"{data} has too few files for {batches} micro-batches at each of {len(sizes)} sizes")
    job = _TotalsQuery(spark, data, schema, scratch)
    with settings(spark, {**ROCKSDB, "spark.sql.shuffle.partitions": str(sizes[0])}):
        job.start()
        try:
            job.complete(batches)
            changes = []
            for size in sizes[1:]:
                time.sleep(delay)
                changes.append(job.change(size))
                job.complete(batches - 1)  # the change waited for the first
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

    Spark can skip one that was not, with a third argument of ``False``. Its rows would then come again in the
    next one, but with a file source the query does not start any more (4.3.0: an assertion on offsets fails).
    """
    manager: Any = getattr(spark, "_streamingCheckpointManager", None)
    if manager is None:
        raise RheostatError(f"PySpark {spark.version} cannot change state partitions; 4.2 is the first that can")
    try:
        manager.repartition(str(checkpoint), partitions)
    except Py4JJavaError as error:  # PySpark does not translate it
        if _INTERRUPTED in str(error):
            raise InterruptedBatchError(f"the last micro-batch in {checkpoint} was not committed; run it") from error
        raise


class _TotalsQuery:
    """The streaming query across its restarts, and the times at which its micro-batches completed."""

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
        rows = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1).parquet(str(self._data))
        totals = rows.groupBy("key").agg(F.count("*").alias("n"), F.sum("value").alias("s"))
        writer = totals.writeStream.outputMode("update").foreachBatch(self._write)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        self._query = (writer.trigger(**trigger) if trigger else writer).start()

    def complete(self, batches: int) -> None:
        """Wait for that many micro-batches to be committed."""
        batch = -1
        for _ in range(batches):
            batch, at = self._next()
            self.completions.append(at)
        while batch >= 0 and not self._committed(batch):
            time.sleep(0.001)

    def stop(self) -> None:
        """Stop, and count what was committed until then; an interrupted micro-batch will be run again."""
        self._query.stop()
        while not self._done.empty():
            batch, at = self._done.get()
            if self._committed(batch):
                self.completions.append(at)

    def change(self, partitions: int) -> PartitionChange:
        """Stop, finish what the stop interrupted, repartition, restart, and wait for the first results."""
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
        """Work through the files that are left and stop; the number of state partitions."""
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
        """The next completed micro-batch and its time; raises what the query died of."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                return self._done.get(timeout=1.0)
            except queue.Empty:
                error = self._query.exception()
                if error is not None:
                    raise error from None
        raise RheostatError(f"Spark completed no micro-batch within {_PATIENCE:.0f} s")
