"""Tweets of ``bench shuffle``: at the rate of their slots, every one once on both sides, and figures that add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.bench_shuffle import report
from benchmarks.tweet_rows import KINDS, PROVISIONING, SECONDS, Phases
from benchmarks.tweet_side import run_phases


def test_tweets_arrive_at_what_the_slots_can_sustain() -> None:
    phases = Phases((8, 2), seconds=30, pause=5, warm_up=10)
    rows = phases.rows
    work = np.array(SECONDS)[rows.keys % KINDS]
    for phase, slots in enumerate(phases.slots):
        counted = phases.counted(phase, rows.times)
        busy = work[counted].sum() / phases.seconds
        assert busy * PROVISIONING == pytest.approx(slots, rel=0.05)
    assert (np.diff(rows.times) > 0).all()


def test_uniform_tweets_cost_the_mean() -> None:
    mixed, uniform = Phases((5,)), Phases((5,), uniform=True)
    assert (mixed.rows.keys == uniform.rows.keys).all()
    assert (mixed.rows.times == uniform.rows.times).all()
    mean = float(np.array(SECONDS)[mixed.rows.keys % KINDS].mean())
    assert list(uniform.costs) == pytest.approx([mean] * 3, rel=0.02)


@pytest.mark.parametrize("side", ["repartition", "lpt"])
def test_every_tweet_comes_out_once(spark: SparkSession, tmp_path: Path, side: str) -> None:
    found = run_phases(spark, side, Phases((2, 1), seconds=2, pause=1, warm_up=1), tmp_path / side)
    assert found["exact"]
    assert min(found["completion"]) > 0
    assert min(found["epochs"]) >= 1


def test_figures_compare_with_repartition() -> None:
    def side(*completion: float) -> dict[str, Any]:
        return {"completion": completion, "epochs": [1, 1], "decisions": [], "exact": True}

    found = {
        "repartition": side(4.0, 3.0),
        "round_robin": side(4.0, 2.0),
        "posg": side(2.0, 2.0),
        "lpt": side(2.0, 1.0),
    }
    even = {"repartition": side(2.0), "round_robin": side(2.5), "posg": side(2.6), "lpt": side(2.55)}
    figures = report([10, 2], 5, found, even)
    assert (figures["posg_speedup"], figures["lpt_speedup"], figures["round_robin_speedup"]) == (1.75, 2.5, 1.25)
    assert figures["full_knowledge_speedup"] is None
    assert (figures["uniform_overhead"], figures["uniform_over_repartition"]) == (0.04, 0.3)
    assert figures["speedups"]["lpt"] == {10: 2.0, 2: 3.0}
    assert figures["results_equal"]
