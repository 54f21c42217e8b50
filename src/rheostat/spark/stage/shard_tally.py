"""What one task measured of every shard: rows, useful seconds, bytes and arrival times.

A task fills a ``ShardTally``. It travels to the driver as the bytes of one NumPy array with a record per shard, because
as JSON 8,192 shards would cost more than the rows of a small epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints

QUANTILES = np.array([0.25, 0.5, 0.85, 0.99, 1.0])
"""The quantiles of latency at which the arrival times of a shard are kept."""

SHARES = np.array([0.4, 0.2, 0.35, 0.05, 0.0])
"""The share of a shard's rows that each of them stands for, so that the median and the 99th percentile are exact."""

RECORD = np.dtype(
    [
        ("shard", "<i4"),
        ("rows", "<u4"),
        ("seconds", "<f8"),
        ("bytes", "<f4"),
        ("timed", "<u4"),
        ("arrival", "<f8"),
        ("points", "<f4", (len(QUANTILES),)),
    ]
)
"""One shard in one task, in as few bytes as will do.

``shard`` its number; ``rows`` rows received; ``seconds`` useful seconds; ``bytes`` bytes of rows in and out; ``timed``
rows with a known arrival time; ``arrival`` their mean in microseconds since 1970; ``points`` their values at
``QUANTILES`` of latency, newest first, in microseconds after ``arrival``. These two are NaN if ``timed`` is 0.
"""

Records = npt.NDArray[np.void]
"""An array of ``RECORD``, at most one per shard."""

Values = npt.NDArray[np.floating[Any]] | npt.NDArray[np.signedinteger[Any]]
"""Numbers by shard."""

_CELLS = 1 << 17
"""About how many bins there are over all shards, where arrival times are counted in bins."""

_SORTED = 1 / 10
"""Arrival times are sorted if there are fewer than this many of them per bin: sorting few is faster, and exact."""

_STEPS = float(1 << 38)
"""Ages are sorted as whole numbers below this one."""


