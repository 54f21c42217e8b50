"""Which executor owns which shards and slots, and how that changes when executors are dropped, split or merged."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.rates import Rates
from rheostat.elastic.elasticutor.shard_rates import ShardRates
from rheostat.elastic.elasticutor.split_merge import reshape
from rheostat.elastic.model.plan import OperatorPlan, Plan, Subspaces


def subspaces_of(plan: OperatorPlan) -> Subspaces:
    """Return which executor owns which shards and slots. Without executors in the plan, every slot is an executor."""
    if plan.subspaces is not None:
        return plan.subspaces
    owners = np.where(plan.nodes >= 0, np.arange(len(plan.nodes)), -1)
    return Subspaces(plan.routing, owners, np.where(plan.nodes >= 0, plan.nodes, -1))


def one_executor(plan: OperatorPlan) -> Subspaces:
    """Return which executor owns which shards and slots. Without executors in the plan, there is one for all.

    On Spark any slot may take any shard at the boundary of an epoch, so nothing is gained by keeping keys apart.

    >>> one_executor(OperatorPlan.even(shards=4, slots=2)).owners.tolist()
    [0, 0]
    """
    if plan.subspaces is not None:
        return plan.subspaces
    home = np.bincount(plan.nodes[plan.used]).argmax()
    return Subspaces(np.zeros(len(plan.routing), dtype=np.int64), np.where(plan.nodes >= 0, 0, -1), np.array([home]))


def next_subspaces(history: Rates, plan: Plan, wait: float) -> tuple[dict[str, Subspaces], tuple[str, ...]]:
    """Return the executors of every operator from now on: split and merged if a round is due, and no more than cores.

    Args:
        history: the rates of every operator, and the cluster's cores.
        plan: the plan in force, with no more operators than cores.
        wait: seconds that rows usually wait; rows of this time are no backlog.

    Returns:
        The executors of every operator, none of them without shards, and the reason for each change.
    """
    of = subspaces_of if history.law is None else one_executor
    subspaces = {name: drop_empty_executors(of(part)) for name, part in plan.operators.items()}
    reasons: list[str] = []
    if history.due:
        for name, owned in subspaces.items():
            subspaces[name], changes = _split_and_merge(owned, history.operators[name], history.cores, wait)
            reasons += [f"{name}: {change}" for change in changes]
    total = int(history.cores.sum())
    if sum(len(owned.homes) for owned in subspaces.values()) > total:
        work = {name: history.operators[name].work(wait) for name in subspaces}
        subspaces, merged = merge_to_fit(subspaces, work, total)
        reasons += merged
    return subspaces, tuple(reasons)


def _split_and_merge(owned: Subspaces, rates: ShardRates, cores: Ints, wait: float) -> tuple[Subspaces, list[str]]:
    """Return the executors of an operator after one round of splitting and merging, and the reason for each change.

    New executors have no home (-1) yet: placement gives them the node with most room.
    """
    if not rates.service > 0:
        return owned, []
    node_cores = cores[np.clip(owned.homes, 0, len(cores) - 1)]
    reshaping = reshape(owned.executors.tolist(), rates.work(wait), node_cores)
    executors = np.array(reshaping.routing, dtype=np.int64)
    size = max(int(executors.max()) + 1, len(owned.homes))
    homes = np.r_[owned.homes, np.full(size - len(owned.homes), -1)]
    reasons = [split.reason for split in reshaping.splits] + [merge.reason for merge in reshaping.merges]
    return drop_empty_executors(Subspaces(executors, owned.owners, homes)), reasons


def drop_empty_executors(owned: Subspaces) -> Subspaces:
    """Drop executors without shards. The others are renumbered, and slots of dropped ones have no owner (-1).

    >>> left = drop_empty_executors(Subspaces(np.array([0, 2, 2]), np.array([0, 1, 2, -1]), np.array([5, 6, 7])))
    >>> left.executors.tolist(), left.owners.tolist(), left.homes.tolist()
    ([0, 1, 1], [0, -1, 1, -1], [5, 7])
    """
    has_shards = np.bincount(owned.executors, minlength=len(owned.homes)) > 0
    if has_shards.all():
        return owned
    number = np.where(has_shards, np.cumsum(has_shards) - 1, -1)
    owners = np.where(owned.owners >= 0, number[owned.owners], -1)
    return Subspaces(number[owned.executors], owners, owned.homes[has_shards])


def merge_to_fit(
    subspaces: Mapping[str, Subspaces], work: Mapping[str, Floats], cores: int
) -> tuple[dict[str, Subspaces], tuple[str, ...]]:
    """Merge executors until there are no more executors than cores, because one without a core processes nothing.

    The operator with most executors merges its two least busy ones, again and again. The busier of the two takes the
    shards and slots of the other. There must not be more operators than cores.

    Args:
        subspaces: the executors of every operator, none of them without shards.
        work: the number of cores that every shard keeps busy, by operator.
        cores: the number of cores of the cluster.

    Returns:
        The executors of every operator, and the reason for each operator that changed.

    >>> four = Subspaces(np.arange(4), np.arange(4), np.zeros(4, dtype=np.int64))
    >>> fits, reasons = merge_to_fit({"count": four}, {"count": np.array([5.0, 1.0, 2.0, 4.0])}, cores=2)
    >>> fits["count"].executors.tolist(), reasons
    ([0, 1, 1, 1], ('count: 4 executors are merged into 2, because there are only 2 cores',))
    """
    # A heap with the largest operator first: counts are negative.
    counts = [(-len(owned.homes), name) for name, owned in subspaces.items()]
    excess, result, reasons = -sum(n for n, _ in counts) - cores, dict(subspaces), []
    heapq.heapify(counts)
    for _ in range(excess):
        count, name = counts[0]
        heapq.heapreplace(counts, (count + 1, name))
    for left, name in sorted(counts, key=lambda pair: pair[1]):
        owned = subspaces[name]
        if -left < len(owned.homes):
            result[name] = _merge_least_busy(owned, work[name], -left)
            reasons.append(
                f"{name}: {len(owned.homes)} executors are merged into {-left}, because there are only {cores} cores"
            )
    return result, tuple(reasons)


def _merge_least_busy(owned: Subspaces, work: Floats, count: int) -> Subspaces:
    """Merge the two executors with least work, again and again, until ``count`` are left."""
    size = len(owned.homes)
    loads = np.bincount(owned.executors, weights=work, minlength=size)
    heap = [(load, executor) for executor, load in enumerate(loads.tolist())]
    heapq.heapify(heap)
    into = np.arange(size)
    for _ in range(size - count):
        load, merged = heapq.heappop(heap)
        more, taker = heap[0]
        heapq.heapreplace(heap, (load + more, taker))
        into[merged] = taker
    # A taker may have been merged itself: follow the chain to its end.
    while not np.array_equal(into, into[into]):
        into = into[into]
    owners = np.where(owned.owners >= 0, into[owned.owners], -1)
    return drop_empty_executors(Subspaces(into[owned.executors], owners, owned.homes))
