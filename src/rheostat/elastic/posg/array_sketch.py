"""Cost sketches of whole arrays of executions, with NumPy alone: Spark's workers do not load Numba.

The cells are the same as those of ``CostSketch.updated`` and ``CostSketch.costs``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.hashing import columns_of, items_of, multipliers
from rheostat.elastic.posg.sketch import Costs, CostSketch
from rheostat.errors import ConfigurationError


def sketch_of(items: npt.ArrayLike, seconds: npt.ArrayLike, rows: int, columns: int, seed: int = 0) -> CostSketch:
    """Return the sketch of executions.

    Args:
        items: item of each execution.
        seconds: seconds of each execution.
        rows: rows of the sketch.
        columns: columns of the sketch.
        seed: seed of the hash functions.

    >>> sketch_of([7, 7, 8], [0.25, 0.25, 1.0], rows=4, columns=54).costs([7, 8]).tolist()
    [0.25, 1.0]
    """
    which, costs = items_of(items), np.asarray(seconds, dtype=np.float64)
    if costs.shape != which.shape or not np.all((costs >= 0) & (costs < np.inf)):
        raise ConfigurationError(f"{len(which)} items need as many execution times, finite and not negative")
    empty = CostSketch.empty(rows, columns, seed)
    cells = (columns_of(multipliers(seed, rows), which, columns) + columns * np.arange(rows)[:, None]).ravel()
    counts = np.bincount(cells, minlength=rows * columns).reshape(rows, columns)
    times = np.bincount(cells, weights=np.tile(costs, rows), minlength=rows * columns).reshape(rows, columns)
    return CostSketch(counts.astype(np.int64, copy=False), times.astype(np.float64, copy=False), empty.seed)


def estimated_costs(sketch: CostSketch, items: npt.ArrayLike) -> Costs:
    """Return the estimated seconds of each item (Listing III.2): of its cells, the one with the smallest count decides.

    >>> estimated_costs(sketch_of([7, 7, 8], [0.25, 0.25, 1.0], rows=4, columns=54), [7, 8, 9]).tolist()
    [0.25, 1.0, 0.625]
    """
    which = items_of(items)
    rows, columns = sketch.shape
    where = columns_of(multipliers(sketch.seed, rows), which, columns)
    cells = sketch.cells()
    lightest = np.argmin(cells[np.arange(rows)[:, None], where, 0], axis=0)
    seconds: Costs = cells[lightest, where[lightest, np.arange(len(which))], 1]
    return seconds
