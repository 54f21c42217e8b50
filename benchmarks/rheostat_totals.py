"""The state benchmarks on Rheostat: a running count and sum per key, computed on whole frames."""

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
    """Return the output and the changed state: a row for each key that had rows, with its totals since the start.

    >>> output, state = totals(pl.DataFrame({"key": [1, 1], "value": [2, 3]}),
    ...                        pl.DataFrame({"key": [1], "n": [10], "s": [100]}))
    >>> output.rows()
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
    checkpoint: str = "",
    **options: Any,
) -> rh.Query:
    """Start the query over the files of a folder; it ends when it has read all of them.

    Args:
        spark: the session.
        data: folder of the input files.
        scratch: folder for results (``out``) and the checkpoint (``checkpoint``).
        on_progress: called after each epoch.
        logic: computes output and state from rows and state.
        files_per_epoch: number of files per epoch.
        checkpoint: the checkpoint, if it is not in ``scratch``.
        **options: passed to ``Topology.start``.
    """
    t = rh.Topology("running")
    rows = t.source(stream(spark, data, files_per_epoch), event_time="ts")
    running = rows.process(
        "totals",
        logic,
        by="key",
        schema=RESULT,
        state=rh.keyed_state("n bigint, s bigint"),
        order=None,
        reads="value",
    )
    running.sink(rh.sinks.parquet(str(scratch / "out")))
    place = checkpoint or str(scratch / "checkpoint")
    return t.start(place, trigger=rh.AVAILABLE_NOW, on_progress=on_progress, **options)


def timed(spark: Any, data: Path, scratch: Path, **options: Any) -> tuple[float, list[rh.Progress]]:
    """Run the query to its end; return its seconds and the progress of its epochs."""
    began = time.perf_counter()
    query = start(spark, data, scratch, **options)
    query.await_termination()
    return time.perf_counter() - began, query.progress


def results(out: Path) -> pl.DataFrame:
    """Return the results of a side with the epoch of each row, sorted by epoch and key."""
    parts = [
        pl.read_parquet(str(f), hive_partitioning=False).select(
            pl.lit(int(f.parent.name.removeprefix("epoch="))).alias("epoch"), "key", "n", "s"
        )
        for f in sorted(out.glob("epoch=*/*.parquet"))
    ]
    return pl.concat(parts).sort("epoch", "key") if parts else pl.DataFrame()
