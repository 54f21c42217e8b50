"""The hash functions of the sketches, compiled for loops over single tuples; ``hashing`` has them for whole arrays."""

from __future__ import annotations

import numpy as np

from rheostat.elastic.posg.hashing import Multipliers
from rheostat.jit import compiled


@compiled
def column(numbers: Multipliers, row: int, item: int, columns: int) -> int:
    """Return the column of an item in a row."""
    half = np.uint64(32)
    bits = np.uint64(item)
    low, high = bits & np.uint64(0xFFFFFFFF), bits >> half
    mixed = (numbers[row, 0] * low + numbers[row, 1] * high + numbers[row, 2]) >> half
    return np.int64((mixed * np.uint64(columns)) >> half)  # type: ignore[return-value]
