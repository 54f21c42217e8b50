"""What is observed of epochs on Spark, against the rows that were written."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import rheostat as rh
from rheostat.elastic.model.observation import Observation
from rheostat.elastic.routing.table import shards_of
from rheostat.spark.input.natural_arrival import natural_arrival
from rheostat.state import inspection
from tests.spark.streams import T0, Batches

SHARDS = 16
STATE = rh.keyed_state("n bigint")
SCHEMA = {"ts": pl.Int64, "key": pl.String, "value": pl.Int64, "arrived": pl.Int64}


def rows_of(epoch: int, unknown: bool = True) -> list[tuple[Any, ...]]:
    """Rows with skewed keys; every seventh may have no arrival time."""
    random = np.random.default_rng(epoch)
    keys, ages = random.zipf(1.5, 200) % 40, random.integers(0, 10_000_000, 200)
    return [
        (epoch * 60_000_000 + i, f"k{keys[i]}", i, None if unknown and i % 7 == 0 else int(T0 - ages[i]))
        for i in range(len(keys))
    ]


def observed(spark: SparkSession, folder: Path, keyed: bool, epochs: int = 3, **options: Any) -> tuple[rh.Query, Any]:
    """Run a topology over written rows. Return the query, and the observation of every epoch with its commit time."""
    # A partial has only the mean arrival time of its rows, and not how many have one.
    batches = Batches.of(*(rows_of(e, unknown=keyed) for e in range(epochs)), schema=SCHEMA)
    frame = batches.stream(spark, folder / "rows").withColumn("arrived", F.timestamp_micros("arrived"))
    t = rh.Topology("observed")
    source = t.source(frame, event_time="ts", arrival_time="arrived")
    if keyed:
        source.process("totals", totals, by="key", state=STATE, schema="key string, n bigint").sink(rh.sinks.memory())
    else:
        windows = rh.tumbling("1 minute")
        source.aggregate("minutes", by="key", windows=windows, n=rh.count()).sink(rh.sinks.memory())
    seen: list[Observation] = []
    query = t.start(str(folder / "checkpoint"), trigger="100 milliseconds", shards=SHARDS, slots=3, **options)
    commit = query._job.observer.commit

    def spy(now: float) -> Observation:
        seen.append(commit(now))
        commits.append(now)
        return seen[-1]

    commits: list[float] = []
    query._job.observer.commit = spy  # type: ignore[method-assign]
    assert query.await_epoch(epochs - 1)
    query.stop()
    return query, list(zip(seen, commits, strict=True))


def totals(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[None, pl.DataFrame]:
    """Count rows by key."""
    new = pl.concat([state.select("key", "n"), rows.select("key", n=pl.lit(1, pl.Int64))])
    return None, new.group_by("key").agg(pl.col("n").sum())


def shard_of(spark: SparkSession, keys: list[str]) -> dict[str, int]:
    frame = spark.createDataFrame([(k,) for k in keys], "key string").select("key", F.xxhash64("key"))
    hashes = {row[0]: row[1] for row in frame.collect()}
    shards = shards_of(np.array(list(hashes.values())), SHARDS)
    return dict(zip(hashes, shards.tolist(), strict=True))


@pytest.mark.parametrize("keyed", [True, False])
def test_rows_and_latency_by_shard_are_those_of_the_rows(spark: SparkSession, tmp_path: Path, keyed: bool) -> None:
    query, seen = observed(spark, tmp_path, keyed)
    owner = shard_of(spark, sorted({row[1] for e in range(3) for row in rows_of(e)}))
    total = np.zeros(SHARDS)
    assert len(seen) >= 2
    for observation, commit in seen:
        rows = rows_of(observation.epoch, unknown=keyed)
        (operator,) = observation.operators.values()
        for shard in range(SHARDS):
            mine = [row for row in rows if owner[row[1]] == shard]
            latencies = np.array([(commit - row[3]) / 1e6 for row in mine if row[3] is not None])
            assert operator.rows[shard] == len(mine)
            if not len(latencies):
                assert np.isnan([operator.latency[shard], operator.p50[shard], operator.p99[shard]]).all()
                continue
            assert operator.latency[shard] == pytest.approx(latencies.mean(), abs=1e-4)
            if keyed:
                exact = np.quantile(latencies, [0.5, 0.99], method="inverted_cdf")
                assert [operator.p50[shard], operator.p99[shard]] == pytest.approx(exact.tolist(), abs=1e-4)
        total += operator.rows
        assert observation.latency.rows == sum(row[3] is not None for row in rows)
        assert operator.work.sum() == pytest.approx(operator.useful.sum())
        assert (operator.traffic[operator.rows > 0] > 0).all()
        assert observation.cpus >= 1
        assert 0 < observation.committed < 60
        if keyed:
            assert (operator.work[operator.rows > 0] > 0).all()
            assert ((operator.traffic > 0) == (operator.work > 0)).all()
        elif not observation.epoch:
            assert not operator.work.any(), "no window closes, and tasks that read rows belong to no slot"
            continue
        assert operator.work.any()
        assert (operator.memory > 1e6).all()
        assert (operator.cpu_seconds > 0).all()
        assert set(operator.executors) == {"driver"}
    assert seen[-1][0].operators[query.view.components[0].name].arrived.sum() >= total.sum()


@pytest.mark.parametrize("keyed", [True, False])
def test_state_by_shard_is_that_of_the_segments(spark: SparkSession, tmp_path: Path, keyed: bool) -> None:
    _, seen = observed(spark, tmp_path, keyed)
    (operator,) = seen[-1][0].operators.values()
    (table,) = inspection.inspect(str(tmp_path / "checkpoint"))["tables"].values()
    assert operator.state.sum() == pytest.approx(table["bytes"])
    assert operator.state.max() == pytest.approx(table["shard_bytes"]["largest"], abs=1)
    assert int((operator.state == 0).sum()) == table["shard_bytes"]["empty"]


def test_segments_of_an_earlier_run_are_not_guessed(spark: SparkSession, tmp_path: Path) -> None:
    observed(spark, tmp_path, keyed=True)
    Batches.of(rows_of(3), schema=SCHEMA).write(tmp_path / "rows", first=3)
    frame = spark.readStream.schema(spark.read.parquet(str(tmp_path / "rows")).schema).parquet(str(tmp_path / "rows"))
    t = rh.Topology("observed")
    source = t.source(frame.withColumn("arrived", F.timestamp_micros("arrived")), event_time="ts")
    source.process("totals", totals, by="key", state=STATE, schema="key string, n bigint").sink(rh.sinks.memory())
    query = t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW)
    assert query.await_termination(60)
    (operator,) = query._job.observer.newest.operators.values()
    assert operator.rows.sum() == 200
    assert np.isnan(operator.state).all()
    assert np.isnan(operator.latency).all()  # no arrival time was named
    assert query._job.observer.newest.span > 0  # the offset log knows when the epoch before began
    slo = query.slo()
    assert (slo.rows, slo.epochs) == (0, 1)
    assert np.isnan([slo.success_rate, slo.p50]).all()


def test_spark_and_the_law_complete_an_observation(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[Observation] = []
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    t = rh.Topology("rate")
    t.source(rows, event_time="timestamp").aggregate(
        "minutes", by="value", windows=rh.tumbling("1 minute"), n=rh.count()
    ).sink(rh.sinks.memory())
    query = t.start(str(tmp_path / "checkpoint"), shards=SHARDS, slots=2)
    before = query._job.observer.before

    def spy(*args: Any) -> Observation:
        seen.append(before(*args))
        return seen[-1]

    query._job.observer.before = spy  # type: ignore[method-assign, assignment]
    began = time.time()
    assert query.await_epoch(4)
    query.stop()
    assert time.time() - began < 60
    complete = [s for s in seen if s.law is not None and s.external > 0]  # the first epoch may have no rows
    assert len(complete) >= 3
    for observation in complete:
        assert 0 < observation.committed <= observation.busy + 0.01
        assert observation.behind == 0
        assert observation.wanted == pytest.approx(observation.external)
        assert observation.next_span > 0
        assert np.isnan(observation.next_rows)  # the offsets of a rate source count seconds
        assert observation.latency.mean > 0  # from the source's own time of every row
    assert complete[-1].span == pytest.approx(complete[-2].next_span)
    assert complete[-1].expected > 0
    assert complete[-1].expected_latency > 0
    slo = query.slo()
    assert slo.rows == sum(p.rows for p in query.progress)
    assert slo.p50 <= slo.p99
    assert slo.mean_slots == pytest.approx(2)
    assert slo.node_seconds == pytest.approx(slo.seconds)


def test_only_a_column_that_the_source_fills_is_an_arrival_time(spark: SparkSession, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").load()
    assert natural_arrival(rate) == "timestamp"
    assert natural_arrival(rate.where("value > 3").select("timestamp", F.lit(1).alias("one"))) == "timestamp"
    assert natural_arrival(rate.withColumn("timestamp", F.col("timestamp") - F.expr("INTERVAL 1 DAY"))) is None
    assert natural_arrival(rate.select("value")) is None
    assert natural_arrival(rate.union(rate)) is None
    files = Batches.of(rows_of(0), schema=SCHEMA).stream(spark, tmp_path / "rows").withColumnRenamed("ts", "timestamp")
    assert natural_arrival(files) is None


def test_the_time_of_a_file_is_an_arrival_time(spark: SparkSession, tmp_path: Path) -> None:
    frame = Batches.of(rows_of(0), rows_of(1), schema=SCHEMA).stream(spark, tmp_path / "rows")
    for file in (tmp_path / "rows").glob("*.parquet"):
        os.utime(file, (time.time() - 100, time.time() - 100))
    t = rh.Topology("files")
    dated = frame.select("*", F.col("_metadata.file_modification_time").alias("written"))
    t.source(dated, event_time="ts", arrival_time="written").aggregate(
        "minutes", by="key", windows=rh.tumbling("1 minute"), n=rh.count()
    ).sink(rh.sinks.memory())
    query = t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW)
    assert query.await_termination(timeout=60)
    assert 95 < query.slo().p50 < 200
