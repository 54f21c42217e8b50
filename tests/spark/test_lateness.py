"""Late rows, rows without event time, and watermarks that outlive the process."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.windows.lateness import late_sql
from tests.spark.streams import MINUTE, SECOND, Batches, run


def topology(spark: SparkSession, folder: Path, batches: Batches, **options: Any) -> tuple[rh.Topology, rh.Stream]:
    t = rh.Topology("late")
    source = t.source(batches.stream(spark, folder / "in"), event_time="ts", slack="10 seconds", name="rows", **options)
    counted = source.compute("by_key", by="key", n=rh.count())
    counted.consolidate("windows", rh.tumbling("1 minute", "5 minutes")).sink(rh.sinks.parquet(str(folder / "out")))
    return t, source


BATCHES = Batches.of(
    [(0, "a", 1), (100 * SECOND, "a", 1), (None, "n", 1)],  # the watermark goes to 1:30
    [(30 * SECOND, "late", 1), (95 * SECOND, "a", 1), (None, "n", 2), (None, "n", 3)],
    [(7 * MINUTE, "a", 1)],  # the watermark goes to 6:50
    [(2 * MINUTE, "dropped", 1), (6 * MINUTE + 30 * SECOND, "late", 1)],
)


def test_counts_say_what_missed_one_window_and_what_missed_all(spark: SparkSession, tmp_path: Path) -> None:
    t, _ = topology(spark, tmp_path, BATCHES)
    query = run(t, tmp_path / "checkpoint")
    # At 0:30 the minute was gone but not the five minutes; at 2:00 both; at 6:30 neither was: the minute ends at 7:00.
    assert [(p.late, p.dropped, p.nulls) for p in query.progress] == [(0, 0, 1), (1, 0, 2), (0, 0, 0), (1, 1, 0)]
    assert query.status.late == 2
    assert query.status.dropped == 1
    assert query.status.nulls == 3
    result = pl.read_parquet(tmp_path / "out")
    minutes = result.filter(pl.col("key") == "late")["window"].to_list()
    assert minutes == ["5 minutes"], "late for the minute, in time for the five minutes"
    assert "dropped" not in result["key"].to_list()


def test_late_rows_and_nulls_are_kept_aside_in_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    t, _ = topology(spark, tmp_path, BATCHES, late="aside")
    run(t, tmp_path / "checkpoint")
    aside = pl.read_parquet(tmp_path / "checkpoint" / "aside" / "rows").sort("reason", "key", "value")
    assert aside.select("key", "value", "reason").rows() == [
        ("dropped", 1, "late"),
        ("late", 1, "late"),
        ("n", 1, "null"),
        ("n", 2, "null"),
        ("n", 3, "null"),
    ]


def test_aside_rows_go_to_a_sink_if_there_is_one(spark: SparkSession, tmp_path: Path) -> None:
    t, source = topology(spark, tmp_path, BATCHES, late="aside", nulls="drop")
    aside = rh.sinks.memory()
    source.aside.sink(aside)
    run(t, tmp_path / "checkpoint")
    assert sorted(aside.frame()["key"].to_list()) == ["dropped", "late"]
    assert not (tmp_path / "checkpoint" / "aside").exists()


def test_the_watermark_survives_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    first = Batches(BATCHES.frames[:3])
    t, _ = topology(spark, tmp_path, first)
    run(t, tmp_path / "checkpoint")
    t, _ = topology(spark, tmp_path, BATCHES)  # the same source has one more file now
    query = run(t, tmp_path / "checkpoint")
    assert [(p.epoch, p.late, p.dropped) for p in query.progress] == [(3, 1, 1)]


def test_a_filter_does_not_hold_the_watermark_back(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that a map removes still move time forward, and are still counted as rows of the source."""
    batches = Batches.of([(0, "a", 1)], [(10 * MINUTE, "b", 1)])
    t = rh.Topology("filtered")
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts")
    sink = rh.sinks.memory()
    only_a = source.map("only_a", lambda df: df.where("key = 'a'"))
    only_a.compute("by_key", by="key", n=rh.count()).consolidate("windows", rh.tumbling("1 minute")).sink(sink)
    query = run(t, tmp_path / "checkpoint")
    assert sink.frame()["n"].to_list() == [1]
    assert [p.rows for p in query.progress] == [1, 1]


