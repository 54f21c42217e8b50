"""Q-learning: finds the best threshold of examples with a known answer, also with noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elysium.thresholds import QLearning, _best_state, learn
from rheostat.errors import ConfigurationError

THRESHOLDS = (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90)
PAPER = dict(zip(THRESHOLDS, (0.53, 0.57, 0.62, 0.66, 0.71, 0.65, 0.43), strict=True))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 6), st.integers(0, 1000))
def test_it_finds_the_knee_wherever_it_is(knee: int, seed: int) -> None:
    best = THRESHOLDS[knee]
    found = learn(THRESHOLDS, lambda t, _: 0.08 + 3 * max(0.0, t - best), QLearning(seed=seed))
    assert found.best == best
    np.testing.assert_allclose(found.rewards[: knee + 1], np.array(THRESHOLDS[: knee + 1]) - 0.08)


@pytest.mark.parametrize("seed", range(5))
def test_it_finds_the_papers_threshold_through_noise(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0.0, 0.05, 600)
    found = learn(THRESHOLDS, lambda t, step: t - PAPER[t] + float(noise[step]), QLearning(seed=seed))
    assert found.best == 0.80
    np.testing.assert_allclose(found.rewards, list(PAPER.values()), atol=0.06)
    assert found.visits.sum() == 600


@pytest.mark.parametrize("states", [2, 3, 4, 5])
@pytest.mark.parametrize("best", [0, 1])
def test_of_two_thresholds_that_lead_to_each_other_the_better_one_is_taken(states: int, best: int) -> None:
    # The first two lead to each other, the others down to them; the highest value is at the far end.
    q = np.zeros((states, 3))
    q[0, 2] = 1.0
    q[1:, 0] = np.arange(2.0, states + 1)
    rewards = np.full(states, 0.1)
    rewards[best] = 0.9
    assert _best_state(q, rewards) == best


def test_values_converge_to_those_of_the_bellman_equation() -> None:
    # Two states, rewards 0 and 1 on arrival: staying in the better one is worth 1 + d + d^2 + ... = 1 / (1 - d).
    found = learn((0.0, 1.0), lambda t, _: 0.0, QLearning(steps=20_000, discount=0.5, exploration=1.0))
    down, stay, up = 0, 1, 2
    assert found.values[1, stay] == pytest.approx(2.0, rel=0.02)
    assert found.values[0, up] == pytest.approx(2.0, rel=0.02)
    assert found.values[0, stay] == pytest.approx(1.0, rel=0.05)
    assert found.values[1, down] == pytest.approx(1.0, rel=0.05)


def test_the_same_seed_learns_the_same() -> None:
    first, again = (learn(THRESHOLDS, lambda t, s: (s % 3) * t / 9, QLearning(steps=50, seed=7)) for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)


def test_a_single_threshold_is_no_choice() -> None:
    with pytest.raises(ConfigurationError, match="at least two"):
        learn((0.5,), lambda t, _: 0.0)
