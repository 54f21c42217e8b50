"""``rheostat bench state`` on plain Spark: a running count and sum per key with each of its Python state APIs.

Each version is as fast as we could make it. It takes a streaming DataFrame with the columns ``key`` and ``value`` (both
bigint) and returns one with ``key``, ``n`` and ``s``: a row for each key that had rows in the micro-batch, with its
totals since the start. The two versions with ``transformWithState`` need RocksDB and the package ``protobuf``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.native_settings import ROCKSDB, settings
from benchmarks.skewed_files import SCHEMA
from rheostat.errors import RheostatError

OUTPUT = "key bigint, n bigint, s bigint"
STATE = "n bigint, s bigint"
_COLUMNS = pd.Index(["key", "n", "s"])

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}


def apply_in_pandas_with_state(rows: DataFrame) -> DataFrame:
    """Call a Python function for each key, with pandas frames and the state as a tuple."""
    grouped = rows.select("key", "value").groupBy("key")
    return grouped.applyInPandasWithState(_add_frames, OUTPUT, STATE, "update", GroupStateTimeout.NoTimeout)


def transform_with_state_in_pandas(rows: DataFrame) -> DataFrame:
    """Call a processor for each key, with pandas frames; it reads and writes state over a socket."""
    grouped = rows.select("key", "value").groupBy("key")
    return grouped.transformWithStateInPandas(_PandasTotals(), OUTPUT, "Update", "None")


def transform_with_state(rows: DataFrame) -> DataFrame:
    """Call a processor for each key, with an iterator of rows; it reads and writes state over a socket."""
    grouped = rows.select("key", "value").groupBy("key")
    return grouped.transformWithState(_RowTotals(), OUTPUT, "Update", "None")


WAYS: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "applyInPandasWithState": apply_in_pandas_with_state,
    "transformWithStateInPandas": transform_with_state_in_pandas,
    "transformWithState": transform_with_state,
}
"""The functions by the names of Spark's APIs."""


def run(spark: SparkSession, how: str, *, data: Path, scratch: Path, files_per_epoch: int = 1) -> dict[str, Any]:
    """Run a query over all files; micro-batch N writes its results to ``scratch/out/epoch=N``, from 0 on.

    Args:
        spark: a session from ``rheostat.session``.
        how: name of the API, a key of ``WAYS``.
        data: folder of files from ``benchmarks.skewed_files``.
        scratch: folder for results (``out``) and the checkpoint (``checkpoint``).
        files_per_epoch: number of files per micro-batch.

    Returns:
        ``how``: name of the API.
        ``rows``: number of rows read.
        ``epochs``: number of micro-batches with rows.
        ``epoch_rows``: rows of each of them.
        ``epoch_seconds``: seconds of each of them.
        ``state_bytes``: memory used by state at the end.
    """
    if how not in WAYS:
        raise RheostatError(f"unknown state API {how!r}: choose one of {', '.join(WAYS)}")

    def write(changed: Any, batch: int) -> None:
        changed.write.mode("overwrite").parquet(str(scratch / "out" / f"epoch={batch}"))

    # applyInPandasWithState also works with Spark's default store, in memory, which is slightly faster.
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


def _total(key: Any, n: int, s: int) -> pd.DataFrame:
    # There is one frame per key, and making it from one array takes a sixth of the time of three lists.
    return pd.DataFrame(np.array([[key, n, s]], dtype=np.int64), columns=_COLUMNS)


def _add_frames(key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    n, s = state.get if state.exists else (0, 0)
    for frame in frames:
        n += len(frame)
        s += int(frame["value"].to_numpy().sum())
    state.update((n, s))
    yield _total(key[0], n, s)


class _Totals(StatefulProcessor):
    """Keeps the count and the sum of a key as one value, so that there is one read and one write per key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", STATE)

    def close(self) -> None:
        pass


class _PandasTotals(_Totals):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        n, s = self._total.get() or (0, 0)
        for frame in rows:
            n += len(frame)
            s += int(frame["value"].to_numpy().sum())
        self._total.update((n, s))
        yield _total(key[0], n, s)


class _RowTotals(_Totals):
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        n, s = self._total.get() or (0, 0)
        for row in rows:
            n += 1
            s += row.value
        self._total.update((n, s))
        yield Row(key=key[0], n=n, s=s)
