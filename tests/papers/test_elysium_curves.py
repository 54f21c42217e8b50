"""Load curves: their shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.elysium.testbed.curves import sine, square, stair, step
from rheostat.errors import ConfigurationError


@given(st.integers(20, 2000), st.floats(0, 100), st.floats(0, 100), st.integers(2, 8))
def test_all_curves_stay_between_low_and_high(seconds: int, low: float, more: float, steps: int) -> None:
    high = low + more
    for curve in (
        stair(seconds, low, high, steps),
        step(seconds, low, high, seconds // 4, seconds // 2),
        square(seconds, low, high, 10),
        sine(seconds, low, high, 7.5),
    ):
        assert len(curve) == seconds
        assert curve.min() >= low - 1e-9
        assert curve.max() <= high + 1e-9


def test_a_stair_goes_up_and_down_in_equal_steps() -> None:
    found = stair(1100, 100.0, 600.0)
    assert np.unique(found).tolist() == [100.0, 200.0, 300.0, 400.0, 500.0, 600.0]
    changes = np.flatnonzero(np.diff(found)) + 1
    np.testing.assert_array_equal(changes, np.arange(100, 1100, 100))
    np.testing.assert_array_equal(found, found[::-1])


def test_a_square_wave_spends_half_of_each_period_high() -> None:
    found = square(1200, 1.0, 3.0, period=600)
    assert (found[:300] == 1.0).all()
    assert (found[300:600] == 3.0).all()
    np.testing.assert_array_equal(found[:600], found[600:])
    np.testing.assert_array_equal(square(300, 1.0, 3.0, 600, phase=150), found[150:450])


def test_a_sine_begins_low_and_repeats() -> None:
    found = sine(200, 10.0, 30.0, period=100)
    assert found[0] == pytest.approx(10.0)
    assert found[50] == pytest.approx(30.0)
    np.testing.assert_allclose(found[:100], found[100:])
    assert found.mean() == pytest.approx(20.0)


def test_invalid_curves_are_refused() -> None:
    for seconds, low, high, period in ((0, 1.0, 2.0, 5), (10, 2.0, 1.0, 5), (10, 0.0, 1.0, 0), (10, -1.0, 1.0, 5)):
        with pytest.raises(ConfigurationError, match="invalid load curve"):
            square(seconds, low, high, period)
        with pytest.raises(ConfigurationError, match="invalid load curve"):
            sine(seconds, low, high, period)
    with pytest.raises(ConfigurationError, match="at least 2 steps"):
        stair(10, 0.0, 1.0, 1)
    with pytest.raises(ConfigurationError, match="rise before it falls"):
        step(10, 0.0, 1.0, 5, 3)
