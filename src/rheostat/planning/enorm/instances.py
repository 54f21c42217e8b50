"""Fusing only the instances that talk much to each other (Enorm section 8, future work).

Fusing whole operators makes all of their traffic local, but ties every instance of one to an instance of the other
and leaves fewer partitions to spread. Where traffic is uneven, a few pairs of instances carry most of it: those
are put into one place, as far as one place can carry them, and all others stay free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from rheostat.errors import TopologyError

Instance = tuple[str, int]
"""An operator and the number of one of its instances."""

Traffic = Mapping[tuple[Instance, Instance], float]


@dataclass(frozen=True)
class Colocation:
    """Which instances share a place.

    Attributes:
        groups: instances that run in one place, with two or more each; all others are free.
        local: the share of all traffic that stays inside places.
        largest: load of the most loaded place, a single instance included.
    """

    groups: tuple[frozenset[Instance], ...]
    local: float
    largest: float


def fuse_instances(
    traffic: Traffic, loads: Mapping[Instance, float], capacity: float = inf, least: float = 0.0
) -> Colocation:
    """Put the two ends of the busiest pair into one place while that place can carry both.

    The paper's greedy fusion, over instances instead of operators.

    Args:
        traffic: rows per second between two instances.
        loads: of every instance.
        capacity: the load that one place may have.
        least: pairs with no more rows per second are left alone.

    >>> a0, a1, b0, b1 = ("a", 0), ("a", 1), ("b", 0), ("b", 1)
    >>> traffic = {(a0, b0): 90.0, (a0, b1): 1.0, (a1, b0): 2.0, (a1, b1): 7.0}
    >>> found = fuse_instances(traffic, dict.fromkeys((a0, a1, b0, b1), 0.4), capacity=1.0, least=5.0)
    >>> sorted(map(sorted, found.groups)), found.local, found.largest
    ([[('a', 0), ('b', 0)], [('a', 1), ('b', 1)]], 0.97, 0.8)
    """
    if unknown := {i for pair in traffic for i in pair} - loads.keys():
        raise TopologyError(f"missing load of instance {min(unknown)}: pass loads= for every instance")
    for kind, values in (("traffic", traffic), ("load", loads)):
        if wrong := [(of, value) for of, value in values.items() if not 0 <= value < inf]:
            raise TopologyError(f"the {kind} of {wrong[0][0]} is {wrong[0][1]}: give a number, 0 or more")
    place = {i: frozenset({i}) for i in loads}
    load = {p: loads[i] for i, p in place.items()}
    for (one, other), rate in sorted(traffic.items(), key=lambda t: (-t[1], t[0])):
        if rate <= least:
            break
        here, there = place[one], place[other]
        if here is there or load[here] + load[there] > capacity:
            continue
        joined = here | there
        load[joined] = load.pop(here) + load.pop(there)
        place.update(dict.fromkeys(joined, joined))
    total = sum(traffic.values())
    local = sum(rate for (one, other), rate in traffic.items() if place[one] is place[other])
    groups = tuple(p for p in dict.fromkeys(place.values()) if len(p) > 1)
    return Colocation(groups, local / total if total > 0 else 0.0, max(load.values(), default=0.0))
