"""A sine's rate rises and falls as it should, in expectation and in rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import zipf
from rheostat.workloads.sinusoid import Sinusoid


@settings(max_examples=50, deadline=None)
@given(
    base=st.floats(1, 1e5),
    part=st.floats(0, 1),
    period=st.floats(1, 1e4),
    begin=st.floats(0, 1e4),
    share=st.floats(0.001, 1.5),
)
def test_expected_rows_are_the_integral_of_the_rate(
    base: float, part: float, period: float, begin: float, share: float
) -> None:
    waves, span = Sinusoid(base, part * base, period, shards=3), share * period
    middles = begin + (np.arange(2_000) + 0.5) / 2_000 * span
    mean = (base + part * base * np.sin(2 * math.pi * middles / period)).mean()
    assert waves.rates(begin, begin + span).sum() == pytest.approx(mean, rel=1e-4, abs=1e-4 * base)


@pytest.mark.parametrize(("amplitude", "period"), [(10_000, 600), (30_000, 600), (10_000, 90), (30_000, 70)])
def test_rows_follow_the_sine(amplitude: float, period: float) -> None:
    waves = Sinusoid(30_000, amplitude, period)
    for begin in (0.0, period / 4, period / 2, period * 3 / 4):
        rate = 30_000 + amplitude * math.sin(2 * math.pi * (begin + 0.05) / period)
        assert len(waves.between(begin, begin + 0.1)) == pytest.approx(rate / 10, abs=5 * math.sqrt(1 + rate / 10) + 3)


def test_rows_are_where_the_sine_is_high_within_a_cell() -> None:
    """A period far shorter than a cell."""
    waves = Sinusoid(1_000, 1_000, period=2.0)
    phase = waves.between(0.0, 100.0).times % 2.0
    counts, _ = np.histogram(phase, 20, (0, 2))
    middles = (np.arange(20) + 0.5) / 10
    assert counts / 5_000 == pytest.approx(1 + np.sin(math.pi * middles), abs=0.06)


def test_even_rows_follow_the_sine_closely() -> None:
    waves = Sinusoid(100, 80, period=20.0, poisson=False)
    times = waves.between(0.0, 40.0).times
    upto = 100 * times + 80 * 20 / (2 * math.pi) * (1 - np.cos(2 * math.pi * times / 20))
    assert upto == pytest.approx(np.arange(len(times)), abs=0.02)


def test_shards_are_uniform_or_skewed() -> None:
    assert Sinusoid(640, 0).rates(0, 1) == pytest.approx(np.full(64, 10.0))
    skewed = Sinusoid(100, 0, skew=1.0, shards=10)
    assert np.sort(skewed.rates(0, 1))[::-1] == pytest.approx(100 * zipf(10, 1.0))
    assert len({int(Sinusoid(1, 0, skew=1.0, seed=seed).rates(0, 1).argmax()) for seed in range(9)}) > 3


def test_a_rate_that_touches_zero_is_no_problem() -> None:
    waves = Sinusoid(50_000, 50_000, period=1e6)
    quiet = waves.between(749_999.0, 750_001.0)
    assert len(quiet) <= 3
    assert waves.rates(749_999.0, 750_001.0).sum() == pytest.approx(0, abs=1e-3)
    # So late that rounding is more than what is expected in a second.
    waves, late = Sinusoid(50_000, 50_000, period=1e5), 1e5 * 293.75
    assert len(waves.between(late - 20.0, late + 20.0)) < 20
    assert min(waves.rates(late + n, late + n + 1).min() for n in range(-20, 20)) >= 0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Sinusoid(base=0), "base"),
        (lambda: Sinusoid(base=10, amplitude=11), "amplitude"),
        (lambda: Sinusoid(amplitude=-1), "amplitude"),
        (lambda: Sinusoid(amplitude=math.nan), "amplitude"),
        (lambda: Sinusoid(period=0), "period"),
        (lambda: Sinusoid(shards=0), "shards"),
        (lambda: Sinusoid(skew=-1), "skew"),
        (lambda: Sinusoid(seconds=math.nan), "seconds"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        make()
