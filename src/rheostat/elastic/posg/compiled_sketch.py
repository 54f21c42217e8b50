"""Updates and queries of sketches, compiled for loops over single tuples."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.posg.compiled_hash import column
from rheostat.elastic.posg.hashing import Items, Multipliers
from rheostat.jit import compiled


@compiled
def lightest(numbers: Multipliers, cells: Floats, item: int) -> tuple[float, float]:
    """Return count and estimate of the item's cell with the smallest count; of equal ones, that of the first row."""
    least, cost = np.inf, 0.0
    for row in range(cells.shape[0]):
        where = column(numbers, row, item, cells.shape[1])
        count = cells[row, where, 0]
        cost = cells[row, where, 1] if count < least else cost
        least = min(count, least)
    return least, cost


@compiled
def update(numbers: Multipliers, frequencies: Ints, times: Floats, items: Items, costs: Floats) -> bool:
    """Add executions in place; return True if all costs are finite and not negative."""
    valid = True
    for position in range(len(items)):
        valid = valid and 0.0 <= costs[position] < np.inf
        for row in range(len(numbers)):
            where = column(numbers, row, items[position], frequencies.shape[1])
            frequencies[row, where] += 1
            times[row, where] += costs[position]
    return valid


@compiled
def query(numbers: Multipliers, cells: Floats, items: Items) -> Floats:
    """Return count and estimate of the lightest cell of each item."""
    counts_and_costs = np.empty((len(items), 2))
    for position in range(len(items)):
        counts_and_costs[position, 0], counts_and_costs[position, 1] = lightest(numbers, cells, items[position])
    return counts_and_costs
