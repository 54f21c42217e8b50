"""Spark's side of ``rheostat bench state``: a running count and sum per key in its own Python state APIs.

They are written as well as we know how. Each function takes a streaming DataFrame with the columns ``key`` and
``value`` (both bigint) and gives one with ``key``, ``n`` and ``s``: a row per key that had rows in the micro-batch,
with its totals since the beginning. The two ``transformWithState`` need RocksDB and the ``protobuf`` package.
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
    """One call of a Python function per key, with pandas frames and a tuple of state."""
    grouped = rows.select("key", "value").groupBy("key")
    return grouped.applyInPandasWithState(_add_frames, OUTPUT, STATE, "update", GroupStateTimeout.NoTimeout)


def transform_with_state_in_pandas(rows: DataFrame) -> DataFrame:
    """One call of a processor per key, with pandas frames; state is asked for and given back over a socket."""
    grouped = rows.select("key", "value").groupBy("key")
    return grouped.transformWithStateInPandas(_PandasTotals(), OUTPUT, "Update", "None")


def transform_with_state(rows: DataFrame) -> DataFrame:
    """The same with an iterator of rows in the place of pandas frames."""
    grouped = rows.select("key", "value").groupBy("key")
    return grouped.transformWithState(_RowTotals(), OUTPUT, "Update", "None")


WAYS: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "applyInPandasWithState": apply_in_pandas_with_state,
    "transformWithStateInPandas": transform_with_state_in_pandas,
    "transformWithState": transform_with_state,
}
"""The functions by the name that Spark gives each API."""


def run(spark: SparkSession, how: str, *, data: Path, scratch: Path, files_per_epoch: int = 1) -> dict[str, Any]:
    """Read the files, all of them, and write what changed to ``scratch/out/epoch=N``.

    Args:
        spark: a session from ``rheostat.session``.
        how: the API, one of the names in ``WAYS``.
        data: a folder of files from ``benchmarks.skewed_files``.
        scratch: a folder for results (``out``) and ``checkpoint``; N counts from 0.
        files_per_epoch: files that one micro-batch reads.

    Returns:
        ``rows`` read, ``epochs``, and per epoch ``epoch_rows`` and ``epoch_seconds``; ``state_bytes`` at the end.
    """
    if how not in WAYS:
        raise RheostatError(f"unknown state API {how!r}: choose one of {', '.join(WAYS)}")

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


def _total(key: Any, n: int, s: int) -> pd.DataFrame:
    # From one array: a sixth of the time of a frame from three lists, and there is one frame per key.
    return pd.DataFrame(np.array([[key, n, s]], dtype=np.int64), columns=_COLUMNS)


def _add_frames(key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    n, s = state.get if state.exists else (0, 0)
    for frame in frames:
        n += len(frame)
        s += int(frame["value"].to_numpy().sum())
    state.update((n, s))
    yield _total(key[0], n, s)


class _Totals(StatefulProcessor):
    """The count and the sum of a key as one value, so that there is one read and one write per key."""

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
