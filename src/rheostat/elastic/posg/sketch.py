"""Two count-min sketches side by side: how often each item was executed, and for how long (POSG section III).

F counts executions and W sums their execution times, in the same cells. The cell of an item with the smallest count is
the one that other items disturb least, and W / F there estimates the item's execution time. The ``datasketches``
package has count-min sketches, but none that gives two matrices the same cells and picks the row of one by the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Ints
from rheostat.elastic.posg.hashing import Items, Multipliers, column, items_of, multipliers
from rheostat.errors import ConfigurationError
from rheostat.jit import compiled

ROWS, COLUMNS = 4, 54
"""What the paper prints for a precision of 0.05 and a failure probability of 0.1."""

Number = TypeVar("Number", np.int64, np.float64)

Costs = npt.NDArray[np.float64]


def shape_for(epsilon: float, delta: float) -> tuple[int, int]:
    """Rows and columns for a precision: log2(1/delta) and e/epsilon, rounded up.

    With probability 1 - delta, a count is then too large by less than epsilon times all other executions. The paper's
    54 columns are e/0.05 rounded down.

    >>> shape_for(0.05, 0.1), shape_for(0.70, 0.25)
    ((4, 55), (2, 4))
    """
    if not (0 < epsilon < math.inf and 0 < delta < 1):
        raise ConfigurationError(f"epsilon={epsilon} must be above 0 and delta={delta} between 0 and 1")
    return math.ceil(math.log2(1 / delta)), math.ceil(math.e / epsilon)


@dataclass(frozen=True, eq=False)
class CostSketch:
    """What is known of the execution times of items, in ``rows`` x ``columns`` pairs of cells.

    >>> sketch = CostSketch.empty().updated([7, 7, 8], [0.25, 0.25, 1.0])
    >>> sketch.counts([7, 8, 9]).tolist(), sketch.costs([7, 8, 9]).tolist()
    ([2, 1, 0], [0.25, 1.0, 0.625])

    Attributes:
        frequencies: F, how many executions fell into each cell.
        times: W, how many seconds they took.
        seed: the hash functions follow from it; sketches that are to be merged share it.
    """

    frequencies: Ints
    times: Costs
    seed: int = 0

    @classmethod
    def empty(cls, rows: int = ROWS, columns: int = COLUMNS, seed: int = 0) -> CostSketch:
        """Nothing executed yet; ``shape_for`` says which shape a precision needs."""
        if rows < 1 or columns < 1:
            raise ConfigurationError(f"a sketch has one row and one column or more, not {rows} x {columns}")
        multipliers(seed, rows)
        return cls(_frozen(np.zeros((rows, columns), np.int64)), _frozen(np.zeros((rows, columns))), seed)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.frequencies.shape
        return rows, columns

    @property
    def executions(self) -> int:
        """How many executions are in it."""
        return int(self.frequencies[0].sum())

    @property
    def seconds(self) -> float:
        """How long they took, all together."""
        return float(self.times[0].sum())

    @property
    def mean(self) -> float:
        """Seconds of an execution; 0 if there was none."""
        return self.seconds / self.executions if self.executions else 0.0

    def updated(self, items: npt.ArrayLike, costs: npt.ArrayLike) -> CostSketch:
        """With more executions (Listing III.1): one item and its seconds each."""
        which, seconds = items_of(items), np.ascontiguousarray(costs, dtype=np.float64)
        if seconds.shape != which.shape:
            raise ConfigurationError(
                f"{len(which)} items need as many execution times, not an array of {seconds.shape}"
            )
        frequencies, times = self.frequencies.copy(), self.times.copy()
        if not _update(self._multipliers, frequencies, times, which, seconds):
            raise ConfigurationError("execution times are finite and not negative: check how they are measured")
        return replace(self, frequencies=_frozen(frequencies), times=_frozen(times))

    def merged(self, others: Iterable[CostSketch]) -> CostSketch:
        """With everything that is in the others, as if one sketch had seen it all.

        >>> one, two = CostSketch.empty().updated([1], [2.0]), CostSketch.empty().updated([1], [4.0])
        >>> one.merged([two]).costs([1]).tolist()
        [3.0]
        """
        frequencies, times = self.frequencies.copy(), self.times.copy()
        for other in others:
            if (other.shape, other.seed) != (self.shape, self.seed):
                raise ConfigurationError(
                    f"a sketch of shape {other.shape} and seed {other.seed} cannot be merged into one of {self.shape} "
                    f"and {self.seed}: make them with the same rows, columns and seed"
                )
            frequencies += other.frequencies
            times += other.times
        return replace(self, frequencies=_frozen(frequencies), times=_frozen(times))

    def cleared(self) -> CostSketch:
        """Empty again, with the same hash functions."""
        return CostSketch.empty(*self.shape, self.seed)

    def ratios(self) -> Costs:
        """Mean seconds of an execution in each cell, W / F; NaN where there was none."""
        unknown = np.full(self.shape, np.nan)
        found: Costs = np.divide(self.times, self.frequencies, where=self.frequencies > 0, out=unknown)
        return found

    def cells(self, unseen: float | None = None) -> Costs:
        """For every cell its count and the estimate that it gives.

        An empty cell means that the item was never executed. Nothing but a rare item is, so it counts as the mean cell
        and not as the mean execution, which a few frequent items decide. The paper says nothing of this case, in which
        its Listing III.2 would divide by zero.

        Args:
            unseen: seconds that empty cells count as instead.
        """
        if unseen is not None and not 0 <= unseen < math.inf:
            raise ConfigurationError(f"unseen={unseen}: it is seconds, from 0")
        known, ratios = self.frequencies > 0, self.ratios()
        usual = (ratios[known].mean() if known.any() else 0.0) if unseen is None else unseen
        return np.stack([self.frequencies, np.where(known, ratios, usual)], axis=-1)

    def counts(self, items: npt.ArrayLike) -> Ints:
        """How often each item was executed, or more."""
        found = _query(self._multipliers, self.cells(), items_of(items))
        return found[:, 0].astype(np.int64)

    def costs(self, items: npt.ArrayLike, unseen: float | None = None) -> Costs:
        """Estimated seconds of an execution of each item (Listing III.2); ``unseen`` as for ``cells``."""
        found: Costs = _query(self._multipliers, self.cells(unseen), items_of(items))[:, 1]
        return found

    @property
    def _multipliers(self) -> Multipliers:
        return multipliers(self.seed, self.shape[0])


@compiled
def lightest(numbers: Multipliers, cells: Costs, item: int) -> tuple[float, float]:
    """Count and estimate in the cell of the item that has the smallest count; of equal ones, in the first row."""
    least, cost = np.inf, 0.0
    for row in range(cells.shape[0]):
        where = column(numbers, row, item, cells.shape[1])
        count = cells[row, where, 0]
        cost = cells[row, where, 1] if count < least else cost
        least = min(count, least)
    return least, cost


@compiled
def _update(numbers: Multipliers, frequencies: Ints, times: Costs, items: Items, costs: Costs) -> bool:
    """Add the executions in place; True if all costs are valid."""
    fine = True
    for position in range(len(items)):
        fine = fine and 0.0 <= costs[position] < np.inf
        for row in range(len(numbers)):
            where = column(numbers, row, items[position], frequencies.shape[1])
            frequencies[row, where] += 1
            times[row, where] += costs[position]
    return fine


@compiled
def _query(numbers: Multipliers, cells: Costs, items: Items) -> Costs:
    """The lightest cell of every item."""
    found = np.empty((len(items), 2))
    for position in range(len(items)):
        found[position, 0], found[position, 1] = lightest(numbers, cells, items[position])
    return found


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    array.setflags(write=False)
    return array
