"""The host that every slot prefers, its home (Elasticutor section 4.2, Algorithm 1).

On Spark a slot is one task per epoch, and what moves with it are the segments that its host does not have. Algorithm 1
places it as an executor that wants one core; the bytes that move are those the host lacks, not an estimate. A host has
room for as many slots as its cores can run in turn while all cores run the fewest turns that are possible, so a home
costs no time. ``rheostat.spark.homes`` calls this when the routing or the hosts have changed.
"""

from __future__ import annotations

import math

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.printed_placement import reassign_cores


def choose_homes(lacking: Floats, cores: Ints, homes: Ints, speeds: Floats | None = None) -> Ints:
    """Return the host of every slot, so that few bytes move and no host has more slots than it has room for.

    Slots with most bytes at stake choose first. Of hosts that lack equally much, a slot takes its old home; a slot
    without one is given the host with fewest slots per core.

    Args:
        lacking: bytes of the slot's segments that each host lacks, by slot and host.
        cores: the number of cores of every host.
        homes: the present home of every slot; -1 if it has none, or its host is gone.
        speeds: the speed of every host, if they differ; slots without a home then go to fast hosts first.

    >>> lacking = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 9.0], [5.0, 0.0, 5.0]])
    >>> choose_homes(lacking, cores=np.array([1, 1, 1]), homes=np.array([0, 1, -1])).tolist()
    [0, 1, 2]
    >>> choose_homes(lacking, cores=np.array([1, 2, 0]), homes=np.array([0, 1, -1])).tolist()
    [0, 1, 1]
    >>> choose_homes(np.zeros((2, 3)), np.ones(3, dtype=int), np.array([-1, -1]), np.array([1.0, 0.5, 1.1])).tolist()
    [2, 0]
    """
    slots = len(homes)
    total = int(cores.sum())
    if not slots or not total:
        return np.full(slots, -1, dtype=np.int64)
    room = cores * math.ceil(slots / total)
    at_stake = lacking.max(axis=1) - lacking[:, cores > 0].min(axis=1)
    placed, _ = reassign_cores(
        wanted=np.ones(slots, dtype=np.int64),
        current=np.zeros((slots, len(cores)), dtype=np.int64),
        nodes=room,
        homes=_spread(homes, cores if speeds is None else cores * speeds),
        state=lacking.max(axis=1),
        intensity=at_stake,
        threshold=math.inf,
        lacking=lacking,
    )
    return np.asarray(placed.argmax(axis=1), dtype=np.int64)


def _spread(homes: Ints, cores: Ints | Floats) -> Ints:
    """Return the homes, with the host with fewest slots per core for slots without one."""
    found, taken = homes.copy(), np.bincount(homes[homes >= 0], minlength=len(cores)).astype(np.float64)
    for slot in np.flatnonzero(homes < 0):
        with np.errstate(divide="ignore"):
            found[slot] = int(((taken + 1) / cores).argmin())
        taken[found[slot]] += 1
    return found
