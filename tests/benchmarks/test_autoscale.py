"""What ``rheostat bench autoscale`` runs and how it counts; the runs themselves need a cluster and minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.autoscale_loads import CALM, CYCLE, LOADS, NODES, PEAK
from benchmarks.autoscale_side import DYNAMIC, options_of
from benchmarks.bench_autoscale import SIDES, WINDOW, nodes_saved, throughput_degradation
from benchmarks.live_loads import ROW_SECONDS
from rheostat.elastic.elysium.live.load_cycles import cycles_of
from rheostat.elastic.model.node_range import NodeRange
from rheostat.spark.profile_keeper import past_loads


@pytest.mark.parametrize("name", LOADS)
def test_loads_reach_from_calm_to_peak_and_all_nodes_carry_them(name: str) -> None:
    curve = LOADS[name](240)
    assert (curve.load.min(), curve.load.max()) == (pytest.approx(CALM), pytest.approx(PEAK))
    assert PEAK < 0.65 * NODES
    assert len(curve.rows()) == pytest.approx(curve.load.sum() / ROW_SECONDS, abs=1)


def test_a_proactive_side_knows_the_past_and_its_cycle(tmp_path: Path) -> None:
    options = options_of("proactive", LOADS["square"](240), tmp_path / "run", period=10.0)
    past = past_loads(options["history"], 10.0)
    assert past.values.max() == pytest.approx(PEAK / ROW_SECONDS)
    assert cycles_of(past) == (float(CYCLE),)


def test_sides_differ_in_who_decides_on_nodes(tmp_path: Path) -> None:
    found = {side: options_of(side, LOADS["square"](240), tmp_path / side, period=10.0) for side in SIDES}
    assert {s: o["nodes"] for s, o in found.items() if "nodes" in o} == dict.fromkeys(
        ("reactive", "proactive", "joint"), NodeRange(1, NODES)
    )
    assert found["fixed"] == found["dynamic"] == {"policy": "static", "slots": NODES}
    assert int(DYNAMIC["spark.dynamicAllocation.maxExecutors"]) == NODES


def test_degradation_counts_rows_that_are_late_and_those_that_are_caught_up() -> None:
    due = np.arange(0.0, 80.0, 0.1)
    steady = np.arange(1.0, 81.0)
    assert throughput_degradation(due, steady, np.full(80, 10.0), 0.0, 80.0) == pytest.approx(0.0)
    # Nothing in the second window, twice as much in the third.
    rows = np.full(80, 10.0)
    rows[20:40], rows[40:60] = 0.0, 20.0
    assert throughput_degradation(due, steady, rows, 0.0, 80.0) == pytest.approx((0 + 1 + 1 + 0) / 4)
    assert WINDOW == 20.0


def test_nodes_are_saved_with_respect_to_all_of_them() -> None:
    assert nodes_saved(np.full(10, float(NODES))) == 0.0
    assert nodes_saved(np.array([1.0, float(NODES)])) == pytest.approx((NODES - 1) / (2 * NODES))