@dataclass
class ShardTally:
    """Sums up what a task measured of every shard.

    A task calls ``receive`` once per feed with what arrived, ``spend`` once per table with what that took, ``spread``
    for whatever no shard caused alone, and ``records`` at the end.

    >>> tally = ShardTally()
    >>> tally.receive("loans", np.array([3, 3, 5]), arrival=np.array([10.0, 30.0, 20.0]), size=600)
    >>> tally.spend(np.array([3, 3, 5]), seconds=0.6)
    >>> tally.spread(seconds=0.3)
    >>> records = tally.records()
    >>> records["shard"].tolist(), records["rows"].tolist(), records["seconds"].round(3).tolist()
    ([3, 5], [2, 1], [0.6, 0.3])
    >>> records["arrival"].tolist(), records["bytes"].tolist()
    ([20.0, 20.0], [400.0, 200.0])
    """

    _streams: dict[str, tuple[Ints, Ints | None, Floats | None]] = field(default_factory=dict)
    _seconds: Floats = field(default_factory=lambda: np.zeros(0))
    _bytes: Floats = field(default_factory=lambda: np.zeros(0))
    _entries: Floats = field(default_factory=lambda: np.zeros(0))
    _common_seconds: float = 0.0
    _common_bytes: float = 0.0

    def receive(
        self,
        stream: str,
        shards: Ints,
        *,
        rows: Ints | None = None,
        arrival: Floats | None = None,
        size: int = 0,
    ) -> None:
        """Note what arrived from a stream: rows, or partials of rows.

        All tables of a component see the same rows of a stream, so each stream counts once, and that with arrival times
        if any has them. The bytes of all feeds count.

        Args:
            stream: the stream.
            shards: the shard of every row or partial.
            rows: the rows of every partial; None for rows.
            arrival: the arrival time of every row, or the mean of every partial, in microseconds; NaN where unknown.
            size: bytes of all of them, which are spread over the shards by number.
        """
        if not len(shards):
            return
        self._bytes = _sum(self._bytes, np.bincount(shards) * (size / len(shards)))
        known = self._streams.get(stream)
        if known is None or (known[2] is None and arrival is not None):
            self._streams[stream] = (shards, rows, arrival)

    def spend(self, shards: Ints, seconds: float, measured: Floats | None = None) -> None:
        """Add seconds of work to the shards that caused it.

        Args:
            shards: the shard of every row or partial.
            seconds: the seconds spent on all of them.
            measured: the measured seconds of every shard, if any. The rest is divided among shards by their rows.
        """
        if not len(shards):
            return
        entries = np.bincount(shards).astype(np.float64)
        self._entries = _sum(self._entries, entries)
        measured_total = 0.0 if measured is None else float(measured.sum())
        self._seconds = _sum(self._seconds, entries * (max(seconds - measured_total, 0.0) / len(shards)))
        if measured is not None:
            self._seconds = _sum(self._seconds, measured)

    def spread(self, *, seconds: float = 0.0, size: int = 0) -> None:
        """Add what belongs to all shards that ``spend`` sees in this task, in proportion to their rows.

        Args:
            seconds: seconds that belong to all rows, such as those of reading them.
            size: bytes that belong to all rows, such as those of the results.
        """
        self._common_seconds += seconds
        self._common_bytes += size

    def shorten(self, seconds: float) -> None:
        """Take seconds out of those of all shards, in proportion.

        >>> tally = ShardTally()
        >>> tally.spend(np.array([3, 5, 5]), seconds=0.6)
        >>> tally.shorten(0.3)
        >>> tally.records()["seconds"].round(3).tolist()
        [0.1, 0.2]

        Args:
            seconds: how many; all of them if there are fewer, and none if it is NaN.
        """
        total = float(self._seconds.sum()) + self._common_seconds
        left = max(total - seconds, 0.0) / total if total > 0 and seconds > 0 else 1.0
        self._seconds = self._seconds * left
        self._common_seconds *= left

    def records(self) -> Records:
        """Return one record for every shard that had rows or work."""
        rows, timed, arrival, points = _arrivals(list(self._streams.values()))
        share = self._entries / max(float(self._entries.sum()), 1.0)
        seconds = _sum(self._seconds, share * self._common_seconds)
        size = _sum(self._bytes, share * self._common_bytes)
        columns = {"rows": rows, "timed": timed, "seconds": seconds, "bytes": size}
        length = max(len(values) for values in columns.values())
        dense = {name: _sum(np.zeros(length), values) for name, values in columns.items()}
        present = np.flatnonzero((dense["rows"] > 0) | (dense["seconds"] > 0))
        records = np.zeros(len(present), RECORD)
        records["shard"] = present
        for name, values in dense.items():
            records[name] = values[present]
        known = records["timed"] > 0
        if not known.all():
            records["arrival"], records["points"] = np.nan, np.nan
        at: slice | npt.NDArray[np.bool_] = slice(None) if known.all() else known  # the usual case without an index
        records["arrival"][at] = arrival
        records["points"][at] = points - arrival[:, None]
        return records


def records_of(data: bytes) -> Records:
    """Return the records that ``tobytes`` made bytes of."""
    return np.frombuffer(data, RECORD)


def _sum(a: Values, b: Values) -> Floats:
    """Return the sum of two arrays by shard, the shorter of which has zeros at its end.

    >>> _sum(np.array([1.0]), np.array([1.0, 2.0])).tolist()
    [2.0, 2.0]
    """
    short, long = (a, b) if len(a) < len(b) else (b, a)
    total: Floats = long.astype(np.float64)
    total[: len(short)] += short
    return total


