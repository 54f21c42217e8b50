"""Moving means: how all policies smooth measurements, and the weight of the newest measurement in each mean.

``rheostat.elastic.routing.shard_load`` smooths useful seconds by shard, ``rheostat.elastic.elasticutor.shard_rates``
rates by shard, and ``rheostat.elastic.streamswitch.counters`` service rates by slot.
"""

from __future__ import annotations

from typing import TypeVar

from rheostat.arrays import Floats

Value = TypeVar("Value", float, Floats)

LOAD_HALF_LIFE = 2.0
"""Epochs after which the weight of a measured load has halved: short enough to follow a shift of keys."""

RATE_WEIGHT = 0.5
"""Weight of the newest interval in Elasticutor's rates: a change shows after one or two intervals."""

CALM_RATE_WEIGHT = 0.25
"""Weight of the newest interval in the resource-centric baseline, lower because each change stops an operator."""

EWMA_WEIGHT = 1 / 8
"""Weight of the newest service rate in StreamSwitch's mean, the value that TCP uses for round trips (section 4.2)."""


def blend(mean: Value, newest: Value, share: float) -> Value:
    """Return the moving mean after one more measurement.

    Args:
        mean: the mean so far.
        newest: the new measurement.
        share: the weight of the new measurement, from 0 to 1.

    >>> blend(8.0, 4.0, share=0.25)
    7.0
    """
    return (1 - share) * mean + share * newest


def share_of(half_life: float) -> float:
    """Return the weight of the newest measurement with which weights halve every ``half_life`` measurements.

    >>> round(share_of(1.0), 3), round(share_of(LOAD_HALF_LIFE), 3)
    (0.5, 0.293)
    """
    return float(1 - 0.5 ** (1 / half_life))
