"""Spark's side of ``rheostat bench state``: a running count and sum per key in its own Python state APIs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.native_state import ROCKSDB, WAYS, settings
from rheostat.errors import RheostatError
from rheostat.workloads.skewed import SCHEMA

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}


def run(spark: Any, how: str, data: Path, scratch: Path, files_per_epoch: int = 1) -> dict[str, Any]:
    """Read the files, all of them, and write what changed to ``scratch/out/epoch=N``.

    Args:
        spark: a session from ``rheostat.session``.
        how: the API, one of the names in ``benchmarks.native_state.WAYS``.
        data: a folder of files from ``rheostat.workloads.skewed``.
        scratch: a folder for results (``out``) and ``checkpoint``; N counts from 0.

    Returns:
        ``rows`` read, ``epochs``, and per epoch ``epoch_rows`` and ``epoch_seconds``; ``state_bytes`` at the end.
    """
    if how not in WAYS:
        raise RheostatError(f"no such way: {how}; there are {', '.join(WAYS)}")

    def write(changed: Any, batch: int) -> None:
        changed.write.mode("overwrite").parquet(str(scratch / "out" / f"epoch={batch}"))

    # applyInPandasWithState runs on Spark's default store too, in memory, and a little faster.
    store = ROCKSDB if how.startswith("transform") else {}
    with settings(spark, {**SETTINGS, **store}):
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_per_epoch).parquet(str(data))
        writer = WAYS[how](rows).writeStream.outputMode("update").foreachBatch(write)
        writer = writer.option("checkpointLocation", str(scratch / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"] > 0]
    return {
        "how": how,
        "rows": sum(p["numInputRows"] for p in progress),
        "epochs": len(progress),
        "epoch_rows": [p["numInputRows"] for p in progress],
        "epoch_seconds": [p["durationMs"]["triggerExecution"] / 1000 for p in progress],
        "state_bytes": progress[-1]["stateOperators"][0]["memoryUsedBytes"] if progress else 0,
    }
