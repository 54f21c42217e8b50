"""A running count and sum per key in Spark's own Python state APIs, written as well as we know how.

What ``rheostat bench state`` compares with. Each function takes a streaming DataFrame with the columns ``key`` and
``value`` (both bigint) and gives one with ``key``, ``n`` and ``s``: a row per key that had rows in the micro-batch,
with its totals since the beginning. The two ``transformWithState`` need RocksDB and the ``protobuf`` package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

OUTPUT = "key bigint, n bigint, s bigint"
STATE = "n bigint, s bigint"
_COLUMNS = pd.Index(["key", "n", "s"])

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Upload what changed rather than a snapshot in every micro-batch.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""The state store that Spark's guide recommends, with the setting it recommends for short micro-batches."""


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


@contextmanager
def settings(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Settings for the queries that are started inside; a query keeps those it was started with."""
    before = {name: spark.conf.get(name, None) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


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
