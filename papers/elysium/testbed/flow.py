"""How rows move through topologies on nodes, second by second, as a fluid model of ELYSIUM's testbed.

Rows wait in a queue (the paper's message queue) until a source slot takes them. They are then in flight until all
operators behind the source have processed them. A slot can use one core at most. When a node is fully used, everything
on it slows down by the same factor. A row that is in flight for longer than the time limit fails and goes back to the
queue; the work spent on it is lost. This is why throughput drops when a topology is overloaded for long. While a
topology restarts it processes nothing, and its rows in flight go back to the queue.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.jit import compiled

Slots = tuple[Ints, Ints, Ints, Floats, Floats, Floats]
"""The arrays of ``SlotArrays``, as compiled code takes them."""


@dataclass(frozen=True, eq=False)
class SlotArrays:
    """All slots of all topologies: where each runs and what it costs; every array has one entry per slot.

    Attributes:
        topology: number of the topology.
        node: number of the node it runs on.
        source: 1 for a slot of a source, 0 for the others.
        share: rows that the slot receives per row of input.
        constant: rows per second that it receives whatever the input is.
        costs: the parameters of ``Cost`` (idle, cycles, discount, half) in four columns.
        nodes: number of nodes in the cluster.
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
        emitted: rows that sources took from the queue, by topology.
        acked: rows that were completely processed, by topology.
        waiting: rows in the queue at the end of the second, by topology.
        flying: rows in flight at the end of the second, by topology.
        latency: mean seconds from the source until a row is processed, by topology; NaN while it restarts.
        slot_cpu: share of its core that every slot uses.
        node_cpu: share of its cores that every node uses.
    """

    emitted: Floats
    acked: Floats
    waiting: Floats
    flying: Floats
    latency: Floats
    slot_cpu: Floats
    node_cpu: Floats


def flow(
    placed: SlotArrays, arrivals: Floats, up: Flags, waiting: Floats, flying: Floats, machine: Floats, time_limit: float
) -> RowFlow:
    """Simulate as many seconds as ``arrivals`` has.

    Args:
        placed: the slots of all topologies.
        arrivals: rows that arrive, by second and topology.
        up: by second and topology: True if it runs, False while it restarts.
        waiting: rows in the queue at the start, by topology.
        flying: rows in flight at the start, by topology.
        machine: six numbers: cores of a node; cycles per second of a core; base, share and bend of a node's overhead;
            and the share of a node that can be used.
        time_limit: seconds in flight after which a row fails.
    """
    slots = placed.topology, placed.node, placed.source, placed.share, placed.constant, placed.costs
    return RowFlow(*_flow(slots, placed.nodes, arrivals, up, waiting.copy(), flying.copy(), machine, time_limit))


@compiled
def _cost(costs: Floats, slot: int, rate: float) -> float:
    """Return the cycles per second of a slot at a rate (``Cost.at`` for compiled code)."""
    idle, cycles, discount, half = costs[slot]
    used: float = idle + cycles * rate * (1 - discount * rate / (rate + half))
    return used


@compiled
def _most(costs: Floats, slot: int, hertz: float) -> float:
    """Return the rows per second at which a slot uses its whole core."""
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
    """Return the most rows per second that every topology's sources can take, and that its other operators can process.

    The slowest slot decides.
    """
    topology, _, source, share, constant, costs = slots
    source_limits, process_limits = np.full(topologies, np.inf), np.full(topologies, np.inf)
    for slot in range(len(topology)):
        k = topology[slot]
        if share[slot] > 0:
            limit = max(_most(costs, slot, hertz) - constant[slot], 0.0) / share[slot]
            if source[slot]:
                source_limits[k] = min(source_limits[k], limit)
            else:
                process_limits[k] = min(process_limits[k], limit)
    return source_limits, process_limits


@compiled
def _node_use(
    slots: Slots, node: int, scale: float, up: Flags, taken: Floats, handled: Floats, machine: Floats
) -> float:
    """Return the cycles per second of a node if its slots process ``scale`` times the rows they want to."""
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
    """Slow down the topologies on every fully used node, all by the same factor; changes the three rates in place."""
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
    """Write the share of its core that every slot uses, and the share of its cores that every node uses."""
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
    """Add the processing time of one input row, with all the rows that follow from it, to every topology's seconds.

    The busier slots and nodes are, the longer it takes.
    """
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
    """Simulate every second: queue, sources, full nodes, CPU, then the rows that are processed or fail."""
    shape = arrivals.shape
    emitted, acked, latency = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    waiting_by_second, flying_by_second = np.zeros(shape), np.zeros(shape)
    slot_cpu, node_cpu = np.zeros((shape[0], len(slots[0]))), np.zeros((shape[0], node_count))
    taken, handled, able = np.zeros(shape[1]), np.zeros(shape[1]), np.zeros(shape[1])
    source_limits, process_limits = _limits(slots, machine[1], shape[1])
    for t in range(shape[0]):
        up = ups[t]
        waiting += arrivals[t]
        for k in range(shape[1]):
            if up[k]:
                taken[k], able[k] = min(source_limits[k], waiting[k]), process_limits[k]
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
        waiting_by_second[t], flying_by_second[t] = waiting, flying
    return emitted, acked, waiting_by_second, flying_by_second, latency, slot_cpu, node_cpu
