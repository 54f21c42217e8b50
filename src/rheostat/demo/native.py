"""The lending job as a user of plain Spark would write it: one streaming query per grouping and window size."""

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
_KEYS = ("area, ", "")  # the two groupings, as they begin a list of columns in SQL
_OPERATORS = 2  # operators of the job that one query computes together: interest and approval


def run_native(
    spark: Any, rows_per_second: int, speed: float, seconds: float, scratch: Path, tick: Callable[[float], None]
) -> Figures:
    """Run all queries at once for some seconds and return their figures.

    Args:
        spark: a session; its state store and shuffle partitions are changed.
        rows_per_second: loan applications generated per second.
        speed: seconds of event time per second of real time.
        seconds: how long to run.
        scratch: folder for results and checkpoints.
        tick: called several times per second with the seconds elapsed.
    """
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    start = time.monotonic()
    queries = [
        _start(spark, rows_per_second, speed, keys, label(window.size), scratch / f"{i}-{label(window.size)}")
        for i, keys in enumerate(_KEYS)
        for window in WINDOWS
    ]
    while (elapsed := time.monotonic() - start) < seconds:
        tick(elapsed)
        time.sleep(0.2)
    progress = [list(q.recentProgress) for q in queries]
    elapsed = time.monotonic() - start
    spark.sparkContext.setLogLevel("OFF")  # a query that is stopped within a batch logs long errors
    for query in queries:
        query.stop()
    return _figures(progress, elapsed, scratch)


def _start(spark: Any, rows_per_second: int, speed: float, keys: str, size: str, folder: Path) -> Any:
    view = f"loans_{folder.name.replace('-', '_').replace(' ', '_')}"
    loan_stream(spark, rows_per_second, speed).withWatermark("date", "10 seconds").createOrReplaceTempView(view)
    aggregated = spark.sql(
        f"SELECT window(date, '{size}') AS w, {keys} count(*) AS loans, avg((return / amount - 1) * 12 / lendingTime) "
        f"AS rate, avg(income) AS income, avg(int(approval)) AS approval FROM {view} "
        f"GROUP BY {keys} window(date, '{size}')"
    )
    writer = aggregated.writeStream.outputMode("append").format("parquet").option("path", str(folder / "out"))
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
        rows=min(rows),  # a row is done when every query has processed it
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
    """Return the number of rows in a result file; 0 for a file that a stopped query left incomplete or is deleting."""
    try:
        return int(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowInvalid):
        return 0


def _latencies(query: list[Any]) -> list[tuple[float, float]]:
    """Return latencies (commit time minus creation time) of the rows of a query, each with the rows it stands for.

    Offsets of the rate source are whole seconds since it started. A batch holds the rows from its start offset to its
    end offset, and starts after the end offset. So the earliest possible start of the source, over all batches, is
    taken as its start. Each batch gives ten latencies, spread evenly over its rows.
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
    origin = min(start - last for start, _, _, last, _ in batches)
    points = []
    for start, duration, first, last, rows in batches:
        for part in range(10):
            created = origin + first + (last - first) * (part + 0.5) / 10
            points.append((start + duration - created, rows / 10))
    return points
