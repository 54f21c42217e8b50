"""Spark's side of the window benchmarks: one streaming query per kind of window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rheostat as rh
from benchmarks.native_settings import STORE
from benchmarks.skewed_files import SLACK, stream
from rheostat.durations import label


def run(spark: Any, windows: list[rh.Window], *, data: Path, scratch: Path) -> dict[str, Any]:
    """One streaming query per kind of window, all at once, as a user of plain Spark would."""
    for name, value in STORE.items():
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
