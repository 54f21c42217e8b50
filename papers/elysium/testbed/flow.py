"""Rows that flow through topologies on nodes, second by second, as a fluid (what ELYSIUM's testbed did).

Rows wait before the source (the paper's message queue) until a source slot takes them, as fast as it can. They are then
in flight until all operators behind the source have handled them. A slot has one core at most, a node its cores; where
a node is full, everything on it slows down alike. A row that is in flight for longer than the time limit fails, goes
back to the queue, and the work it took is lost: that is why throughput drops when a configuration is overloaded for
long. While a topology restarts nothing of it runs, and what was in flight waits again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.jit import compiled

Slots = tuple[Ints, Ints, Ints, Floats, Floats, Floats]
"""The arrays of ``Placed``, as compiled code takes them."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Every slot of every topology: whose it is, where it runs and what it costs; arrays by slot.

    Attributes:
        source: 1 for slots of a source.
        share: rows per second that the slot receives per row of input; ``constant``, those it receives anyway.
        costs: idle, cycles, discount and half of each slot, slots x 4.
    """

    topology: Ints
    node: Ints
    source: Ints
    share: Floats
    constant: Floats
    costs: Floats
    nodes: int


@dataclass(frozen=True, eq=False)
class RowFlow:
    """What happened, by second (first axis) and topology, slot or node (second axis).

    Attributes:
        emitted: rows that sources took; ``acked``, rows that came through.
        waiting: rows before the source; ``flying``, rows behind it, both at the end of the second.
        latency: mean seconds from the source until a row is through.
        slot_cpu: share of a core; ``node_cpu``, share of the node.
    """

    emitted: Floats
    acked: Floats
    waiting: Floats
    flying: Floats
    latency: Floats
    slot_cpu: Floats
    node_cpu: Floats


def flow(
    placed: Placed, arrivals: Floats, up: Flags, waiting: Floats, flying: Floats, machine: Floats, time_limit: float
) -> RowFlow:
    """Let rows flow for as many seconds as ``arrivals`` has.

    Args:
        arrivals: rows by second and topology.
        up: by second and topology: whether it runs; it does not while it restarts.
        waiting: rows before each source at the start, and ``flying`` rows behind it.
        machine: cores of a node, cycles per second of a core, base, share and bend of a node's overhead, and the share
            of a node that can be used at all.
        time_limit: seconds that a row may be in flight.
    """
    slots = placed.topology, placed.node, placed.source, placed.share, placed.constant, placed.costs
    return RowFlow(*_flow(slots, placed.nodes, arrivals, up, waiting.copy(), flying.copy(), machine, time_limit))


@compiled
def _cost(costs: Floats, slot: int, rate: float) -> float:
    """Cycles per second of a slot."""
    idle, cycles, discount, half = costs[slot]
    used: float = idle + cycles * rate * (1 - discount * rate / (rate + half))
    return used


@compiled
def _most(costs: Floats, slot: int, hertz: float) -> float:
    """Rows per second with which one slot fills its core."""
    low, high = 0.0, hertz / costs[slot, 1] / (1 - costs[slot, 2])
    for _ in range(40):
        middle = 0.5 * (low + high)
        if _cost(costs, slot, middle) > hertz:
            high = middle
        else:
            low = middle
    return low


@compiled
def _limits(slots: Slots, hertz: float, topologies: int) -> tuple[Floats, Floats]:
    """What the sources of every topology can take, and what the rest of it can handle: its slowest slot decides."""
    topology, _, source, share, constant, costs = slots
    takes, handles = np.full(topologies, np.inf), np.full(topologies, np.inf)
    for slot in range(len(topology)):
        k = topology[slot]
        if share[slot] > 0:
            limit = max(_most(costs, slot, hertz) - constant[slot], 0.0) / share[slot]
            if source[slot]:
                takes[k] = min(takes[k], limit)
            else:
                handles[k] = min(handles[k], limit)
    return takes, handles


@compiled
def _node_use(
    slots: Slots, node: int, scale: float, up: Flags, taken: Floats, handled: Floats, machine: Floats
) -> float:
    """Cycles per second of a node if its slots handle ``scale`` of what they want to."""
    topology, nodes, source, share, constant, costs = slots
    used = 0.0
    for slot in range(len(topology)):
        k = topology[slot]
        if nodes[slot] == node and up[k]:
            wanted = taken[k] if source[slot] else handled[k]
            used += _cost(costs, slot, scale * wanted * share[slot] + constant[slot])
    total: float = machine[2] + machine[3] * used + machine[4] * used * used
    return total


@compiled
def _squeeze(
    slots: Slots, node_count: int, up: Flags, taken: Floats, handled: Floats, able: Floats, machine: Floats
) -> None:
    """Where a node is full, all topologies on it slow down alike."""
    topology, nodes = slots[0], slots[1]
    capacity, scales = machine[0] * machine[1] * machine[5], np.ones(len(taken))
    for node in range(node_count):
        if _node_use(slots, node, 1.0, up, taken, handled, machine) > capacity:
            low, high = 0.0, 1.0
            for _ in range(30):
                middle = 0.5 * (low + high)
                if _node_use(slots, node, middle, up, taken, handled, machine) > capacity:
                    high = middle
                else:
                    low = middle
            for slot in range(len(topology)):
                if nodes[slot] == node:
                    scales[topology[slot]] = min(scales[topology[slot]], low)
    taken *= scales
    handled *= scales
    able *= scales


@compiled
def _busy(
    slots: Slots, up: Flags, taken: Floats, handled: Floats, machine: Floats, by_slot: Floats, by_node: Floats
) -> None:
    """The share of its core that every slot uses, and of its cores every node."""
    topology, _, source, share, constant, costs = slots
    for slot in range(len(topology)):
        k = topology[slot]
        if up[k]:
            rate = (taken[k] if source[slot] else handled[k]) * share[slot] + constant[slot]
            by_slot[slot] = min(_cost(costs, slot, rate) / machine[1], 1.0)
    for node in range(len(by_node)):
        use = _node_use(slots, node, 1.0, up, taken, handled, machine)
        by_node[node] = min(use / (machine[0] * machine[1]), 1.0)


@compiled
def _service(slots: Slots, up: Flags, by_slot: Floats, by_node: Floats, hertz: float, seconds: Floats) -> None:
    """Add the time that all rows of one input row take one after the other, longer the busier slots and nodes are."""
    topology, nodes, _, share, _, costs = slots
    for slot in range(len(topology)):
        k = topology[slot]
        if up[k]:
            free = (1 - min(by_slot[slot], 0.99)) * (1 - min(by_node[nodes[slot]], 0.99) ** 4)
            seconds[k] += share[slot] * costs[slot, 1] / hertz / free


@compiled
def _flow(
    slots: Slots,
    node_count: int,
    arrivals: Floats,
    ups: Flags,
    waiting: Floats,
    flying: Floats,
    machine: Floats,
    time_limit: float,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    shape = arrivals.shape
    emitted, acked, latency = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    queue, air = np.zeros(shape), np.zeros(shape)
    slot_cpu, node_cpu = np.zeros((shape[0], len(slots[0]))), np.zeros((shape[0], node_count))
    taken, handled, able = np.zeros(shape[1]), np.zeros(shape[1]), np.zeros(shape[1])
    takes, handles = _limits(slots, machine[1], shape[1])
    for t in range(shape[0]):
        up = ups[t]
        waiting += arrivals[t]
        for k in range(shape[1]):
            if up[k]:
                taken[k], able[k] = min(takes[k], waiting[k]), handles[k]
                handled[k] = min(able[k], flying[k] + taken[k])
            else:
                waiting[k] += flying[k]
                flying[k], taken[k], handled[k], able[k] = 0.0, 0.0, 0.0, 0.0
        _squeeze(slots, node_count, up, taken, handled, able, machine)
        _busy(slots, up, taken, handled, machine, slot_cpu[t], node_cpu[t])
        for k in range(shape[1]):
            if up[k]:
                waiting[k] -= taken[k]
                flying[k] += taken[k]
                wait = flying[k] / able[k] if able[k] > 0 else 0.0
                in_time = min(1.0, time_limit / wait) if wait > 0 else 1.0
                flying[k] = max(flying[k] - handled[k], 0.0)
                emitted[t, k], acked[t, k] = taken[k], handled[k] * in_time
                waiting[k] += handled[k] * (1 - in_time)
                latency[t, k] = flying[k] / able[k] if able[k] > 0 else 0.0
        _service(slots, up, slot_cpu[t], node_cpu[t], machine[1], latency[t])
        queue[t], air[t] = waiting, flying
    return emitted, acked, queue, air, latency, slot_cpu, node_cpu