def test_time_before_1970(spark: SparkSession, tmp_path: Path) -> None:
    century = 100 * 365 * 24 * 60 * MINUTE
    batches = Batches.of([(-century + 10 * SECOND, "a", 1)], [(-century + 3 * MINUTE, "a", 1)])
    t = rh.Topology("old")
    sink = rh.sinks.memory()
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts")
    source.compute("by_key", by="key", n=rh.count()).consolidate("windows", rh.tumbling("1 minute")).sink(sink)
    run(t, tmp_path / "checkpoint")
    (row,) = sink.frame().iter_rows(named=True)
    assert row["window_start"].year < 1930
    assert row["window_end"] - row["window_start"] == pl.Series([60_000_000]).cast(pl.Duration("us"))[0]


def sql_as_it_was(time_sql: str, windows: list[rh.Window], watermark: int) -> str:
    """How rows were found before lateness was defined once: the first instance that contains a row had ended."""
    conditions = []
    for w in windows:
        before = f"{time_sql} - {w.size}L"
        first = f"({before} - pmod({before} - {w.offset}L, {w.slide}L) + {w.slide}L)"
        conditions.append(f"({first} <= {time_sql} AND {first} + {w.size}L <= {watermark}L)")
    return " OR ".join(conditions)


def test_spark_finds_the_same_late_rows_as_before(spark: SparkSession) -> None:
    random = Random(7)
    expressions = []
    for number in range(40):
        sizes = [random.randint(1, 40) for _ in range(random.randint(1, 3))]
        windows = [rh.Window(s, random.choice([s, random.randint(1, 60)]), random.randint(-9, 9)) for s in sizes]
        watermark = random.randint(-90, 90)
        now, then = late_sql("id", windows, watermark), sql_as_it_was("id", windows, watermark)
        expressions.append(f"count_if(({now}) != ({then})) AS differ_{number}")
    (differences,) = spark.range(-150, 150).selectExpr(*expressions).collect()
    assert not any(differences)


def test_a_row_that_a_map_removes_is_kept_aside_too(spark: SparkSession, tmp_path: Path) -> None:
    """Lateness is a matter of time alone, also for rows that no operator sees."""
    batches = Batches.of([(10 * MINUTE, "a", 1)], [(0, "a", 1), (MINUTE, "b", 1), (10 * MINUTE, "b", 2)])
    t = rh.Topology("filtered")
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts", late="aside")
    only_a = source.map("only_a", lambda df: df.where("key = 'a'"))
    windows = [rh.Window(MINUTE, MINUTE), rh.Window(SECOND, 5 * MINUTE)]
    only_a.compute("by_key", by="key", n=rh.count()).consolidate("windows", windows).sink(rh.sinks.memory())
    aside = rh.sinks.memory()
    source.aside.sink(aside)
    query = run(t, tmp_path / "checkpoint")
    assert sorted(aside.frame().select("key", "value", "reason").rows()) == [("a", 1, "late"), ("b", 1, "late")]
    assert [p.late for p in query.progress] == [0, 1]


def test_rows_between_windows_are_not_late(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches.of([(20 * MINUTE, "a", 1)], [(30 * SECOND, "late", 1), (3 * MINUTE, "between", 1)])
    t = rh.Topology("gaps")
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts", late="aside")
    short = [rh.Window(MINUTE, 5 * MINUTE)]
    source.compute("by_key", by="key", n=rh.count()).consolidate("windows", short).sink(rh.sinks.memory())
    aside = rh.sinks.memory()
    source.aside.sink(aside)
    query = run(t, tmp_path / "checkpoint")
    assert aside.frame()["key"].to_list() == ["late"]
    assert [(p.late, p.dropped) for p in query.progress] == [(0, 0), (1, 1)]
