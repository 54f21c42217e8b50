"""Forecasters use only the past, learn regular loads, and refuse short histories."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.elastic.elysium.forecasts.boosted_trees import BoostedTrees, features
from rheostat.elastic.elysium.forecasts.paper_network import PaperNetwork, inputs
from rheostat.elastic.elysium.forecasts.seasonal import Seasonal, SeasonalForecast, Smoothing
from rheostat.elastic.elysium.forecasts.series import DAY, Forecast, Forecaster, Series, real_peaks
from rheostat.errors import ConfigurationError
from rheostat.workloads.load_traces import synthetic

FORECASTERS: tuple[Forecaster, ...] = (
    PaperNetwork(folds=2, tolerance=1e-1),
    Seasonal(),
    BoostedTrees(trees=10),
)
HORIZON = 5


@cache
def load() -> Series:
    return synthetic(days=24, step=3600.0, seed=3)


@cache
def fitted(number: int) -> Forecast:
    return FORECASTERS[number].fitted(load().until(400), HORIZON)


@pytest.mark.parametrize("number", range(len(FORECASTERS)))
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 570), st.integers(0, 2**32 - 1), st.sampled_from((0.0, 1.0, 1e6)))
@example(24, 1, 1e6)  # exactly a day is known
@example(168, 1, 1e6)  # exactly a week
def test_later_values_change_no_forecast(number: int, moment: int, seed: int, size: float) -> None:
    origins = np.unique(np.clip([1, moment // 2, moment - 1, moment], 1, moment))
    changed = load().values.copy()
    changed[moment:] = size * np.random.default_rng(seed).random(len(changed) - moment)
    later = Series(changed, load().start, load().step)
    expected = fitted(number).peaks(load(), origins)
    np.testing.assert_array_equal(fitted(number).peaks(later, origins), expected)
    np.testing.assert_allclose(fitted(number).peaks(load().until(moment), origins), expected, rtol=1e-9)


@pytest.mark.parametrize("number", range(len(FORECASTERS)))
def test_the_forecast_of_an_origin_does_not_depend_on_others(number: int) -> None:
    origins = np.arange(300, 330)
    together = fitted(number).peaks(load(), origins)
    alone = [float(fitted(number).peaks(load(), origins[i : i + 1])[0]) for i in range(len(origins))]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


@pytest.mark.parametrize("forecaster", FORECASTERS, ids=lambda f: f.name)
def test_too_short_a_history_is_refused(forecaster: Forecaster) -> None:
    with pytest.raises(ConfigurationError, match="at least"):
        forecaster.fitted(load().until(12), HORIZON)


def test_the_papers_network_has_its_shape_and_learns_a_square_wave() -> None:
    period = np.repeat([100.0, 400.0], 5)
    square = Series(np.tile(period, 40))
    forecast = PaperNetwork(folds=3).fitted(square.until(300), 1)
    assert forecast.network.shape == (13, 24, 5)
    origins = np.arange(300, 390)
    np.testing.assert_allclose(forecast.peaks(square, origins), square.values[origins], atol=75)


def test_the_last_third_of_the_history_tests_the_network_and_teaches_it_nothing() -> None:
    network, past = PaperNetwork(folds=2, tolerance=1e-1), load().until(400)
    values = past.values.copy()
    values[300:] *= 5.0
    changed = Series(values, past.start, past.step)
    forecast, other = (network.fitted(series, HORIZON) for series in (past, changed))
    at = np.arange(20, 280)
    np.testing.assert_array_equal(forecast.peaks(past, at), other.peaks(past, at))
    assert 0 < forecast.error < 0.5 < other.error
    everything = PaperNetwork(folds=2, tolerance=1e-1, trained=1.0)
    assert not np.array_equal(everything.fitted(past, HORIZON).peaks(past, at), forecast.peaks(past, at))
    # By hand: the error is that of the last 30 % of the rows with enough past and horizon.
    held = np.arange(10, 396)[int(0.7 * 386) :]
    ahead = np.lib.stride_tricks.sliding_window_view(past.values, HORIZON)[held]
    missed = np.abs(forecast.network(inputs(past, held, 10)) - ahead).mean()
    assert forecast.error == pytest.approx(missed / ahead.mean())


def test_a_network_needs_something_to_learn_from() -> None:
    with pytest.raises(ConfigurationError, match="above 0 and at most 1"):
        PaperNetwork(trained=0.0)


def test_the_networks_inputs_by_hand() -> None:
    # 1970-01-05 was a Monday; 13:37 of it, after the values 7, 8, 9.
    at = 4 * DAY + 13 * 3600 + 37 * 60
    series = Series(np.array([7.0, 8.0, 9.0]), start=at - 3 * 60)
    assert inputs(series, np.array([3]), seen=4).tolist() == [[0.0, 13.0, 37.0, 7.0, 7.0, 8.0, 9.0]]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 300),
    st.sampled_from(((0.0, 0.0), (DAY, 0.3))),
    st.sampled_from((0.2, 0.9)),
    st.sampled_from((0.9, 1.0)),
)
def test_seasonal_smoothing_is_what_a_loop_over_values_does(
    origin: int, season: tuple[float, float], level: float, fading: float
) -> None:
    series, length = load().until(320), 24 if season[0] else 0
    logs, horizon = np.log1p(series.values).tolist(), 3
    usual: list[float | None] = [None] * (len(logs) + length)
    for i in range(origin if length else 0):  # the season known for i + length, once value i is known
        before = usual[i] if i >= length else None
        usual[i + length] = logs[i] if before is None else (1 - season[1]) * before + season[1] * logs[i]
    deviation = absolute = 0.0
    for i in range(origin):
        off = logs[i] - (usual[i] or 0.0) if usual[i] is not None else logs[i]
        deviation = off if i == 0 else (1 - level) * deviation + level * off
        absolute = logs[i] if i == 0 else (1 - level) * absolute + level * logs[i]
    paths = []
    for h in range(horizon):
        expected = usual[origin + h] if origin + h < len(usual) else None
        paths.append(absolute if expected is None else expected + fading ** (h + 1) * deviation)
    forecast = SeasonalForecast(Smoothing(*season, level, fading), 0.0, horizon)
    assert forecast.peaks(series, np.array([origin]))[0] == pytest.approx(np.expm1(max(paths)))


def test_the_seasonal_margin_covers_the_share_asked_for() -> None:
    rng = np.random.default_rng(1)
    series = Series(np.exp(rng.normal(5, 0.3, 4000)), step=3600.0)
    origins = np.arange(2000, 3990)
    real = real_peaks(series, origins, HORIZON)
    for quantile in (0.5, 0.9):
        below = Seasonal(quantile).fitted(series.until(2000), HORIZON).peaks(series, origins) >= real
        assert below.mean() == pytest.approx(quantile, abs=0.06)


def test_boosted_trees_give_the_quantile_asked_for() -> None:
    rng = np.random.default_rng(1)
    series = Series(np.exp(rng.normal(5, 0.3, 3000)), step=3600.0)
    origins = np.arange(2000, 2990)
    real = real_peaks(series, origins, HORIZON)
    low, high = (
        float(
            (BoostedTrees(quantile, trees=30).fitted(series.until(2000), HORIZON).peaks(series, origins) >= real).mean()
        )
        for quantile in (0.3, 0.9)
    )
    assert 0.15 < low < 0.45
    assert 0.8 < high < 0.97


@given(st.integers(1, 570), st.booleans())
@example(24, True)  # exactly a day is known
@example(168, True)  # exactly a week
def test_features_equal_those_of_slices_of_the_past(origin: int, alone: bool) -> None:
    logs = np.log1p(load().values)
    level, rows = features(load().until(origin) if alone else load(), np.array([origin]), HORIZON)
    past = np.concatenate([np.full(200, logs[0]), logs[:origin]])
    assert level[0] == pytest.approx(past[-3:].mean())
    np.testing.assert_allclose(rows[0, :12] + level[0], past[::-1][:12])
    for place, span in enumerate((5, 15, 60, 180)):
        assert rows[0, 12 + 3 * place] + level[0] == pytest.approx(past[-span:].max())
        assert rows[0, 13 + 3 * place] + level[0] == pytest.approx(past[-span:].min())
        assert rows[0, 14 + 3 * place] + level[0] == pytest.approx(logs[max(origin - span, 0) : origin].mean())
    for place, length in enumerate((24, 168)):
        earlier = logs[origin - length : origin - length + HORIZON].max() if origin >= length else level[0]
        assert rows[0, 24 + place] + level[0] == pytest.approx(earlier)


def test_a_series_needs_finite_numbers_in_one_row() -> None:
    for values in (np.array([1.0, np.nan]), np.zeros((2, 2))):
        with pytest.raises(ConfigurationError, match="fill gaps"):
            Series(values)
    with pytest.raises(ConfigurationError, match="followed by 3"):
        real_peaks(Series(np.zeros(5)), np.array([3]), 3)
