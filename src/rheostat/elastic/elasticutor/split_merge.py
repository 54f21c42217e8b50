"""Executors that have outgrown their node are split, idle ones merged: the hybrid that Elasticutor leaves for later.

Elastic executors follow the load within milliseconds by taking and giving cores. In the long run that is not enough
(section 4.2, end): an executor that needs more cores than its node has keeps sending rows to remote cores, and idle
executors keep nodes from being freed. So every ten minutes shards may change their executor.

Between the load above which an executor is split and the one below which it is merged there is a wide gap, and what
comes out of either lies inside it. So no executor is split because it was merged, or the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import rescale, slot_loads

EVERY = 600.0
"""Seconds between two looks: the paper's ten minutes. Whoever has a clock keeps to it."""

SPLIT_ABOVE = 0.8
"""Share of its node's cores above which an executor is split."""

MERGE_BELOW = 0.25
"""Share of its node's cores below which an executor is idle."""

_HELPS = 0.95
"""A split has to bring the largest part below this share of the whole."""


@dataclass(frozen=True)
class ExecutorSplit:
    """Shards of one executor that go to new ones.

    Attributes:
        executor: that is split.
        into: the new executors.
        moves: shard and new executor.
        loads: cores kept busy, before, and by the largest part after.
        reason: in words and numbers.
    """

    executor: int
    into: tuple[int, ...]
    moves: tuple[tuple[int, int], ...]
    loads: tuple[float, float]
    reason: str


@dataclass(frozen=True)
class ExecutorMerge:
    """An idle executor whose shards all go to another one.

    Attributes:
        executor: that goes.
        into: the executor that takes its shards.
        moves: shard and the executor that takes it.
        loads: cores kept busy by the executor that takes them, before and after.
        reason: in words and numbers.
    """

    executor: int
    into: int
    moves: tuple[tuple[int, int], ...]
    loads: tuple[float, float]
    reason: str


@dataclass(frozen=True)
class Reshaping:
    """What to split and merge.

    Attributes:
        routing: the executor of every shard afterwards.
        splits: executors that are split.
        merges: executors that go.
        stuck: executors that are too large for their node, but whose busiest shard alone is nearly all of it.
    """

    routing: tuple[int, ...]
    splits: tuple[ExecutorSplit, ...]
    merges: tuple[ExecutorMerge, ...]
    stuck: tuple[int, ...]


def reshape(
    routing: Sequence[int],
    loads: npt.ArrayLike,
    node_cores: npt.ArrayLike,
    split_above: float = SPLIT_ABOVE,
    merge_below: float = MERGE_BELOW,
    fewest: int = 1,
) -> Reshaping:
    """Split the executors of an operator that have outgrown their nodes, and merge its idle ones.

    Args:
        routing: the executor of every shard.
        loads: how many cores each shard keeps busy: useful seconds per second.
        node_cores: how many cores the node of each executor has; one number if all have the same.
        fewest: how many executors are to be left at least.

    >>> large = reshape([0, 0, 0, 0, 1], [4.0, 2.0, 1.0, 1.0, 4.0], node_cores=8)
    >>> large.routing, large.splits[0].reason
    ((2, 0, 0, 0, 1), 'executor 0 keeps 8 cores busy, its node has 8: in 2 parts, the largest with 4')
    >>> idle = reshape([0, 1, 2], [1.0, 0.5, 4.0], node_cores=8)
    >>> idle.routing, idle.merges[0].reason
    ((0, 0, 2), 'executor 1 keeps 0.5 cores busy: with executor 0 it is 1.5')
    """
    work = _clean(loads)
    where = np.asarray(routing, dtype=np.int64)
    if not len(where):
        return Reshaping((), (), (), ())
    size = int(where.max()) + 1
    room = np.broadcast_to(np.asarray(node_cores, dtype=np.float64), (size,))
    room = np.where(np.isfinite(room) & (room >= 1), room, np.nan)
    used = slot_loads(where, work, size)
    living = np.unique(where)
    # The middle of the gap: what comes out of a split or a merge is to be near it.
    middle = room * (split_above + merge_below) / 2
    fresh = iter(sorted(set(range(size + len(where))) - set(living.tolist())))
    splits, stuck = [], []
    # Comparisons with an unknown node are false: its executors stay as they are.
    for executor in living[used[living] > split_above * room[living]].tolist():
        mine = np.flatnonzero(where == executor)
        parts = min(math.ceil(used[executor] / middle[executor]), len(mine))
        found = _split(work[mine], parts)
        if found is None:
            stuck.append(executor)
            continue
        names = np.array([executor, *(next(fresh) for _ in range(parts - 1))])
        where[mine] = names[found]
        splits.append(_described(executor, mine, names, found, work[mine], float(room[executor])))
    idle = living[used[living] < merge_below * room[living]]
    most = len(np.unique(where)) - fewest
    merges = _merges(where, idle[np.argsort(used[idle], kind="stable")].tolist(), used, middle, most)
    for merge in merges:
        where[where == merge.executor] = merge.into
    return Reshaping(tuple(where.tolist()), tuple(splits), tuple(merges), tuple(stuck))


def _split(loads: Floats, parts: int) -> npt.NDArray[np.int64] | None:
    """The part of each shard, 0 for those that stay; None if that would not help."""
    if parts < 2:
        return None
    found = np.array(rescale([0] * len(loads), loads, parts).routing)
    helps = slot_loads(found, loads, parts).max() <= _HELPS * loads.sum()
    return found if helps else None


def _described(
    executor: int,
    shards: npt.NDArray[np.int64],
    names: npt.NDArray[np.int64],
    found: npt.NDArray[np.int64],
    loads: Floats,
    room: float,
) -> ExecutorSplit:
    whole, largest = float(loads.sum()), float(slot_loads(found, loads, len(names)).max())
    moves = tuple((int(s), int(names[part])) for s, part in zip(shards, found, strict=True) if part)
    reason = f"executor {executor} keeps {whole:.3g} cores busy, its node has {room:g}: "
    reason += f"in {len(names)} parts, the largest with {largest:.3g}"
    return ExecutorSplit(executor, tuple(names[1:].tolist()), moves, (whole, largest), reason)


def _merges(
    where: npt.NDArray[np.int64], idle: list[int], used: Floats, middle: Floats, most: int
) -> list[ExecutorMerge]:
    """Merge idle executors, least busy first, as long as the result fills no more than about half a node.

    The busiest of them takes the shards of the others, since it is likely to have most state.
    """
    groups: list[list[int]] = []
    filled = math.inf
    for executor in idle:
        filled += used[executor]
        if groups and filled <= middle[executor] and most > 0:
            groups[-1].append(executor)
            most -= 1
        else:
            groups.append([executor])
            filled = float(used[executor])
    merges = []
    for *others, into in groups:
        load = float(used[into])
        for executor in others:
            moves = tuple((int(shard), into) for shard in np.flatnonzero(where == executor))
            after = load + float(used[executor])
            reason = (
                f"executor {executor} keeps {used[executor]:.3g} cores busy: with executor {into} it is {after:.3g}"
            )
            merges.append(ExecutorMerge(executor, into, moves, (load, after), reason))
            load = after
    return merges


def _clean(loads: npt.ArrayLike) -> Floats:
    """Values that can be added up: NaN, infinite and negative values count as 0."""
    values = np.asarray(loads, dtype=np.float64)
    return np.where(np.isfinite(values), np.clip(values, 0.0, 1e12), 0.0)
