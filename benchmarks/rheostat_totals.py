"""The job of the state benchmarks on Rheostat: a running count and sum per key, over whole frames."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from benchmarks.skewed_files import stream

RESULT = "key bigint, n bigint, s bigint"


def totals(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One row per key that had rows, with its totals since the beginning.

    >>> first, kept = totals(pl.DataFrame({"key": [1, 1], "value": [2, 3]}),
    ...                      pl.DataFrame({"key": [1], "n": [10], "s": [100]}))
    >>> first.rows()
    [(1, 12, 105)]
    """
    new = rows.group_by("key").agg(more=pl.len().cast(pl.Int64), added=pl.col("value").sum())
    both = new.join(state, on="key", how="left").select(
        "key", n=pl.col("more") + pl.col("n").fill_null(0), s=pl.col("added") + pl.col("s").fill_null(0)
    )
    return both, both


def start(
    spark: Any,
    data: Path,
    scratch: Path,
    on_progress: Callable[[rh.Progress], None] | None = None,
    logic: Callable[[pl.DataFrame, pl.DataFrame], tuple[pl.DataFrame, pl.DataFrame]] = totals,
    files_per_epoch: int = 1,
    **options: Any,
) -> rh.Query:
    """Run over the files of a folder until all are through."""
    t = rh.Topology("running")
    rows = t.source(stream(spark, data, files_per_epoch), event_time="ts")
    kept = rows.process(
        "totals",
        logic,
        by="key",
        schema=RESULT,
        state=rh.keyed_state("n bigint, s bigint"),
        order=None,
        reads="value",
    )
    kept.sink(rh.sinks.parquet(str(scratch / "out")))
    return t.start(str(scratch / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=on_progress, **options)


def timed(spark: Any, data: Path, scratch: Path, **options: Any) -> tuple[float, list[rh.Progress]]:
    """How long the whole run takes, and what its epochs did."""
    began = time.perf_counter()
    query = start(spark, data, scratch, **options)
    query.await_termination()
    return time.perf_counter() - began, query.progress


def results(out: Path) -> pl.DataFrame:
    """What a side wrote, with the epoch of every row, in an order of its own."""
    parts = [
        pl.read_parquet(str(f), hive_partitioning=False).select(
            pl.lit(int(f.parent.name.removeprefix("epoch="))).alias("epoch"), "key", "n", "s"
        )
        for f in sorted(out.glob("epoch=*/*.parquet"))
    ]
    return pl.concat(parts).sort("epoch", "key") if parts else pl.DataFrame()
