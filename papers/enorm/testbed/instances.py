"""Fuses only the instances that exchange many rows (Enorm section 8, future work).

Fusing whole operators makes all of their traffic local, but ties every instance of one operator to an instance of the
other, which leaves fewer partitions to spread. If traffic is uneven, a few pairs of instances exchange most of the
rows. Those are put on the same node as long as it can carry their load; all others can be placed freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from rheostat.errors import TopologyError

Instance = tuple[str, int]
"""The name of an operator, and the number of one of its instances."""

Traffic = Mapping[tuple[Instance, Instance], float]
"""Rows per second between two instances."""


@dataclass(frozen=True)
class Colocation:
    """Which instances share a node.

    Attributes:
        groups: groups of two or more instances that run on one node; all other instances can be placed freely.
        local: the share of the traffic that stays within groups, from 0 to 1.
        largest: the largest load of a group or of a single instance.
    """

    groups: tuple[frozenset[Instance], ...]
    local: float
    largest: float


def fuse_instances(
    traffic: Traffic, loads: Mapping[Instance, float], capacity: float = inf, least: float = 0.0
) -> Colocation:
    """Group instances greedily: join the groups of the busiest pair, unless their load exceeds the capacity.

    This is the paper's greedy fusion, over instances instead of operators.

    Args:
        traffic: rows per second between two instances.
        loads: the load of every instance.
        capacity: the load that one node can carry.
        least: pairs that exchange at most this many rows per second are ignored.

    >>> a0, a1, b0, b1 = ("a", 0), ("a", 1), ("b", 0), ("b", 1)
    >>> traffic = {(a0, b0): 90.0, (a0, b1): 1.0, (a1, b0): 2.0, (a1, b1): 7.0}
    >>> colocation = fuse_instances(traffic, dict.fromkeys((a0, a1, b0, b1), 0.4), capacity=1.0, least=5.0)
    >>> sorted(map(sorted, colocation.groups)), colocation.local, colocation.largest
    ([[('a', 0), ('b', 0)], [('a', 1), ('b', 1)]], 0.97, 0.8)
    """
    if unknown := {i for pair in traffic for i in pair} - loads.keys():
        raise TopologyError(f"missing load of instance {min(unknown)}: pass loads= for every instance")
    for kind, values in (("traffic", traffic), ("load", loads)):
        if wrong := [(of, value) for of, value in values.items() if not 0 <= value < inf]:
            raise TopologyError(f"the {kind} of {wrong[0][0]} is {wrong[0][1]}: give a number, 0 or more")
    group = {i: frozenset({i}) for i in loads}
    load = {g: loads[i] for i, g in group.items()}
    for (one, other), rate in sorted(traffic.items(), key=lambda t: (-t[1], t[0])):
        if rate <= least:
            break
        here, there = group[one], group[other]
        if here is there or load[here] + load[there] > capacity:
            continue
        joined = here | there
        load[joined] = load.pop(here) + load.pop(there)
        group.update(dict.fromkeys(joined, joined))
    total = sum(traffic.values())
    local = sum(rate for (one, other), rate in traffic.items() if group[one] is group[other])
    groups = tuple(g for g in dict.fromkeys(group.values()) if len(g) > 1)
    return Colocation(groups, local / total if total > 0 else 0.0, max(load.values(), default=0.0))
