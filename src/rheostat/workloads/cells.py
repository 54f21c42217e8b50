"""Base classes of workloads, which draw rows cell by cell.

Time is divided into cells, and each cell has its own random numbers. So a span of time has the same rows whether it is
asked for at once or in pieces, and in whatever order. Cells are longer where there are fewer rows, which keeps the cost
per row low.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import (
    Shards,
    check_length,
    check_not_negative,
    check_whole,
    generator,
    get_or_make,
    positions_to_times,
    row_positions,
    shuffled_shards,
)

_ROWS = 100_000  # most rows of a cell, at the highest rate
_LONGEST = 10.0  # most seconds of a cell
_CELL = 101  # purpose of random numbers; purposes of Exchange, which may have the same seed, are below 100


@dataclass(frozen=True, eq=False, slots=True)
class Arrivals:
    """The rows of a span of time.

    Attributes:
        times: when each row arrives, in seconds since the start, sorted.
        shards: the shard of each row.
    """

    times: Floats
    shards: Shards

    def __len__(self) -> int:
        return len(self.times)


class Workload(Protocol):
    """The rows that arrive at the first operator of a job."""

    @property
    def shards(self) -> int:
        """Number of shards of the first operator."""

    @property
    def seconds(self) -> float:
        """Length of the workload in seconds; infinite if it has no end."""

    def between(self, begin: float, end: float) -> Arrivals:
        """Return the rows with ``begin <= time < end``; they do not depend on the other spans that are asked for."""

    def rates(self, begin: float, end: float) -> Floats:
        """Return the mean of the expected rows per second in a span of time, by shard."""


class Cells(ABC):
    """Base of all workloads: draws rows cell by cell.

    Attributes:
        shards: number of shards.
        seconds: length of the workload.
        scale: multiplies all rates.
        poisson: True if rows arrive at random times, False if at equal distances.
        seed: seed of all random numbers.
    """

    shards: int
    seconds: float
    scale: float
    poisson: bool
    seed: int

    def between(self, begin: float, end: float) -> Arrivals:
        """Return the rows with ``begin <= time < end``."""
        begin, end = self._clip_span(begin, end)
        parts = [self._rows_of_cell(index, begin, end) for index in self._cells_of(begin, end)]
        if len(parts) == 1:
            return parts[0]
        times, shards = [p.times for p in parts], [p.shards for p in parts]
        return Arrivals(np.concatenate([np.empty(0), *times]), np.concatenate([np.empty(0, np.int32), *shards]))

    def rates(self, begin: float, end: float) -> Floats:
        """Return the mean of the expected rows per second in a span of time, by shard.

        The rate is 0 before the start and after the end of the workload.
        """
        if not begin < end:
            raise ConfigurationError(f"begin={begin}, end={end}: begin must be before end")
        first, last = self._clip_span(begin, end)
        rows = self._rows(first, last) if first < last and self.scale else np.zeros(self.shards)
        return self.scale * rows / (end - begin)

    @abstractmethod
    def _draw(self, index: int) -> Arrivals:
        """Return the rows of a cell."""

    @abstractmethod
    def _rows(self, begin: float, end: float) -> Floats:
        """Return the expected rows in a span of time by shard, without ``scale``."""

    @property
    @abstractmethod
    def _length(self) -> float:
        """Seconds of a cell."""

    def _edge(self, index: int) -> float:
        """Return when a cell begins."""
        return index * self._length

    def _index(self, time: float) -> int:
        """Return the cell of a time."""
        index = int(time / self._length)
        while self._edge(index) > time:
            index -= 1
        while self._edge(index + 1) <= time:
            index += 1
        return index

    def _check(self) -> None:
        """Raise ``ConfigurationError`` if a parameter is wrong."""
        check_whole(0, seed=self.seed)
        check_not_negative(scale=self.scale)
        check_length(self.seconds)

    def _clip_span(self, begin: float, end: float) -> tuple[float, float]:
        """Return the part of a span of time that lies within the workload."""
        if not begin <= end:
            raise ConfigurationError(f"begin={begin}, end={end}: begin must not be after end")
        begin, end = max(begin, 0.0), min(end, self.seconds)
        if end == math.inf:
            raise ConfigurationError("end=inf: the workload has no end; use a finite end")
        return begin, end

    def _cells_of(self, begin: float, end: float) -> Iterator[int]:
        """Yield the cells that a span of time touches."""
        if begin < end:
            index = self._index(begin)
            while self._edge(index) < end:
                yield index
                index += 1

    def _rows_of_cell(self, index: int, begin: float, end: float) -> Arrivals:
        """Return a copy of the rows of a cell that lie within a span of time."""
        cell = get_or_make(self._cell_cache, index, self._draw)
        first, last = cell.times.searchsorted((begin, end))
        return Arrivals(cell.times[first:last].copy(), cell.shards[first:last].copy())

    @cached_property
    def _cell_cache(self) -> dict[int, Arrivals]:
        return {}


class ExpectedFlow(Cells):
    """A workload that is defined by the number of expected rows from the start until each time.

    A row has a position: the number of rows expected before it. The positions are drawn first, and then converted to
    times.
    """

    @property
    @abstractmethod
    def _peak(self) -> float:
        """The highest rate in rows per second, without ``scale``."""

    @abstractmethod
    def _expected(self, times: Floats) -> Floats:
        """Return the expected rows from the start until each of the times, without ``scale``."""

    @abstractmethod
    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        """Draw the shards of the rows of a cell; ``rows`` are their positions, sorted."""

    def _knots(self, begin: float, end: float) -> Floats:
        """Return sorted times from ``begin`` to ``end`` between which the rate is constant, or almost."""
        return np.array([begin, end])

    def _draw(self, index: int) -> Arrivals:
        rng = generator(self.seed, _CELL, index)
        knots = self._knots(self._edge(index), self._edge(index + 1))
        # Where the rate is almost 0, rounding can make a later sum smaller than an earlier one.
        upto = self.scale * np.maximum.accumulate(self._expected(knots))
        rows = row_positions(rng, upto[0], upto[-1], self.poisson)
        return Arrivals(positions_to_times(rows, upto, knots), self._place(rng, index, rows))

    @cached_property
    def _length(self) -> float:
        return _LONGEST / self._cells_in(_LONGEST)

    def _cells_in(self, seconds: float) -> int:
        """Return the number of cells for a span of time of this length."""
        return max(1, math.ceil(seconds / _LONGEST), math.ceil(seconds * self._peak * self.scale / _ROWS))


class Eras(ExpectedFlow):
    """A workload in which each shard's share of the rows is constant for an *era*.

    All eras have the same length, and each consists of a whole number of cells.
    """

    @abstractmethod
    def _weights(self, era: int) -> Floats:
        """Return each shard's share of the rows in an era."""

    @property
    def _era(self) -> float:
        """Seconds of an era; infinite if shares never change."""
        return math.inf

    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        # Through rounding, the share of a single shard can be slightly above 1.
        shares = np.minimum(self._shares(index // self._per_era), 1.0)
        return shuffled_shards(rng, rng.multinomial(len(rows), shares))

    def _rows(self, begin: float, end: float) -> Floats:
        rows = np.zeros(self.shards)
        while begin < end:
            era = self._index(begin) // self._per_era
            until = min((era + 1) * self._era, end)
            rows += np.diff(self._expected(np.array([begin, until]))).clip(0) * self._shares(era)
            begin = until
        return rows

    def _shares(self, era: int) -> Floats:
        """Return ``_weights`` from a cache."""
        return get_or_make(self._share_cache, era, self._weights)

    def _edge(self, index: int) -> float:
        """Return when a cell begins; the first cell of an era begins exactly when the era does."""
        if self._era == math.inf:
            return index * self._length
        era, cell = divmod(index, self._per_era)
        return era * self._era + cell * self._length

    @cached_property
    def _length(self) -> float:
        return self._era / self._per_era if self._era < math.inf else _LONGEST / self._cells_in(_LONGEST)

    @cached_property
    def _per_era(self) -> int:
        """Cells per era; if there is only one era, a number that no cell reaches."""
        return self._cells_in(self._era) if self._era < math.inf else 1 << 62

    @cached_property
    def _share_cache(self) -> dict[int, Floats]:
        return {}
