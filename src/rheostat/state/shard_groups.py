"""Sets of shards as one whole number, small enough for a manifest that lists many segments."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Flags

_GROUPS = 256
"""Most bits of a set. More shards than that are put into groups of neighbours of equal size."""


def groups_of(shards: Flags) -> int:
    """A set of shards as bits, one for every shard or group of shards.

    Sets of as many shards can be compared: if two have no bit in common, they have no shard in common.

    Args:
        shards: for every shard, True if it is in the set.

    >>> groups_of(np.array([True, False, False, True]))
    9
    >>> groups_of(np.arange(512) == 2), groups_of(np.arange(512) == 3)
    (2, 2)
    """
    width = -(-len(shards) // _GROUPS)
    if width > 1:
        shards = np.logical_or.reduceat(shards, np.arange(0, len(shards), width))
    return int.from_bytes(np.packbits(shards, bitorder="little").tobytes(), "little")
