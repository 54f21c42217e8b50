"""Latency bins: every latency is in its bin, and quantiles of counts are those of the latencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.simulate.latency_bins import BINS, bin_of, quantile

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
