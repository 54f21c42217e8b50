"""Splits executors that outgrew their node, and merges idle ones: the hybrid that Elasticutor leaves to future work.

Elastic executors follow the load within milliseconds by exchanging cores. In the long run that is not enough (end of
section 4.2): an executor that needs more cores than its node has keeps sending rows to remote cores, and idle executors
keep nodes from being released. So every ten minutes shards may change their executor.

There is a wide gap between the load above which an executor is split and the load below which it is merged. Both splits
and merges give executors inside the gap, so that one does not cause the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.routing.balance import rescale, slot_loads

EVERY = 600.0
"""Seconds between two rounds: the paper's ten minutes. ``Rates`` keeps the time."""

SPLIT_ABOVE = 0.8
"""Share of its node's cores that an executor must keep busy to be split."""

MERGE_BELOW = 0.25
"""Share of its node's cores that an executor must keep busy not to be merged."""

_LARGEST_PART = 0.95
"""Share of the load up to which the largest part of a split may have; otherwise the split does not help."""


@dataclass(frozen=True)
class ExecutorSplit:
    """An executor some of whose shards go to new executors.

    Attributes:
        executor: the executor that is split.
        into: the new executors.
        moves: each shard that moves, and its new executor.
        loads: cores that the executor keeps busy before the split, and cores that the largest part keeps busy after.
        reason: why, in words and numbers.
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
        executor: the executor that is dissolved.
        into: the executor that takes its shards.
        moves: each shard that moves, and its new executor.
        loads: cores that ``into`` keeps busy before and after the merge.
        reason: why, in words and numbers.
    """

    executor: int
    into: int
    moves: tuple[tuple[int, int], ...]
    loads: tuple[float, float]
    reason: str


@dataclass(frozen=True)
class Reshaping:
    """One round of splits and merges.

    Attributes:
        routing: the executor of every shard after the round.
        splits: the splits.
        merges: the merges.
        stuck: executors that outgrew their node but cannot be split, because one shard has nearly all the load.
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
    """Split the executors of an operator that outgrew their node, and merge its idle ones.

    Args:
        routing: the executor of every shard.
        loads: the number of cores that each shard keeps busy: useful seconds per second.
        node_cores: the number of cores of each executor's node, or one number for all.
        split_above: share of its node's cores that an executor must keep busy to be split.
        merge_below: share of its node's cores that an executor must keep busy not to be merged.
        fewest: the number of executors that must be left.

    >>> large = reshape([0, 0, 0, 0, 1], [4.0, 2.0, 1.0, 1.0, 4.0], node_cores=8)
    >>> large.routing, large.splits[0].reason
    ((2, 0, 0, 0, 1), 'executor 0 keeps 8 cores busy, its node has 8: split into 2, the largest keeps 4 busy')
    >>> idle = reshape([0, 1, 2], [1.0, 0.5, 4.0], node_cores=8)
    >>> idle.routing, idle.merges[0].reason
    ((0, 0, 2), 'executor 1 keeps 0.5 cores busy: merged into executor 0, which then keeps 1.5 busy')
    """
    work = _finite_loads(loads)
    where = np.asarray(routing, dtype=np.int64)
    if not len(where):
        return Reshaping((), (), (), ())
    size = int(where.max()) + 1
    room = np.broadcast_to(np.asarray(node_cores, dtype=np.float64), (size,))
    room = np.where(np.isfinite(room) & (room >= 1), room, np.nan)
    used = slot_loads(where, work, size)
    executors = np.unique(where)
    # The middle of the gap: the load that splits and merges aim at.
    middle = room * (split_above + merge_below) / 2
    unused = iter(sorted(set(range(size + len(where))) - set(executors.tolist())))
    splits, stuck = [], []
    # An unknown number of cores is NaN, and comparisons with NaN are false: such executors stay as they are.
    for executor in executors[used[executors] > split_above * room[executors]].tolist():
        shards = np.flatnonzero(where == executor)
        count = min(math.ceil(used[executor] / middle[executor]), len(shards))
        parts = _split(work[shards], count)
        if parts is None:
            stuck.append(executor)
            continue
        numbers = np.array([executor, *(next(unused) for _ in range(count - 1))])
        where[shards] = numbers[parts]
        splits.append(_describe_split(shards, numbers, parts, work[shards], float(room[executor])))
    idle = executors[used[executors] < merge_below * room[executors]]
    most = len(np.unique(where)) - fewest
    merges = _merges(where, idle[np.argsort(used[idle], kind="stable")].tolist(), used, middle, most)
    for merge in merges:
        where[where == merge.executor] = merge.into
    return Reshaping(tuple(where.tolist()), tuple(splits), tuple(merges), tuple(stuck))


def _split(loads: Floats, count: int) -> Ints | None:
    """Return the part of each shard, from 0 to ``count - 1``; None if the split would not help."""
    if count < 2:
        return None
    parts = np.array(rescale([0] * len(loads), loads, count).routing)
    helps = slot_loads(parts, loads, count).max() <= _LARGEST_PART * loads.sum()
    return parts if helps else None


def _describe_split(shards: Ints, numbers: Ints, parts: Ints, loads: Floats, room: float) -> ExecutorSplit:
    """Return the record of a split.

    Args:
        shards: the shards of the executor.
        numbers: the executor of every part; the first is the one that is split.
        parts: the part of every shard.
        loads: the number of cores that every shard keeps busy.
        room: the number of cores of the executor's node.
    """
    executor, *into = numbers.tolist()
    before, largest = float(loads.sum()), float(slot_loads(parts, loads, len(numbers)).max())
    moves = tuple((int(shard), int(numbers[part])) for shard, part in zip(shards, parts, strict=True) if part)
    reason = f"executor {executor} keeps {before:.3g} cores busy, its node has {room:g}: "
    reason += f"split into {len(numbers)}, the largest keeps {largest:.3g} busy"
    return ExecutorSplit(executor, tuple(into), moves, (before, largest), reason)


def _merges(where: Ints, idle: list[int], used: Floats, middle: Floats, most: int) -> list[ExecutorMerge]:
    """Return the merges of idle executors. A merged executor fills no more than about half a node.

    The busiest executor of a group takes the shards of the others, because it probably has most state.

    Args:
        where: the executor of every shard.
        idle: the idle executors, least busy first.
        used: the number of cores that every executor keeps busy.
        middle: the number of cores that every executor may keep busy after a merge.
        most: the largest number of merges allowed.
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
            reason = f"executor {executor} keeps {used[executor]:.3g} cores busy: "
            reason += f"merged into executor {into}, which then keeps {after:.3g} busy"
            merges.append(ExecutorMerge(executor, into, moves, (load, after), reason))
            load = after
    return merges


def _finite_loads(loads: npt.ArrayLike) -> Floats:
    """Return the loads as finite numbers: NaN, infinite and negative values count as 0."""
    values = np.asarray(loads, dtype=np.float64)
    return np.where(np.isfinite(values), np.clip(values, 0.0, 1e12), 0.0)
