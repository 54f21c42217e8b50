"""Compares forecasters on past loads and chooses the best.

The second half of the history is cut into stretches. Every forecaster forecasts each stretch after learning from all
values before it. The score is the pinball loss, because errors have different costs: if a forecast is too low, rows
wait; if it is too high, nodes are idle. The loss weights the first with ``quantile`` and the second with
``1 - quantile``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import Forecast, Forecaster, Series, check_length, real_peaks

TOLERANCE = 0.1
"""A forecast that is below the real peak by more than this share counts as too low."""


@dataclass(frozen=True)
class Score:
    """How good forecasts of peaks are.

    Attributes:
        loss: mean pinball loss, relative to the mean of the real peaks.
        under: share of forecasts that are more than ``TOLERANCE`` below the real peak.
        over: mean excess over the real peak (0 for forecasts below it), relative to the mean of the real peaks.
    """

    loss: float
    under: float
    over: float


@dataclass(frozen=True, eq=False)
class ChosenForecaster:
    """The forecaster with the lowest loss.

    Attributes:
        name: its name.
        forecast: the forecast, fitted to the whole history.
        scores: scores of all forecasters, by name.
    """

    name: str
    forecast: Forecast
    scores: dict[str, Score]


def score(forecast: Floats, real: Floats, quantile: float = 0.9) -> Score:
    """Compare forecasts of peaks with the real peaks.

    >>> score(np.array([8.0, 12.0]), np.array([10.0, 10.0]), quantile=0.75)
    Score(loss=0.1, under=0.5, over=0.1)
    """
    shortfall = real - forecast
    scale = max(float(real.mean()), 1e-12)
    loss = np.maximum(quantile * shortfall, (quantile - 1) * shortfall).mean() / scale
    under = np.mean(forecast < (1 - TOLERANCE) * real)
    return Score(float(loss), float(under), float(np.maximum(-shortfall, 0.0).mean() / scale))


def backtest(forecaster: Forecaster, history: Series, horizon: int, stretches: int = 3, quantile: float = 0.9) -> Score:
    """Score a forecaster on the second half of a history.

    Args:
        forecaster: learns from all values before a stretch and forecasts the stretch.
        history: the recorded load.
        horizon: number of values to look ahead; a forecast is the highest of them.
        stretches: number of stretches of the second half.
        quantile: weight of too low forecasts in the loss.

    >>> from rheostat.elastic.elysium import Seasonal
    >>> from rheostat.elastic.elysium.forecasts.series import DAY
    >>> days = Series(np.tile([100.0] * 36 + [400.0] * 12, 6), step=1800.0)  # six days, each with a busy evening
    >>> # the share of forecasts that are too low, without and with a daily season
    >>> [round(backtest(Seasonal(cycles=(cycle,)), days, horizon=4).under, 2) for cycle in (0.0, DAY)]
    [0.09, 0.0]
    """
    check_length(history, 8 * stretches + 2 * horizon + 40, "a back-test")
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
    """Return the forecaster with the lowest loss in the back-test, the first one if several are equal.

    Args:
        forecasters: the forecasters to compare, with different names.
        history: the recorded load.
        horizon: number of values to look ahead; a forecast is the highest of them.
        stretches: number of stretches of the back-test.
        quantile: weight of too low forecasts in the loss.

    >>> from rheostat.elastic.elysium import BoostedTrees, Seasonal
    >>> days = Series(np.tile([100.0] * 36 + [400.0] * 12, 4), step=1800.0)  # four days, each with a busy evening
    >>> found = choose([Seasonal(), BoostedTrees(trees=20)], days, horizon=4)
    >>> found.name, found.scores["boosted"].loss < found.scores["seasonal"].loss
    ('boosted', True)
    """
    scores = {f.name: backtest(f, history, horizon, stretches, quantile) for f in forecasters}
    best = min(forecasters, key=lambda f: scores[f.name].loss)
    return ChosenForecaster(best.name, best.fitted(history, horizon), scores)