def _arrivals(received: Sequence[tuple[Ints, Ints | None, Floats | None]]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return by shard the rows, and those with an arrival time; of shards with such, mean arrival and quantiles."""
    rows: Floats = np.zeros(0)
    known: list[tuple[Ints, Floats | None, Floats]] = []
    for shards, counts, arrival in received:
        weights = None if counts is None else counts.astype(np.float64)
        rows = _sum(rows, np.bincount(shards, weights=weights))
        if arrival is not None:
            known.append(_with_arrival(shards, weights, arrival))
    known = [part for part in known if len(part[0])]
    if not known:
        return rows, np.zeros(0), np.zeros(0), np.zeros((0, len(QUANTILES)))
    if len(known) == 1:
        shards, weights, times = known[0]
    else:
        shards, times = (np.concatenate([part[i] for part in known]) for i in (0, 2))
        weights = np.concatenate([np.ones(len(p[0])) if p[1] is None else p[1] for p in known])
    newest = float(times.max())
    ages = newest - times  # small numbers, so their sums are exact to far less than a microsecond
    timed = np.bincount(shards, weights=weights).astype(np.float64)
    total = np.bincount(shards, weights=ages if weights is None else ages * weights)
    present = np.flatnonzero(timed)
    mean = newest - total[present] / timed[present]
    return rows, timed, mean, newest - _quantiles_by_shard(shards, ages, weights, timed)


def _with_arrival(shards: Ints, weights: Floats | None, arrival: Floats) -> tuple[Ints, Floats | None, Floats]:
    """Return the shards, weights and arrival times of what has an arrival time."""
    known = np.isfinite(arrival) if weights is None else np.isfinite(arrival) & (weights > 0)
    if known.all():
        return shards, weights, arrival
    return shards[known], None if weights is None else weights[known], arrival[known]


def _quantiles_by_shard(shards: Ints, ages: Floats, weights: Floats | None, totals: Floats) -> Floats:
    """Return the ``QUANTILES`` of ages of every shard that has any, in the order of the shards.

    Args:
        shards: the shard of every value.
        ages: the values, at least 0.
        weights: the rows that each stands for; None if each is one row.
        totals: the rows of every shard.
    """
    present = np.flatnonzero(totals)
    rows = totals[present]
    before = np.cumsum(rows) - rows
    ranks = before[:, None] + np.maximum(np.ceil(QUANTILES * rows[:, None] - 1e-9), 1)
    bins = max(_CELLS // len(totals), 64)
    if len(shards) > _SORTED * bins * len(totals):
        ages, weights = _binned(shards, ages, weights, bins)
    else:
        ages, weights = _sorted(shards, ages, weights)
    if weights is None:
        return ages[ranks.astype(np.int64) - 1]
    return ages[np.searchsorted(np.cumsum(weights), ranks)]


def _sorted(shards: Ints, ages: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Return ages and weights, if any, sorted by shard and age. Ages are exact to a microsecond up to three days."""
    width = max(float(ages.max()) / _STEPS * (1 + 1e-9), 1.0)
    steps = (ages * (1 / width)).astype(np.int64)
    number = shards * np.int64(_STEPS) + steps  # sorting one number is three times as fast as sorting by two
    if weights is not None:
        order = np.argsort(number)
        return ages[order], weights[order]
    number.sort()
    return (number & np.int64(_STEPS - 1)).astype(np.float64) * width, None


def _binned(shards: Ints, ages: Floats, weights: Floats | None, bins: int) -> tuple[Floats, Floats]:
    """Return fewer ages with their weights, sorted by shard and age: the middles of bins of equal width.

    That takes a fraction of the time of sorting. Ages are exact to half the width of a bin: with 256 shards, to one
    thousandth of the time in which the rows arrived.
    """
    width = max(float(ages.max()) / bins * (1 + 1e-9), 1e-9)
    number = (ages * (1 / width)).astype(np.int64)
    number += shards * bins
    cells = np.bincount(number, weights=weights)
    used = np.flatnonzero(cells)
    middles: Floats = (used % bins + 0.5) * np.float64(width)
    return middles, cells[used].astype(np.float64)
