"""The loads of the benchmarks that run against the clock: how much work arrives in every second.

A load is the number of slots that would be busy all the time. Every load is between ``CALM`` and ``PEAK``: a tenth and
two fifths of what ``SLOTS`` can carry. So the most slots keep the promise, most of the time far fewer would do, and one
number of slots is never right for long.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats
from rheostat.workloads.exchange import DAY, Exchange
from rheostat.workloads.live_rows import HotKey, LiveRows, live_rows

SLOTS = 16
"""The most slots, and the cores that Spark is told it has."""

SHARDS = 64
"""As many substreams as StreamSwitch's evaluation has (section 6.1)."""

KEYS = 16_384
ROW_SECONDS = 0.004
"""Seconds that a row sleeps in its slot."""

CALM, PEAK = 0.1 * SLOTS, 0.4 * SLOTS

HOT = HotKey(share=0.18, every=20.0)
"""The key that wanders. A slot that has nothing else is busy 0.18 times ``HOT_LOAD``, a bit under a half."""

HOT_LOAD = 2.4
PERIOD = 80.0
"""Seconds of a wave of the sinusoid."""

_CALM_SHARE = 0.25  # of the time of an opening that comes before it


def sinusoid(seconds: int) -> Floats:
    """Return waves between calm and peak."""
    wave = (1 - np.cos(2 * np.pi * np.arange(seconds) / PERIOD)) / 2
    return np.asarray(CALM + (PEAK - CALM) * wave)


def step(seconds: int) -> Floats:
    """Return calm, then the peak at once, then calm again."""
    third = np.arange(seconds) * 3 // max(seconds, 1)
    return np.where(third == 1, PEAK, CALM)


def opening(seconds: int) -> Floats:
    """Return the minutes around the second opening of the exchange, second by second.

    The orders of the exchange rise fifty times within a second and decay with a time constant of eight. The curve is
    scaled so that it spans calm to peak.
    """
    first = DAY // 2 - int(seconds * _CALM_SHARE)
    orders = Exchange().rates()[first : first + seconds]
    return np.interp(orders, [orders.min(), orders.max()], [CALM, PEAK])


def wander(seconds: int) -> Floats:
    """Return a steady load, of which a hot key has its share."""
    return np.full(seconds, HOT_LOAD)


LOADS = {"sinusoid": sinusoid, "opening": opening, "step": step, "wander": wander}
"""From the name of a workload to the load of each second."""


def rows_of(workload: str, warm_up: int, seconds: int) -> LiveRows:
    """Return the rows of a workload.

    Args:
        workload: a name in ``LOADS``.
        warm_up: seconds before the workload begins, with the load of its first second.
        seconds: length of the workload.

    >>> rows = rows_of("step", warm_up=2, seconds=6)
    >>> (np.histogram(rows.times, bins=[0, 2, 4, 6, 8])[0] * ROW_SECONDS / 2).round(1).tolist()
    [1.6, 1.6, 6.4, 1.6]
    """
    load = LOADS[workload](seconds)
    rates = np.concatenate([np.full(warm_up, load[0]), load]) / ROW_SECONDS
    return live_rows(rates, keys=KEYS, hot=HOT if workload == "wander" else None)
