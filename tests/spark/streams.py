"""Streams out of batches that a test writes down, and what windows over them must give."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh
from rheostat.choices import Emit

T0 = 1_767_225_600_000_000  # 2026-01-01 00:00 UTC
SECOND = 1_000_000
MINUTE = 60 * SECOND

BASE = {"ts": pl.Int64, "key": pl.String, "value": pl.Int64}


@dataclass(frozen=True)
class Batches:
    """Rows by epoch. ``ts`` is in microseconds after T0, or null; other columns are as given."""

    frames: Sequence[pl.DataFrame]

    @classmethod
    def of(cls, *epochs: Sequence[tuple[Any, ...]], schema: dict[str, Any] | None = None) -> Batches:
        given = schema or BASE
        return cls([pl.DataFrame(list(rows), schema=given, orient="row") for rows in epochs])

    def write(self, folder: Path, first: int = 0) -> None:
        """One file per epoch, in order of modification time."""
        folder.mkdir(parents=True, exist_ok=True)
        for i, frame in enumerate(self.frames, start=first):
            hidden = folder / f".{i:05d}"  # a running query sees a file with its final time or not at all
            time = (pl.col("ts") + T0).cast(pl.Datetime("us", "UTC"))
            frame.with_columns(time.alias("ts")).write_parquet(hidden)
            os.utime(hidden, (1_000_000_000 + i, 1_000_000_000 + i))
            hidden.rename(folder / f"{i:05d}.parquet")

    def stream(self, spark: SparkSession, folder: Path) -> DataFrame:
        """The streaming DataFrame over the written files, one epoch per file."""
        self.write(folder)
        return read_stream(spark, folder)


def read_stream(spark: SparkSession, folder: Path) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(topology: rh.Topology, checkpoint: Path, **options: Any) -> rh.Query:
    """Run over everything there is, and fail as the query fails."""
    query = topology.start(str(checkpoint), trigger=rh.AVAILABLE_NOW, **options)
    assert query.await_termination(timeout=120)
    return query


def windowed(
    spark: SparkSession,
    folder: Path,
    batches: Batches,
    windows: Sequence[rh.Window],
    by: Sequence[str] = ("key",),
    *,
    slack: int = 0,
    emit: Emit = "append",
    aggregates: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    build: Callable[[rh.Stream], rh.Stream] = lambda s: s,
) -> tuple[pl.DataFrame, rh.Query]:
    """The results of one windowed operator over batches, and the query that gave them."""
    t = rh.Topology("test")
    source = t.source(batches.stream(spark, folder / "in"), event_time="ts", slack=f"{slack} microseconds")
    wanted = aggregates or {"n": rh.count(), "s": rh.sum("value"), "m": rh.max("value")}
    sink = rh.sinks.memory()
    stream = build(source).compute("by", by=by, aggregates=wanted).consolidate("windows", windows, emit=emit)
    stream.sink(sink)
    query = run(t, folder / "checkpoint", **(options or {}))
    return sink.frame(), query


def expected(
    batches: Batches,
    windows: Sequence[rh.Window],
    by: Sequence[str] = ("key",),
    *,
    slack: int = 0,
    select: str = "count(*) AS n, sum(value)::BIGINT AS s, max(value) AS m",
) -> pl.DataFrame:
    """What append mode must give, by DuckDB: each row in every window that was still open when the row came."""
    parts: list[pl.DataFrame] = []
    seen: int | None = None
    for epoch, frame in enumerate(batches.frames):
        passed = None if seen is None else seen - slack
        parts.append(
            frame.filter(pl.col("ts").is_not_null()).with_columns(
                pl.lit(epoch).alias("epoch"), pl.lit(passed, dtype=pl.Int64).alias("passed")
            )
        )
        times = frame["ts"].drop_nulls()
        newest = times.max()
        if isinstance(newest, int):
            seen = newest if seen is None else max(seen, newest)
    rows = pl.concat(parts)  # noqa: F841 - DuckDB reads it by name
    kinds = pl.DataFrame(  # noqa: F841
        [(w.label, w.size, w.slide, w.offset - T0 % w.slide) for w in dict.fromkeys(windows)],
        schema={"label": pl.String, "size": pl.Int64, "slide": pl.Int64, "shift": pl.Int64},
        orient="row",
    )
    keys = "".join(f', "{k}"' for k in by)
    final = -(2**62) if seen is None else seen - slack
    relation = duckdb.sql(
        f"""
        WITH placed AS (
            SELECT rows.*, label, size, unnest(range(
                ts - ((ts - shift) % slide + slide) % slide
                  - ((size - 1 - ((ts - shift) % slide + slide) % slide) // slide) * slide,
                ts - ((ts - shift) % slide + slide) % slide + 1, slide)) AS begins
            FROM rows, kinds
            WHERE size > ((ts - shift) % slide + slide) % slide
        )
        SELECT label AS "window", begins AS window_start, begins + size AS window_end {keys}, {select}
        FROM placed
        WHERE (passed IS NULL OR begins + size > passed) AND begins + size <= {final}
        GROUP BY ALL
        """
    )
    assert relation is not None
    result: pl.DataFrame = relation.pl()
    return result


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Results with times as microseconds after T0, sorted, so that two of them can be compared."""
    if frame.is_empty():
        return frame
    times = [
        (pl.col(c).dt.timestamp("us") - T0).alias(c)
        for c in ("window_start", "window_end")
        if frame.schema[c] != pl.Int64
    ]
    columns = sorted(frame.columns)
    return frame.with_columns(times).select(columns).sort(columns, nulls_last=True)


def assert_same(result: pl.DataFrame, oracle: pl.DataFrame) -> None:
    """Equal rows, whatever the order; floating-point columns to nine digits."""
    if oracle.is_empty():
        assert result.is_empty(), result
        return
    left, right = comparable(result), comparable(oracle)
    assert len(left) == len(right), f"{len(left)} rows, expected {len(right)}\n{left}\n{right}"
    for name in right.columns:
        a, b = left[name], right[name].cast(left[name].dtype)
        if a.dtype.is_float():
            assert ((a - b).abs() <= 1e-9 * b.abs() + 1e-9).fill_null(value=True).all(), (name, left, right)
            assert (a.is_null() == b.is_null()).all()
        else:
            assert a.equals(b, null_equal=True), (name, left, right)
