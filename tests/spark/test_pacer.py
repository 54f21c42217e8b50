"""Limits of running sources: files by their rows, other sources not at all; nothing is lost and the order stays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh
from rheostat.spark.input.source_limits import SourceLimits
from rheostat.spark.pacer import Pacer
from rheostat.state.files import Folder
from rheostat.state.inspection import inspect
from tests.elastic.loop.test_pace import PLAN, seen

FILES, ROWS = 40, 10


def write(folder: Path, files: int = FILES) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        file = folder / f"{number:04d}.parquet"
        pl.DataFrame({"a": [number] * ROWS}).write_parquet(file)
        os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))


def wait(until: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert until()


def files(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    return spark.readStream.schema("a bigint").options(**options).parquet(str(folder))


def test_a_backlog_of_files_is_read_in_epochs_of_the_rows_that_the_law_allows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The first epoch is Spark's: one file of 10 rows. Then 0.8 s at 80 ms a row and two slots are 20 rows: 2 files."""
    write(tmp_path / "in")
    notes: list[str] = []
    pacer = Pacer(rh.Latency("1.5 seconds"), Folder.at(tmp_path / "checkpoint"), lambda epoch, what: notes.append(what))
    epochs: list[list[int]] = []

    def epoch(batch: DataFrame, number: int) -> None:
        if number == 0:
            wait(lambda: bool(queries))  # so that it is attached before the second epoch
        last = len(epochs[-1]) if epochs else 0
        if last:
            pacer.after_turn(seen(float(last), cost=0.08, span=10.0), PLAN, number, batch.sparkSession)
        epochs.append([row.a for row in batch.collect()])

    queries: list[Any] = []
    stream = files(spark, tmp_path / "in", maxFilesPerTrigger=3)
    writer = stream.writeStream.foreachBatch(epoch).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start()
    try:
        pacer.attach(query)
        queries.append(query)
        wait(lambda: sum(map(len, epochs)) == FILES * ROWS or not query.isActive)
    finally:
        query.stop()
    sizes = [len(rows) for rows in epochs]
    assert sizes[0] == 3 * ROWS  # what the user's option allows
    assert set(sizes[3:-1]) == {2 * ROWS}
    assert [a for rows in epochs for a in sorted(rows)] == [n for n in range(FILES) for _ in range(ROWS)]
    assert notes == ["a backlog is worked off in epochs of at most 20 rows"]


def test_the_users_own_limit_is_never_exceeded(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", files=6)
    sizes: list[int] = []
    stream = files(spark, tmp_path / "in", maxFilesPerTrigger=2)
    query = stream.writeStream.foreachBatch(lambda batch, epoch: sizes.append(batch.count())).start()
    try:
        wait(lambda: len(sizes) == 3)
        limits = SourceLimits(query, spark)
        assert [(s.unit, s.most) for s in limits.sources] == [("files", 2)]
        limits.set({0: 100})
        assert "MaxFiles: 2" in query._jsq.streamingQuery().uniqueSources().toString()
        limits.set({0: 0})
        assert "MaxFiles: 1" in query._jsq.streamingQuery().uniqueSources().toString()
    finally:
        query.stop()


def test_a_source_that_takes_no_limit_is_named_once(spark: SparkSession, tmp_path: Path) -> None:
    notes: list[str] = []
    pacer = Pacer(rh.Latency("1 second"), Folder.at(tmp_path), lambda epoch, what: notes.append(what))
    epochs: list[int] = []
    rate = spark.readStream.format("rate").option("rowsPerSecond", 10).load()

    def epoch(batch: DataFrame, number: int) -> None:
        pacer.after_turn(seen(10.0), PLAN, number, batch.sparkSession)
        epochs.append(number)

    query = rate.writeStream.foreachBatch(epoch).start()
    try:
        pacer.attach(query)
        begun = len(epochs)
        wait(lambda: len(epochs) > begun + 2)
    finally:
        query.stop()
    assert notes == ["the rows per epoch cannot be limited: RateStreamV2 takes no limit"]


def test_a_promise_is_needed(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", files=1)
    t = rh.Topology("paced")
    rows = files(spark, tmp_path / "in").selectExpr("timestamp_seconds(a) as ts")
    t.source(rows, event_time="ts").sink(rh.sinks.memory())
    with pytest.raises(rh.ConfigurationError, match="pace=True needs a promise"):
        t.start(str(tmp_path / "checkpoint"), pace=True)


def test_a_query_with_a_promise_says_that_its_source_takes_no_limit(spark: SparkSession, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    t = rh.Topology("promised")
    source = t.source(rate, event_time="timestamp", arrival_time="timestamp")
    counted = source.aggregate("all", by="value", windows=rh.tumbling("1 second"), n=rh.count())
    counted.sink(rh.sinks.foreach(lambda rows, epoch: None))
    query = t.start(str(tmp_path / "checkpoint"), slo=rh.Latency("20 seconds"), slots=(1, 2), shards=16)
    try:
        assert query.await_epoch(3)
    finally:
        query.stop()
    events = inspect(str(tmp_path / "checkpoint"))["events"]
    assert [e["kind"] for e in events] == ["started", "rows per epoch"]
    assert events[0]["values"] == {
        "policy": "streamswitch",
        "promise": "mean latency within 20 s over 1 s",
        "slots": [1, 2],
    }
    assert "RateStreamV2 takes no limit" in events[1]["values"]["what"]
    assert query.progress[-1].success_rate == query.slo().success_rate == 1.0
    assert len(query.progress[0].slot_seconds["by value"]) == 2  # Spark's cores, within the range
    assert not any(p.policy_failure for p in query.progress)
