"""The paper's forecast: a network that sees the calendar and the last minutes (ELYSIUM sections 3.2, 4 and 5.1).

13 inputs (day of the week, hour, minute, and the loads of the last ten minutes), 24 hidden neurons, one output for each
of the next five minutes. The forecast for the horizon is the highest of them. The first 70 % of the history train the
network, the rest tests it: what comes later must not teach it how to forecast what lies before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.elysium.forecasts.series import DAY, WEEK, Origins, Series, needs
from rheostat.elastic.elysium.profiles.networks import Network, train
from rheostat.elastic.elysium.profiles.profile import TRAINED
from rheostat.errors import ConfigurationError

SEEN, HIDDEN, HORIZON = 10, 24, 5
"""Minutes looked back at, neurons of the hidden layer, and minutes looked ahead."""


@dataclass(frozen=True)
class PaperNetwork:
    """Learns the paper's network from the first part of the history it is given, 70 % in the paper (section 5.1).

    Attributes:
        seen: values looked back at.
        hidden: neurons of the hidden layer.
        folds: of the cross-validation.
        tolerance: of the training; see ``train``.
        seed: everything random follows from it.
        trained: share of the history to train with; 1 where another part was put aside for tests already.
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
                f"a network cannot be trained with {self.trained} of the history: take a share up to 1"
            )

    @property
    def name(self) -> str:
        """Short, for tables."""
        return "network"

    def fitted(self, history: Series, horizon: int = HORIZON) -> NetworkForecast:
        """A network with five outputs, or as many as the horizon has values if those are more."""
        outputs = max(horizon, HORIZON)
        needs(history, self.seen + outputs + 4, "a network")
        origins = np.arange(self.seen, len(history) - outputs + 1)
        ahead = np.lib.stride_tricks.sliding_window_view(history.values, outputs)[origins]
        rows = inputs(history, origins, self.seen)
        cut = max(int(self.trained * len(rows)), 4)
        network = train(rows[:cut], ahead[:cut], self.hidden, self.seed, self.folds, tolerance=self.tolerance)
        held = slice(cut, None) if cut < len(rows) else slice(None)
        missed = network(rows[held])[:, :horizon] - ahead[held, :horizon]
        scale = max(float(np.abs(ahead[held]).mean()), 1e-12)
        return NetworkForecast(network, self.seen, horizon, float(np.abs(missed).mean()) / scale)


@dataclass(frozen=True, eq=False)
class NetworkForecast:
    """A trained network, of whose outputs the first ``horizon`` count.

    Attributes:
        network: that was trained.
        seen: values looked back at.
        horizon: values looked ahead.
        error: mean absolute error on the part of the history it was not trained with, relative to the mean load there.
    """

    network: Network
    seen: int
    horizon: int
    error: float = 0.0

    def paths(self, series: Series, origins: Origins) -> Floats:
        """One row per origin with the forecast of every value of the horizon, never below 0."""
        return np.maximum(self.network(inputs(series, origins, self.seen))[:, : self.horizon], 0.0)

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """The highest value of each row."""
        found: Floats = self.paths(series, origins).max(axis=1)
        return found


def inputs(series: Series, origins: Origins, seen: int) -> Floats:
    """Day of the week, hour and minute of each origin, and the values before it, or the first where there are fewer.

    >>> inputs(Series(np.arange(5.0), start=3660.0), np.array([4]), seen=2)
    array([[3., 1., 5., 2., 3.]])
    """
    time = series.times(origins)
    calendar = np.column_stack([_weekday(time), time % DAY // 3600, time % 3600 // 60])
    positions = np.maximum(origins[:, None] + np.arange(-seen, 0), 0)
    found: Floats = np.concatenate([calendar, series.values[positions]], axis=1)
    return found


def _weekday(time: Floats) -> Floats:
    """0 for Monday; 1970 began on a Thursday."""
    return (time % WEEK // DAY + 3) % 7
