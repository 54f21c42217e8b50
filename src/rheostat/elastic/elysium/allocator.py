"""Assigns slots to nodes.

``RoundRobinAllocator`` works like Storm's even scheduler, which the paper uses (section 4): operator after operator,
one slot to each node in turn. ``BalancedAllocator`` is the smart placement of the paper's future work (section 7): the
heaviest slot first, each to the least loaded node.
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
"""Expected share of a core that one slot of an operator uses, by topology and operator."""

SlotCpu = Mapping[tuple[str, str], tuple[float, ...]]
"""Measured share of a core that each slot used, by (topology, operator)."""


@dataclass(frozen=True, eq=False)
class NodeSlots:
    """Number of slots of every operator on every node.

    Attributes:
        nodes: number of nodes.
        counts: by topology, an array of slots with a row per operator, in the order of the parallelism, and a column
            per node.
    """

    nodes: int
    counts: Mapping[str, Ints]

    @property
    def per_node(self) -> Ints:
        """Number of slots on every node."""
        slots: Ints = np.sum([c.sum(axis=0) for c in self.counts.values()], axis=0, dtype=np.int64)
        return slots


class Allocator(Protocol):
    """Assigns slots to nodes."""

    def allocate(self, parallelism: Parallelism, nodes: int, weights: Weights) -> NodeSlots:
        """Assign all slots to nodes.

        Args:
            parallelism: number of slots, by topology and operator.
            nodes: number of nodes.
            weights: expected share of a core that one slot uses, by topology and operator.
        """


@dataclass(frozen=True)
class RoundRobinAllocator:
    """Assigns one slot to each node in turn; a topology continues where the previous one ended.

    >>> RoundRobinAllocator().allocate({"t": {"a": 3, "b": 2}}, 2, {}).counts["t"].tolist()
    [[2, 1], [1, 1]]
    """

    def allocate(self, parallelism: Parallelism, nodes: int, weights: Weights) -> NodeSlots:  # noqa: ARG002
        """Assign all slots to nodes; the weights do not matter."""
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
    """Assigns the heaviest slot first, each to the node with the least load so far.

    >>> weights = {"t": {"light": 1.0, "heavy": 2.0}}
    >>> BalancedAllocator().allocate({"t": {"light": 2, "heavy": 1}}, 2, weights).counts["t"].tolist()
    [[0, 2], [1, 0]]
    """

    def allocate(self, parallelism: Parallelism, nodes: int, weights: Weights) -> NodeSlots:
        """Assign all slots to nodes; slots without a weight count as 0."""
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


def allocate_config(config: Config, allocator: Allocator, weights: Weights) -> NodeSlots:
    """Assign the slots of a configuration to its nodes; a topology with nodes of its own stays on them.

    >>> apart = Config({"t": {"a": 2}, "u": {"b": 1}}, nodes=2, own={"t": 1, "u": 1})
    >>> {t: c.tolist() for t, c in allocate_config(apart, RoundRobinAllocator(), {}).counts.items()}
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


def measured_weights(parallelism: Parallelism, slot_cpu: SlotCpu) -> Weights:
    """Return the mean measured use of the slots of every operator; 0 if it was not measured.

    >>> measured_weights({"t": {"a": 2, "b": 1}}, {("t", "a"): (0.25, 0.75)})
    {'t': {'a': 0.5, 'b': 0.0}}
    """
    return {
        topology: {name: float(np.mean(slot_cpu.get((topology, name)) or (0.0,))) for name in operators}
        for topology, operators in parallelism.items()
    }


def _check(nodes: int) -> None:
    if nodes < 1:
        raise ConfigurationError(f"cannot assign slots to {nodes} nodes: pass at least 1")
