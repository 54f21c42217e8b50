"""Keyed state on Spark: over frames, key by key, joins, timers, time to live, and what comes before and after."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
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
from tests.spark.streams import MINUTE, SECOND, T0, Batches, assert_same, expected, read_stream, run


def batches(epochs: int = 5, rows: int = 60, keys: int = 9, seed: int = 1) -> Batches:
    rng = random.Random(seed)
    names = [None, "", "ключ", *(f"k{i}" for i in range(keys))]
    return Batches.of(
        *(
            [((e * 60 + rng.randrange(60)) * SECOND, rng.choice(names), rng.randrange(5)) for _ in range(rows)]
            for e in range(epochs)
        )
    )


def source(spark: SparkSession, folder: Path, given: Batches, **options: Any) -> tuple[rh.Topology, rh.Stream]:
    t = rh.Topology("test")
    return t, t.source(given.stream(spark, folder / "in"), event_time="ts", **options)


def test_both_levels_in_one_stage(spark: SparkSession, tmp_path: Path) -> None:
    given = batches()
    t, rows = source(spark, tmp_path, given)
    totals, traces = rh.sinks.memory(), rh.sinks.memory()
    rows.process("running", running, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(totals)
    rows.process_keys("trace", Trace, by="key", schema=TRACE_SCHEMA).sink(traces)
    query = run(t, tmp_path / "checkpoint", slots=3, shards=16)
    assert same(totals.frame(), expected_running(given))
    assert same(traces.frame(), expected_trace(given))
    assert query.view.shuffles == 1
    last = query.progress[-1]
    assert last.rows == 60
    assert last.results == {"running": len(given.frames[-1]["key"].unique()), "trace": 60}
    assert set(last.imbalance) == {"by key"}
    assert last.hottest["by key"][0].startswith("key=")
    assert last.fetched_bytes == last.migrated_bytes == 0, "everything is on this node's own disk"


def test_an_order_of_the_users_own(spark: SparkSession, tmp_path: Path) -> None:
    given = Batches.of([(0, "a", 3), (0, "a", 1), (0, "b", 9), (0, "a", 2)], [(0, "a", 7), (0, "a", 5)])
    t, rows = source(spark, tmp_path, given)
    arrival, sorted_ = rh.sinks.memory(), rh.sinks.memory()
    rows.process_keys("arrival", Trace, by="key", schema=TRACE_SCHEMA).sink(arrival)
    rows.process_keys("sorted", Trace, by="key", schema=TRACE_SCHEMA, order="value").sink(sorted_)
    run(t, tmp_path / "checkpoint")

    def final(frame: pl.DataFrame) -> str:
        return str(frame.filter(pl.col("key") == "a").sort("n")["history"][-1]).split("]")[0]

    assert final(arrival.frame()) == "[3, 1, 2, 7, 5"
    assert final(sorted_.frame()) == "[1, 2, 3, 5, 7"


def over_arrow(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    assert isinstance(rows, pa.Table)
    counted = rows.group_by("key").aggregate([("value", "count")]).rename_columns(["key", "n"])
    known = dict(zip(state["key"].to_pylist(), state["n"].to_pylist(), strict=True))
    totals = [n + known.get(k, 0) for k, n in zip(counted["key"].to_pylist(), counted["n"].to_pylist(), strict=True)]
    changed = pa.table({"key": counted["key"], "n": totals})
    return changed.append_column("many", pc.greater(changed["n"], 10)), changed


def test_arrow_frames(spark: SparkSession, tmp_path: Path) -> None:
    given = batches()
    t, rows = source(spark, tmp_path, given)
    sink = rh.sinks.memory()
    rows.process(
        "n",
        over_arrow,
        by="key",
        schema="key string, n bigint, many boolean",
        state=rh.keyed_state("n bigint"),
        over="arrow",
    ).sink(sink)
    run(t, tmp_path / "checkpoint")
    counts = expected_running(given).select("key", "n").with_columns(many=pl.col("n") > 10)
    assert same(sink.frame(), counts)


def test_state_before_and_after_windows(spark: SparkSession, tmp_path: Path) -> None:
    """source -> process -> windows -> process: three levels, one watermark."""

    def pass_on(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        new = rows.group_by("key").agg(n=pl.len().cast(pl.Int64))
        return rows, new

    given = Batches.of(*([(e * MINUTE + i * SECOND, f"k{i % 3}", i) for i in range(30)] for e in range(6)))
    t, rows = source(spark, tmp_path, given)
    schema = "ts timestamp, key string, value bigint"
    passed = rows.process("pass", pass_on, by="key", schema=schema, state=rh.keyed_state("n bigint"))
    windows = passed.compute("by", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value")).consolidate(
        "windows", rh.tumbling("1 minute", "2 minutes")
    )
    results, changes = rh.sinks.memory(), rh.sinks.memory()
    windows.sink(results)

    def largest(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        best = pl.concat([rows.select("key", best=pl.col("s")), state]).group_by("key").agg(pl.col("best").max())
        return best, best

    kept = rh.keyed_state("best bigint")
    windows.process("largest", largest, by="key", schema="key string, best bigint", state=kept).sink(changes)
    query = run(t, tmp_path / "checkpoint")
    oracle = expected(given, rh.tumbling("1 minute", "2 minutes"))
    assert_same(results.frame(), oracle)
    best = oracle.group_by("key").agg(best=pl.col("s").max())
    assert same(changes.frame().group_by("key").agg(pl.col("best").max()), best)
    assert len(query.view.components) == 3


def both_sides(rows: dict[str, pl.DataFrame], state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A keyed join: amounts of orders that were paid, whichever came first."""
    orders = rows["orders"].select("key", amount=pl.col("value"))
    payments = rows["payments"].select("key").unique().with_columns(paid=pl.lit(value=True))
    known = pl.concat(
        [state.select("key", "amount", "paid"), orders.join(payments, on="key", how="full", coalesce=True)]
    )
    merged = known.group_by("key").agg(pl.col("amount").max(), pl.col("paid").max())
    done = merged.filter(pl.col("amount").is_not_null() & pl.col("paid").is_not_null())
    already = state.filter(pl.col("amount").is_not_null() & pl.col("paid").is_not_null()).select("key")
    return done.join(already, on="key", how="anti").select("key", "amount"), merged


