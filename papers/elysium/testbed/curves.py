"""Input load over time, one value per second: the curves of ELYSIUM's evaluation (section 5.1)."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError


def stair(seconds: int, low: float, high: float, steps: int = 6) -> Floats:
    """Up in equal steps from low to high and down again, every step equally long.

    >>> stair(10, 100.0, 300.0, steps=3)
    array([100., 100., 200., 200., 300., 300., 200., 200., 100., 100.])
    """
    _check(seconds, low, high)
    if steps < 2:
        raise ConfigurationError(f"a stair has at least 2 steps, not {steps}")
    up = np.linspace(low, high, steps)
    levels = np.concatenate([up, up[-2::-1]])
    return levels[np.arange(seconds) * len(levels) // seconds]


def step(seconds: int, low: float, high: float, rise: int, fall: int) -> Floats:
    """Low, high from second ``rise`` on, low again from second ``fall`` on.

    >>> step(5, 1.0, 2.0, rise=1, fall=3)
    array([1., 2., 2., 1., 1.])
    """
    _check(seconds, low, high)
    if not 0 <= rise <= fall:
        raise ConfigurationError(f"a step must rise before it falls: {rise} to {fall}")
    at = np.arange(seconds)
    return np.where((at >= rise) & (at < fall), high, low)


def square(seconds: int, low: float, high: float, period: int, phase: int = 0) -> Floats:
    """Low for half a period, then high for the other half, over and over; ``phase`` seconds have passed at the start.

    >>> square(6, 1.0, 2.0, period=4)
    array([1., 1., 2., 2., 1., 1.])
    """
    _check(seconds, low, high, period)
    return np.where((np.arange(seconds) + phase) % period < period / 2, low, high)


def sine(seconds: int, low: float, high: float, period: float, phase: float = 0.0) -> Floats:
    """From low to high and back in every period, beginning low.

    >>> sine(5, 0.0, 2.0, period=4).round(6)
    array([0., 1., 2., 1., 0.])
    """
    _check(seconds, low, high, period)
    middle, reach = (low + high) / 2, (high - low) / 2
    found: Floats = middle - reach * np.cos(2 * np.pi * (np.arange(seconds) + phase) / period)
    return found


def _check(seconds: int, low: float, high: float, period: float = 1.0) -> None:
    if seconds < 1 or not 0 <= low <= high < np.inf or period <= 0:
        raise ConfigurationError(
            f"a load of {seconds} seconds from {low} to {high} with a period of {period} makes no sense: it needs at "
            "least one second, 0 <= low <= high and a period above 0"
        )
