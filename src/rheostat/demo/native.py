"""The lending job as a user of plain Spark would write it: one streaming query per set of keys and size of window."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rheostat.demo.figures import Figures, weighted_quantile
from rheostat.demo.lending_job import WINDOWS, loan_stream
from rheostat.durations import label

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_KEYS = ("area, ", "")
_OPERATORS = 2
"""Aggregates of the job that each of the queries computes at once; four in all, as on Rheostat."""


def run_native(
    spark: Any, rows_per_second: int, speed: float, seconds: float, scratch: Path, tick: Callable[[float], None]
) -> Figures:
    """Run the queries for a while; ``tick`` is called with the seconds gone."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    began = time.monotonic()
    queries = [
        _start(spark, rows_per_second, speed, keys, label(window.size), scratch / f"{i}-{label(window.size)}")
        for i, keys in enumerate(_KEYS)
        for window in WINDOWS
    ]
    while (gone := time.monotonic() - began) < seconds:
        tick(gone)
        time.sleep(0.2)
    progress = [list(q.recentProgress) for q in queries]
    elapsed = time.monotonic() - began
    spark.sparkContext.setLogLevel("OFF")  # a query that is stopped in the middle of a batch complains at length
    for query in queries:
        query.stop()
    return _figures(progress, elapsed, scratch)


def _start(spark: Any, rows_per_second: int, speed: float, keys: str, size: str, folder: Path) -> Any:
    view = f"loans_{folder.name.replace('-', '_').replace(' ', '_')}"
    loan_stream(spark, rows_per_second, speed).withWatermark("date", "10 seconds").createOrReplaceTempView(view)
    counted = spark.sql(
        f"SELECT window(date, '{size}') AS w, {keys} count(*) AS loans, avg((return / amount - 1) * 12 / lendingTime) "
        f"AS rate, avg(income) AS income, avg(int(approval)) AS approval FROM {view} "
        f"GROUP BY {keys} window(date, '{size}')"
    )
    writer = counted.writeStream.outputMode("append").format("parquet").option("path", str(folder / "out"))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def _figures(progress: list[list[Any]], elapsed: float, scratch: Path) -> Figures:
    rows = [sum(p["numInputRows"] for p in query) for query in progress]
    latencies = [point for query in progress for point in _latencies(query)]
    state = sum(
        int(op["customMetrics"].get("rocksdbSstFileSize", 0))
        for query in progress
        if query
        for op in query[-1]["stateOperators"]
    )
    emitted = sum(_rows_in(f) for f in scratch.glob("*/out/*.parquet"))
    return Figures(
        rows=min(rows),  # a row is through when every window has it
        seconds=elapsed,
        epochs=sum(len(query) for query in progress),
        windows=emitted,
        p50=weighted_quantile(latencies, 0.5),
        p99=weighted_quantile(latencies, 0.99),
        state_bytes=state,
        windows_per_row=len(progress) * _OPERATORS,
        shuffles=len(progress),
    )


def _rows_in(file: Path) -> int:
    """Rows of a result file. One that a stopped query was still writing may be cut short, or gone a moment later."""
    try:
        return int(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowInvalid):
        return 0


def _latencies(query: list[Any]) -> list[tuple[float, float]]:
    """Commit time minus the time a row was made, with weights.

    The rate source counts whole seconds from its first start; a batch holds the seconds from its start offset to its
    end offset, and begins no earlier than its end.
    """
    batches = [
        (
            datetime.fromisoformat(p["timestamp"]).timestamp(),
            p["durationMs"]["triggerExecution"] / 1000,
            float(p["sources"][0]["startOffset"] or 0),
            float(p["sources"][0]["endOffset"]),
            float(p["numInputRows"]),
        )
        for p in query
        if p["numInputRows"] > 0
    ]
    if not batches:
        return []
    origin = min(began - last for began, _, _, last, _ in batches)
    points = []
    for began, took, first, last, rows in batches:
        for share in range(10):
            made = origin + first + (last - first) * (share + 0.5) / 10
            points.append((began + took - made, rows / 10))
    return points