class Paid(rh.KeyProcessor):
    amount = rh.value("bigint")
    paid = rh.value("boolean", default=False)

    def process(self, key: Any, rows: Any, context: rh.Context) -> Iterable[Any]:
        before = self.amount is not None and self.paid
        for order in rows["orders"]:
            self.amount = order.value
        self.paid = self.paid or bool(rows["payments"])
        if not before and self.amount is not None and self.paid:
            yield {"key": key.key, "amount": self.amount}


@pytest.mark.parametrize("logic", [both_sides, Paid])
def test_two_streams_meet(spark: SparkSession, tmp_path: Path, logic: Any) -> None:
    orders = Batches.of(*([(e * SECOND, f"o{e * 10 + i}", e * 10 + i) for i in range(10)] for e in range(3)))
    # Some are paid before they are ordered, some never, some twice.
    payments = Batches.of(*([(e * SECOND, f"o{(e * 10 + 7 * i) % 30}", 0) for i in range(6)] for e in range(3)))
    t = rh.Topology("join")
    left = t.source(orders.stream(spark, tmp_path / "orders"), event_time="ts", name="orders")
    right = t.source(payments.stream(spark, tmp_path / "payments"), event_time="ts", name="payments")
    sink = rh.sinks.memory()
    options: dict[str, Any] = {"by": "key", "join": [right], "schema": "key string, amount bigint"}
    if logic is Paid:
        joined = left.process_keys("paid", logic, **options)
    else:
        joined = left.process("paid", logic, state=rh.keyed_state("amount bigint, paid boolean"), **options)
    joined.sink(sink)
    query = run(t, tmp_path / "checkpoint", slots=2)
    paid = {f"o{(e * 10 + 7 * i) % 30}" for e in range(3) for i in range(6)}
    assert sorted(sink.frame().rows()) == sorted((k, int(k[1:])) for k in paid)
    assert query.status.watermarks["orders+payments"] == T0 + 2 * SECOND
    assert len(query.view.components) == 1


class Sessions(rh.KeyProcessor):
    """Rows less than a minute apart are one session, which ends with a timer."""

    count = rh.value("bigint", default=0)
    ends = rh.value("timestamp")

    def process(self, key: Any, rows: Any, context: rh.Context) -> Iterable[Any]:
        for row in rows:
            self.count += 1
            if self.ends is not None:
                context.cancel_timer(self.ends)
            self.ends = max(row.ts + timedelta(minutes=1), self.ends or row.ts)
            context.set_timer(self.ends)
        return ()

    def on_timer(self, key: Any, at: Any, context: rh.Context) -> Iterable[Any]:
        yield key.key, self.count, at
        context.remove()


