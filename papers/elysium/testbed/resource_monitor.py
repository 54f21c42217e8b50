"""Monitoring of memory and bandwidth, which ELYSIUM's paper leaves to future work (section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from papers.elysium.testbed.cluster import StormCluster
from papers.elysium.testbed.metric_store import BANDWIDTH, MEMORY
from rheostat.arrays import Floats
from rheostat.elastic.elysium.profiles.samples import INPUT, Stream

Rates = Mapping[str, Mapping[Stream, Floats]]
"""By topology and stream: rows per second, one value per reading."""


@dataclass(frozen=True, eq=False)
class Resource:
    """Readings of one resource.

    Attributes:
        name: the resource, as in the metric store.
        slots: use by reading (row) and slot (column), in the order of ``StormCluster.places``.
        nodes: use by reading (row) and node (column).
    """

    name: str
    slots: Floats
    nodes: Floats


def memory(cluster: StormCluster, rates: Rates, readings: int, rng: np.random.Generator, noise: float) -> Resource:
    """Return the bytes that every slot keeps, and the bytes of all slots on every node."""
    slots = np.zeros((readings, len(cluster.places)))
    for column, place in enumerate(cluster.places):
        kept = cluster.models[place.topology].memory.get(place.operator)
        if kept is not None:
            slots[:, column] = kept.at(_received(cluster, rates, place.topology, place.operator))
    slots *= 1 + noise * rng.standard_normal(slots.shape)
    nodes = np.zeros((readings, cluster.config.nodes))
    for column, place in enumerate(cluster.places):
        nodes[:, place.node] += slots[:, column]
    return Resource(MEMORY, slots, nodes)


def bandwidth(cluster: StormCluster, rates: Rates, readings: int, rng: np.random.Generator, noise: float) -> Resource:
    """Return the bytes per second that every slot receives, and those of every node in its busier direction.

    Rows between two slots of the same node do not use its network. Rows from outside the topology are received, but no
    node sends them.
    """
    slots = np.zeros((readings, len(cluster.places)))
    sent, received = (np.zeros((readings, cluster.config.nodes)) for _ in range(2))
    for topology, streams in rates.items():
        sizes = cluster.models[topology].row_bytes
        for (upstream, downstream), flows in streams.items():
            senders = [p.node for p in cluster.places if (p.topology, p.operator) == (topology, upstream)]
            receivers = [c for c, p in enumerate(cluster.places) if (p.topology, p.operator) == (topology, downstream)]
            each = flows * sizes.get((upstream, downstream), 0.0) / len(receivers)
            for column in receivers:
                slots[:, column] += each
                node = cluster.places[column].node
                if upstream == INPUT:
                    received[:, node] += each
                for other in senders:
                    if other != node:
                        sent[:, other] += each / len(senders)
                        received[:, node] += each / len(senders)
    slots *= 1 + noise * rng.standard_normal(slots.shape)
    nodes = np.maximum(sent, received) * (1 + noise * rng.standard_normal(sent.shape))
    return Resource(BANDWIDTH, slots, nodes)


def _received(cluster: StormCluster, rates: Rates, topology: str, operator: str) -> Floats:
    """Return the rows per second that one slot of an operator receives."""
    total: Floats = np.sum([flows for (_, to), flows in rates[topology].items() if to == operator], axis=0)
    return total / cluster.config.parallelism[topology][operator]
