"""The paper's forecast: a network that sees the calendar and the last minutes (ELYSIUM sections 3.2, 4 and 5.1).

It has 13 inputs (day of the week, hour, minute, and the loads of the last ten minutes), 24 hidden neurons, and one
output for each of the next five minutes. The forecast is the highest output within the horizon. The first 70 % of the
history train the network and the rest tests it, so that it never learns from values after those it forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Origins, Series, check_length
from rheostat.elastic.elysium.profiles.networks import MIN_ROWS, Network, train
from rheostat.elastic.elysium.profiles.profile import TRAINED
from rheostat.errors import ConfigurationError

SEEN, HIDDEN, HORIZON = 10, 24, 5
"""The paper's values: minutes of past load as inputs, neurons of the hidden layer, minutes to forecast."""


@dataclass(frozen=True)
class PaperNetwork:
    """Learns the paper's network from the first part of a history (section 5.1).

    Attributes:
        seen: number of past values that the network sees.
        hidden: number of neurons of the hidden layer.
        folds: number of folds of the cross-validation.
        tolerance: tolerance of the training; see ``train``.
        seed: seed of the training.
        trained: share of the history to train with, 0.7 in the paper; 1 if test data was already held back.

    >>> days = Series(np.tile([100.0] * 36 + [400.0] * 12, 4), step=1800.0)  # four days, each with a busy evening
    >>> forecast = PaperNetwork(hidden=4, folds=2).fitted(days, horizon=4)
    >>> morning, before_evening = forecast.peaks(days, np.array([110, 130]))
    >>> bool(before_evening > 2 * morning)
    True
    """

    seen: int = SEEN
    hidden: int = HIDDEN
    folds: int = 10
    tolerance: float = 3e-3
    seed: int = 1
    trained: float = TRAINED

    def __post_init__(self) -> None:
        if not 0 < self.trained <= 1:
            raise ConfigurationError(
                f"trained={self.trained}: it is the share of the history to train with, above 0 and at most 1"
            )

    @property
    def name(self) -> str:
        """Short name for tables."""
        return "network"

    def fitted(self, history: Series, horizon: int = HORIZON) -> NetworkForecast:
        """Train a network with five outputs, or one per value of a longer horizon."""
        outputs = max(horizon, HORIZON)
        check_length(history, self.seen + outputs + MIN_ROWS, "a network")
        origins = np.arange(self.seen, len(history) - outputs + 1)
        ahead = np.lib.stride_tricks.sliding_window_view(history.values, outputs)[origins]
        rows = inputs(history, origins, self.seen)
        cut = max(int(self.trained * len(rows)), MIN_ROWS)
        network = train(rows[:cut], ahead[:cut], self.hidden, self.seed, self.folds, tolerance=self.tolerance)
        tested = slice(cut, None) if cut < len(rows) else slice(None)
        errors = network(rows[tested])[:, :horizon] - ahead[tested, :horizon]
        scale = max(float(np.abs(ahead[tested]).mean()), 1e-12)
        return NetworkForecast(network, self.seen, horizon, float(np.abs(errors).mean()) / scale)


@dataclass(frozen=True, eq=False)
class NetworkForecast:
    """A forecast by a trained network.

    Attributes:
        network: the trained network.
        seen: number of past values that the network sees.
        horizon: number of outputs that count; the others are ignored.
        error: mean absolute error on the test part of the history, relative to the mean load there.
    """

    network: Network
    seen: int
    horizon: int
    error: float = 0.0

    def paths(self, series: Series, origins: Origins) -> Floats:
        """Return the forecast of every value within the horizon, never below 0, with a row per origin."""
        return np.maximum(self.network(inputs(series, origins, self.seen))[:, : self.horizon], 0.0)

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """Return for every origin the highest value forecast within the horizon."""
        highest: Floats = self.paths(series, origins).max(axis=1)
        return highest


def inputs(series: Series, origins: Origins, seen: int) -> Floats:
    """Return day of the week, hour and minute of each origin, and the values before it, padded with the first value.

    >>> inputs(Series(np.arange(5.0), start=3660.0), np.array([4]), seen=2)
    array([[3., 1., 5., 2., 3.]])
    """
    time = series.times(origins)
    calendar = np.column_stack([_weekday(time), time % DAY // 3600, time % 3600 // 60])
    positions = np.maximum(origins[:, None] + np.arange(-seen, 0), 0)
    rows: Floats = np.concatenate([calendar, series.values[positions]], axis=1)
    return rows


def _weekday(time: Floats) -> Floats:
    """Return 0 for Monday to 6 for Sunday; 1970 began on a Thursday."""
    return (time % WEEK // DAY + 3) % 7
