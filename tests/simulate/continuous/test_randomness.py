"""Random numbers of compiled loops: the published generator, from a state that belongs to the caller."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.simulate.continuous.randomness import exponential, uniform

MASK = 2**64 - 1


def reference(state: int, count: int) -> list[float]:
    """SplitMix64 in whole numbers, with the constants of its authors (Steele, Lea, Flood 2014)."""
    found = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        found.append((z >> 11) / 2**53)
    return found


def drawn(seed: int, count: int) -> list[float]:
    state = np.array([seed], dtype=np.uint64)
    return [uniform(state) for _ in range(count)]


@settings(deadline=None)
@given(st.integers(0, MASK))
def test_it_is_the_published_generator(seed: int) -> None:
    assert drawn(seed, 5) == reference(seed, 5)


def test_the_known_first_numbers_of_seed_1234567() -> None:
    """The published test vector of SplitMix64: 6457827717110365317, 3203168211198807973, 9817491932198370423."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert drawn(1234567, 3) == [(z >> 11) / 2**53 for z in known]


def test_numbers_are_from_0_to_below_1_and_even() -> None:
    numbers = np.array(drawn(7, 50_000))
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, bins=100, range=(0.0, 1.0))[0]
    # Chi-squared with 99 degrees of freedom: 160 is exceeded once in ten thousand times.
    assert ((counts - 500) ** 2 / 500).sum() < 160
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02


def test_exponential_numbers_have_the_right_moments() -> None:
    state = np.array([3], dtype=np.uint64)
    numbers = np.array([exponential(state) for _ in range(50_000)])
    assert numbers.min() >= 0.0
    assert abs(numbers.mean() - 1.0) < 0.02
    assert abs(numbers.var() - 1.0) < 0.05
    assert abs((numbers > 2.0).mean() - np.exp(-2.0)) < 0.005


def test_two_states_do_not_disturb_each_other() -> None:
    one, other = np.array([5], dtype=np.uint64), np.array([6], dtype=np.uint64)
    mixed = [(uniform(one), uniform(other)) for _ in range(4)]
    assert [a for a, _ in mixed] == drawn(5, 4)
    assert [b for _, b in mixed] == drawn(6, 4)
