"""How well a promise was kept, against the definition written out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.latency_histogram import LatencyHistogram
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.slo import SloMeter


def epoch(rows: Any, latency: Any, seconds: float = 1.0, slots: int = 2, **more: Any) -> Observation:
    done = np.array(rows, dtype=np.float64)
    seen = OperatorObservation(
        plan=OperatorPlan.even(len(done), slots),
        arrived=done,
        completed=done,
        useful=done,
        rows=done,
        latency=np.array(latency, dtype=np.float64),
        **more,
    )
    return Observation(time=0.0, seconds=seconds, operators={"count": seen}, cores=np.array([4]))


EPOCHS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 9), min_size=3, max_size=3),
        st.lists(st.floats(0.001, 9) | st.just(np.nan), min_size=3, max_size=3),
        st.floats(0.1, 5),
    ),
    min_size=1,
    max_size=20,
)


@settings(deadline=None)
@given(EPOCHS)
def test_success_is_judged_from_rows_with_a_known_latency(epochs: list[tuple[list[int], list[float], float]]) -> None:
    meter = SloMeter(Latency("1 second", over="10 ms"))  # each epoch is a window of its own
    good, served = 0.0, 0.0
    pairs = [pair for rows, lates, _ in epochs for pair in zip(rows, lates, strict=True)]
    known = [(n, late) for n, late in pairs if n and not np.isnan(late)]
    for rows, lates, seconds in epochs:
        meter.add(epoch(rows, lates, seconds))
        for n, late in zip(rows, lates, strict=True):
            judged = n > 0 and not np.isnan(late)
            served += seconds * judged
            good += seconds * (judged and late <= 1)
    slo = meter.read()
    assert slo.rows == sum(n for n, _ in known)
    assert slo.slot_seconds == pytest.approx(2 * slo.seconds)
    if not served:
        assert np.isnan([slo.success_rate, slo.mean, slo.p50]).all()
        return
    assert slo.success_rate == pytest.approx(good / served)
    assert slo.mean == pytest.approx(sum(n * late for n, late in known) / slo.rows)
    exact = np.quantile(np.repeat([late for _, late in known], [n for n, _ in known]), 0.5, method="inverted_cdf")
    assert slo.p50 == pytest.approx(exact, rel=0.03)


def test_without_a_promise_there_is_no_success_rate() -> None:
    meter = SloMeter(None, keyed=["other"])
    meter.add(epoch([1, 2, 3], [0.5, 0.5, 0.5], executors=("1", "2")))
    slo = meter.read()
    assert np.isnan(slo.success_rate)
    assert (slo.promise, slo.mean, slo.slot_seconds, slo.node_seconds) == ("", 0.5, 0.0, 2.0)
    assert json.loads(json.dumps(slo.to_dict(), allow_nan=False))["success_rate"] is None


def test_what_was_not_measured_is_unknown() -> None:
    empty = SloMeter(Latency("1 second")).read()
    assert np.isnan([empty.success_rate, empty.p99, empty.node_seconds, empty.mean_slots]).all()
    meter = SloMeter(Latency("1 second"))
    meter.add(epoch([5, 5], [np.nan, np.nan]))
    slo = meter.read()
    assert np.isnan([slo.success_rate, slo.p99, slo.node_seconds]).all()
    assert np.isnan(slo.success_by_shard["count"]).all()
    assert json.loads(json.dumps(slo.to_dict(), allow_nan=False))["success_by_shard"] == {"count": [None, None]}


def test_latencies_of_rows_count_more_than_those_of_shards() -> None:
    meter = SloMeter(None)
    meter.add(epoch([100, 100], [1.0, 1.0]), points=(np.array([0.5, 4.0]), np.array([190.0, 10.0])))
    assert meter.read().p50 == pytest.approx(0.5, rel=0.02)
    assert meter.read().p99 == pytest.approx(4.0, rel=0.02)


@settings(deadline=None)
@given(st.lists(st.floats(1e-4, 1e5), min_size=1, max_size=50), st.sampled_from([0.01, 0.5, 0.99, 1.0]))
def test_quantiles_are_exact_to_two_percent(latencies: list[float], share: float) -> None:
    histogram = LatencyHistogram()
    for latency in latencies:
        histogram.add(np.array([latency]), np.array([1.0]))
    exact = np.quantile(latencies, share, method="inverted_cdf")
    assert histogram.quantile(share) == pytest.approx(exact, rel=0.02)
    assert histogram.rows == len(latencies)
