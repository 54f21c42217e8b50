"""A recorded load, and what a forecast of it must be able to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError

Origins = npt.NDArray[np.intp]
"""Moments at which a forecast is made: at origin i the first i values are known and nothing else."""

DAY = 86_400.0
WEEK = 7 * DAY


@dataclass(frozen=True, eq=False)
class Series:
    """Rows per second (or any other amount) at equal distances in time.

    Attributes:
        values: oldest first.
        start: seconds since 1970-01-01 of the first value.
        step: seconds from one value to the next.
    """

    values: Floats
    start: float = 0.0
    step: float = 60.0

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or not np.isfinite(self.values).all() or self.step <= 0:
            raise ConfigurationError("a series is one row of finite numbers with a step above 0: fill its gaps first")

    def __len__(self) -> int:
        return len(self.values)

    def times(self, positions: Origins) -> Floats:
        """Seconds since 1970 of the values at these positions, which may lie in the future."""
        return self.start + self.step * positions.astype(np.float64)

    def until(self, origin: int) -> Series:
        """What is known at an origin.

        >>> len(Series(np.arange(5.0)).until(3))
        3
        """
        return Series(self.values[:origin], self.start, self.step)

    def last(self, count: int) -> Series:
        """The last values, with their time.

        >>> end = Series(np.arange(5.0), start=0.0, step=60.0).last(2)
        >>> end.values, end.start
        (array([3., 4.]), 180.0)
        """
        first = max(len(self) - count, 0)
        return Series(self.values[first:], self.start + self.step * first, self.step)

    def cycle(self, seconds: float) -> int:
        """Values in a day or a week; 0 if that is less than two values or no whole number of them.

        >>> Series(np.zeros(1), step=1800.0).cycle(DAY)
        48
        """
        count = round(seconds / self.step)
        return count if count > 1 and abs(count * self.step - seconds) < 1e-6 * seconds else 0


class Forecast(Protocol):
    """A forecaster that has seen some history."""

    def peaks(self, series: Series, origins: Origins) -> Floats:
        """For every origin the highest value expected among the next ``horizon`` ones.

        Nothing at or behind an origin changes the forecast that is made there.
        """


class Forecaster(Protocol):
    """Learns from history."""

    @property
    def name(self) -> str:
        """Short, for tables."""

    def fitted(self, history: Series, horizon: int) -> Forecast:
        """A forecast of the highest of the next ``horizon`` values, learned from the whole history given."""


def real_peaks(series: Series, origins: Origins, horizon: int) -> Floats:
    """What the highest of the next values really was; the origins must leave ``horizon`` values behind them.

    >>> real_peaks(Series(np.array([1.0, 5.0, 2.0, 3.0])), np.array([0, 2]), 2)
    array([5., 3.])
    """
    if len(origins) and (int(origins.min()) < 0 or int(origins.max()) + horizon > len(series)):
        raise ConfigurationError(
            f"origins {origins.min()} to {origins.max()} leave no {horizon} of {len(series)} values"
        )
    windows = np.lib.stride_tricks.sliding_window_view(series.values, horizon)
    found: Floats = windows[origins].max(axis=1)
    return found


def needs(history: Series, values: int, name: str) -> None:
    """Refuse a history that is too short to learn from."""
    if len(history) < values:
        raise ConfigurationError(
            f"{name} needs at least {values} values to learn from, not {len(history)}: record longer"
        )
