"""Items hashed into columns, one 2-universal function per row (POSG section III-A).

Multiply, add, shift: an item is split into two halves of 32 bits, each is multiplied by a random 64-bit
number, and the upper half of the sum with a third number is scaled to the columns. Two different items collide with
probability 1 / columns (up to 2^-32), for every pair, and a row costs two multiplications and no division.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigurationError
from rheostat.jit import compiled

Items = npt.NDArray[np.int64]
Multipliers = npt.NDArray[np.uint64]

_WORD = 2**64 - 1


def items_of(values: npt.ArrayLike) -> Items:
    """The values as items: whole numbers in one dimension.

    >>> items_of([3, 1]).tolist()
    [3, 1]
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ConfigurationError(
            f"items are whole numbers in one dimension, not {array.dtype} of shape {array.shape}: "
            "hash other values to 64 bits first"
        )
    # One kind of array, so that loops over items are compiled once.
    return np.require(array.astype(np.int64, copy=False), requirements=["C", "W"])


@lru_cache(maxsize=64)
def multipliers(seed: int, rows: int) -> Multipliers:
    """Three numbers per row, which follow from the seed on every machine and with every version of NumPy.

    >>> multipliers(1, 4).shape
    (4, 3)
    """
    if not 0 <= seed <= _WORD:
        raise ConfigurationError(f"a seed is a whole number from 0 to 2^64 - 1, not {seed}")
    numbers = np.array([_scrambled(seed, step) for step in range(3 * rows)], dtype=np.uint64).reshape(rows, 3)
    numbers.setflags(write=False)
    return numbers


def _scrambled(seed: int, step: int) -> int:
    """The step-th number of the SplitMix64 sequence of a seed."""
    z = (seed + (step + 1) * 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


@compiled
def column(numbers: Multipliers, row: int, item: int, columns: int) -> int:
    """The column of one item in one row."""
    half = np.uint64(32)
    bits = np.uint64(item)
    low, high = bits & np.uint64(0xFFFFFFFF), bits >> half
    mixed = (numbers[row, 0] * low + numbers[row, 1] * high + numbers[row, 2]) >> half
    return np.int64((mixed * np.uint64(columns)) >> half)  # type: ignore[return-value]
