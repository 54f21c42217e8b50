"""The cores that each executor has on each node, and what it costs to change them (Elasticutor section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Flags, Floats, Ints
from rheostat.elastic.loop.hysteresis import idle
from rheostat.jit import compiled

_MOST_CORES = 1e6
"""Upper limit for numbers of cores and nodes, which no cluster reaches."""

_MOST_BYTES = 1e18
"""Upper limit for bytes and bytes per second, so that sums stay finite."""


@dataclass(frozen=True)
class Cores:
    """The number of cores that each executor has on each node: the paper's matrix X without its zeros.

    Attributes:
        executor: the executor of every entry.
        node: the node of every entry.
        cores: the number of cores of every entry.

    >>> cores = Cores.of([(0, 3, 2), (1, 3, 1), (0, 4, 1)])
    >>> cores.by_executor(2).tolist(), cores.by_node(5).tolist()
    ([3, 1], [0, 0, 0, 3, 1])
    """

    executor: Ints
    node: Ints
    cores: Ints

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int, int]]) -> Cores:
        """Return cores from tuples of executor, node and number of cores. Entries for the same place are added up."""
        rows = np.array(list(entries), dtype=np.int64).reshape(-1, 3)
        return cls.summed(rows[:, 0], rows[:, 1], rows[:, 2])

    @classmethod
    def summed(cls, executor: Ints, node: Ints, cores: Ints) -> Cores:
        """Return cores sorted by executor and node, with one entry for each. Entries without cores are left out."""
        kept = cores > 0
        executor, node, cores = executor[kept], node[kept], cores[kept]
        order, first = _places(executor, node)
        return cls(executor[order[first]], node[order[first]], np.add.reduceat(cores[order], first))

    def entries(self) -> list[tuple[int, int, int]]:
        """Return the entries as tuples of executor, node and number of cores."""
        return list(zip(self.executor.tolist(), self.node.tolist(), self.cores.tolist(), strict=True))

    def part(self, which: Flags) -> Cores:
        """Return the entries for which ``which`` is True."""
        return Cores(self.executor[which], self.node[which], self.cores[which])

    def of_executors(self, first: int, count: int) -> Cores:
        """Return the cores of ``count`` executors from ``first`` on, which are then numbered from 0.

        >>> Cores.of([(0, 3, 2), (1, 3, 1), (2, 4, 1)]).of_executors(1, 2).entries()
        [(0, 3, 1), (1, 4, 1)]
        """
        these = self.part((self.executor >= first) & (self.executor < first + count))
        return Cores(these.executor - first, these.node, these.cores)

    def by_executor(self, executors: int) -> Ints:
        """Return the number of cores of each executor."""
        return sums(self.executor, self.cores, executors)

    def by_node(self, nodes: int) -> Ints:
        """Return the number of cores in use on each node."""
        return sums(self.node, self.cores, nodes)


def migration(before: Cores, after: Cores, state: npt.ArrayLike) -> float:
    """Return the bytes of state that leave their node, if an executor's state is spread evenly over its cores.

    This is the paper's C(X|X~), except that its first term uses the share of the old cores: only then do the paper's C+
    and C- follow from it.

    Args:
        before: the cores before.
        after: the cores afterwards.
        state: bytes of state of each executor.

    >>> migration(Cores.of([(0, 0, 1), (0, 1, 1)]), Cores.of([(0, 0, 2)]), [10.0])
    5.0
    """
    sizes = clipped(state)
    totals = [np.maximum(cores.by_executor(len(sizes)), 1) for cores in (before, after)]
    parts = [sizes[c.executor] * c.cores / t[c.executor] for c, t in zip((before, after), totals, strict=True)]
    executor, node = np.r_[before.executor, after.executor], np.r_[before.node, after.node]
    order, first = _places(executor, node)
    leaves = np.maximum(np.add.reduceat(np.r_[parts[0], -parts[1]][order], first), 0.0)
    # Rounding makes tiny differences between shares that are equal.
    return float(leaves[leaves > 1e-9 * sizes[executor[order[first]]]].sum())


def release_idle_cores(current: Cores, wanted: Ints, homes: Ints, load: Floats) -> Cores:
    """Return the current cores without those of executors that have far too many. Remote cores are dropped first.

    Algorithm 1 takes spare cores from an executor only when another one needs them. Cores that nobody needs cost money,
    so they are released as well.

    Args:
        current: the cores that executors have now.
        wanted: the number of cores that each executor needs.
        homes: the node of each executor's main process.
        load: the number of cores that each executor keeps busy.

    >>> remote = Cores.of([(0, 0, 2), (0, 1, 2)])
    >>> release_idle_cores(remote, np.array([2]), np.array([1]), np.array([0.5])).entries()
    [(0, 1, 2)]
    """
    have = current.by_executor(len(wanted))
    has_idle = idle(have, wanted, load)
    if not has_idle.any():
        return current
    order = np.lexsort((current.cores, current.node == homes[current.executor]))
    executor, node, cores = current.executor[order], current.node[order], current.cores[order]
    released = fill(executor, cores, np.where(has_idle, have - wanted, 0))
    return Cores.summed(executor, node, cores - released)


def _places(executor: Ints, node: Ints) -> tuple[Ints, Ints]:
    """Return the order of entries by executor and node, and where in it each pair of executor and node begins."""
    width = int(node.max(initial=0)) + 1
    if min(executor.min(initial=0), node.min(initial=0)) < 0 or executor.max(initial=0) >= 2**62 // width:
        order = np.lexsort((node, executor))
    else:
        # One number sorts faster than two, and a stable sort is very fast if most are in order already.
        order = np.argsort(executor * width + node, kind="stable")
    differs = (np.diff(executor[order]) != 0) | (np.diff(node[order]) != 0)
    return order, np.flatnonzero(np.concatenate([[True], differs])[: len(order)])


def fill(groups: Ints, amounts: Ints, room: Ints) -> Ints:
    """Return how much of each amount fits into the room of its group, first come first served.

    Args:
        groups: the group of every amount.
        amounts: the amounts.
        room: the room of every group.

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
    """Return the sum of the amounts of every group, for groups from 0 to ``size - 1``."""
    return np.bincount(groups, weights=amounts, minlength=size).astype(np.int64)


def whole_numbers(values: npt.ArrayLike, least: int = 0) -> Ints:
    """Return the values as integers from ``least`` to ``_MOST_CORES``; NaN counts as ``least``."""
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=least), least, _MOST_CORES).astype(np.int64)


def clipped(values: npt.ArrayLike) -> Floats:
    """Return sizes or rates as numbers from 0 to ``_MOST_BYTES``; NaN counts as 0."""
    return np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0), 0.0, _MOST_BYTES)


NOTHING = Cores.of([])
"""No cores at all."""
