"""A quantile of the next peak, by gradient-boosted trees on the recent past, the season and the calendar.

The trees forecast the logarithm of the peak relative to the level of the last values. Being a quantile, the forecast
has its margin built in, wider where the load is restless: the trees see that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Origins, Series, needs, real_peaks
from rheostat.elastic.elysium.profiles.networks import evenly, one_thread
from rheostat.extras import load

LAGS = 12
SPANS = (5, 15, 60, 180)
"""How many values back the highest, the lowest and the mean are looked at."""


@dataclass(frozen=True)
class BoostedTrees:
    """Learns trees for one quantile.

    Attributes:
        quantile: share of peaks that should not be above the forecast.
        trees: how many, one after the other.
        leaves: of each tree.
        most_rows: of more rows of history, so many are taken at equal distances.
        seed: everything random follows from it.
    """

    quantile: float = 0.9
    trees: int = 120
    leaves: int = 12
    most_rows: int = 20_000
    seed: int = 1

    @property
    def name(self) -> str:
        """Short, for tables."""
        return "boosted"

    def fitted(self, history: Series, horizon: int) -> BoostedForecast:
        """Trees from every origin of the history that has a past of some values."""
        needs(history, horizon + LAGS + 20, "a boosted forecast")
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
    """Trained trees.

    Attributes:
        trees: that were trained.
        horizon: values looked ahead.
    """

    trees: Any
    horizon: int

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """The quantile of the highest value of the horizon."""
        level, rows = features(series, origins, self.horizon)
        with one_thread():
            ratio: Floats = self.trees.predict(rows)
        return np.maximum(np.expm1(level + ratio), 0.0)


def features(series: Series, origins: Origins, horizon: int) -> tuple[Floats, Floats]:
    """The level before every origin, and a row of what the trees see there.

    >>> level, rows = features(Series(np.expm1(np.arange(20.0))), np.array([15]), 2)
    >>> float(level[0].round(6)), rows[0, :3].round(6)
    (13.0, array([ 1.,  0., -1.]))
    """
    logs = np.log1p(series.values)
    level = _back(logs, origins, 3).mean(axis=1)
    lags = _back(logs, origins, LAGS)[:, ::-1] - level[:, None]
    total = np.concatenate([[0.0], np.cumsum(logs)])
    spans = []
    for span in SPANS:
        start = np.maximum(origins - span, 0)
        count = np.maximum(origins - start, 1)
        spans += [
            _extreme(logs, origins, span, np.maximum) - level,
            _extreme(logs, origins, span, np.minimum) - level,
            (total[origins] - total[start]) / count - level,
        ]
    seasons = [_season(logs, level, origins, horizon, series.cycle(cycle)) - level for cycle in (DAY, WEEK)]
    time = series.times(origins)
    calendar = [time % DAY / DAY, time % 3600 / 3600, time % WEEK // DAY]
    return level, np.column_stack([lags, *spans, *seasons, *calendar, level])


def _back(logs: Floats, origins: Origins, count: int) -> Floats:
    """The last values before every origin; the first value of the series stands in where there are fewer."""
    found: Floats = logs[np.clip(origins[:, None] + np.arange(-count, 0), 0, max(len(logs) - 1, 0))]
    return found


def _extreme(logs: Floats, origins: Origins, span: int, choose: np.ufunc) -> Floats:
    """The highest or lowest of the last ``span`` values before every origin."""
    padded = np.concatenate([np.full(span, logs[0]), logs])
    best, width = padded, 1
    while width * 2 <= span:
        best, width = choose(best[:-width], best[width:]), width * 2
    # Two windows whose width is a power of two cover the span.
    first = origins
    found: Floats = choose(best[first], best[first + span - width])
    return found


def _season(logs: Floats, level: Floats, origins: Origins, horizon: int, length: int) -> Floats:
    """The highest value of the same horizon one cycle earlier; the level where the series does not reach back."""
    if length <= horizon or len(logs) < length:
        return level
    start = origins - length
    window = np.lib.stride_tricks.sliding_window_view(logs, horizon).max(axis=1)
    return np.where(start >= 0, window[np.clip(start, 0, len(window) - 1)], level)
