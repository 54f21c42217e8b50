"""Two-tier routing: key to shard for good, shard to slot at will (Elasticutor section 3.1).

The routing hash is Spark's 64-bit xxHash of the key attributes. The shard is the hash's place among all hashes, scaled
to the number of shards, so rows sorted by hash are also sorted by shard and a shard is one contiguous range of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigurationError

DEFAULT_SHARDS = 256
MAX_SHARDS = 8192

Hashes = npt.NDArray[np.int64]


def check_shards(shards: int) -> None:
    """Refuse a shard count that routing cannot work with."""
    if not 1 <= shards <= MAX_SHARDS:
        raise ConfigurationError(f"shards={shards}: a checkpoint has between 1 and {MAX_SHARDS} shards")


def check_slots(slots: int, shards: int) -> None:
    """Refuse a slot count that leaves slots without shards."""
    if not 1 <= slots <= shards:
        raise ConfigurationError(f"slots={slots}: a component has between 1 and {shards} slots, one per shard at most")


def shards_of(hashes: Hashes, shards: int) -> npt.NDArray[np.int64]:
    """The shard of every hash.

    >>> shards_of(np.array([0, -1, 1 << 62]), 256)
    array([  0, 255,  64])
    """
    high = hashes.view(np.uint64) >> np.uint64(32)
    return ((high * np.uint64(shards)) >> np.uint64(32)).astype(np.int64)


def shard_sql(hash_sql: str, shards: int) -> str:
    """The same as Spark SQL."""
    return f"shiftright(shiftrightunsigned({hash_sql}, 32) * {shards}L, 32)"


def even_routing(shards: int, slots: int) -> tuple[int, ...]:
    """Every slot the same number of neighbouring shards, give or take one.

    >>> even_routing(8, 3)
    (0, 0, 0, 1, 1, 1, 2, 2)
    """
    check_slots(slots, shards)
    return tuple(shard * slots // shards for shard in range(shards))


def owned(routing: Sequence[int], slot: int) -> npt.NDArray[np.bool_]:
    """Which shards belong to a slot."""
    mine: npt.NDArray[np.bool_] = np.asarray(routing) == slot
    return mine
