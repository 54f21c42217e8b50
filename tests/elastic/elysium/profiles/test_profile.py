"""Profiles: learned within 3 %, and their values above the recorded loads."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.elastic.elysium.profiles.profile import Line, learned, relative_error
from rheostat.elastic.elysium.profiles.samples import Uses
from rheostat.errors import ConfigurationError


def readings(noise: float = 0.01, highest: float = 1000.0) -> Uses:
    rng = np.random.default_rng(2)
    rates = rng.uniform(10, highest, 240)
    used = 1e7 + 2e6 * rates * (1 - 0.1 * rates / (rates + 300))
    return Uses.of(rates, used * (1 + noise * rng.standard_normal(240)))


def test_a_slots_cpu_is_learned_within_three_percent_on_readings_held_back() -> None:
    profile = learned(readings(), seed=1)
    assert profile.network.shape == (1, 3, 1)
    assert profile.error < 0.03
    rates = np.linspace(20, 1000, 30)
    real = 1e7 + 2e6 * rates * (1 - 0.1 * rates / (rates + 300))
    assert relative_error(profile(rates), real) < 0.01


def test_above_recorded_loads_the_papers_network_flattens_out_and_the_other_continues() -> None:
    far = np.array([4000.0])
    real = 1e7 + 2e6 * far * (1 - 0.1 * far / (far + 300))
    flat, on = (float(learned(readings(0.0), seed=1, beyond=beyond)(far)[0]) for beyond in (False, True))
    assert flat < 0.8 * real[0]
    assert on == pytest.approx(real[0], rel=0.05)


def test_within_recorded_loads_both_are_the_same() -> None:
    rates = np.linspace(10, 900, 20)
    flat, on = (learned(readings(), seed=1, beyond=beyond)(rates) for beyond in (False, True))
    np.testing.assert_allclose(flat, on)


def test_a_profile_is_never_negative() -> None:
    profile = learned(Uses.of(np.arange(30.0), np.maximum(np.arange(30.0) - 15, 0)), seed=1)
    assert (profile(np.linspace(-50, 60, 100)) >= 0).all()
    assert Line(-5.0, 1.0)(np.array([1.0]))[0] == 0.0


def test_a_line_needs_two_rates() -> None:
    with pytest.raises(ConfigurationError, match="two different rates"):
        Line.fitted(Uses.of([5, 5, 5], [1, 2, 3]))


def test_readings_must_be_pairs() -> None:
    with pytest.raises(ConfigurationError, match="one number per reading"):
        Uses(np.zeros(3), np.zeros(2))
