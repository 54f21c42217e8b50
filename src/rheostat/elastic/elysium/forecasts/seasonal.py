"""Forecasts the next peak by seasonal exponential smoothing with a safety margin; our addition.

On a logarithmic scale, the load is the sum of a season (the value of the same minute of earlier days or weeks) and a
deviation from it that fades slowly. Both are smoothed exponentially: the season from cycle to cycle, the deviation from
value to value. Neither needs a loop over values: a whole cycle of a season is smoothed at once, and a linear filter
smooths the deviation. The margin is the ratio of real to forecast peak that at most ``1 - quantile`` of the past peaks
exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Origins, Series, check_length, real_peaks
from rheostat.elastic.model.smoothing import blend
from rheostat.extras import load


@dataclass(frozen=True)
class Smoothing:
    """Parameters of the smoothing of a series.

    Attributes:
        cycle: seconds of a season's cycle; 0 for no season.
        season: weight of the newest cycle.
        level: weight of the newest deviation.
        fading: share of a deviation that remains after one step.
    """

    cycle: float
    season: float
    level: float
    fading: float


@dataclass(frozen=True)
class Seasonal:
    """Tries several smoothings, chooses the one with the lowest error on the history, and adds a margin.

    Attributes:
        quantile: share of peaks that should not exceed the forecast.
        cycles: values of ``Smoothing.cycle`` to try.
        seasons: values of ``Smoothing.season`` to try.
        levels: values of ``Smoothing.level`` to try.
        fadings: values of ``Smoothing.fading`` to try.

    >>> days = Series(np.tile([100.0] * 36 + [400.0] * 12, 4), step=1800.0)  # four days, each with a busy evening
    >>> forecast = Seasonal().fitted(days, horizon=4)
    >>> forecast.peaks(days, np.array([110, 130])).round().tolist()  # in the morning, and an hour before the evening
    [100.0, 400.0]
    """

    quantile: float = 0.9
    cycles: tuple[float, ...] = (0.0, DAY, WEEK)
    seasons: tuple[float, ...] = (0.2, 0.5)
    levels: tuple[float, ...] = (0.2, 0.5, 0.9)
    fadings: tuple[float, ...] = (0.95, 1.0)

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "seasonal"

    def fitted(self, history: Series, horizon: int) -> SeasonalForecast:
        """Return the smoothing with the lowest mean absolute error of the peak, with its margin."""
        check_length(history, horizon + 20, "seasonal smoothing")
        origins = np.arange(len(history) // 3, len(history) - horizon + 1)
        real = np.log1p(real_peaks(history, origins, horizon))
        best: tuple[float, Smoothing, Floats] | None = None
        for smoothing in self._candidates(history):
            shortfall = real - _log_peaks(history, origins, horizon, smoothing)
            error = float(np.abs(shortfall).mean())
            if best is None or error < best[0]:
                best = error, smoothing, shortfall
        assert best is not None
        return SeasonalForecast(best[1], float(np.quantile(best[2], self.quantile)), horizon)

    def _candidates(self, history: Series) -> list[Smoothing]:
        """Return the smoothings to try; those with a season only if the history has more than two cycles."""
        candidates = []
        for cycle in self.cycles:
            length = history.cycle(cycle) if cycle else 0
            if cycle and not (length and 2 * length < len(history)):
                continue
            for season, level, fading in product(self.seasons if cycle else (0.0,), self.levels, self.fadings):
                candidates.append(Smoothing(cycle, season, level, fading))
        return candidates


@dataclass(frozen=True, eq=False)
class SeasonalForecast:
    """A forecast by smoothing, with a margin.

    Attributes:
        smoothing: the chosen parameters.
        margin: safety margin, added to log(1 + peak).
        horizon: number of values to look ahead; the forecast is the highest of them.
    """

    smoothing: Smoothing
    margin: float
    horizon: int

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """Return for every origin the highest value forecast within the horizon, with the margin."""
        logs = _log_peaks(series, origins, self.horizon, self.smoothing)
        return np.maximum(np.expm1(logs + self.margin), 0.0)


def _log_peaks(series: Series, origins: Origins, horizon: int, smoothing: Smoothing) -> Floats:
    """Return for every origin the highest forecast of log(1 + value) within the horizon."""
    logs = np.log1p(series.values)
    length = series.cycle(smoothing.cycle) if smoothing.cycle else 0
    ahead = np.arange(horizon)
    if length > horizon:
        smoothed = _smooth_cycles(logs, length, smoothing.season)
        # The season of a value is that of one cycle earlier, so it is known at every origin within the horizon.
        season = np.concatenate([np.full(length, np.nan), smoothed])
        expected = season[origins[:, None] + ahead]
        base = season[: len(logs)]
    else:
        expected, base = np.full((len(origins), horizon), np.nan), np.full(len(logs), np.nan)
    deviation = _smooth(np.where(np.isnan(base), logs, logs - base), smoothing.level)
    # In the first cycle there is no season yet: the forecast is the smoothed load itself.
    absolute = _smooth(logs, smoothing.level)
    last = np.maximum(origins - 1, 0)
    fading = smoothing.fading ** (ahead + 1)
    seasonal = expected + deviation[last][:, None] * fading
    paths = np.where(np.isnan(expected), absolute[last][:, None], seasonal)
    peaks: Floats = np.where(origins > 0, paths.max(axis=1), 0.0)
    return peaks


def _smooth_cycles(values: Floats, length: int, weight: float) -> Floats:
    """Smooth every value with the values at the same position of earlier cycles."""
    smoothed = values.copy()
    for start in range(length, len(values), length):
        stop = min(start + length, len(values))
        before = smoothed[start - length : stop - length]
        smoothed[start:stop] = blend(before, values[start:stop], weight)
    return smoothed


def _smooth(values: Floats, weight: float) -> Floats:
    """Smooth every value with all earlier ones."""
    if not len(values):
        return values
    lfilter = load("scipy.signal", "a seasonal forecast").lfilter
    smoothed: Floats = lfilter([weight], [1.0, weight - 1.0], values, zi=[(1 - weight) * values[0]])[0]
    return smoothed
