"""A job whose rows take their time: running totals per key, with a sleep for each row.

Sleeping stands for work. So many slots can work at once on a machine with few cores, and a row costs the same in every
slot (StreamSwitch limits the rate of its executors for the same reason).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from rheostat.workloads.row_feeder import HOST

OUTPUT = "key bigint, number bigint, arrived timestamp, n bigint, s bigint"
"""A row of the output for each row of the input: with its key's number of rows and sum of numbers so far."""

COMPONENT = "by key"
"""The component of the job whose slots sleep."""

Logic = Callable[[pl.DataFrame, pl.DataFrame], tuple[pl.DataFrame, pl.DataFrame]]


def running(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return an output row for each row, and the changed state: the number of rows of each key and their sum.

    >>> rows = pl.DataFrame({"key": [1, 2, 1], "number": [5, 6, 7], "arrived": [0, 0, 0]})
    >>> output, state = running(rows, pl.DataFrame({"key": [1], "n": [10], "s": [100]}))
    >>> output.sort("number").select("key", "n", "s").rows()
    [(1, 11, 105), (2, 1, 6), (1, 12, 112)]
    >>> state.sort("key").rows()
    [(1, 12, 112), (2, 1, 6)]
    """
    before = rows.join(state, on="key", how="left").with_columns(pl.col("n", "s").fill_null(0))
    output = before.sort("number").select(
        "key",
        "number",
        "arrived",
        n=pl.col("n") + pl.col("number").cum_count().over("key").cast(pl.Int64),
        s=pl.col("s") + pl.col("number").cum_sum().over("key"),
    )
    changed = output.group_by("key").agg(pl.col("n").max(), pl.col("s").max())
    return output, changed


def sleeping(seconds: float) -> Logic:
    """Return the logic of the job, which sleeps for each row.

    Args:
        seconds: how long a row takes.
    """

    def logic(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        time.sleep(seconds * len(rows))
        return running(rows, state)

    return logic


def job(spark: Any, port: int, row_seconds: float, out: Path, logic: Logic | None = None) -> rh.Topology:
    """Return the topology: rows from a row feeder, running totals, a sink.

    Args:
        spark: the session.
        port: the port of the row feeder.
        row_seconds: how long a row takes.
        out: folder for the results.
        logic: what to do with rows instead of sleeping that long for each of them.
    """
    lines = spark.readStream.format("socket").option("includeTimestamp", True)
    rows = (
        lines.option("host", HOST)
        .option("port", port)
        .load()
        .selectExpr(
            "bigint(split_part(value, ',', 1)) as key",
            "bigint(split_part(value, ',', 2)) as number",
            "timestamp as arrived",
        )
    )
    t = rh.Topology("sleeping")
    source = t.source(rows, event_time="arrived", arrival_time="arrived", name="rows")
    totals = source.process(
        "totals",
        logic or sleeping(row_seconds),
        by="key",
        schema=OUTPUT,
        state=rh.keyed_state("n bigint, s bigint"),
        order=None,
        reads=("number", "arrived"),
        event_time="arrived",
    )
    totals.sink(rh.sinks.parquet(str(out)))
    return t
