"""Draw the times and shards of many rows at once, and check the parameters of workloads.

Each random number generator is made from a seed, a purpose and the number of a span of time, so a span can be drawn
without those before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.routing.table import shards_of
from rheostat.errors import ConfigurationError

Shards = npt.NDArray[np.int32]

_T = TypeVar("_T")

_CACHED = 4  # values of a cache: enough for a few callers that each read a cell in parts, in turns


def generator(seed: int, purpose: int, number: int) -> np.random.Generator:
    """Return the random number generator of a span of time for a purpose."""
    return np.random.default_rng([seed, purpose, number])


def hash_shards(keys: npt.ArrayLike, shards: int, salt: int = 0) -> Shards:
    """Return the shard of each key: the same in every run, and independent of the shards for another ``salt``.

    Keys are mixed in two rounds, each of which folds the high bits into the low ones and multiplies. So consecutive
    keys spread over the shards like random ones.

    >>> hash_shards([0, 1, 2, 3], 8192).tolist()
    [7236, 4641, 4843, 929]
    """
    offset = np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % (1 << 64))
    mixed = np.atleast_1d(np.asarray(keys, dtype=np.uint64)) + offset
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return shards_of(mixed.view(np.int64), shards).astype(np.int32)


def zipf(count: int, skew: float) -> Floats:
    """Return the shares of ``count`` keys, the most popular first; rank r has a share proportional to ``r ** -skew``.

    >>> zipf(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    >>> zipf(4, 0.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    check_whole(1, count=count)
    check_not_negative(skew=skew)
    return normalize("skew", np.arange(1.0, count + 1) ** -skew)


def row_positions(rng: np.random.Generator, begin: float, end: float, poisson: bool) -> Floats:
    """Return sorted positions of rows: at random with a mean of 1 row per unit, or at every whole number.

    The position of a row is the number of rows expected before it; see ``ExpectedFlow``.

    Args:
        rng: random number generator.
        begin: the least position.
        end: the end of the positions, not included.
        poisson: True for random positions, False for whole numbers.

    >>> row_positions(generator(1, 1, 0), 2.5, 5.5, poisson=False).tolist()
    [3.0, 4.0, 5.0]
    """
    if poisson:
        return sorted_uniform(rng, int(rng.poisson(end - begin)), begin, end)
    return np.arange(math.ceil(begin), math.ceil(end), dtype=np.float64)


def sorted_uniform(rng: np.random.Generator, count: int, begin: float, end: float) -> Floats:
    """Return ``count`` uniform random numbers between ``begin`` and ``end``, sorted.

    They are drawn in order, which is faster than sorting: cumulative sums of exponential gaps, divided by their total,
    have the distribution of sorted uniform numbers.

    >>> sorted_uniform(generator(1, 1, 0), 3, 10.0, 20.0).round(2).tolist()
    [11.63, 13.54, 18.75]
    """
    gaps = rng.standard_exponential(count + 1)
    np.cumsum(gaps, out=gaps)
    gaps *= (end - begin) / gaps[-1]
    gaps += begin
    return gaps[:-1]


def positions_to_times(rows: Floats, upto: Floats, knots: Floats) -> Floats:
    """Convert sorted positions of rows to times.

    Args:
        rows: the positions.
        upto: position of each knot: the rows expected until then.
        knots: sorted times between which the rate is constant. All rows are before the last one.

    >>> knots = np.array([10.0, 11.0, 12.0, 13.0])
    >>> positions_to_times(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 2.0, 4.0]), knots)
    array([10. , 10.5, 12.5])
    """
    times = np.interp(rows, upto, knots)
    if len(knots) > 2:  # rounding may put two rows on both sides of a knot into the wrong order
        np.maximum.accumulate(times, out=times)
    times[times.searchsorted(knots[-1]) :] = np.nextafter(knots[-1], -math.inf)
    return times


def shuffled_shards(rng: np.random.Generator, counts: npt.NDArray[np.int64], labels: Shards | None = None) -> Shards:
    """Return the shards of rows in random order.

    Args:
        rng: random number generator.
        counts: number of rows of each shard.
        labels: the shard of each count; by default 0, 1, 2 and so on.

    >>> sorted(shuffled_shards(generator(1, 1, 0), np.array([2, 0, 1])).tolist())
    [0, 0, 2]
    """
    shards = np.repeat(np.arange(len(counts), dtype=np.int32) if labels is None else labels, counts)
    rng.shuffle(shards)
    return shards


def normalize(name: str, weights: npt.ArrayLike) -> Floats:
    """Return the weights divided by their sum; ``name`` is the parameter that an error names."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or values.min() < 0 or not values.sum() > 0:
        raise ConfigurationError(f"{name}: must be one finite number per shard, 0 or more, and not all of them 0")
    normalized: Floats = values / values.sum()
    return normalized


def sum_by_index(indexes: npt.NDArray[np.integer[Any]], amounts: Floats, count: int) -> Floats:
    """Return the sum of the amounts with each index from 0 to ``count - 1``.

    >>> sum_by_index(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.bincount(indexes, amounts, count).astype(np.float64, copy=False)


def check_positive(**values: float) -> None:
    """Raise ``ConfigurationError`` for values that are not finite and above 0."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ConfigurationError(f"{name}={value}: must be a finite number above 0")


def check_not_negative(**values: float) -> None:
    """Raise ``ConfigurationError`` for values that are negative or not finite."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ConfigurationError(f"{name}={value}: must be a finite number, 0 or more")


def check_length(seconds: float) -> None:
    """Raise ``ConfigurationError`` if the length of a workload is not above 0; it may be infinite."""
    if not seconds > 0:
        raise ConfigurationError(f"seconds={seconds}: must be above 0; math.inf for a workload without end")


def check_whole(least: int, **values: int) -> None:
    """Raise ``ConfigurationError`` for values that are not whole numbers, ``least`` or more."""
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or value < least:
            raise ConfigurationError(f"{name}={value!r}: must be a whole number, {least} or more")


def get_or_make(cache: dict[int, _T], number: int, make: Callable[[int], _T]) -> _T:
    """Return the value of a number from a cache of the last few numbers, or make it and put it there."""
    if number not in cache:
        while len(cache) >= _CACHED:
            del cache[next(iter(cache))]
        cache[number] = make(number)
    return cache[number]
