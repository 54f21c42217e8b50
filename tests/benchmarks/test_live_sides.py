"""Runs against the clock, short ones: every row is accounted for, and the loads are what the benchmark says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from benchmarks import bench_law, bench_slo
from benchmarks.decision_time import decision_seconds
from benchmarks.live_loads import CALM, LOADS, PEAK, ROW_SECONDS, SLOTS, rows_of
from benchmarks.live_side import LiveRun, run_live
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.record.recording import Recording


@pytest.mark.parametrize("name", LOADS)
def test_loads_are_within_what_the_most_slots_carry(name: str) -> None:
    load = LOADS[name](180)
    assert len(load) == 180
    assert CALM - 1e-9 <= load.min() <= load.max() <= PEAK + 1e-9
    assert PEAK < SLOTS / 2
    rows = rows_of(name, 20, 180)
    assert len(rows) == pytest.approx((load.sum() + 20 * load[0]) / ROW_SECONDS, abs=1)


def test_an_opening_is_calm_then_a_burst_that_decays() -> None:
    load = LOADS["opening"](180)
    peak = int(load.argmax())
    assert load[:peak].max() < CALM * 1.2
    assert load[peak] == pytest.approx(PEAK)
    assert load[peak + 10] < PEAK / 2
    assert load[peak + 60 :].max() < CALM * 1.2


def test_a_run_accounts_for_every_row(spark: SparkSession, tmp_path: Path) -> None:
    rows = bench_law.rows_in_phases(len(bench_law.PHASES))
    changed: list[float] = []

    def rescale_once(query: rh.Query, elapsed: float) -> None:
        if not changed and query.status.epoch >= 0:
            changed.append(elapsed)
            query.rescale(slots=3)

    promise = Latency("3 seconds")
    done = run_live(
        spark, rows, tmp_path / "run", rescale_once, slots=2, slo=promise, policy="static", record=tmp_path / "r.jsonl"
    )
    assert done["drained"]
    run = LiveRun(tmp_path / "run", rows)
    assert run.is_exact
    assert {2, 3} <= set(run.slots.tolist())
    assert (run.committed.latency > 0).all()
    assert np.isfinite(run.committed.committed).all()
    figures = bench_slo._figures(run, promise, warm_up=0, seconds=30)
    assert figures["exact"]
    assert 0 <= figures["success_rate"] <= 1
    assert 2 * 25 < figures["slot_seconds"] <= 3 * 30
    assert len(Recording.read(tmp_path / "r.jsonl").turns) > 0


def test_a_run_that_lost_a_row_is_not_exact(spark: SparkSession, tmp_path: Path) -> None:
    rows = rows_of("wander", 0, 1)
    run_live(spark, rows, tmp_path / "run", slots=2)
    run = LiveRun(tmp_path / "run", rows)
    assert run.is_exact
    run.__dict__["output"] = run.output.slice(1)
    assert not run.is_exact


def test_decisions_are_timed() -> None:
    policy = policy_for_spark("streamswitch", Latency("2 seconds"), (1, 64))
    taken = decision_seconds(policy, shards=512, epochs=30)
    assert len(taken) == 30
    assert (taken > 0).all()
