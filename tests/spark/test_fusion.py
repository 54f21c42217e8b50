"""Fusion on Spark: whatever is fused, kept apart or planned anew at a restart, results are the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.planning.replan import figures_of
from rheostat.spark import replanner, resume
from rheostat.state.inspection import inspect
from tests.spark.streams import SECOND, Batches, assert_same, expected, read_stream, run

SCHEMA = {"ts": pl.Int64, "key": pl.String, "word": pl.String, "value": pl.Int64}
WINDOWS = {
    "both": rh.sliding("3 minutes", every="1 minute"),
    "key": rh.tumbling("1 minute", "3 minutes"),
    "word": rh.tumbling("2 minutes"),
    "none": rh.tumbling("1 minute"),
}
BY = {"both": ["key", "word"], "key": ["key"], "word": ["word"], "none": []}


def batches(epochs: int = 6) -> Batches:
    rng = np.random.default_rng(5)

    def or_null(value: str) -> str | None:
        return None if rng.random() < 0.1 else value

    return Batches.of(
        *(
            [
                (
                    int(epoch * 60 + rng.integers(-20, 60)) * SECOND,
                    or_null(f"k{rng.integers(0, 3)}"),
                    or_null(f"w{rng.integers(0, 20)}"),
                    int(rng.integers(-9, 9)),
                )
                for _ in range(80)
            ]
            for epoch in range(epochs)
        ),
        schema=SCHEMA,
    )


def topology(spark: SparkSession, folder: Path, fuse: dict[str, bool | str]) -> rh.Topology:
    t = rh.Topology("fusion")
    source = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="30 seconds")
    for name, with_ in fuse.items():
        wanted = {"n": rh.count(), "s": rh.sum("value"), "m": rh.max("value")}
        if name == "word":
            wanted["distinct"] = rh.approx_distinct("key")  # a sketch, which tasks cannot make of single rows
        computed = source.compute(name, by=BY[name], fuse=with_, aggregates=wanted)
        computed.consolidate(f"{name}_windows", WINDOWS[name]).sink(rh.sinks.parquet(str(folder / name)))
    return t


def check(folder: Path, rows: Batches, names: Any) -> None:
    for name in names:
        found = pl.read_parquet(folder / name / "*" / "*.parquet", hive_partitioning=False)
        assert_same(found.drop("distinct", strict=False), expected(rows, WINDOWS[name], BY[name], slack=30 * SECOND))


fuses = st.fixed_dictionaries(
    {
        "both": st.sampled_from([True, False, "key", "word"]),
        "key": st.booleans(),
        "word": st.booleans(),
        "none": st.booleans(),
    }
).filter(lambda f: not (isinstance(f["both"], str) and f[f["both"]] is False))


@pytest.mark.papers
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    runs=st.lists(st.tuples(fuses, st.integers(1, 3), st.sampled_from(["auto", "combined"])), min_size=3, max_size=3)
)
def test_any_fusion_in_any_run(spark: SparkSession, runs: list[tuple[dict[str, bool | str], int, str]]) -> None:
    """Three runs over one checkpoint, each with fusions, slots and a layout of its own; open windows go along."""
    rows = batches()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (fuse, slots, layout) in enumerate(runs):
            Batches(rows.frames[2 * number : 2 * number + 2]).write(folder / "in", first=2 * number)
            run(topology(spark, folder, fuse), folder / "checkpoint", slots=slots, layout=layout)
        check(folder, rows, BY)


@pytest.fixture
def slow_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in these tiny epochs is some milliseconds; a factor makes seconds of them."""

    def slow(plan: Any, traffic: Any, *others: Any) -> Any:
        return figures_of(plan, {t: {**v, "seconds": 1_000 * v["seconds"]} for t, v in traffic.items()}, *others)

    monkeypatch.setattr(resume, "figures_of", slow)


@pytest.mark.usefixtures("slow_tasks")
def test_few_values_with_much_work_are_no_longer_fused_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rows = batches()
    Batches(rows.frames[:3]).write(tmp_path / "in")
    fuse: dict[str, bool | str] = {"both": True, "key": True}
    first = run(topology(spark, tmp_path, fuse), tmp_path / "checkpoint", slots=8)
    assert [c.attributes for c in first.view.components] == [("key",)]
    assert "partials" in first.explain()
    Batches(rows.frames[3:5]).write(tmp_path / "in", first=3)
    second = run(topology(spark, tmp_path, fuse), tmp_path / "checkpoint", slots=8)
    assert sorted(c.attributes for c in second.view.components) == [("key",), ("key", "word")]
    assert "the busiest shard would have" in second.explain()
    assert ["operators fused anew", "both"] in [
        [e["kind"], e["values"].get("tables")] for e in inspect(str(tmp_path / "checkpoint"))["events"]
    ]
    Batches(rows.frames[5:]).write(tmp_path / "in", first=5)
    third = run(topology(spark, tmp_path, fuse), tmp_path / "checkpoint", slots=2)
    assert third.status.state == "stopped"
    check(tmp_path, rows, fuse)


