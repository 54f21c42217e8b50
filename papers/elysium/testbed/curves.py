"""The shapes of input load in ELYSIUM's evaluation (section 5.1), one value per second."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError


def stair(seconds: int, low: float, high: float, steps: int = 6) -> Floats:
    """Return a load that goes up from low to high in equal steps and down again; all steps take equally long.

    >>> stair(10, 100.0, 300.0, steps=3)
    array([100., 100., 200., 200., 300., 300., 200., 200., 100., 100.])
    """
    _check(seconds, low, high)
    if steps < 2:
        raise ConfigurationError(f"a stair needs at least 2 steps, not {steps}")
    up = np.linspace(low, high, steps)
    levels = np.concatenate([up, up[-2::-1]])
    return levels[np.arange(seconds) * len(levels) // seconds]


def step(seconds: int, low: float, high: float, rise: int, fall: int) -> Floats:
    """Return a load that is low, high from second ``rise`` on, and low again from second ``fall`` on.

    >>> step(5, 1.0, 2.0, rise=1, fall=3)
    array([1., 2., 2., 1., 1.])
    """
    _check(seconds, low, high)
    if not 0 <= rise <= fall:
        raise ConfigurationError(f"a step must rise before it falls: rise={rise}, fall={fall}; need 0 <= rise <= fall")
    at = np.arange(seconds)
    return np.where((at >= rise) & (at < fall), high, low)


def square(seconds: int, low: float, high: float, period: int, phase: int = 0) -> Floats:
    """Return a load that is low for half of every period and high for the other half.

    Args:
        seconds: length of the load.
        low: rows per second of the first half of a period.
        high: rows per second of the second half.
        period: seconds of a period.
        phase: seconds of the first period that are skipped.

    >>> square(6, 1.0, 2.0, period=4)
    array([1., 1., 2., 2., 1., 1.])
    """
    _check(seconds, low, high, period)
    return np.where((np.arange(seconds) + phase) % period < period / 2, low, high)


def sine(seconds: int, low: float, high: float, period: float, phase: float = 0.0) -> Floats:
    """Return a load that goes from low to high and back in every period, as a sine that starts at its lowest point.

    Args:
        seconds: length of the load.
        low: the lowest load.
        high: the highest load.
        period: seconds of a period.
        phase: seconds of the first period that are skipped.

    >>> sine(5, 0.0, 2.0, period=4).round(6)
    array([0., 1., 2., 1., 0.])
    """
    _check(seconds, low, high, period)
    middle, amplitude = (low + high) / 2, (high - low) / 2
    load: Floats = middle - amplitude * np.cos(2 * np.pi * (np.arange(seconds) + phase) / period)
    return load


def _check(seconds: int, low: float, high: float, period: float = 1.0) -> None:
    if seconds < 1 or not 0 <= low <= high < np.inf or period <= 0:
        raise ConfigurationError(
            f"invalid load curve: seconds={seconds}, low={low}, high={high}, period={period}; need seconds >= 1, "
            "0 <= low <= high and period > 0"
        )
