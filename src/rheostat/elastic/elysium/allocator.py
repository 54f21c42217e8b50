"""Which slot runs on which node.

``RoundRobinAllocator`` deals slots out like Storm's even scheduler, which the paper asks when it tries a number of
nodes (section 4): operator after operator, one slot to each node in turn. ``BalancedAllocator`` is the smart placement
of the paper's future work (section 7): the heaviest slot first, always to the node with the least to do.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.elysium.configuration import Config, Parallelism
from rheostat.errors import ConfigurationError

Weights = Mapping[str, Mapping[str, float]]
"""What one slot of an operator is expected to use, by topology and operator."""


@dataclass(frozen=True, eq=False)
class NodeSlots:
    """How many slots of every operator run on every node.

    Attributes:
        nodes: how many there are.
        counts: by topology: operators (in the order of the parallelism) x nodes.
    """

    nodes: int
    counts: Mapping[str, Ints]

    @property
    def per_node(self) -> Ints:
        """Slots on every node."""
        found: Ints = np.sum([c.sum(axis=0) for c in self.counts.values()], axis=0, dtype=np.int64)
        return found


class Allocator(Protocol):
    """Decides which slot runs on which node."""

    def allocate(self, parallelism: Parallelism, nodes: int, weights: Weights) -> NodeSlots:
        """All slots, on so many nodes."""


@dataclass(frozen=True)
class RoundRobinAllocator:
    """One slot to each node in turn; a topology goes on where the one before it ended.

    >>> RoundRobinAllocator().allocate({"t": {"a": 3, "b": 2}}, 2, {}).counts["t"].tolist()
    [[2, 1], [1, 1]]
    """

    def allocate(self, parallelism: Parallelism, nodes: int, weights: Weights) -> NodeSlots:  # noqa: ARG002
        """The weights do not matter."""
        _check(nodes)
        counts, first = {}, 0
        for topology, operators in parallelism.items():
            table = np.zeros((len(operators), nodes), dtype=np.int64)
            for row, slots in enumerate(operators.values()):
                table[row] = slots // nodes
                table[row, (first + np.arange(slots % nodes)) % nodes] += 1
                first = (first + slots) % nodes
            counts[topology] = table
        return NodeSlots(nodes, counts)


@dataclass(frozen=True)
class BalancedAllocator:
    """The heaviest slot first, to the node that has the least to do so far.

    >>> weights = {"t": {"light": 1.0, "heavy": 2.0}}
    >>> BalancedAllocator().allocate({"t": {"light": 2, "heavy": 1}}, 2, weights).counts["t"].tolist()
    [[0, 2], [1, 0]]
    """

    def allocate(self, parallelism: Parallelism, nodes: int, weights: Weights) -> NodeSlots:
        """Slots of operators without a weight count as equal and light."""
        _check(nodes)
        counts = {t: np.zeros((len(operators), nodes), dtype=np.int64) for t, operators in parallelism.items()}
        slots = [
            (weights.get(topology, {}).get(name, 0.0), topology, row)
            for topology, operators in parallelism.items()
            for row, (name, count) in enumerate(operators.items())
            for _ in range(count)
        ]
        heap = [(0.0, 0, node) for node in range(nodes)]
        for weight, topology, row in sorted(slots, key=lambda slot: -slot[0]):
            load, held, node = heapq.heappop(heap)
            counts[topology][row, node] += 1
            heapq.heappush(heap, (load + weight, held + 1, node))
        return NodeSlots(nodes, counts)


def allocated(config: Config, allocator: Allocator, weights: Weights) -> NodeSlots:
    """The slots of a configuration on its nodes, where topologies may have nodes of their own.

    >>> apart = Config({"t": {"a": 2}, "u": {"b": 1}}, nodes=2, own={"t": 1, "u": 1})
    >>> {t: c.tolist() for t, c in allocated(apart, RoundRobinAllocator(), {}).counts.items()}
    {'t': [[2, 0]], 'u': [[0, 1]]}
    """
    if config.own is None:
        return allocator.allocate(config.parallelism, config.nodes, weights)
    counts, first = {}, 0
    for topology, own in config.own.items():
        alone = allocator.allocate({topology: config.parallelism[topology]}, own, weights).counts[topology]
        counts[topology] = np.zeros((len(alone), config.nodes), dtype=np.int64)
        counts[topology][:, first : first + own] = alone
        first += own
    return NodeSlots(config.nodes, counts)


def _check(nodes: int) -> None:
    if nodes < 1:
        raise ConfigurationError(f"slots cannot be allocated to {nodes} nodes: at least 1 is needed")
