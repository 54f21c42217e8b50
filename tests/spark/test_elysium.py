"""ELYSIUM at the wheel of a real query: what it learns, what it decides, and what the next run knows of it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.elastic.elysium.live.live_elysium import LiveElysium
from rheostat.errors import ConfigurationError
from rheostat.spark.profile_keeper import past_loads
from rheostat.spark.profile_run import figures_of, profile_topology, with_thresholds
from rheostat.state.inspection import inspect
from tests.spark.processors import RUNNING_SCHEMA, RUNNING_STATE, expected_running, running, same
from tests.spark.streams import SECOND, Batches, read_stream, run

ROW_SECONDS = 0.01
BATCHES = Batches.of(*([((e * 40 + i) * SECOND, f"k{i}", i) for i in range(60 if e < 5 else 4)] for e in range(9)))


def slow(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    time.sleep(0.01 * len(rows))
    return running(rows, state)


def topology(spark: SparkSession, folder: Path, logic: Any = slow) -> rh.Topology:
    t = rh.Topology("slow")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts")
    rows.process("running", logic, by="key", state=RUNNING_STATE, schema=RUNNING_SCHEMA).sink(
        rh.sinks.parquet(str(folder / "out"))
    )
    return t


def stored(folder: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((folder / "checkpoint" / "profile.json").read_text())
    return plain


def test_elysium_learns_decides_and_is_known_to_the_next_run(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    policy = LiveElysium(period=0.05)  # every epoch ends a period
    query = run(topology(spark, tmp_path), tmp_path / "checkpoint", slots=(1, 8), shards=16, policy=policy)
    assert same(pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False),
                expected_running(BATCHES))  # fmt: skip
    decisions = query.decisions()
    assert {d.policy for d in decisions} == {"elysium"}
    assert any("rows/s need" in reason for d in decisions for reason in d.reasons)
    learned = stored(tmp_path)["operators"]["by key"]
    assert learned["rows"] == pytest.approx(316, rel=0.05)
    assert learned["source_rows"] == pytest.approx(316, rel=0.05)
    assert learned["seconds"] >= 0.9 * 316 * ROW_SECONDS  # a sleeping slot has its core
    assert learned["computing"] < learned["seconds"]
    assert learned["memory"] > 1e6
    assert len(stored(tmp_path)["loads"]["values"]) >= 3

    # Another run begins with it.
    Batches(BATCHES.frames[:2]).write(tmp_path / "in", first=9)  # the last epoch of a run is not learned from
    run(topology(spark, tmp_path), tmp_path / "checkpoint", policy=LiveElysium(period=0.05))
    assert stored(tmp_path)["operators"]["by key"]["rows"] > learned["rows"]

    # Other logic is another declaration: nothing is known of it, and the user is told.
    Batches(BATCHES.frames[:2]).write(tmp_path / "in", first=11)
    with pytest.warns(UserWarning, match="operator 'by key' is declared differently now"):
        run(topology(spark, tmp_path, running), tmp_path / "checkpoint", policy="elysium")
    assert stored(tmp_path)["operators"]["by key"]["rows"] == pytest.approx(60, rel=0.05)
    events = inspect(str(tmp_path / "checkpoint"))["events"]
    assert ["is discarded" in e["values"]["what"] for e in events if e["kind"] == "profile"] == [True]


def test_a_damaged_profile_costs_a_message_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    Batches(BATCHES.frames[5:7]).write(tmp_path / "in")
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "profile.json").write_text("{")
    with pytest.warns(UserWarning, match="is not a profile.*the query learns anew"):
        run(topology(spark, tmp_path, running), tmp_path / "checkpoint", policy="joint-scaling")
    assert stored(tmp_path)["operators"]["by key"]["rows"] == pytest.approx(4, rel=0.05)


def test_a_history_is_for_policies_that_forecast(spark: SparkSession, tmp_path: Path) -> None:
    Batches(BATCHES.frames[5:7]).write(tmp_path / "in")
    with pytest.raises(ConfigurationError, match="policy 'static' forecasts nothing: pass policy='elysium-proactive'"):
        run(topology(spark, tmp_path), tmp_path / "checkpoint", history="loads.csv")
    with pytest.raises(ConfigurationError, match="there is no such file"):
        run(topology(spark, tmp_path), tmp_path / "checkpoint", policy="elysium-proactive", history="loads.csv")
    loads = tmp_path / "loads.csv"
    loads.write_text("time,rows\n" + "".join(f"2026-01-01 00:{m:02d}:00,{100 + m}\n" for m in range(30)))
    run(topology(spark, tmp_path, running), tmp_path / "checkpoint", policy="elysium-proactive", history=loads)
    kept = stored(tmp_path)["loads"]
    assert (kept["step"], len(kept["values"]) >= 180) == (10.0, True)  # the minutes of the file, in periods


def test_a_profiling_phase_sweeps_slots_and_writes_no_results(spark: SparkSession, tmp_path: Path) -> None:
    Batches([*BATCHES.frames[:5]] * 30).write(tmp_path / "in")
    checkpoint, steps = str(tmp_path / "checkpoint"), set[int]()
    found = profile_topology(
        topology(spark, tmp_path), checkpoint, seconds=6.0, slots=(1, 2), shards=16,
        step=lambda phase, share: steps.add(phase.slots),
    )  # fmt: skip
    assert steps == {1, 2}
    assert not (tmp_path / "out").exists()
    assert [p.name for p in (tmp_path / "checkpoint").iterdir()] == ["profile.json"]
    figures = figures_of(found.profile.operators["by key"])
    assert figures["selectivity"] == pytest.approx(1.0)
    assert figures["row_seconds"] is not None
    assert figures["row_seconds"] >= 0.7 * ROW_SECONDS
    # Thresholds can be learned from a recorded load, and the next run uses both.
    history = tmp_path / "loads.csv"
    history.write_text("time,rows\n" + "".join(f"2026-01-01 00:{m:02d}:00,{80}\n" for m in range(30)))
    told = with_thresholds(checkpoint, topology(spark, tmp_path), found, past_loads(history, 10.0), nodes=(1, 4))
    assert "learned from 180 periods" in told.messages[-1]
    assert stored(tmp_path)["thresholds"]["cpu_max"] >= 0.6
