"""Topologies of every shape: branches, several sources and sinks, windows over windows, Python maps, no state."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.streams import MINUTE, SECOND, T0, Batches, assert_same, expected, run

ROWS = [((i * 13 % 600) * SECOND, f"k{i % 4}", i) for i in range(300)]
BATCHES = Batches.of(ROWS[:150], ROWS[150:], [(20 * MINUTE, "end", 0)])
SLACK = 10 * MINUTE


def source(t: rh.Topology, spark: SparkSession, folder: Path, name: str = "source") -> rh.Stream:
    frame = BATCHES.stream(spark, folder / f"in-{name}")
    return t.source(frame, event_time="ts", slack="10 minutes", name=name)


def test_one_stream_feeds_several_operators_and_sinks(spark: SparkSession, tmp_path: Path) -> None:
    t = rh.Topology("branches")
    rows = source(t, spark, tmp_path)
    even = rows.map("even", lambda df: df.where("value % 2 = 0"))
    fine = rh.sinks.memory()
    coarse, again, everything, raw = (rh.sinks.memory() for _ in range(4))
    n = {"n": rh.count(), "s": rh.sum("value")}
    rows.compute("by_key", by="key", aggregates=n).consolidate("minutes", rh.tumbling("1 minute")).sink(fine)
    evens = even.compute("even_by_key", by="key", aggregates=n).consolidate("fives", rh.tumbling("5 minutes"))
    evens.sink(coarse).sink(again)
    rows.compute("all", aggregates=n).consolidate("overall", rh.tumbling("2 minutes")).sink(everything)
    even.sink(raw)
    query = run(t, tmp_path / "checkpoint")
    select = "count(*) AS n, sum(value)::BIGINT AS s"
    assert_same(fine.frame(), expected(BATCHES, rh.tumbling("1 minute"), slack=SLACK, select=select))
    evened = Batches([f.filter(pl.col("value") % 2 == 0) for f in BATCHES.frames])
    assert_same(coarse.frame(), expected(evened, rh.tumbling("5 minutes"), slack=SLACK, select=select))
    assert again.frame().equals(coarse.frame())
    assert_same(everything.frame(), expected(BATCHES, rh.tumbling("2 minutes"), (), slack=SLACK, select=select))
    assert sorted(raw.frame()["value"].to_list()) == sorted(v for f in evened.frames for v in f["value"])
    assert [p.rows for p in query.progress] == [150, 150, 1], "rows are counted once, however many operators read them"
    text = query.explain()
    assert "global: 1 slot; all, overall" in text
    assert "even_by_key" in text


def test_operators_that_agree_on_keys_and_windows_share_state(spark: SparkSession, tmp_path: Path) -> None:
    t = rh.Topology("fused")
    rows = source(t, spark, tmp_path)
    sums, counts, total = (rh.sinks.memory() for _ in range(3))
    windows = rh.tumbling("1 minute", "5 minutes")
    rows.compute("sums", by="key", s=rh.sum("value")).consolidate("sum_windows", windows).sink(sums)
    rows.compute("counts", by="key", n=rh.count()).consolidate("count_windows", windows).sink(counts)
    rows.compute("total", s=rh.sum("value"), f=rh.first("value"), d=rh.approx_distinct("key")).consolidate(
        "total_windows", windows
    ).sink(total)
    query = run(t, tmp_path / "checkpoint")
    assert sorted(p.name for p in (tmp_path / "checkpoint" / "state").iterdir()) == ["sums+counts", "total"]
    assert "rolled up from sums+counts" in query.explain(), "rows are aggregated once"
    assert_same(sums.frame(), expected(BATCHES, windows, slack=SLACK, select="sum(value)::BIGINT AS s"))
    assert_same(counts.frame(), expected(BATCHES, windows, slack=SLACK, select="count(*) AS n"))
    assert_same(
        total.frame().drop("d"),
        expected(
            BATCHES, windows, (), slack=SLACK, select="sum(value)::BIGINT AS s, first(value ORDER BY ts, value) AS f"
        ),
    )


def test_several_sources_each_with_its_own_watermark(spark: SparkSession, tmp_path: Path) -> None:
    t = rh.Topology("two")
    left, right = source(t, spark, tmp_path, "left"), source(t, spark, tmp_path, "right")
    sinks = [rh.sinks.memory(), rh.sinks.memory()]
    for stream, sink in zip((left, right), sinks, strict=True):
        counted = stream.compute(f"by_key_{stream.name}", by="key", n=rh.count())
        counted.consolidate(f"windows_{stream.name}", rh.tumbling("1 minute")).sink(sink)
    query = run(t, tmp_path / "checkpoint")
    oracle = expected(BATCHES, rh.tumbling("1 minute"), slack=SLACK, select="count(*) AS n")
    for sink in sinks:
        assert_same(sink.frame(), oracle)
    assert sum(p.rows for p in query.progress) == 2 * 301
    assert set(query.status.watermarks) == {"left", "right"}


def test_windows_over_windows(spark: SparkSession, tmp_path: Path) -> None:
    """The busiest minute of every five: a window's result is a row at the last instant of its window."""
    t = rh.Topology("levels")
    minutes = source(t, spark, tmp_path).compute("by_key", by="key", n=rh.count())
    per_minute = minutes.consolidate("minutes", rh.tumbling("1 minute"))
    busy = per_minute.map("doubled", lambda df: df.selectExpr("*", "n * 2 as twice"))
    sink = rh.sinks.memory()
    peaks = busy.compute("peaks", by="key", peak=rh.max("n"), minutes=rh.count(), twice=rh.sum("twice"))
    peaks.consolidate("fives", rh.tumbling("5 minutes")).sink(sink)
    query = run(t, tmp_path / "checkpoint")
    inner = expected(BATCHES, rh.tumbling("1 minute"), slack=SLACK, select="count(*) AS n")
    oracle = (
        inner.with_columns(window_start=pl.col("window_start") // (5 * MINUTE) * 5 * MINUTE)
        .group_by("key", "window_start")
        .agg(peak=pl.col("n").max(), minutes=pl.len().cast(pl.Int64), twice=2 * pl.col("n").sum())
        .with_columns(window=pl.lit("5 minutes"), window_end=pl.col("window_start") + 5 * MINUTE)
    )
    final = 20 * MINUTE - SLACK
    assert_same(sink.frame(), oracle.filter(pl.col("window_end") <= final))
    assert "@1" in query.explain()


def test_a_python_map_over_arrow_batches(spark: SparkSession, tmp_path: Path) -> None:
    def plus(batch: pa.RecordBatch) -> pa.RecordBatch:
        table = pa.Table.from_batches([batch])
        return table.append_column("plus", pc.add(table["value"], 1)).to_batches()[0] if len(table) else batch

    t = rh.Topology("python")
    mapped = source(t, spark, tmp_path).map("plus", plus, schema="ts timestamp, key string, value bigint, plus bigint")
    sink = rh.sinks.memory()
    mapped.compute("by_key", by="key", s=rh.sum("plus")).consolidate("windows", rh.tumbling("1 minute")).sink(sink)
    run(t, tmp_path / "checkpoint")
    assert_same(
        sink.frame(),
        expected(BATCHES, rh.tumbling("1 minute"), slack=SLACK, select="sum(value + 1)::BIGINT AS s"),
    )


def test_a_topology_without_state_only_maps(spark: SparkSession, tmp_path: Path) -> None:
    t = rh.Topology("stateless")
    sink = rh.sinks.memory()
    source(t, spark, tmp_path).map("small", lambda df: df.where("value < 10")).sink(sink)
    query = run(t, tmp_path / "checkpoint")
    assert sorted(sink.frame()["value"].to_list()) == [0, *range(10)]
    assert [p.rows for p in query.progress] == [150, 150, 1]


def test_timestamps_without_time_zone_stay_so(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    frame = spark.readStream.schema("ts timestamp_ntz, key string, value bigint").parquet(str(tmp_path / "in"))
    t = rh.Topology("ntz")
    sink = rh.sinks.memory()
    rows = t.source(frame.selectExpr("ts", "key", "value"), event_time="ts", slack="10 minutes")
    rows.compute("by_key", by="key", n=rh.count()).consolidate("windows", rh.tumbling("1 minute")).sink(sink)
    run(t, tmp_path / "checkpoint")
    assert sink.frame().schema["window_start"] == pl.Datetime("us")
    assert sink.frame()["window_start"].dt.timestamp("us").min() == T0
