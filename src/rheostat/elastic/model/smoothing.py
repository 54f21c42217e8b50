"""Moving means: the one way in which measurements are smoothed, and how much the newest one counts for each user.

``rheostat.elastic.routing.shard_load`` smooths useful seconds by shard, ``rheostat.elastic.elasticutor.shard_rates``
rates by shard, and ``rheostat.elastic.streamswitch.counters`` service rates by slot.
"""

from __future__ import annotations

from typing import TypeVar

from rheostat.arrays import Floats

Value = TypeVar("Value", float, Floats)

LOAD_HALF_LIFE = 2.0
"""Epochs after which a measured load counts half: follows a shift of keys quickly, but not every bit of noise."""

RATE_WEIGHT = 0.5
"""Share of the newest interval in Elasticutor's rates: a shift of keys is seen after one interval or two."""

CALM_RATE_WEIGHT = 0.25
"""The same for the resource-centric baseline: less, because each of its changes stops a whole operator."""

EWMA_WEIGHT = 1 / 8
"""Share of the newest service rate in StreamSwitch's mean, as TCP smooths round trips (section 4.2)."""


def blend(mean: Value, newest: Value, share: float) -> Value:
    """The mean after one more measurement.

    Args:
        mean: so far.
        newest: the measurement.
        share: how much it counts, from 0 to 1.

    >>> blend(8.0, 4.0, share=0.25)
    7.0
    """
    return (1 - share) * mean + share * newest


def share_of(half_life: float) -> float:
    """How much the newest measurement counts if one counts half after ``half_life`` further measurements.

    >>> round(share_of(1.0), 3), round(share_of(LOAD_HALF_LIFE), 3)
    (0.5, 0.293)
    """
    return float(1 - 0.5 ** (1 / half_life))