@pytest.mark.papers
@pytest.mark.usefixtures("slow_tasks")
@pytest.mark.parametrize("policy", ["static", "balance", "streamswitch"])
def test_a_running_query_is_planned_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setattr(replanner, "EVERY", 1)
    monkeypatch.setattr(replanner, "TIMES", 2)
    rows = batches(8)
    rows.write(tmp_path / "in")
    fuse: dict[str, bool | str] = {"both": True, "key": True}
    promise = {"slo": rh.Latency("1 second"), "slots": (8, 8)} if policy == "streamswitch" else {"slots": 8}
    query = run(topology(spark, tmp_path, fuse), tmp_path / "checkpoint", policy=policy, **promise)
    assert sorted(c.attributes for c in query.view.components) == [("key",), ("key", "word")]
    assert set(query.routing) == {"by key", "by key, word"}
    (event,) = [e for e in inspect(str(tmp_path / "checkpoint"))["events"] if e["kind"] == "operators fused anew"]
    assert 2 <= event["epoch"] < 8
    assert event["values"]["tables"] == "both"
    assert "instead of" in event["values"]["why"]
    before = next(p for p in query.progress if p.epoch == event["epoch"] - 1)
    assert set(before.slot_seconds) == {"by key"}
    assert set(query.progress[-1].slot_seconds) == {"by key", "by key, word"}
    check(tmp_path, rows, fuse)
    more = batches(10)
    Batches(more.frames[8:]).write(tmp_path / "in", first=8)
    run(topology(spark, tmp_path, fuse), tmp_path / "checkpoint")
    check(tmp_path, more, fuse)


@pytest.mark.usefixtures("slow_tasks")
@pytest.mark.parametrize(
    "step",
    [pytest.param("decide", marks=pytest.mark.papers), pytest.param("ingest", marks=pytest.mark.papers), "sinks"],
)
def test_a_crash_while_a_running_query_is_planned_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(replanner, "EVERY", 1)
    monkeypatch.setattr(replanner, "TIMES", 2)
    rows = batches(8)
    rows.write(tmp_path / "in")
    fuse: dict[str, bool | str] = {"both": True, "key": True}

    def probe(done: str) -> None:
        if done == step and "by key, word" in (query.routing if queries else {}):
            raise InterruptedError

    queries: list[rh.Query] = []
    query = topology(spark, tmp_path, fuse).start(
        str(tmp_path / "checkpoint"), trigger="1 second", probe=probe, slots=8
    )
    queries.append(query)
    with pytest.raises(InterruptedError):
        query.await_termination(60)
    run(topology(spark, tmp_path, fuse), tmp_path / "checkpoint")
    check(tmp_path, rows, fuse)


def test_a_crash_after_sharding_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    rows = batches()
    Batches(rows.frames[:3]).write(tmp_path / "in")
    run(topology(spark, tmp_path, {"both": True, "key": True}), tmp_path / "checkpoint")
    Batches(rows.frames[3:]).write(tmp_path / "in", first=3)

    def probe(step: str) -> None:
        if step == "sinks":
            raise InterruptedError

    apart: dict[str, bool | str] = {"both": False, "key": True}
    query = topology(spark, tmp_path, apart).start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, probe=probe)
    with pytest.raises(InterruptedError):
        query.await_termination(60)
    again = run(topology(spark, tmp_path, apart), tmp_path / "checkpoint")
    assert "both by key, word" in {c.name for c in again.view.components}
    check(tmp_path, rows, apart)


def test_operators_that_share_panes_go_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that are too late for the shorter windows still count in the longer ones; one operator leaves in the end."""
    rows, seconds = batches(), (10, 60, 240)

    def shared(*wanted: int) -> rh.Topology:
        t = rh.Topology("panes")
        source = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
        for size in wanted:
            computed = source.compute(f"c{size}", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
            computed.consolidate(f"w{size}", rh.tumbling(f"{size} seconds")).sink(
                rh.sinks.parquet(str(tmp_path / f"out{size}"))
            )
        return t

    for number in range(2):
        Batches(rows.frames[2 * number : 2 * number + 2]).write(tmp_path / "in", first=2 * number)
        query = run(shared(*seconds), tmp_path / "checkpoint", slots=number + 1)
        assert query.view.shuffles == 0
        assert query.status.late > query.status.dropped
    Batches(rows.frames[4:]).write(tmp_path / "in", first=4)
    run(shared(10, 240), tmp_path / "checkpoint", drop=["c60"])
    for size in (10, 240):
        found = pl.read_parquet(tmp_path / f"out{size}" / "*" / "*.parquet", hive_partitioning=False)
        assert_same(found, expected(rows, rh.tumbling(f"{size} seconds"), ["key"]))
