"""Rates as moving means: constant ones stay constant, shifts are seen at once, and what is missing is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.model.observation import OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.elastic.model.shift import shifted

RATES = np.array([100.0, 40.0, 0.0, 7.0])
ABSURD = (np.nan, np.inf, -np.inf, -1.0, 1e300)


def seen(arrived: Any, completed: Any = None, useful: Any = (0.5, 0.2), **more: Any) -> OperatorObservation:
    arrived = np.array(arrived, dtype=np.float64)
    completed = arrived if completed is None else np.array(completed, dtype=np.float64)
    given = {"latency": np.zeros(4), "traffic": np.zeros(4), "state": np.zeros(4), **more}
    return OperatorObservation(
        plan=OperatorPlan.even(4, 2), arrived=arrived, completed=completed, useful=np.array(useful), **given
    )


def steadily(steps: int, rates: Any = RATES, seconds: float = 1.0) -> ShardRates:
    known = ShardRates.nothing(4)
    for step in range(1, steps + 1):
        known = known.after(seen(np.asarray(rates) * seconds * step), seconds)
    return known


@settings(deadline=None)
@given(st.integers(1, 12), st.sampled_from([0.1, 1.0, 7.5]), st.sampled_from([0.1, 0.5, 1.0]))
def test_constant_rates_are_measured_exactly(steps: int, seconds: float, weight: float) -> None:
    known = ShardRates.nothing(4)
    for step in range(1, steps + 1):
        known = known.after(seen(RATES * seconds * step), seconds, weight=weight)
    assert known.arrival == pytest.approx(RATES)
    assert known.service == pytest.approx(147.0 * seconds / 0.7)
    assert known.backlog.tolist() == [0.0] * 4
    assert known.intervals == steps


def test_half_of_a_new_rate_counts_at_once() -> None:
    """All shards twice as busy: rows spread as before, so it is no shift."""
    known = steadily(4).after(seen(RATES * 6), 1.0)
    assert known.arrival == pytest.approx(1.5 * RATES)


def test_a_shift_of_keys_counts_in_full() -> None:
    counters = RATES * 4 + RATES[::-1] * np.array([1, 1, 1, 1])
    known = steadily(4).after(seen(counters), 1.0)
    assert known.arrival == pytest.approx(RATES[::-1])


def test_what_waits_is_demand_for_five_seconds() -> None:
    known = ShardRates.nothing(4).after(seen([50.0, 0, 0, 0], [20.0, 0, 0, 0], useful=(0.5, 0.0)), 1.0)
    assert known.backlog.tolist() == [30.0, 0.0, 0.0, 0.0]
    assert known.demand().tolist() == [56.0, 0.0, 0.0, 0.0]
    assert known.service == 40.0
    assert known.work()[0] == pytest.approx(1.4)


def test_back_pressure_stretches_what_arrived() -> None:
    known = ShardRates.nothing(4).after(seen(RATES), 1.0, stretch=2.5)
    assert known.arrival == pytest.approx(2.5 * RATES)


def test_an_interval_in_which_the_source_stood_still_counts_little() -> None:
    before = steadily(4)
    after = before.after(seen(RATES * 4 + [1.0, 0.0, 0.0, 0.0]), 1.0, stretch=90.0)
    assert np.abs(after.arrival - before.arrival).max() < 0.2


def test_the_service_rate_is_unknown_before_a_row_was_completed() -> None:
    nothing = ShardRates.nothing(4)
    assert np.isnan(nothing.after(seen(RATES, RATES * 0), 1.0).service)
    assert nothing.work().tolist() == [0.0] * 4


@settings(deadline=None)
@given(st.integers(0, 3), st.sampled_from([np.nan, np.inf, -np.inf, -1.0]))
def test_a_counter_that_is_absurd_leaves_its_shard_as_it_was(shard: int, value: float) -> None:
    arrived = RATES * 5
    arrived[shard] = value
    before = steadily(4)
    after = before.after(seen(arrived, RATES * 5), 1.0)
    assert after.arrival == pytest.approx(RATES)


@pytest.mark.parametrize("size", [0, 1, 3, 5])
def test_an_interval_without_counters_for_every_shard_is_skipped(size: int) -> None:
    """A single value must not be taken for all shards either."""
    before = steadily(4)
    assert before.after(seen(RATES * 5, np.ones(size)), 1.0) is before
    assert before.after(seen(np.ones(size), RATES * 5), 1.0) is before


def test_a_counter_beyond_all_counting_leaves_its_shard_as_it_was() -> None:
    arrived = RATES * 5
    arrived[0] = 1e300
    assert steadily(4).after(seen(arrived, RATES * 5), 1.0).arrival[0] == pytest.approx(100.0)


@settings(deadline=None)
@given(st.sampled_from([0.0, -1.0, np.nan, np.inf]))
def test_an_interval_without_a_length_is_skipped(seconds: float) -> None:
    before = steadily(3)
    assert before.after(seen(RATES * 4), seconds) is before


@settings(deadline=None)
@given(st.lists(st.sampled_from([*ABSURD, 0.0, 0.3]), min_size=2, max_size=2))
def test_absurd_useful_times_give_no_absurd_service_rate(useful: list[float]) -> None:
    known = steadily(3).after(seen(RATES * 4, useful=useful), 1.0)
    assert 0 < known.service < np.inf


@settings(deadline=None)
@given(st.lists(st.sampled_from([*ABSURD, 3.0]), min_size=4, max_size=4))
def test_sizes_and_traffic_are_numbers(values: list[float]) -> None:
    known = steadily(3).after(seen(RATES * 4, traffic=np.array(values), state=np.array(values)), 1.0)
    for found in (known.traffic, known.state):
        assert np.isfinite(found).all()
        assert (found >= 0).all()


def test_a_missing_interval_does_not_double_the_rates() -> None:
    """Counters are missing in the fifth interval; the sixth has the rows of both."""
    gone = np.full(4, np.nan)
    known = steadily(4).after(seen(gone, gone, useful=(np.nan, np.nan)), 1.0)
    known = known.after(seen(RATES * 6), 1.0)
    assert known.arrival == pytest.approx(RATES)
    assert known.service == pytest.approx(147.0 / 0.7)


def test_a_counter_that_started_again_is_soon_believed() -> None:
    """The process that counts is replaced after ten intervals; fifteen later its shard is still as busy as ever."""
    known = steadily(20)
    for step in range(1, 16):
        known = known.after(seen(RATES * step), 1.0)
    assert known.arrival == pytest.approx(RATES, rel=0.01)


def test_one_wrong_reading_is_soon_forgotten() -> None:
    known = steadily(4)
    for step in range(5, 40):
        arrived = RATES * step
        arrived[0] = 1e12 if step == 5 else arrived[0]
        known = known.after(seen(arrived, RATES * step), 1.0)
    assert known.arrival == pytest.approx(RATES, rel=0.01)
    assert known.backlog == pytest.approx(np.zeros(4))


def test_rates_are_not_changed_in_place() -> None:
    before = steadily(3)
    copy = before.arrival.copy(), before.arrived.copy(), before.service
    before.after(seen(RATES * 9, RATES * 5), 1.0)
    assert (before.arrival == copy[0]).all()
    assert (before.arrived == copy[1]).all()
    assert before.service == copy[2]


@pytest.mark.parametrize("shards", [8, 64, 500])
@pytest.mark.parametrize("mean", [5.0, 50.0, 500.0])
def test_chance_is_hardly_ever_a_shift(shards: int, mean: float) -> None:
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(300):
        rates = rng.random(shards) * mean
        alarms += shifted(rng.poisson(rates).astype(np.float64), rng.poisson(rates * 3) / 3, 3.0)
    assert alarms <= 15  # one in twenty


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([64, 500]))
def test_other_keys_are_a_shift(seed: int, shards: int) -> None:
    rng = np.random.default_rng(seed)
    rates = rng.permutation(np.r_[np.full(shards // 8, 400.0), np.full(shards - shards // 8, 10.0)])
    other = np.roll(rates, 1 + shards // 3)
    if np.abs(rates - other).sum() > 0.3 * rates.sum():
        assert shifted(rng.poisson(other).astype(np.float64), rates.astype(np.float64), 3.0)


def test_without_rows_there_is_no_shift() -> None:
    assert not shifted(np.zeros(4), RATES, 3.0)
    assert not shifted(RATES, np.zeros(4), 3.0)
    assert not shifted(np.full(4, 1e-311), RATES, 3.0), "less than a row says nothing"
