"""The two sides of the window benchmarks: the same windows over the same files, on Rheostat and on Spark's own.

Run as ``python -m benchmarks.window_sides SPEC`` in a fresh process; prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import rheostat as rh
from rheostat.durations import label
from rheostat.workloads.skewed import SCHEMA

SLACK = "10 seconds"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main() -> None:
    spec = json.loads(sys.argv[1])
    spark = rh.session("bench", conf={"spark.sql.shuffle.partitions": "2"})
    windows = [rh.Window(size, slide) for size, slide in spec["windows"]]
    side = _native if spec["side"] == "native" else _rheostat
    scratch = Path(spec["scratch"])
    side(spark, windows, Path(spec["warm_up"]), scratch / "warm")
    began = time.perf_counter()
    result = side(spark, windows, Path(spec["data"]), scratch / "run")
    result["seconds"] = time.perf_counter() - began
    print(json.dumps(result))


def _rows(spark: Any, data: Path) -> Any:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(data))


def _rheostat(spark: Any, windows: list[rh.Window], data: Path, scratch: Path) -> dict[str, Any]:
    t = rh.Topology("bench")
    rows = t.source(_rows(spark, data), event_time="ts", slack=SLACK)
    counted = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    counted.consolidate("windows", windows).sink(rh.sinks.parquet(str(scratch / "out")))
    query = t.start(str(scratch / "checkpoint"), trigger=rh.AVAILABLE_NOW)
    query.await_termination()
    epochs = [{"seconds": p.seconds, "rows": p.rows, "steps": dict(p.steps)} for p in query.progress]
    return {"state_bytes": max((p.state_bytes for p in query.progress), default=0), "epochs": epochs}


def _native(spark: Any, windows: list[rh.Window], data: Path, scratch: Path) -> dict[str, Any]:
    """One streaming query per kind of window, all at once, as a user of plain Spark would."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)
    queries = []
    for i, window in enumerate(windows):
        _rows(spark, data).withWatermark("ts", SLACK).createOrReplaceTempView(f"rows_{i}")
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


if __name__ == "__main__":
    main()
