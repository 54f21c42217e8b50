"""Who has how many cores where, and what it costs to change that (Elasticutor section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Flags, Floats, Ints
from rheostat.jit import compiled


@dataclass(frozen=True)
class Cores:
    """Who has how many cores where: the paper's matrix X without its zeros, one entry per executor and node.

    Attributes:
        executor: of every entry.
        node: of every entry.
        cores: how many, of every entry.

    >>> cores = Cores.of([(0, 3, 2), (1, 3, 1), (0, 4, 1)])
    >>> cores.by_executor(2).tolist(), cores.by_node(5).tolist()
    ([3, 1], [0, 0, 0, 3, 1])
    """

    executor: Ints
    node: Ints
    cores: Ints

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int, int]]) -> Cores:
        """From executor, node and number of cores; entries for the same place add up."""
        rows = np.array(list(entries), dtype=np.int64).reshape(-1, 3)
        return cls.summed(rows[:, 0], rows[:, 1], rows[:, 2])

    @classmethod
    def summed(cls, executor: Ints, node: Ints, cores: Ints) -> Cores:
        """Sorted by executor and node, with one entry for each; places without cores are left out."""
        kept = cores > 0
        executor, node, cores = executor[kept], node[kept], cores[kept]
        order, first = _places(executor, node)
        return cls(executor[order[first]], node[order[first]], np.add.reduceat(cores[order], first))

    def entries(self) -> list[tuple[int, int, int]]:
        """As executor, node and number of cores."""
        return list(zip(self.executor.tolist(), self.node.tolist(), self.cores.tolist(), strict=True))

    def part(self, which: Flags) -> Cores:
        """Some of the entries."""
        return Cores(self.executor[which], self.node[which], self.cores[which])

    def by_executor(self, executors: int) -> Ints:
        """How many cores each executor has."""
        return sums(self.executor, self.cores, executors)

    def by_node(self, nodes: int) -> Ints:
        """How many cores of each node are in use."""
        return sums(self.node, self.cores, nodes)


def migration(before: Cores, after: Cores, state: npt.ArrayLike) -> float:
    """Bytes of state that leave their node, if an executor's state is spread evenly over its cores.

    The paper's C(X|X~), with the share of the old cores in the first term: C+ and C- follow from it only that way.

    >>> migration(Cores.of([(0, 0, 1), (0, 1, 1)]), Cores.of([(0, 0, 2)]), [10.0])
    5.0
    """
    sizes = clean(state)
    totals = [np.maximum(cores.by_executor(len(sizes)), 1) for cores in (before, after)]
    parts = [sizes[c.executor] * c.cores / t[c.executor] for c, t in zip((before, after), totals, strict=True)]
    executor, node = np.r_[before.executor, after.executor], np.r_[before.node, after.node]
    order, first = _places(executor, node)
    leaves = np.maximum(np.add.reduceat(np.r_[parts[0], -parts[1]][order], first), 0.0)
    # Differences of shares that ought to be equal may be off in the last digit.
    return float(leaves[leaves > 1e-9 * sizes[executor[order[first]]]].sum())


def _places(executor: Ints, node: Ints) -> tuple[Ints, Ints]:
    """The order of entries by executor and node, and where in it each place begins."""
    width = int(node.max(initial=0)) + 1
    if min(executor.min(initial=0), node.min(initial=0)) < 0 or executor.max(initial=0) >= 2**62 // width:
        order = np.lexsort((node, executor))
    else:
        # One number sorts faster than two, and in next to no time if most are in order already.
        order = np.argsort(executor * width + node, kind="stable")
    other = (np.diff(executor[order]) != 0) | (np.diff(node[order]) != 0)
    return order, np.flatnonzero(np.concatenate([[True], other])[: len(order)])


def fill(groups: Ints, amounts: Ints, room: Ints) -> Ints:
    """How much of each amount fits into the room of its group, first come first served.

    >>> fill(np.array([0, 1, 0]), np.array([2, 2, 2]), np.array([3, 1])).tolist()
    [2, 1, 1]
    """
    return _fill(groups, amounts, room.copy())


@compiled
def _fill(groups: Ints, amounts: Ints, left: Ints) -> Ints:
    fits = np.zeros(len(amounts), dtype=np.int64)
    for i in range(len(amounts)):
        if amounts[i] > 0:
            fits[i] = max(min(amounts[i], left[groups[i]]), 0)
            left[groups[i]] -= fits[i]
    return fits


def sums(groups: Ints, amounts: Ints, size: int) -> Ints:
    return np.bincount(groups, weights=amounts, minlength=size).astype(np.int64)


def whole(values: npt.ArrayLike, least: int = 0) -> Ints:
    """Whole numbers from whatever was measured, limited to what a node could possibly have."""
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=least), least, 1e6).astype(np.int64)


def clean(values: npt.ArrayLike) -> Floats:
    """Sizes and rates that can be added up: NaN and infinite values count as 0."""
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0), 0.0, 1e18)


NOTHING = Cores.of([])
