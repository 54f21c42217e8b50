"""Learns execution times of items with a pair of count-min sketches (POSG section III).

F counts executions and W sums their execution times, in the same cells. Of an item's cells, the one with the smallest
count is disturbed least by other items, and W / F in that cell estimates the item's execution time. The package
``datasketches`` has count-min sketches, but no pair of them that share cells.

Loops over single tuples are compiled (``compiled_sketch``) and loaded at their first use; ``array_sketch`` does the
same for whole arrays without Numba, for Spark's workers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Ints
from rheostat.elastic.posg.hashing import Multipliers, items_of, multipliers
from rheostat.errors import ConfigurationError

ROWS, COLUMNS = 4, 54
"""The paper's shape for a precision of 0.05 and a failure probability of 0.1."""

Number = TypeVar("Number", np.int64, np.float64)

Costs = npt.NDArray[np.float64]
"""Seconds."""


def shape_for(epsilon: float, delta: float) -> tuple[int, int]:
    """Return the rows and columns for a precision: log2(1/delta) and e/epsilon, rounded up.

    With probability 1 - delta, the excess of a count is less than epsilon times the number of all other executions. The
    paper's 54 columns are e/0.05 rounded down.

    >>> shape_for(0.05, 0.1), shape_for(0.70, 0.25)
    ((4, 55), (2, 4))
    """
    if not (0 < epsilon < math.inf and 0 < delta < 1):
        raise ConfigurationError(f"epsilon={epsilon} must be above 0 and delta={delta} between 0 and 1")
    return math.ceil(math.log2(1 / delta)), math.ceil(math.e / epsilon)


@dataclass(frozen=True, eq=False)
class CostSketch:
    """The execution times of items, in ``rows`` x ``columns`` pairs of cells.

    >>> sketch = CostSketch.empty().updated([7, 7, 8], [0.25, 0.25, 1.0])
    >>> sketch.counts([7, 8, 9]).tolist(), sketch.costs([7, 8, 9]).tolist()
    ([2, 1, 0], [0.25, 1.0, 0.625])

    Attributes:
        frequencies: number of executions of each cell, the paper's F.
        times: seconds of all executions of each cell, the paper's W.
        seed: seed of the hash functions; only sketches with the same seed can be merged.
    """

    frequencies: Ints
    times: Costs
    seed: int = 0

    @classmethod
    def empty(cls, rows: int = ROWS, columns: int = COLUMNS, seed: int = 0) -> CostSketch:
        """Return an empty sketch; ``shape_for`` returns the rows and columns for a precision."""
        if rows < 1 or columns < 1:
            raise ConfigurationError(f"rows={rows}, columns={columns}: a sketch needs at least one row and one column")
        multipliers(seed, rows)
        return cls(_read_only(np.zeros((rows, columns), np.int64)), _read_only(np.zeros((rows, columns))), seed)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.frequencies.shape
        return rows, columns

    @property
    def executions(self) -> int:
        """Number of executions in the sketch."""
        return int(self.frequencies[0].sum())

    @property
    def seconds(self) -> float:
        """Total seconds of all executions."""
        return float(self.times[0].sum())

    @property
    def mean(self) -> float:
        """Mean seconds of an execution; 0 if there was none."""
        return self.seconds / self.executions if self.executions else 0.0

    def updated(self, items: npt.ArrayLike, costs: npt.ArrayLike) -> CostSketch:
        """Return the sketch with more executions (Listing III.1).

        Args:
            items: item of each execution.
            costs: seconds of each execution.
        """
        which, seconds = items_of(items), np.ascontiguousarray(costs, dtype=np.float64)
        if seconds.shape != which.shape:
            raise ConfigurationError(
                f"{len(which)} items need as many execution times, not an array of shape {seconds.shape}"
            )
        from rheostat.elastic.posg.compiled_sketch import update  # noqa: PLC0415

        frequencies, times = self.frequencies.copy(), self.times.copy()
        if not update(self._multipliers, frequencies, times, which, seconds):
            raise ConfigurationError("execution times must be finite and not negative: check how they are measured")
        return replace(self, frequencies=_read_only(frequencies), times=_read_only(times))

    def merged(self, others: Iterable[CostSketch]) -> CostSketch:
        """Return the sketch of all executions of this sketch and the others.

        >>> one, two = CostSketch.empty().updated([1], [2.0]), CostSketch.empty().updated([1], [4.0])
        >>> one.merged([two]).costs([1]).tolist()
        [3.0]
        """
        frequencies, times = self.frequencies.copy(), self.times.copy()
        for other in others:
            if (other.shape, other.seed) != (self.shape, self.seed):
                raise ConfigurationError(
                    f"a sketch of shape {other.shape} and seed {other.seed} cannot be merged with one of shape "
                    f"{self.shape} and seed {self.seed}: create both with the same rows, columns and seed"
                )
            frequencies += other.frequencies
            times += other.times
        return replace(self, frequencies=_read_only(frequencies), times=_read_only(times))

    def cleared(self) -> CostSketch:
        """Return an empty sketch with the same shape and hash functions."""
        return CostSketch.empty(*self.shape, self.seed)

    def ratios(self) -> Costs:
        """Return the mean seconds of an execution in each cell, W / F; NaN for an empty cell."""
        ratios: Costs = np.full(self.shape, np.nan)
        np.divide(self.times, self.frequencies, where=self.frequencies > 0, out=ratios)
        return ratios

    def cells(self, unseen: float | None = None) -> Costs:
        """Return the count and the estimated seconds of every cell.

        An item with an empty cell was never executed, so it is rare. Its estimate is the mean over cells, not the mean
        over executions, which a few frequent items dominate. The paper does not treat this case: its Listing III.2
        divides by zero there.

        Args:
            unseen: estimated seconds of empty cells; None for the mean over the other cells.
        """
        if unseen is not None and not 0 <= unseen < math.inf:
            raise ConfigurationError(f"unseen={unseen}: it must be a finite number of seconds, at least 0")
        seen, ratios = self.frequencies > 0, self.ratios()
        if unseen is None:
            unseen = ratios[seen].mean() if seen.any() else 0.0
        return np.stack([self.frequencies, np.where(seen, ratios, unseen)], axis=-1)

    def counts(self, items: npt.ArrayLike) -> Ints:
        """Return the estimated number of executions of each item, which is never too low."""
        return self._query(items, None)[:, 0].astype(np.int64)

    def costs(self, items: npt.ArrayLike, unseen: float | None = None) -> Costs:
        """Return the estimated seconds of an execution of each item (Listing III.2).

        Args:
            items: the items.
            unseen: estimated seconds of items that were never executed; None for the mean over cells.
        """
        return self._query(items, unseen)[:, 1]

    def _query(self, items: npt.ArrayLike, unseen: float | None) -> Costs:
        """Return count and estimated seconds of each item."""
        from rheostat.elastic.posg.compiled_sketch import query  # noqa: PLC0415

        return query(self._multipliers, self.cells(unseen), items_of(items))

    @property
    def _multipliers(self) -> Multipliers:
        return multipliers(self.seed, self.shape[0])


def _read_only(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    array.setflags(write=False)
    return array
