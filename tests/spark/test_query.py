"""The handle of a running query: status, progress, explain, stop."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.demo.lending_job import lending
from rheostat.workloads.lending import columns
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, running
from tests.spark.streams import Batches, read_stream, run


def live(spark: SparkSession, rows_per_second: int = 500) -> tuple[rh.Topology, rh.sinks.MemorySink]:
    rate = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
    topology, results = lending(rate.selectExpr(*columns(rows_per_second, speed=3_600)))
    sink = rh.sinks.memory()
    for stream in results.values():
        stream.sink(rh.sinks.foreach(lambda df, epoch: None))
    results["global_approval"].sink(sink)
    return topology, sink


def test_a_live_query_tells_how_it_is_doing(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[rh.Progress] = []
    topology, sink = live(spark)
    query = topology.start(str(tmp_path / "checkpoint"), trigger="200 milliseconds", on_progress=seen.append)
    try:
        assert query.status.state == "running"
        assert not query.await_termination(timeout=0.1)
        deadline = time.monotonic() + 60
        while sink.frame().is_empty() and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        query.stop()
    assert query.status.state == "stopped"
    assert query.exception() is None
    assert query.await_termination(timeout=1)
    assert seen == query.progress
    assert [p.epoch for p in seen] == list(range(len(seen)))
    assert query.status.rows == sum(p.rows for p in seen)
    assert query.status.results == sum(sum(p.results.values()) for p in seen)
    last = seen[-1]
    assert last.latency is not None
    assert 0 < last.latency["p50"] <= last.latency["p99"] <= last.latency["max"]
    assert set(last.steps) == {"input", "decide", "ingest", "close", "sinks", "commit"}
    assert last.seconds >= sum(last.steps.values()) * 0.9
    assert list(last.slot_seconds) == ["by area", "global"]
    assert "stopped" in repr(query)


def test_an_awaited_epoch_is_in_the_progress(spark: SparkSession, tmp_path: Path) -> None:
    """The time between the commit and the progress is stretched, so that a wait for the commit alone would show."""
    topology, _ = live(spark)
    slow = lambda step: time.sleep(0.3) if step == "commit" else None  # noqa: E731
    query = topology.start(str(tmp_path / "checkpoint"), trigger="100 milliseconds", probe=slow)
    try:
        assert query.await_epoch(0)
        assert query.progress[0].epoch == 0
    finally:
        query.stop()
    resumed = live(spark)[0].start(str(tmp_path / "checkpoint"), trigger="1 hour")
    try:
        assert resumed.await_epoch(0, timeout=0.0)  # committed before the query started
    finally:
        resumed.stop()


def test_an_error_in_on_progress_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """Also after the last epoch, when Spark's own query has ended well."""

    def fail(progress: rh.Progress) -> None:
        raise ValueError(f"epoch {progress.epoch} is unlucky")

    topology, _ = live(spark)
    query = topology.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=fail)
    with pytest.raises(ValueError, match="epoch 0 is unlucky"):
        query.await_termination(timeout=60)
    assert query.status.state == "failed"


def test_on_progress_may_stop_the_query(spark: SparkSession, tmp_path: Path) -> None:
    topology, _ = live(spark)
    started: list[rh.Query] = []
    ready = threading.Event()

    def stop(progress: rh.Progress) -> None:
        ready.wait(30)
        started[0].stop()

    started.append(topology.start(str(tmp_path / "checkpoint"), trigger="100 milliseconds", on_progress=stop))
    ready.set()
    assert started[0].await_termination(timeout=30)
    assert [p.epoch for p in started[0].progress] == [0]


def test_explain_before_and_after_the_start(spark: SparkSession, tmp_path: Path) -> None:
    topology, _ = live(spark)
    text = topology.explain()
    assert "by area: 2 slots" in text
    assert "30 minutes  3 x 10 minutes" in text
    assert "1 day       4 x 6 hours" in text
    assert "shuffles per epoch: 3 (8 if every stateful operator had its own)" in text
    mermaid = topology.explain("mermaid")
    assert mermaid.startswith("flowchart LR")
    assert mermaid.count("subgraph") == 2
    with pytest.raises(rh.TopologyError, match="format='html' is not one of 'text', 'mermaid'"):
        topology.explain("html")  # type: ignore[arg-type]
    query = topology.start(str(tmp_path / "checkpoint"), slots=3)
    try:
        assert "by area: 3 slots" in query.explain()
    finally:
        query.stop()


def test_a_query_that_ended_gives_its_checkpoint_back_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1).selectExpr("timestamp_seconds(id) as ts", "id")
    rows.write.parquet(str(tmp_path / "in"))
    for _ in range(2):
        t = rh.Topology("twice")
        frame = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
        t.source(frame, event_time="ts").sink(rh.sinks.memory())
        run(t, tmp_path / "checkpoint")


class Uncaught:
    """Notes what ends threads of the JVM; by default that is printed, with a thousand lines."""

    class Java:
        implements: ClassVar = ["java.lang.Thread$UncaughtExceptionHandler"]

    def __init__(self) -> None:
        self.errors: list[str] = []

    def uncaughtException(self, thread: Any, error: Any) -> None:  # noqa: N802
        self.errors.append(f"{thread.getName()}: {error.getClass().getName()}")


def test_a_stop_in_the_middle_of_an_epoch_is_quiet(spark: SparkSession, tmp_path: Path) -> None:
    begun = str(tmp_path / "begun")

    def linger(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        Path(begun).touch()
        time.sleep(30)
        return running(rows, state)

    t = rh.Topology("lingers")
    Batches.of([(0, "a", 1)]).write(tmp_path / "in")
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
    rows.process("running", linger, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(rh.sinks.memory())
    query = t.start(str(tmp_path / "checkpoint"))
    deadline = time.monotonic() + 60
    while not Path(begun).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert spark._jvm is not None
    threads, uncaught = spark._jvm.java.lang.Thread, Uncaught()
    threads.setDefaultUncaughtExceptionHandler(uncaught)
    try:
        query.stop()
    finally:
        threads.setDefaultUncaughtExceptionHandler(None)
    assert Path(begun).exists()
    assert uncaught.errors == []
    assert query.exception() is None
    assert query.status.state == "stopped"
    assert query.status.epoch == -1
