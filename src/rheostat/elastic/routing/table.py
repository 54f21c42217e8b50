"""Two-tier routing: the shard of a key is fixed, the slot of a shard may change (Elasticutor section 3.1).

The routing hash is Spark's 64-bit xxHash of the key attributes. A shard is a contiguous range of unsigned hashes, so
rows sorted by hash are also sorted by shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigurationError

DEFAULT_SHARDS = 256
MAX_SHARDS = 8192

Hashes = npt.NDArray[np.int64]


def check_shards(shards: int) -> None:
    """Raise an error if a checkpoint cannot have so many shards."""
    _check_whole("shards", shards)
    if not 1 <= shards <= MAX_SHARDS:
        raise ConfigurationError(f"shards={shards}: a checkpoint has between 1 and {MAX_SHARDS} shards")


def check_slots(slots: int, shards: int) -> None:
    """Raise an error if a component cannot have so many slots: every slot needs a shard."""
    _check_whole("slots", slots)
    if not 1 <= slots <= shards:
        raise ConfigurationError(f"slots={slots}: a component has between 1 and {shards} slots, one per shard at most")


def shards_of(hashes: Hashes, shards: int) -> npt.NDArray[np.int64]:
    """Return the shard of every hash.

    >>> shards_of(np.array([0, -1, 1 << 62]), 256)
    array([  0, 255,  64])
    """
    high = hashes.view(np.uint64) >> np.uint64(32)
    return ((high * np.uint64(shards)) >> np.uint64(32)).astype(np.int64)


def first_hashes(shards: int) -> npt.NDArray[np.uint64]:
    """Return the smallest hash of every shard, as unsigned integers.

    >>> first_hashes(4) == np.array([0, 1 << 62, 1 << 63, 3 << 62], np.uint64)
    array([ True,  True,  True,  True])
    """
    return np.array([-(-(shard << 32) // shards) << 32 for shard in range(shards)], np.uint64)


def shard_sql(hash_sql: str, shards: int) -> str:
    """Return Spark SQL for the shard of a hash, equal to ``shards_of``."""
    return f"shiftright(shiftrightunsigned({hash_sql}, 32) * {shards}L, 32)"


def even_routing(shards: int, slots: int) -> tuple[int, ...]:
    """Return the slot of every shard: neighbouring shards for every slot, the same number of them give or take one.

    >>> even_routing(8, 3)
    (0, 0, 0, 1, 1, 1, 2, 2)
    """
    check_slots(slots, shards)
    return tuple(shard * slots // shards for shard in range(shards))


def owned(routing: Sequence[int], slot: int) -> npt.NDArray[np.bool_]:
    """Return for every shard True if it belongs to a slot."""
    flags: npt.NDArray[np.bool_] = np.asarray(routing) == slot
    return flags


def _check_whole(option: str, value: int) -> None:
    if not isinstance(value, Integral):
        raise ConfigurationError(f"{option}={value!r}: must be a whole number")
