"""Routing that changes under a running query: whatever moves, results are those of one slot that never moves."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.elastic.routing.table import shard_sql
from rheostat.state.inspection import inspect
from tests.spark.processors import (
    RUNNING_SCHEMA,
    RUNNING_STATE,
    TRACE_SCHEMA,
    Trace,
    expected_running,
    expected_trace,
    running,
    same,
)
from tests.spark.streams import SECOND, Batches, assert_same, expected, read_stream, run

WINDOWS = rh.sliding("2 minutes", every="1 minute")


def topology(spark: SparkSession, folder: Path) -> rh.Topology:
    t = rh.Topology("moving")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(
        rh.sinks.parquet(str(folder / "running"))
    )
    rows.process_keys("trace", Trace, by="key", schema=TRACE_SCHEMA).sink(rh.sinks.parquet(str(folder / "trace")))
    windows = rows.compute("by", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
    windows.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(folder / "windows")))
    return t


def result(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / name / "*" / "*.parquet", hive_partitioning=False)


rescales = st.tuples(st.just("rescale"), st.integers(1, 5))
rebalances = st.tuples(st.just("rebalance"), st.just(0))
restarts = st.tuples(st.just("restart"), st.sampled_from([None, 1, 2, 3]))
row = st.tuples(st.integers(0, 300), st.sampled_from(["a", "b", "c", "d", None, "é"]), st.integers(0, 9))
steps = st.lists(
    st.tuples(st.one_of(rescales, rebalances, restarts, st.none()), st.lists(row, min_size=1, max_size=25)),
    min_size=3,
    max_size=6,
)


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(steps=steps)
def test_any_sequence_of_changes(spark: SparkSession, steps: list[Any]) -> None:
    """Between one batch and the next, the query is rescaled, rebalanced or stopped and started again."""
    given_batches = Batches.of(*([(t * SECOND, k, v) for t, k, v in rows] for _, rows in steps))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Batches(given_batches.frames[:1]).write(folder / "in")
        query = topology(spark, folder).start(str(folder / "checkpoint"), slots=2, shards=16)
        try:
            assert query.await_epoch(0, 60)
            for epoch, (change, _) in enumerate(steps[1:], start=1):
                kind, argument = change or ("", None)
                if kind == "rescale":
                    query.rescale(slots=argument or 1)
                elif kind == "rebalance":
                    query.rebalance(threshold=1.01)
                elif kind == "restart":
                    query.stop()
                    query = topology(spark, folder).start(str(folder / "checkpoint"), slots=argument)
                Batches(given_batches.frames[epoch : epoch + 1]).write(folder / "in", first=epoch)
                assert query.await_epoch(epoch, 60)
                if kind == "rescale":
                    assert max(query.routing["by key"]) + 1 == argument
        finally:
            query.stop()
        assert same(result(folder, "running"), expected_running(given_batches))
        assert same(result(folder, "trace"), expected_trace(given_batches))
        closed = expected(given_batches, WINDOWS)
        if len(closed):
            assert_same(result(folder, "windows"), closed)


def spend(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    time.sleep(0.01 * len(rows))
    return running(rows, state)


def test_a_busy_slot_gives_shards_away_and_the_checkpoint_remembers_why(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(3)
    # Twelve keys whose shards are all in the first of three slots: it does all the work, however noisy the clock.
    shard = shard_sql("xxhash64(concat('k', id))", 64)
    keys = [f"k{r.id}" for r in spark.range(100).where(f"{shard} < 64 div 3").limit(12).collect()]
    given_batches = Batches.of(*([(e * SECOND, rng.choice(keys), 1) for _ in range(60)] for e in range(8)))
    t = rh.Topology("busy")
    rows = t.source(given_batches.stream(spark, tmp_path / "in"), event_time="ts")
    rows.process("running", spend, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(
        rh.sinks.parquet(str(tmp_path / "running"))
    )
    query = run(t, tmp_path / "checkpoint", slots=3, shards=64, policy="balance")
    assert same(result(tmp_path, "running"), expected_running(given_batches))
    changes = [c for p in query.progress for c in p.changes]
    assert changes[0].imbalance[0] == pytest.approx(3.0)
    assert all(c.kind == "rebalance" and "times the mean" in c.reason and c.moved > 0 for c in changes)
    assert all(c.imbalance[1] < c.imbalance[0] for c in changes)
    found = inspect(str(tmp_path / "checkpoint"))
    assert [c["epoch"] for c in found["changes"]] == [c.epoch for c in changes]
    assert found["components"]["by key"]["routing"] == list(query.routing["by key"])
    assert found["components"]["by key"]["imbalance"] < 2.0
    # The routing is still there after a restart.
    Batches(given_batches.frames[:1]).write(tmp_path / "in", first=8)
    before = query.routing
    t = rh.Topology("busy")
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
    rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(
        rh.sinks.parquet(str(tmp_path / "running"))
    )
    assert run(t, tmp_path / "checkpoint").routing == before


def test_a_key_that_no_placement_helps_is_named(spark: SparkSession, tmp_path: Path) -> None:
    given_batches = Batches.of(
        *([(e * SECOND, "hot" if i % 10 else f"k{i}", 1) for i in range(60)] for e in range(4)),
    )
    t = rh.Topology("hot")
    rows = t.source(given_batches.stream(spark, tmp_path / "in"), event_time="ts")
    rows.process("running", spend, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(rh.sinks.memory())
    query = run(t, tmp_path / "checkpoint", slots=4, shards=64, policy="balance")
    last = query.progress[-1]
    assert last.hottest["by key"][0] == "key='hot'"
    assert last.hottest["by key"][1] > 0.5
    assert "(key='hot') alone carries" in last.hot["by key"]
    assert "no placement is balanced" in last.hot["by key"]


def test_looking_ahead_balances_rows_before_they_are_routed(spark: SparkSession, tmp_path: Path) -> None:
    """In every epoch other keys are busy, all of them in the first of three slots until something moves."""
    shard = shard_sql("xxhash64(concat('k', id))", 64)
    keys = [f"k{r.id}" for r in spark.range(200).where(f"{shard} < 64 div 3").limit(24).collect()]
    given_batches = Batches.of(*([(e * SECOND, keys[6 * e + i % 6], 1) for i in range(60)] for e in range(4)))
    t = rh.Topology("ahead")
    rows = t.source(given_batches.stream(spark, tmp_path / "in"), event_time="ts")
    rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(
        rh.sinks.parquet(str(tmp_path / "running"))
    )
    policy = rh.policies.Balance(threshold=1.5, ahead=True)
    query = run(t, tmp_path / "checkpoint", slots=3, shards=64, policy=policy)
    assert same(result(tmp_path, "running"), expected_running(given_batches))
    first = query.progress[0]
    assert [c.reason for c in first.changes] == ["the busiest slot will have 3.00 times the mean"]
    assert all("will have" in c.reason for p in query.progress for c in p.changes)


def heavy_packages(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, None]:
    """Packages of extras that a task has loaded."""
    found = {"numba", "sklearn", "scipy", "matplotlib"} & set(sys.modules)
    return rows.select("key", found=pl.lit(",".join(sorted(found)))), None


def test_tasks_load_no_package_of_an_extra(spark: SparkSession, tmp_path: Path) -> None:
    given_batches = Batches.of([(0, "a", 1), (0, "b", 1)])
    t = rh.Topology("light")
    rows = t.source(given_batches.stream(spark, tmp_path / "in"), event_time="ts")
    rows.process("heavy", heavy_packages, by="key", schema="key string, found string").sink(
        rh.sinks.parquet(str(tmp_path / "heavy"))
    )
    run(t, tmp_path / "checkpoint", policy="balance")
    assert result(tmp_path, "heavy")["found"].unique().to_list() == [""]


def test_wishes_that_cannot_be_met(spark: SparkSession, tmp_path: Path) -> None:
    Batches.of([(0, "a", 1)]).write(tmp_path / "in")
    query = topology(spark, tmp_path).start(str(tmp_path / "checkpoint"), shards=16)
    try:
        for slots in (0, -1, 17):
            with pytest.raises(rh.ConfigurationError, match=f"slots={slots}: a component has between 1 and 16 slots"):
                query.rescale(slots)
        with pytest.raises(
            rh.ConfigurationError, match="no component 'by nobody' can be routed anew; there are by key"
        ):
            query.rescale(2, component="by nobody")
        with pytest.raises(rh.ConfigurationError, match=r"threshold=0\.5"):
            query.rebalance(threshold=0.5)
    finally:
        query.stop()
