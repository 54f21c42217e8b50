"""Random positions, times and shards of rows have the right distributions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import (
    check_positive,
    check_whole,
    generator,
    get_or_make,
    hash_shards,
    normalize,
    positions_to_times,
    row_positions,
    shuffled_shards,
    sorted_uniform,
    zipf,
)


def test_numbers_in_order_are_as_sorted_uniform_ones() -> None:
    rng = generator(1, 1, 0)
    drawn = np.array([sorted_uniform(rng, 9, 5.0, 15.0) for _ in range(20_000)])
    assert (np.diff(drawn) >= 0).all()
    rank = np.arange(1, 10)
    # The r-th of nine sorted uniform numbers has a beta distribution.
    assert drawn.mean(axis=0) == pytest.approx(5 + 10 * rank / 10, abs=0.05)
    assert drawn.var(axis=0) == pytest.approx(100 * rank * (10 - rank) / 1_100, rel=0.05)


def test_poisson_rows_have_as_much_variance_as_mean() -> None:
    rng = generator(1, 1, 0)
    counts = np.array([len(row_positions(rng, 3.0, 23.0, poisson=True)) for _ in range(20_000)])
    assert counts.mean() == pytest.approx(20, rel=0.01)
    assert counts.var() == pytest.approx(20, rel=0.05)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 20), min_size=2, max_size=8).map(sorted))
def test_even_rows_lie_at_every_whole_number_once(cuts: list[float]) -> None:
    rng = generator(1, 1, 0)
    pieces = [row_positions(rng, a, b, poisson=False) for a, b in pairwise(cuts)]
    assert np.concatenate(pieces).tolist() == [k for k in range(21) if cuts[0] <= k < cuts[-1]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-3, 5), st.sampled_from([0.0, 1e-9, 0.5, 100.0])), min_size=1, max_size=8))
def test_rows_on_the_clock_stay_in_order_and_within_the_knots(steps: list[tuple[float, float]]) -> None:
    knots = 7.0 + np.concatenate([[0.0], np.cumsum([length for length, _ in steps])])
    upto = np.concatenate([[0.0], np.cumsum([length * rate for length, rate in steps])])
    rows = np.unique(np.concatenate([np.linspace(0, upto[-1], 1_000), upto, np.nextafter(upto, 0), [upto[-1]]]))
    times = positions_to_times(rows, upto, knots)
    assert (np.diff(times) >= 0).all()
    assert times[0] >= knots[0]
    assert times[-1] < knots[-1]
    # No row arrives while none is expected.
    for (begin, end), (_, rate) in zip(pairwise(knots), steps, strict=True):
        if rate == 0:
            assert not ((times > begin + 1e-9) & (times < end - 1e-9)).any()


def test_rows_on_the_clock_stay_in_order_where_two_rates_meet() -> None:
    """Found by trying many: rounding takes the last row before the second knot beyond it."""
    knots = np.array([0.0, 1.1351614878245972, 3.3970037238796444, 5.452657815775142])
    upto = np.array([0.0, 31.158514563703953, 101.88495802806187, 176.52021852407682])
    rows = np.sort(np.concatenate([upto[1:3], np.nextafter(upto[1:3], 0)]))
    assert (np.diff(np.interp(rows, upto, knots)) < 0).any()
    assert (np.diff(positions_to_times(rows, upto, knots)) >= 0).all()


def test_mixed_rows_keep_their_numbers_and_lose_their_order() -> None:
    counts = np.array([500, 0, 300, 200])
    drawn = shuffled_shards(generator(1, 1, 0), counts)
    assert drawn.dtype == np.int32
    assert np.array_equal(np.bincount(drawn, minlength=4), counts)
    assert np.bincount(drawn[:500], minlength=4) == pytest.approx(counts / 2, abs=60)
    named = shuffled_shards(generator(1, 1, 0), counts, np.array([7, 7, 9, 1], np.int32))
    assert np.array_equal(np.bincount(named, minlength=10)[[7, 9, 1]], [500, 300, 200])


@pytest.mark.parametrize("salt", [0, 1, 77])
@pytest.mark.parametrize("stride", [1, 64, 1 << 32])
def test_hashes_spread_neighbouring_keys_like_random_ones(salt: int, stride: int) -> None:
    keys, shards = np.arange(100_000, dtype=np.int64) * stride, 256
    counts = np.bincount(hash_shards(keys, shards, salt), minlength=shards)
    chi = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert abs(chi - shards) < 5 * math.sqrt(2 * shards)  # also not suspiciously even


def test_hashes_of_two_salts_are_independent() -> None:
    keys = np.arange(100_000)
    pairs = hash_shards(keys, 16, 0) * 16 + hash_shards(keys, 16, 1)
    counts = np.bincount(pairs, minlength=256)
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 256 + 5 * math.sqrt(512)


def test_zipf_shares_follow_the_power_law() -> None:
    drawn = zipf(10_000, 0.5)
    assert drawn.sum() == pytest.approx(1)
    assert drawn[0] / drawn[99] == pytest.approx(10)
    assert drawn[0] == pytest.approx(0.00504, rel=0.01)  # 1 / (2 sqrt(10,000) - 1.46)


def test_only_the_last_few_are_kept() -> None:
    made: list[int] = []
    store: dict[int, int] = {}
    for number in (1, 1, 2, 1, 3, 4, 5, 5, 1):
        assert get_or_make(store, number, lambda n: made.append(n) or -n) == -number  # type: ignore[func-returns-value]
    assert made == [1, 2, 3, 4, 5, 1]
    assert len(store) == 4


@pytest.mark.parametrize("weights", [[], [[1.0]], [1.0, -1.0], [0.0, 0.0], [1.0, math.nan], [math.inf]])
def test_weights_that_cannot_be_normalized_are_refused(weights: list[float]) -> None:
    with pytest.raises(ConfigurationError, match="^weights: "):
        normalize("weights", weights)


def test_refusals_name_the_parameter() -> None:
    for value in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigurationError, match=f"^rate={value}: "):
            check_positive(rate=value)
    for number in (0, 2.5):
        with pytest.raises(ConfigurationError, match=f"^keys={number}: "):
            check_whole(1, keys=number)  # type: ignore[arg-type]
