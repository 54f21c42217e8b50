"""Rows drawn cell by cell: what all workloads of the simulator have in common.

Time is cut into cells, and every cell is drawn with random numbers of its own. So any span of time gives the same rows
whether it is asked for at once or piece by piece, first or last. Cells are long where rows are few, so that drawing
one is worth its while.
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
from rheostat.workloads.draws import Shards, arriving, kept, lasting, mixed_up, not_negative, on_clock, random, whole

_ROWS = 100_000  # of a cell, at the highest rate
_LONGEST = 10.0  # seconds of a cell
_CELL = 101  # purpose of random numbers; Exchange, whose seed may be the same, uses small ones


@dataclass(frozen=True, eq=False, slots=True)
class Arrivals:
    """Rows of one span of time, in order of time.

    Attributes:
        times: seconds since the start of the run, sorted.
        shards: the shard of every row.
    """

    times: Floats
    shards: Shards

    def __len__(self) -> int:
        return len(self.times)


class Workload(Protocol):
    """What arrives at one operator over the time of a run."""

    @property
    def shards(self) -> int:
        """Of the operator that the rows enter."""

    @property
    def seconds(self) -> float:
        """How long it lasts; infinite if it has no end."""

    def between(self, begin: float, end: float) -> Arrivals:
        """The rows with ``begin <= time < end``: always the same, however the time is cut into spans."""

    def rates(self, begin: float, end: float) -> Floats:
        """Expected rows per second by shard, over that span."""


class Cells(ABC):
    """Rows drawn cell by cell; the base of all workloads."""

    shards: int
    seconds: float
    scale: float
    poisson: bool
    seed: int

    def between(self, begin: float, end: float) -> Arrivals:
        """The rows with ``begin <= time < end``."""
        begin, end = self._within(begin, end)
        parts = [self._part(index, begin, end) for index in self._cells_of(begin, end)]
        if len(parts) == 1:
            return parts[0]
        times, shards = [p.times for p in parts], [p.shards for p in parts]
        return Arrivals(np.concatenate([np.empty(0), *times]), np.concatenate([np.empty(0, np.int32), *shards]))

    def rates(self, begin: float, end: float) -> Floats:
        """Expected rows per second by shard, over that span; none before the start and after the end."""
        if not begin < end:
            raise ConfigurationError(f"begin={begin}, end={end}: a rate needs a span of time, with begin before end")
        first, last = self._within(begin, end)
        rows = self._rows(first, last) if first < last and self.scale else np.zeros(self.shards)
        return self.scale * rows / (end - begin)

    @abstractmethod
    def _draw(self, index: int) -> Arrivals:
        """The rows of one cell."""

    @abstractmethod
    def _rows(self, begin: float, end: float) -> Floats:
        """Rows expected by shard, before they are scaled."""

    @property
    @abstractmethod
    def _length(self) -> float:
        """Seconds of a cell."""

    def _edge(self, index: int) -> float:
        """When a cell begins."""
        return index * self._length

    def _index(self, time: float) -> int:
        """The cell that a time lies in."""
        index = int(time / self._length)
        while self._edge(index) > time:
            index -= 1
        while self._edge(index + 1) <= time:
            index += 1
        return index

    def _check(self) -> None:
        whole(0, seed=self.seed)
        not_negative(scale=self.scale)
        lasting(self.seconds)

    def _within(self, begin: float, end: float) -> tuple[float, float]:
        if not begin <= end:
            raise ConfigurationError(f"begin={begin}, end={end}: a span of time begins before it ends")
        begin, end = max(begin, 0.0), min(end, self.seconds)
        if end == math.inf:
            raise ConfigurationError("end=inf: the workload has no end; ask for a finite span of it")
        return begin, end

    def _cells_of(self, begin: float, end: float) -> Iterator[int]:
        if begin < end:
            index = self._index(begin)
            while self._edge(index) < end:
                yield index
                index += 1

    def _part(self, index: int, begin: float, end: float) -> Arrivals:
        """What of a cell lies within the span, as arrays of the caller's own."""
        cell = kept(self._cells_kept, index, self._draw)
        first, last = cell.times.searchsorted((begin, end))
        return Arrivals(cell.times[first:last].copy(), cell.shards[first:last].copy())

    @cached_property
    def _cells_kept(self) -> dict[int, Arrivals]:
        return {}


class ExpectedFlow(Cells):
    """Rows drawn from how many are expected until any time."""

    @property
    @abstractmethod
    def _peak(self) -> float:
        """The highest rate, before it is scaled."""

    @abstractmethod
    def _expected(self, times: Floats) -> Floats:
        """Rows expected from the start until each of the times, before they are scaled."""

    @abstractmethod
    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        """The shards of a cell's rows, which lie in order on the axis of expected rows."""

    def _knots(self, begin: float, end: float) -> Floats:
        """The ends of the span, and times between them such that the rate is constant from one to the next."""
        return np.array([begin, end])

    def _draw(self, index: int) -> Arrivals:
        rng = random(self.seed, _CELL, index)
        knots = self._knots(self._edge(index), self._edge(index + 1))
        # Where the rate is nearly 0, rounding may make the later sum the smaller one.
        upto = self.scale * np.maximum.accumulate(self._expected(knots))
        rows = arriving(rng, upto[0], upto[-1], self.poisson)
        return Arrivals(on_clock(rows, upto, knots), self._place(rng, index, rows))

    @cached_property
    def _length(self) -> float:
        return _LONGEST / self._cells_in(_LONGEST)

    def _cells_in(self, seconds: float) -> int:
        """Into how many cells to cut a span of time."""
        return max(1, math.ceil(seconds / _LONGEST), math.ceil(seconds * self._peak * self.scale / _ROWS))


class Eras(ExpectedFlow):
    """Rows of which every shard has a share that stays for an *era*. Eras have equal lengths and are cut into cells."""

    @abstractmethod
    def _weights(self, era: int) -> Floats:
        """Every shard's share of the rows."""

    @property
    def _era(self) -> float:
        """Seconds of an era; without end if shares never change."""
        return math.inf

    def _place(self, rng: np.random.Generator, index: int, rows: Floats) -> Shards:
        # A single shard's share is a sum that may be a last digit above one.
        shares = np.minimum(self._shares(index // self._per_era), 1.0)
        return mixed_up(rng, rng.multinomial(len(rows), shares))

    def _rows(self, begin: float, end: float) -> Floats:
        rows = np.zeros(self.shards)
        while begin < end:
            era = self._index(begin) // self._per_era
            until = min((era + 1) * self._era, end)
            rows += np.diff(self._expected(np.array([begin, until]))).clip(0) * self._shares(era)
            begin = until
        return rows

    def _shares(self, era: int) -> Floats:
        return kept(self._shares_kept, era, self._weights)

    def _edge(self, index: int) -> float:
        """When a cell begins; the first one of an era begins exactly with it."""
        if self._era == math.inf:
            return index * self._length
        era, cell = divmod(index, self._per_era)
        return era * self._era + cell * self._length

    @cached_property
    def _length(self) -> float:
        return self._era / self._per_era if self._era < math.inf else _LONGEST / self._cells_in(_LONGEST)

    @cached_property
    def _per_era(self) -> int:
        """Cells of an era; with one era for ever, a number that no cell reaches."""
        return self._cells_in(self._era) if self._era < math.inf else 1 << 62

    @cached_property
    def _shares_kept(self) -> dict[int, Floats]:
        return {}
