"""Which executor owns which shards and slots, when executors come, go, or are too many for the cores."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.model.plan import OperatorPlan, Subspaces


def subspaces_of(plan: OperatorPlan) -> Subspaces:
    """Who owns which keys; without executors in the plan, every slot owns its own."""
    if plan.subspaces is not None:
        return plan.subspaces
    owners = np.where(plan.nodes >= 0, np.arange(len(plan.nodes)), -1)
    return Subspaces(plan.routing, owners, np.where(plan.nodes >= 0, plan.nodes, -1))


def living(owned: Subspaces) -> Subspaces:
    """Drop executors without shards: the others are renumbered, and slots of dropped ones have no owner.

    >>> found = living(Subspaces(np.array([0, 2, 2]), np.array([0, 1, 2, -1]), np.array([5, 6, 7])))
    >>> found.executors.tolist(), found.owners.tolist(), found.homes.tolist()
    ([0, 1, 1], [0, -1, 1, -1], [5, 7])
    """
    lives = np.bincount(owned.executors, minlength=len(owned.homes)) > 0
    if lives.all():
        return owned
    number = np.where(lives, np.cumsum(lives) - 1, -1)
    owners = np.where(owned.owners >= 0, number[owned.owners], -1)
    return Subspaces(number[owned.executors], owners, owned.homes[lives])


def fitted(
    subspaces: Mapping[str, Subspaces], work: Mapping[str, Floats], cores: int
) -> tuple[dict[str, Subspaces], tuple[str, ...]]:
    """Merge executors until there are no more than cores: one without a core could not process its rows.

    The operator that has most executors merges the two with least work, again and again. The busier one takes shards
    and slots of the other. All operators have executors that live, and there are no more operators than cores.

    Args:
        work: how busy every shard of an operator keeps its executor.

    >>> four = Subspaces(np.arange(4), np.arange(4), np.zeros(4, dtype=np.int64))
    >>> found, reasons = fitted({"count": four}, {"count": np.array([5.0, 1.0, 2.0, 4.0])}, cores=2)
    >>> found["count"].executors.tolist(), reasons
    ([0, 1, 1, 1], ('count: 4 executors are merged into 2, for there are only 2 cores',))
    """
    counts = [(-len(owned.homes), name) for name, owned in subspaces.items()]
    excess, result, reasons = -sum(n for n, _ in counts) - cores, dict(subspaces), []
    heapq.heapify(counts)
    for _ in range(excess):
        count, name = counts[0]
        heapq.heapreplace(counts, (count + 1, name))
    for left, name in sorted(counts, key=lambda pair: pair[1]):
        owned = subspaces[name]
        if -left < len(owned.homes):
            result[name] = _merged(owned, work[name], -left)
            reasons.append(
                f"{name}: {len(owned.homes)} executors are merged into {-left}, for there are only {cores} cores"
            )
    return result, tuple(reasons)


def _merged(owned: Subspaces, work: Floats, count: int) -> Subspaces:
    """Merge the two executors with least work again and again until ``count`` are left."""
    size = len(owned.homes)
    loads = np.bincount(owned.executors, weights=work, minlength=size)
    heap = [(load, executor) for executor, load in enumerate(loads.tolist())]
    heapq.heapify(heap)
    into = np.arange(size)
    for _ in range(size - count):
        load, goes = heapq.heappop(heap)
        more, stays = heap[0]
        heapq.heapreplace(heap, (load + more, stays))
        into[goes] = stays
    while not np.array_equal(into, into[into]):
        into = into[into]
    owners = np.where(owned.owners >= 0, into[owned.owners], -1)
    return living(Subspaces(into[owned.executors], owners, owned.homes))
