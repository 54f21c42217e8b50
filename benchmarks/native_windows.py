"""The window benchmarks on plain Spark: one streaming query per window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rheostat as rh
from benchmarks.native_settings import STORE
from benchmarks.skewed_files import SLACK, stream
from rheostat.durations import label


def run(
    spark: Any, windows: list[rh.Window], *, data: Path, scratch: Path, store: Mapping[str, str] = STORE
) -> dict[str, Any]:
    """Run one streaming query per window, all at the same time, as a user of plain Spark would do it.

    Args:
        spark: the session.
        windows: the windows.
        data: folder of the input files.
        scratch: folder for results (``out``) and checkpoints (``checkpoint``).
        store: settings that choose the state store; empty for Spark's default, in memory.

    Returns:
        ``state_bytes``: the most state that each query had, summed over queries.
    """
    for name, value in store.items():
        spark.conf.set(name, value)
    queries = []
    for i, window in enumerate(windows):
        stream(spark, data).withWatermark("ts", SLACK).createOrReplaceTempView(f"rows_{i}")
        grouped = f"window(ts, '{label(window.size)}', '{label(window.slide)}')"
        counted = spark.sql(
            f"SELECT {grouped} AS w, key, count(*) AS n, sum(value) AS s, max(value) AS m FROM rows_{i} "
            f"GROUP BY {grouped}, key"
        )
        flat = counted.selectExpr(
            f"'{window.label}' AS window", "w.start AS window_start", "w.end AS window_end", "key", "n", "s", "m"
        )
        writer = flat.writeStream.outputMode("append").format("parquet").option("path", str(scratch / "out" / str(i)))
        writer = writer.option("checkpointLocation", str(scratch / "checkpoint" / str(i)))
        queries.append(writer.trigger(availableNow=True).start())
    for query in queries:
        query.awaitTermination()
    return {"state_bytes": sum(max((_state_bytes(p) for p in q.recentProgress), default=0) for q in queries)}


def _state_bytes(progress: Any) -> int:
    return sum(int(op["customMetrics"].get("rocksdbSstFileSize", 0)) for op in progress["stateOperators"])
