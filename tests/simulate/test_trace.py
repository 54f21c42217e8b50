"""The figures of a trace: quantiles from bins, means over time, and which intervals count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.simulate.continuous.kernel import bin_of
from rheostat.simulate.continuous.records import BINS
from rheostat.simulate.trace import Trace, quantile

WIDTH = 9 / 8
"""Of the widest bin: where the next one begins over where it begins."""


def binned(latencies: Any) -> Any:
    return np.bincount([bin_of(latency) for latency in latencies], minlength=BINS)


@settings(deadline=None)
@given(st.floats(1e-7, 8.0))
def test_a_latency_is_within_its_bin(latency: float) -> None:
    place = bin_of(latency)
    assert 0 <= place < BINS
    if latency >= 1e-5:
        doublings, part = divmod(place - 1, 8)
        low, width = 1e-5 * 2**doublings * (1 + part / 8), 1e-5 * 2**doublings / 8
        assert low * (1 - 1e-9) <= latency <= (low + width) * (1 + 1e-9)
    else:
        assert place == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(2e-5, 8.0), min_size=1, max_size=200), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles_are_those_of_numpy_to_within_a_bin(latencies: list[float], share: float) -> None:
    exact = np.percentile(latencies, 100 * share, method="inverted_cdf")
    assert exact / WIDTH <= quantile(binned(latencies), share) <= exact * WIDTH


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_quantiles_of_many_rows(seed: int) -> None:
    latencies = np.random.default_rng(seed).lognormal(-4.0, 1.0, 3000)
    for share in (0.5, 0.95, 0.99):
        assert quantile(binned(latencies), share) == pytest.approx(np.percentile(latencies, 100 * share), rel=0.12)


def test_without_rows_there_is_no_quantile() -> None:
    assert np.isnan(quantile(np.zeros(BINS, dtype=np.int64), 0.99))


def test_latencies_of_nothing_are_in_the_first_bin() -> None:
    assert bin_of(0.0) == bin_of(0.9e-5) == 0
    assert quantile(binned([0.0]), 0.5) <= 1e-5


def test_long_latencies_are_told_apart() -> None:
    """An overloaded run has latencies of minutes, and its p99 must not be below its mean."""
    assert quantile(binned([100.0] * 10), 0.99) == pytest.approx(100.0, rel=0.1)


def trace(**columns: Any) -> Trace:
    size = len(columns["time"])
    plain = {name: np.zeros(size) for name in ("offered", "admitted", "latency", "p99", "nodes", "remote", "migrated")}
    columns.setdefault("seconds", np.diff(columns["time"], prepend=0.0))
    given = {"throughput": np.ones(size), "operator_latency": {}, "slots": {}, **plain, **columns}
    return Trace(policy="any", decisions=(), decision_seconds=np.zeros(0), **given)


def test_only_intervals_that_end_after_the_warm_up_count() -> None:
    seen = trace(time=np.array([1.0, 2.0, 3.0, 4.0]), throughput=np.array([100.0, 10.0, 20.0, 30.0]))
    assert seen.after(1.0).tolist() == [False, True, True, True]
    assert seen.mean_throughput() == 40.0
    assert seen.mean_throughput(1.0) == 20.0
    assert seen.mean_throughput(2.9) == 25.0


def test_mean_latency_is_that_of_a_row() -> None:
    seen = trace(
        time=np.arange(1.0, 5.0),
        throughput=np.array([0.0, 10.0, 30.0, 0.0]),
        latency=np.array([np.nan, 1.0, 2.0, np.nan]),
    )
    assert seen.mean_latency() == pytest.approx(1.75)
    assert trace(time=np.ones(1), throughput=np.zeros(1), latency=np.full(1, np.nan)).mean_latency() == np.inf


def test_slots_of_one_operator_and_of_all() -> None:
    seen = trace(time=np.arange(1.0, 5.0), slots={"a": np.array([1.0, 1, 3, 3]), "b": np.full(4, 2.0)})
    assert (seen.mean_slots("a"), seen.mean_slots(), seen.mean_slots("a", 2.0)) == (2.0, 4.0, 3.0)


def test_success_is_that_of_the_first_operator_or_of_the_one_named() -> None:
    seen = trace(time=np.ones(1), success={"a": np.array([1.0, 0.5]), "b": np.array([0.0])})
    assert (seen.mean_success(), seen.mean_success("b")) == (0.75, 0.0)
    assert seen.summary()["success"] == 0.375


def test_a_summary_says_only_what_was_measured() -> None:
    found = trace(time=np.arange(1.0, 3.0), slots={"a": np.ones(2)}).summary()
    assert "success" not in found
    assert "end_to_end_success" not in found
    assert found["throughput"] == 1.0
    assert trace(time=np.ones(1), end_to_end=0.5).summary()["end_to_end_success"] == 0.5


def test_the_mean_throughput_is_rows_over_seconds() -> None:
    """No row in an epoch of 0.1 seconds, then 900 rows in one of 0.9 seconds: 900 rows a second."""
    seen = trace(time=np.array([0.1, 1.0]), throughput=np.array([0.0, 1000.0]))
    assert seen.mean_throughput() == pytest.approx(900.0)
