"""Seasonal exponential smoothing with a safety margin, for all origins at once.

On a logarithmic scale the load is a season (what the same minute of earlier days, or weeks, had) and a deviation from
it that fades slowly. Both are exponentially smoothed: the season along its cycles, the deviation along time. Neither
needs a loop over values: a season is smoothed for a whole cycle at once, a deviation is a linear filter. What remains
uncertain becomes a margin: the ratio of real to forecast peak that was exceeded in no more than ``1 - quantile`` of the
past.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Origins, Series, needs, real_peaks
from rheostat.elastic.model.smoothing import blend
from rheostat.extras import load


@dataclass(frozen=True)
class Smoothing:
    """Parameters that are chosen for a series.

    Attributes:
        cycle: seconds of the season; 0 for none.
        season: weight of the newest cycle.
        level: weight of the newest deviation.
        fading: what remains of a deviation after one step.
    """

    cycle: float
    season: float
    level: float
    fading: float


@dataclass(frozen=True)
class Seasonal:
    """Chooses a smoothing by its error on the history, then a margin.

    Attributes:
        quantile: share of peaks that should not be above the forecast.
        cycles: seconds of the seasons that are tried; 0 for none.
        seasons: weights of the newest cycle that are tried.
        levels: weights of the newest deviation that are tried.
        fadings: what may remain of a deviation after one step.
    """

    quantile: float = 0.9
    cycles: tuple[float, ...] = (0.0, DAY, WEEK)
    seasons: tuple[float, ...] = (0.2, 0.5)
    levels: tuple[float, ...] = (0.2, 0.5, 0.9)
    fadings: tuple[float, ...] = (0.95, 1.0)

    @property
    def name(self) -> str:
        """Short, for tables."""
        return "seasonal"

    def fitted(self, history: Series, horizon: int) -> SeasonalForecast:
        """The smoothing with the least mean absolute error of the peak, and the margin it needs."""
        needs(history, horizon + 20, "seasonal smoothing")
        origins = np.arange(len(history) // 3, len(history) - horizon + 1)
        real = np.log1p(real_peaks(history, origins, horizon))
        best: tuple[float, Smoothing, Floats] | None = None
        for smoothing in self._candidates(history):
            missed = real - _log_peaks(history, origins, horizon, smoothing)
            error = float(np.abs(missed).mean())
            if best is None or error < best[0]:
                best = error, smoothing, missed
        assert best is not None
        return SeasonalForecast(best[1], float(np.quantile(best[2], self.quantile)), horizon)

    def _candidates(self, history: Series) -> list[Smoothing]:
        """Seasons only where the history has seen two of them."""
        found = []
        for cycle in self.cycles:
            length = history.cycle(cycle) if cycle else 0
            if cycle and not (length and 2 * length < len(history)):
                continue
            for season, level, fading in product(self.seasons if cycle else (0.0,), self.levels, self.fadings):
                found.append(Smoothing(cycle, season, level, fading))
        return found


@dataclass(frozen=True, eq=False)
class SeasonalForecast:
    """A smoothing with its margin, which is added on the logarithmic scale.

    Attributes:
        smoothing: that was chosen.
        margin: added on the logarithmic scale.
        horizon: values looked ahead.
    """

    smoothing: Smoothing
    margin: float
    horizon: int

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """The highest value of the horizon, with the margin."""
        logs = _log_peaks(series, origins, self.horizon, self.smoothing)
        return np.maximum(np.expm1(logs + self.margin), 0.0)


def _log_peaks(series: Series, origins: Origins, horizon: int, smoothing: Smoothing) -> Floats:
    """The highest forecast of log(1 + value), by origin."""
    logs = np.log1p(series.values)
    length = series.cycle(smoothing.cycle) if smoothing.cycle else 0
    ahead = np.arange(horizon)
    if length > horizon:
        smoothed = _along_cycles(logs, length, smoothing.season)
        # What a season says of a value comes from one cycle earlier, so it is known at every origin before the value.
        season = np.concatenate([np.full(length, np.nan), smoothed])
        expected = season[origins[:, None] + ahead]
        base = season[: len(logs)]
    else:
        expected, base = np.full((len(origins), horizon), np.nan), np.full(len(logs), np.nan)
    deviation = _smoothed(np.where(np.isnan(base), logs, logs - base), smoothing.level)
    # In the first cycle there is no season yet: the level alone goes on.
    absolute = _smoothed(logs, smoothing.level)
    last = np.maximum(origins - 1, 0)
    fading = smoothing.fading ** (ahead + 1)
    seasonal = expected + deviation[last][:, None] * fading
    paths = np.where(np.isnan(expected), absolute[last][:, None], seasonal)
    found: Floats = np.where(origins > 0, paths.max(axis=1), 0.0)
    return found


def _along_cycles(values: Floats, length: int, weight: float) -> Floats:
    """Exponentially smoothed over the same phase of one cycle after the other."""
    found = values.copy()
    for start in range(length, len(values), length):
        stop = min(start + length, len(values))
        before = found[start - length : stop - length]
        found[start:stop] = blend(before, values[start:stop], weight)
    return found


def _smoothed(values: Floats, weight: float) -> Floats:
    """Exponentially smoothed along time, beginning with the first value."""
    if not len(values):
        return values
    lfilter = load("scipy.signal", "a seasonal forecast").lfilter
    found, _ = lfilter([weight], [1.0, weight - 1.0], values, zi=[(1 - weight) * values[0]])
    result: Floats = found
    return result
