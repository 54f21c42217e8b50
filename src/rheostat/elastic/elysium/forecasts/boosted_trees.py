"""Forecasts a quantile of the next peak with gradient-boosted trees; our addition.

The trees see the last values, the same time of earlier days and weeks, and the calendar. They forecast the logarithm of
the peak, relative to the level of the last values. A quantile needs no safety margin: the trees learn where the load
varies more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Origins, Series, check_length, real_peaks
from rheostat.elastic.elysium.profiles.networks import evenly, one_thread
from rheostat.extras import load

LAGS = 12
"""Number of last values that the trees see."""

LEVEL = 3
"""Number of last values whose mean is the level."""

SPANS = (5, 15, 60, 180)
"""Numbers of last values of which the trees see the highest, the lowest and the mean."""


@dataclass(frozen=True)
class BoostedTrees:
    """Learns to forecast a quantile of the peak.

    Attributes:
        quantile: share of peaks that should not exceed the forecast.
        trees: number of trees.
        leaves: maximum number of leaves of a tree.
        most_rows: maximum number of origins to train with; evenly spaced origins are taken if there are more.
        seed: seed of the training.

    >>> days = Series(np.tile([100.0] * 36 + [400.0] * 12, 4), step=1800.0)  # four days, each with a busy evening
    >>> forecast = BoostedTrees(trees=20).fitted(days, horizon=4)
    >>> morning, before_evening = forecast.peaks(days, np.array([110, 130]))
    >>> bool(before_evening > 2 * morning)
    True
    """

    quantile: float = 0.9
    trees: int = 120
    leaves: int = 12
    most_rows: int = 20_000
    seed: int = 1

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "boosted"

    def fitted(self, history: Series, horizon: int) -> BoostedForecast:
        """Train the trees on all origins of the history that have ``LAGS`` values before them."""
        check_length(history, horizon + LAGS + 20, "a boosted forecast")
        origins = np.arange(LAGS, len(history) - horizon + 1)
        origins = origins[evenly(len(origins), self.most_rows)]
        level, rows = features(history, origins, horizon)
        target = np.log1p(real_peaks(history, origins, horizon)) - level
        trees = load("sklearn.ensemble", "a boosted forecast").HistGradientBoostingRegressor(
            loss="quantile",
            quantile=self.quantile,
            max_iter=self.trees,
            max_leaf_nodes=self.leaves,
            min_samples_leaf=max(5, min(40, len(rows) // 50)),
            learning_rate=0.08,
            early_stopping=False,
            random_state=self.seed,
        )
        with one_thread():
            return BoostedForecast(trees.fit(rows, target), horizon)


@dataclass(frozen=True, eq=False)
class BoostedForecast:
    """A forecast by trained trees.

    Attributes:
        trees: a trained ``HistGradientBoostingRegressor`` of scikit-learn.
        horizon: number of values to look ahead; the forecast is the highest of them.
    """

    trees: Any
    horizon: int

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """Return for every origin the quantile of the highest value within the horizon."""
        level, rows = features(series, origins, self.horizon)
        with one_thread():
            ratio: Floats = self.trees.predict(rows)
        return np.maximum(np.expm1(level + ratio), 0.0)


def features(series: Series, origins: Origins, horizon: int) -> tuple[Floats, Floats]:
    """Return the level before every origin, and a row of features for each.

    The level is the mean of the last values of log(1 + value). Features are on the same scale, relative to the level.

    >>> level, rows = features(Series(np.expm1(np.arange(20.0))), np.array([15]), 2)
    >>> float(level[0].round(6)), rows[0, :3].round(6)
    (13.0, array([ 1.,  0., -1.]))
    """
    logs = np.log1p(series.values)
    level = _last_values(logs, origins, LEVEL).mean(axis=1)
    lags = _last_values(logs, origins, LAGS)[:, ::-1] - level[:, None]
    cumulative = np.concatenate([[0.0], np.cumsum(logs)])
    spans = []
    for span in SPANS:
        start = np.maximum(origins - span, 0)
        count = np.maximum(origins - start, 1)
        spans += [
            _extreme(logs, origins, span, np.maximum) - level,
            _extreme(logs, origins, span, np.minimum) - level,
            (cumulative[origins] - cumulative[start]) / count - level,
        ]
    seasons = [_peak_one_cycle_ago(logs, level, origins, horizon, series.cycle(cycle)) - level for cycle in (DAY, WEEK)]
    time = series.times(origins)
    calendar = [time % DAY / DAY, time % 3600 / 3600, time % WEEK // DAY]
    return level, np.column_stack([lags, *spans, *seasons, *calendar, level])


def _last_values(logs: Floats, origins: Origins, count: int) -> Floats:
    """Return the last values before every origin, padded with the first value of the series."""
    values: Floats = logs[np.clip(origins[:, None] + np.arange(-count, 0), 0, max(len(logs) - 1, 0))]
    return values


def _extreme(logs: Floats, origins: Origins, span: int, choose: np.ufunc) -> Floats:
    """Return the highest or lowest of the last ``span`` values before every origin."""
    padded = np.concatenate([np.full(span, logs[0]), logs])
    best, width = padded, 1
    while width * 2 <= span:
        best, width = choose(best[:-width], best[width:]), width * 2
    # Two overlapping windows, whose width is a power of two, cover the span.
    extreme: Floats = choose(best[origins], best[origins + span - width])
    return extreme


def _peak_one_cycle_ago(logs: Floats, level: Floats, origins: Origins, horizon: int, length: int) -> Floats:
    """Return the highest value within the horizon one cycle of ``length`` values earlier.

    If the series does not reach back so far, return the level.
    """
    if length <= horizon or len(logs) < length:
        return level
    start = origins - length
    window = np.lib.stride_tricks.sliding_window_view(logs, horizon).max(axis=1)
    return np.where(start >= 0, window[np.clip(start, 0, len(window) - 1)], level)
