"""Random rows, many at a time: when they arrive and which shard they belong to; and checks of parameters.

A random number generator is made from a seed, a purpose and the number of a span of time, so any span can be drawn
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

_KEPT = 4  # cells kept for callers that ask for a part of one at a time, and for a few that do so in turns


def random(seed: int, purpose: int, number: int) -> np.random.Generator:
    """The random numbers of one span for one purpose."""
    return np.random.default_rng([seed, purpose, number])


def hash_shards(keys: npt.ArrayLike, shards: int, salt: int = 0) -> Shards:
    """The shard of every key: the same in every run, and hardly the same for another ``salt``.

    Two multiplications, each after the high bits were folded into the low ones, so that neighbouring keys spread like
    random ones.

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
    """Shares of ``count`` keys, the most popular first: the one of rank r is proportional to ``r ** -skew``.

    >>> zipf(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    >>> zipf(4, 0.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    whole(1, count=count)
    not_negative(skew=skew)
    return shares("skew", np.arange(1.0, count + 1) ** -skew)


def arriving(rng: np.random.Generator, begin: float, end: float, poisson: bool) -> Floats:
    """Where rows lie, in order, on an axis of expected rows: at random, one per unit, or at every whole number.

    >>> arriving(random(1, 1, 0), 2.5, 5.5, poisson=False).tolist()
    [3.0, 4.0, 5.0]
    """
    if poisson:
        return in_order(rng, int(rng.poisson(end - begin)), begin, end)
    return np.arange(math.ceil(begin), math.ceil(end), dtype=np.float64)


def in_order(rng: np.random.Generator, count: int, begin: float, end: float) -> Floats:
    """So many uniform numbers between begin and end, sorted.

    Nothing is sorted: the sums of exponential gaps, divided by the sum of all and one more, are distributed just so.

    >>> in_order(random(1, 1, 0), 3, 10.0, 20.0).round(2).tolist()
    [11.63, 13.54, 18.75]
    """
    gaps = rng.standard_exponential(count + 1)
    np.cumsum(gaps, out=gaps)
    gaps *= (end - begin) / gaps[-1]
    gaps += begin
    return gaps[:-1]


def on_clock(rows: Floats, upto: Floats, knots: Floats) -> Floats:
    """The times of rows that lie in order on an axis of expected rows.

    Args:
        upto: expected rows until every one of the ``knots``; between them, the rate is constant.
        knots: times, in order. All rows are before the last.

    >>> on_clock(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 2.0, 4.0]), np.array([10.0, 11.0, 12.0, 13.0]))
    array([10. , 10.5, 12.5])
    """
    times = np.interp(rows, upto, knots)
    if len(knots) > 2:  # two pieces of a curve may round differently where they meet
        np.maximum.accumulate(times, out=times)
    times[times.searchsorted(knots[-1]) :] = np.nextafter(knots[-1], -math.inf)
    return times


def mixed_up(rng: np.random.Generator, counts: npt.NDArray[np.int64], labels: Shards | None = None) -> Shards:
    """So many rows of every shard, in random order; with ``labels``, of the shards that these name.

    >>> sorted(mixed_up(random(1, 1, 0), np.array([2, 0, 1])).tolist())
    [0, 0, 2]
    """
    shards = np.repeat(np.arange(len(counts), dtype=np.int32) if labels is None else labels, counts)
    rng.shuffle(shards)
    return shards


def shares(name: str, weights: npt.ArrayLike) -> Floats:
    """The weights divided by their sum; ``name`` is the parameter they were given for."""
    given = np.asarray(weights, dtype=np.float64)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all() or given.min() < 0 or not given.sum() > 0:
        raise ConfigurationError(f"{name}: give one finite number of 0 or more per shard, not all of them 0")
    normal: Floats = given / given.sum()
    return normal


def summed(places: npt.NDArray[np.integer[Any]], amounts: Floats, count: int) -> Floats:
    """The sum of the amounts at every one of ``count`` places.

    >>> summed(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.bincount(places, amounts, count).astype(np.float64, copy=False)


def positive(**values: float) -> None:
    """Refuse values that are not finite numbers above 0."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ConfigurationError(f"{name}={value}: give a finite number above 0")


def not_negative(**values: float) -> None:
    """Refuse values that are not finite numbers from 0."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ConfigurationError(f"{name}={value}: give a finite number, 0 or more")


def lasting(seconds: float) -> None:
    """Refuse a length of a workload that is not above 0; infinite is allowed."""
    if not seconds > 0:
        raise ConfigurationError(f"seconds={seconds}: give a number above 0, or math.inf for a workload without end")


def whole(least: int, **values: int) -> None:
    """Refuse values that are not whole numbers, ``least`` or more."""
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or value < least:
            raise ConfigurationError(f"{name}={value!r}: give a whole number, {least} or more")


def kept(store: dict[int, _T], number: int, make: Callable[[int], _T]) -> _T:
    """Return what was made for this number if it is among the last few; make it otherwise."""
    if number not in store:
        while len(store) >= _KEPT:
            del store[next(iter(store))]
        store[number] = make(number)
    return store[number]
