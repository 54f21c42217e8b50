"""Which forecaster suits a load: each is tried on the past as if it were the future.

The history is cut into stretches; for each one every forecaster learns from all that lies before it and forecasts it.
What counts is what a wrong forecast costs: too low a peak leaves rows waiting, too high a one pays for idle nodes. The
pinball loss weighs the first against the second as ``quantile`` against ``1 - quantile``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import Forecast, Forecaster, Series, needs, real_peaks

TOLERANCE = 0.1
"""A peak that was forecast more than this share too low counts as under-predicted."""


@dataclass(frozen=True)
class Score:
    """How forecasts did.

    Attributes:
        loss: mean pinball loss, relative to the mean of the real peaks.
        under: share of forecasts more than ``TOLERANCE`` below the real peak.
        over: mean excess of the forecasts that were too high, 0 for the others, relative to the mean of the real peaks.
    """

    loss: float
    under: float
    over: float


@dataclass(frozen=True, eq=False)
class ChosenForecaster:
    """The forecaster that did best, fitted to the whole history, and the scores of all by name.

    Attributes:
        name: of the forecaster.
        forecast: fitted to the whole history.
        scores: of all forecasters, by name.
    """

    name: str
    forecast: Forecast
    scores: dict[str, Score]


def score(forecast: Floats, real: Floats, quantile: float = 0.9) -> Score:
    """How forecasts of peaks did against the real ones.

    >>> score(np.array([8.0, 12.0]), np.array([10.0, 10.0]), quantile=0.75)
    Score(loss=0.1, under=0.5, over=0.1)
    """
    missing = real - forecast
    scale = max(float(real.mean()), 1e-12)
    loss = np.maximum(quantile * missing, (quantile - 1) * missing).mean() / scale
    under = np.mean(forecast < (1 - TOLERANCE) * real)
    return Score(float(loss), float(under), float(np.maximum(-missing, 0.0).mean() / scale))


def backtest(forecaster: Forecaster, history: Series, horizon: int, stretches: int = 3, quantile: float = 0.9) -> Score:
    """Forecasts of the second half of a history, stretch by stretch, each from what lies before it."""
    needs(history, 8 * stretches + 2 * horizon + 40, "a back-test")
    cuts = np.linspace(len(history) // 2, len(history) - horizon + 1, stretches + 1).astype(int)
    forecasts, real = [], []
    for begin, end in pairwise(cuts.tolist()):
        origins = np.arange(begin, end)
        forecasts.append(forecaster.fitted(history.until(begin), horizon).peaks(history, origins))
        real.append(real_peaks(history, origins, horizon))
    return score(np.concatenate(forecasts), np.concatenate(real), quantile)


def choose(
    forecasters: Sequence[Forecaster], history: Series, horizon: int, stretches: int = 3, quantile: float = 0.9
) -> ChosenForecaster:
    """The forecaster with the least loss in the back-test; the first of equals."""
    scores = {f.name: backtest(f, history, horizon, stretches, quantile) for f in forecasters}
    best = min(forecasters, key=lambda f: scores[f.name].loss)
    return ChosenForecaster(best.name, best.fitted(history, horizon), scores)
