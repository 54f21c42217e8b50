"""Which node of a cluster has which number in plans and observations.

Nodes come and go; plans name them by numbers from 0. A node keeps its number as long as it can: a node that comes takes
the lowest free one, and a node that goes leaves a gap, with 0 cores. Only after nodes were released on purpose do those
with the highest numbers move into the gaps, since all numbers of a plan are below its number of nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Ints


@dataclass(frozen=True)
class ClusterNode:
    """A node that is there: on Spark, an executor.

    Attributes:
        name: its name; the id of the executor on Spark.
        host: the host it runs on.
        cores: its number of cores.
    """

    name: str
    host: str
    cores: int


@dataclass(frozen=True)
class Roster:
    """The nodes by number.

    Attributes:
        numbers: the node that has each number; None if it is free.

    >>> first, second = ClusterNode("0", "127.0.0.2", 1), ClusterNode("1", "127.0.0.3", 1)
    >>> roster = Roster().updated([first, second])
    >>> roster.updated([second]).cores.tolist()  # node 0 is gone
    [0, 1]
    >>> roster.without(["0"], wanted=1).names  # node 0 was released, so node 1 takes its number
    ('1',)
    """

    numbers: tuple[ClusterNode | None, ...] = ()

    @property
    def there(self) -> tuple[ClusterNode, ...]:
        """The nodes that are there, in the order of their numbers."""
        return tuple(node for node in self.numbers if node is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every node; empty for one that is gone."""
        return tuple(node.name if node is not None else "" for node in self.numbers)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host of every node; empty for one that is gone."""
        return tuple(node.host if node is not None else "" for node in self.numbers)

    @property
    def cores(self) -> Ints:
        """The number of cores of every node; 0 for one that is gone."""
        return np.array([node.cores if node is not None else 0 for node in self.numbers], dtype=np.int64)

    def updated(self, there: Sequence[ClusterNode]) -> Roster:
        """Return the roster with the nodes that are there now.

        Args:
            there: the nodes, in the order in which they came.
        """
        by_name = {node.name: node for node in there}
        numbers = [by_name.get(node.name) if node is not None else None for node in self.numbers]
        known = {node.name for node in numbers if node is not None}
        free = [number for number, node in enumerate(numbers) if node is None]
        for node in there:
            if node.name in known:
                continue
            if free:
                numbers[free.pop(0)] = node
            else:
                numbers.append(node)
        return Roster(_trimmed(numbers))

    def without(self, names: Collection[str], wanted: int) -> Roster:
        """Return the roster after nodes were released, with all numbers below the number of nodes wanted, if possible.

        Args:
            names: names of the released nodes.
            wanted: the number of nodes wanted from now on.
        """
        numbers = [None if node is None or node.name in names else node for node in self.numbers]
        for high in range(len(numbers) - 1, wanted - 1, -1):
            low = next((n for n in range(min(wanted, len(numbers))) if numbers[n] is None), None)
            if numbers[high] is not None and low is not None:
                numbers[low], numbers[high] = numbers[high], None
        return Roster(_trimmed(numbers))


def choose_released(
    roster: Roster, count: int, worth: Mapping[str, float], speeds: Mapping[str, float] | None = None
) -> tuple[ClusterNode, ...]:
    """Return the nodes to release: those whose cached state is worth least; of equals the slowest, then the newest.

    Args:
        roster: the nodes.
        count: how many to release.
        worth: by name, the bytes of state that the node has cached and that are in use; what is not there counts as 0.
        speeds: by name, the speed of a node relative to the mean; what is not there counts as 1.

    >>> roster = Roster(tuple(ClusterNode(name, "host", 1) for name in "abc"))
    >>> [node.name for node in choose_released(roster, 2, {"a": 10.0, "b": 500.0})]
    ['c', 'a']
    """
    speeds = speeds or {}
    ranked = sorted(
        enumerate(roster.numbers),
        key=lambda item: (
            (worth.get(item[1].name, 0.0), speeds.get(item[1].name, 1.0), -item[0]) if item[1] is not None else ()
        ),
    )
    return tuple(node for _, node in ranked if node is not None)[: max(count, 0)]


def _trimmed(numbers: Sequence[ClusterNode | None]) -> tuple[ClusterNode | None, ...]:
    """Return the numbers without the free ones at the end."""
    last = max((number for number, node in enumerate(numbers) if node is not None), default=-1)
    return tuple(numbers[: last + 1])
