"""Hashes items to columns, with one 2-universal hash function per row (POSG section III-A).

Multiply, add, shift: each 32-bit half of an item is multiplied by a random 64-bit number, a third number is added, and
the upper half of the sum is scaled to the number of columns. Any two items collide with probability 1 / columns (up to
2^-32). A hash needs three multiplications and no division.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigurationError

Items = npt.NDArray[np.int64]
"""Items of tuples."""

Multipliers = npt.NDArray[np.uint64]
"""Random numbers of the hash functions, three per row."""

_WORD = 2**64 - 1
"""Mask of 64 bits."""


def items_of(values: npt.ArrayLike) -> Items:
    """Return values as an array of items; values must be whole numbers in one dimension.

    >>> items_of([3, 1]).tolist()
    [3, 1]
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ConfigurationError(
            f"items are whole numbers in one dimension, not {array.dtype} of shape {array.shape}: "
            "hash other values to 64 bits first"
        )
    # Always the same kind of array, so that loops over items are compiled only once.
    return np.require(array.astype(np.int64, copy=False), requirements=["C", "W"])


@lru_cache(maxsize=64)
def multipliers(seed: int, rows: int) -> Multipliers:
    """Return three numbers per row, the same for a seed on every machine and with every version of NumPy.

    >>> multipliers(1, 4).shape
    (4, 3)
    """
    if not 0 <= seed <= _WORD:
        raise ConfigurationError(f"seed={seed}: it must be a whole number from 0 to 2^64 - 1")
    numbers = np.array([_split_mix(seed, step) for step in range(3 * rows)], dtype=np.uint64).reshape(rows, 3)
    numbers.setflags(write=False)
    return numbers


def _split_mix(seed: int, step: int) -> int:
    """Return number ``step`` of the SplitMix64 sequence of a seed."""
    z = (seed + (step + 1) * 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def columns_of(numbers: Multipliers, items: Items, columns: int) -> Items:
    """Return the columns of items: a row per hash function, a column per item.

    >>> columns_of(multipliers(1, 4), items_of([3, 1, 3]), columns=54).shape
    (4, 3)
    """
    half, bits = np.uint64(32), items.astype(np.uint64)
    low, high = bits & np.uint64(0xFFFFFFFF), bits >> half
    mixed = (numbers[:, 0:1] * low + numbers[:, 1:2] * high + numbers[:, 2:3]) >> half
    return ((mixed * np.uint64(columns)) >> half).astype(np.int64)
