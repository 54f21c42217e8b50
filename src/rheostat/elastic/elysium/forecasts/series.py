"""Recorded loads, and the protocols of forecasters and forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

Origins = npt.NDArray[np.intp]
"""Positions in a series at which forecasts are made; at origin i, only the first i values are known."""

DAY = 86_400.0
"""Seconds of a day."""

WEEK = 7 * DAY
"""Seconds of a week."""


@dataclass(frozen=True, eq=False)
class Series:
    """Rows per second, or any other quantity, at equal time steps.

    Attributes:
        values: one value per step, the oldest first.
        start: time of the first value in seconds since 1970-01-01.
        step: seconds between two values.

    >>> load = Series(np.array([100.0, 120.0, 400.0]), start=0.0, step=60.0)
    >>> len(load), load.last(1).start
    (3, 120.0)
    >>> Series(np.array([100.0, np.nan]))
    Traceback (most recent call last):
    ...
    rheostat.errors.ConfigurationError: series of shape (2,) with step=60.0: it needs one dimension, finite numbers ...
    """

    values: Floats
    start: float = 0.0
    step: float = 60.0

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or not np.isfinite(self.values).all() or self.step <= 0:
            raise ConfigurationError(
                f"series of shape {self.values.shape} with step={self.step}: it needs one dimension, finite numbers "
                "(fill gaps first) and a step above 0"
            )

    def __len__(self) -> int:
        return len(self.values)

    def times(self, positions: Origins) -> Floats:
        """Return the times of positions in seconds since 1970-01-01; positions after the last value are allowed."""
        return self.start + self.step * positions.astype(np.float64)

    def until(self, origin: int) -> Series:
        """Return the values known at an origin.

        >>> len(Series(np.arange(5.0)).until(3))
        3
        """
        return Series(self.values[:origin], self.start, self.step)

    def last(self, count: int) -> Series:
        """Return a series of the last values.

        >>> end = Series(np.arange(5.0), start=0.0, step=60.0).last(2)
        >>> end.values, end.start
        (array([3., 4.]), 180.0)
        """
        first = max(len(self) - count, 0)
        return Series(self.values[first:], self.start + self.step * first, self.step)

    def cycle(self, seconds: float) -> int:
        """Return the number of values in a cycle, such as a day; 0 if it is below 2 or not a whole number.

        >>> Series(np.zeros(1), step=1800.0).cycle(DAY)
        48
        """
        count = round(seconds / self.step)
        return count if count > 1 and abs(count * self.step - seconds) < 1e-6 * seconds else 0


class Forecast(Protocol):
    """A fitted forecaster."""

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """Return for every origin the highest value forecast among the next ``horizon`` values.

        The forecast at an origin uses only the values before it.
        """


class Forecaster(Protocol):
    """Learns a forecast from history."""

    @property
    def name(self) -> str:
        """Short name for tables."""

    def fitted(self, history: Series, horizon: int) -> Forecast:
        """Return a forecast of the highest of the next ``horizon`` values, learned from the whole history."""


def real_peaks(series: Series, origins: Origins, horizon: int) -> Floats:
    """Return the highest of the ``horizon`` values from each origin on; all of them must be in the series.

    >>> real_peaks(Series(np.array([1.0, 5.0, 2.0, 3.0])), np.array([0, 2]), 2)
    array([5., 3.])
    """
    if len(origins) and (int(origins.min()) < 0 or int(origins.max()) + horizon > len(series)):
        raise ConfigurationError(
            f"origins {origins.min()} to {origins.max()}: each must be at least 0 and followed by {horizon} of the "
            f"{len(series)} values"
        )
    windows = np.lib.stride_tricks.sliding_window_view(series.values, horizon)
    peaks: Floats = windows[origins].max(axis=1)
    return peaks


def check_length(history: Series, values: int, name: str) -> None:
    """Raise an error if a history has fewer values than needed to learn from it."""
    if len(history) < values:
        raise ConfigurationError(
            f"{name} needs at least {values} values to learn from, not {len(history)}: record longer"
        )