def sessions(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[None, pl.DataFrame]:
    new = rows.group_by("key").agg(count=pl.len().cast(pl.Int64), timer=pl.col("ts").max() + timedelta(minutes=1))
    both = pl.concat([state.select("key", "count", "timer"), new])
    return None, both.group_by("key").agg(pl.col("count").sum(), pl.col("timer").max())


def session_ends(state: pl.DataFrame) -> tuple[pl.DataFrame, None, pl.DataFrame]:
    return state.select("key", "count", ended=pl.col("timer")), None, state.select("key")


@pytest.mark.parametrize("per_key", [True, False])
@pytest.mark.parametrize("restart", [True, False])
def test_timers_fire_when_the_watermark_passes(
    spark: SparkSession, tmp_path: Path, per_key: bool, restart: bool
) -> None:
    # b's first session ends in the second epoch, its second begins in the third. Rows of an epoch come before timers.
    times = [(0, "a"), (10, "a"), (20, "b"), (65, "a")], [(90, "e")], [(100, "b"), (100, "c"), (101, "e")], [(200, "d")]
    given = Batches.of(*([(ts * SECOND, key, 0) for ts, key in rows] for rows in times))

    def topology() -> tuple[rh.Topology, Any]:
        t = rh.Topology("sessions")
        rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
        schema = "key string, count bigint, ended timestamp"
        if per_key:
            ended = rows.process_keys("sessions", Sessions, by="key", schema=schema)
        else:
            ended = rows.process(
                "sessions",
                sessions,
                by="key",
                schema=schema,
                state=rh.keyed_state("count bigint"),
                on_timer=session_ends,
            )
        sink = rh.sinks.parquet(str(tmp_path / "out"))
        ended.sink(sink)
        return t, sink

    if restart:
        for i, frame in enumerate(given.frames):
            Batches([frame]).write(tmp_path / "in", first=i)
            run(topology()[0], tmp_path / "checkpoint", slots=1 + i % 2)
    else:
        given.write(tmp_path / "in")
        run(topology()[0], tmp_path / "checkpoint")
    out = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    found = [(k, n, (at.timestamp() * 1e6 - T0) / SECOND) for k, n, at in out.rows()]
    assert sorted(found) == [
        ("a", 3, 125.0), ("b", 1, 80.0), ("b", 1, 160.0), ("c", 1, 160.0), ("e", 2, 161.0)
    ]  # fmt: skip


def test_state_is_forgotten_by_event_time(spark: SparkSession, tmp_path: Path) -> None:
    times = [(0, "a"), (0, "b")], [(50, "a")], [(100, "a")], [(130, "b"), (130, "a")], [(500, "c")], [(510, "a")]
    given = Batches.of(*([(t * SECOND, k, 1) for t, k in rows] for rows in times))
    t, rows = source(spark, tmp_path, given)
    sink = rh.sinks.memory()
    state = replace(RUNNING_STATE, ttl="1 minute", clock="event")
    kept = rows.process("running", running, by="key", state=state, schema=RUNNING_SCHEMA)
    kept.sink(sink)
    run(t, tmp_path / "checkpoint")
    # The watermark of the epoch before decides: b, last seen at 0, is forgotten at 100; a, seen at 130, at 500.
    found = [(k, n) for k, n, *_ in sink.frame().sort("key", "n").rows()]
    assert found == [("a", 1), ("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 1), ("c", 1)]


def test_state_is_forgotten_by_processing_time(spark: SparkSession, tmp_path: Path) -> None:
    given = Batches.of(*([(e * SECOND, "a", 1)] for e in range(2)))
    Batches(given.frames[:1]).write(tmp_path / "in")

    def topology(ttl: str) -> rh.Topology:
        t = rh.Topology("ttl")
        rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
        state = replace(RUNNING_STATE, ttl=ttl)
        out = rows.process("running", running, by="key", state=state, schema=RUNNING_SCHEMA)
        out.sink(rh.sinks.parquet(str(tmp_path / "out")))
        return t

    for i in range(4):
        Batches([given.frames[0]]).write(tmp_path / "in", first=i)
        run(topology("1 microsecond" if i == 2 else "1 hour"), tmp_path / "checkpoint")
    counts = [
        pl.read_parquet(tmp_path / "out" / f"epoch={i}" / "*.parquet", hive_partitioning=False)["n"].item()
        for i in range(4)
    ]
    assert counts == [1, 2, 1, 2]
