"""One slot for every core of an executor: the cores that a plan's slots take up, and the slots for new cores.

Executors are numbered operator by operator in ``current_cores``, as in placement, and within their operator in
``assign_slots``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rheostat.arrays import Ints
from rheostat.elastic.elasticutor.cores import Cores
from rheostat.elastic.model.plan import OperatorPlan, Plan, Subspaces


def current_cores(plan: Plan, subspaces: Mapping[str, Subspaces]) -> Cores:
    """Return the number of cores of every executor on every node, with executors numbered operator by operator."""
    executor, node, first = [], [], 0
    for name, part in plan.operators.items():
        owned = subspaces[name]
        used = part.used[owned.owners[part.used] >= 0]
        executor.append(owned.owners[used] + first)
        node.append(part.nodes[used])
        first += len(owned.homes)
    executors = np.concatenate(executor)
    return Cores.summed(executors, np.concatenate(node), np.ones(len(executors), dtype=np.int64))


def assign_slots(plan: OperatorPlan, owned: Subspaces, cores: Cores, homes: Ints) -> OperatorPlan:
    """Return the plan with one slot for every core of every executor. Present slots stay where their core stays.

    Args:
        plan: where the operator runs now.
        owned: the executors of the operator.
        cores: the cores that each executor is to have.
        homes: the new home of each executor.
    """
    nodes, owners = plan.nodes.copy(), np.where(plan.nodes >= 0, owned.owners, -1)
    # An executor and a node as one number, so that slots and cores can be matched.
    size = int(max(cores.node.max(initial=0), nodes.max(initial=0))) + 1
    wanted = dict(zip((cores.executor * size + cores.node).tolist(), cores.cores.tolist(), strict=True))
    used = np.flatnonzero(nodes >= 0)
    places = owners[used] * size + nodes[used]
    # Where an executor has more slots on a node than cores, the last ones are removed.
    order = np.argsort(places, kind="stable")
    rank = np.arange(len(used)) - np.searchsorted(places[order], places[order])
    limit = np.array([wanted.get(place, 0) for place in places[order].tolist()], dtype=np.int64)
    removed = used[order][rank >= limit]
    nodes[removed], owners[removed] = -1, -1
    # Where it has fewer, new ones are added.
    counts = Counter(places.tolist())
    missing = np.array([max(count - counts[place], 0) for place, count in wanted.items()], dtype=np.int64)
    new = np.repeat(np.array(list(wanted), dtype=np.int64), missing)
    slots = _slot_numbers(new % size, removed, plan.nodes)
    extra = np.full(max(int(slots.max(initial=-1)) + 1 - len(nodes), 0), -1)
    nodes, owners = np.r_[nodes, extra], np.r_[owners, extra]
    nodes[slots], owners[slots] = new % size, new // size
    return OperatorPlan(plan.routing, nodes, Subspaces(owned.executors, owners, homes))


def _slot_numbers(where: Ints, removed: Ints, nodes: Ints) -> Ints:
    """Return numbers for new slots: those of slots removed from the same node, or else unused ones.

    A number must not change its node from one plan to the next, because its state is looked for on the old node.

    Args:
        where: the node of every new slot.
        removed: the slots that are removed.
        nodes: the node of every slot before; -1 for numbers that were not in use.

    >>> _slot_numbers(np.array([0, 1, 1, 1]), np.array([2, 0]), np.array([1, 0, 1, -1])).tolist()
    [3, 2, 0, 4]
    """
    order, reusable = np.argsort(where, kind="stable"), removed[np.argsort(nodes[removed], kind="stable")]
    sought, offered = where[order], nodes[reusable]
    place = np.searchsorted(offered, sought) + np.arange(len(order)) - np.searchsorted(sought, sought)
    same = place < len(reusable)
    same[same] = offered[place[same]] == sought[same]
    numbers = np.full(len(where), -1)
    numbers[order[same]] = reusable[place[same]]
    others = np.flatnonzero(numbers < 0)
    unused = np.flatnonzero(nodes < 0)
    numbers[others] = np.r_[unused, len(nodes) + np.arange(max(len(others) - len(unused), 0))][: len(others)]
    return numbers
