"""Which cores on which nodes every executor gets (Elasticutor section 4.2, Algorithm 1).

Executors that need more cores take free ones, or those of executors that have too many, so that little state crosses
the network. An executor that sends more bytes per second and core than the locality threshold takes only cores of its
own node, its home, while there are any. There is always a plan: if there are too few cores they are shared, and the
plan says how many each executor misses.

Most moves cost nothing: an executor all of whose cores are at home takes a free core there, or one of another such
executor. These moves are made for all executors at once with array operations, the others one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.allocation import Allocation, allocate, share
from rheostat.elastic.elasticutor.core_market import choose_homes
from rheostat.elastic.elasticutor.core_trades import CoreTrades
from rheostat.elastic.elasticutor.cores import Cores, clipped, fill, migration, sums, whole_numbers
from rheostat.elastic.elasticutor.executor_rates import Executors
from rheostat.elastic.elasticutor.printed_placement import reassign_cores

LOCALITY = 512 * 1024.0
"""Bytes per second and core above which an executor takes only cores at home: the paper's value."""

HORIZON = 30.0
"""Seconds for which a plan is expected to last: the paper's workloads shift every half minute (section 5.1)."""


@dataclass(frozen=True)
class CorePlacement:
    """Where every executor's cores are, and what that costs.

    Attributes:
        cores: the cores of every executor, by node.
        homes: the home of every executor; a new one only if its node is gone or it had none.
        missing: the number of cores that each executor wanted and did not get.
        threshold: the locality threshold, doubled until no executor above it has remote cores.
        migrated: bytes of state that move to another node.
        remote: bytes per second that will flow between homes and remote cores.
        reason: the result in words and numbers.
    """

    cores: Cores
    homes: Ints
    missing: Ints
    threshold: float
    migrated: float
    remote: float
    reason: str


@dataclass(frozen=True)
class Schedule:
    """One scheduling decision.

    Attributes:
        allocation: how many cores every executor gets.
        placement: on which nodes these cores are.
    """

    allocation: Allocation
    placement: CorePlacement


def schedule(
    executors: Executors,
    nodes: npt.ArrayLike,
    current: Cores,
    bound: float,
    external: float | None = None,
    threshold: float = LOCALITY,
    horizon: float = HORIZON,
) -> Schedule:
    """Return the cores of every executor by the queueing model, and a node for each core.

    Args:
        executors: rates and homes of the executors.
        nodes: the number of cores of each node; 0 for a node that is gone.
        current: the cores that executors have now.
        bound: the largest E[T] allowed, in seconds.
        external: rows per second that enter the topology; None if unknown.
        threshold: bytes per second and core above which an executor takes only cores at home.
        horizon: seconds for which the plan is expected to last.

    >>> rates, sizes = (np.array([150.0, 90.0]), np.array([100.0, 100.0])), np.array([1e6, 1e6])
    >>> two = Executors(*rates, state=sizes, traffic=sizes, homes=np.array([0, 1]))
    >>> decision = schedule(two, [4, 4], Cores.of([]), bound=0.03, external=150.0)
    >>> decision.placement.cores.entries(), decision.placement.reason
    ([(0, 0, 3), (1, 1, 2)], '0 bytes of state move, 0 cores are remote')
    """
    available = whole_numbers(nodes)
    allocation = allocate(executors.arrivals, executors.services, int(available.sum()), bound, external)
    inputs = executors.homes, current, executors.state, executors.traffic
    return Schedule(allocation, place(allocation.cores, available, *inputs, threshold, horizon))


def place(
    wanted: npt.ArrayLike,
    nodes: npt.ArrayLike,
    homes: npt.ArrayLike,
    current: Cores,
    state: npt.ArrayLike,
    traffic: npt.ArrayLike,
    threshold: float = LOCALITY,
    horizon: float = HORIZON,
) -> CorePlacement:
    """Place the wanted cores of every executor by Algorithm 1, with our extensions.

    Algorithm 1 never looks again at an executor that has remote cores and needs no more, even if it is above the
    locality threshold. Here such an executor exchanges remote cores for cores at home, if that moves fewer bytes of
    state than the executor would send within the horizon.

    Args:
        wanted: the number of cores for each executor.
        nodes: the number of cores of each node; 0 for a node that is gone.
        homes: the home node of each executor; -1 for one that has none yet.
        current: the cores that executors have now.
        state: bytes of state of each executor.
        traffic: bytes per second in and out of each executor.
        threshold: bytes per second and core above which an executor takes only cores at home.
        horizon: seconds for which the plan is expected to last.

    >>> old = Cores.of([(0, 0, 2), (1, 1, 1), (2, 1, 1)])
    >>> new = place([1, 2, 1], [2, 2], [0, 1, 1], old, state=[8e6, 8e6, 8e6], traffic=[0, 0, 0])
    >>> new.cores.entries(), new.migrated
    ([(0, 0, 1), (1, 0, 1), (1, 1, 1), (2, 1, 1)], 4000000.0)
    """
    problem, limit = _Problem.of(wanted, nodes, homes, current, state, traffic), _at_least_one(threshold)
    local = problem.intensity > limit
    returns = local & (problem.traffic * (horizon if horizon > 0 else 0.0) > problem.state)
    trades = CoreTrades(problem.kept, problem.homes, problem.goal, problem.nodes)
    trades.give_up_surplus(returns)
    trades.take_from_pools(problem.intensity, local)
    trades.trade(problem.state, problem.intensity, local)
    trades.return_home(returns)
    return problem.placement(trades.cores(), limit)


def place_as_printed(
    wanted: npt.ArrayLike,
    nodes: npt.ArrayLike,
    homes: npt.ArrayLike,
    current: Cores,
    state: npt.ArrayLike,
    traffic: npt.ArrayLike,
    threshold: float = LOCALITY,
) -> CorePlacement:
    """Place the wanted cores by Algorithm 1 as printed. Arguments are those of ``place``.

    Remote cores are kept, and if an executor finds no core at home the threshold is doubled for all executors.

    >>> old = Cores.of([(0, 0, 1), (0, 1, 2)])
    >>> place_as_printed([3], [4, 4], [0], old, state=[1e6], traffic=[12e6]).cores.entries()
    [(0, 0, 1), (0, 1, 2)]
    >>> place([3], [4, 4], [0], old, state=[1e6], traffic=[12e6]).cores.entries()
    [(0, 0, 3)]
    """
    problem = _Problem.of(wanted, nodes, homes, current, state, traffic)
    before = np.zeros((len(problem.wanted), len(problem.nodes)), dtype=np.int64)
    before[problem.kept.executor, problem.kept.node] = problem.kept.cores
    inputs = problem.goal, before, problem.nodes, problem.homes, problem.state, problem.intensity
    after, limit = reassign_cores(*inputs, _at_least_one(threshold))
    executor, node = np.nonzero(after)
    return problem.placement(Cores.summed(executor, node, after[executor, node]), limit)


def place_naively(
    wanted: npt.ArrayLike,
    nodes: npt.ArrayLike,
    homes: npt.ArrayLike,
    current: Cores,
    state: npt.ArrayLike,
    traffic: npt.ArrayLike,
) -> CorePlacement:
    """Place the wanted cores on any nodes that have some: the paper's naive-EC (section 5.4).

    Arguments are those of ``place``.

    >>> place_naively([1, 1], [1, 1], [1, 0], Cores.of([]), [0, 0], [1e6, 1e6]).remote
    2000000.0
    """
    problem = _Problem.of(wanted, nodes, homes, current, state, traffic, informed=False)
    available, kept = problem.nodes, problem.kept
    have = kept.by_executor(len(problem.wanted))
    need = np.maximum(problem.goal - have, 0)
    taken = max(0, int(need.sum() - (available - kept.by_node(len(available))).sum()))
    # The first executors that have too many cores give what is needed, from the first nodes on which they have some.
    gives = fill(kept.executor, kept.cores, np.maximum(have - problem.goal, 0))
    gives = fill(np.zeros(len(gives), dtype=np.int64), gives, np.array([taken]))
    left = Cores.summed(kept.executor, kept.node, kept.cores - gives)
    takers = np.repeat(np.arange(len(need)), need)
    free = np.repeat(np.arange(len(available)), np.minimum(available - left.by_node(len(available)), len(takers)))
    after = Cores.summed(
        np.r_[left.executor, takers],
        np.r_[left.node, free[: len(takers)]],
        np.r_[left.cores, np.ones(len(takers), dtype=np.int64)],
    )
    return problem.placement(after, LOCALITY)


@dataclass(frozen=True)
class _Problem:
    """The inputs of a placement after checks: usable numbers, and only cores that still exist.

    Attributes:
        nodes: the number of cores of each node.
        wanted: the number of cores that each executor wants.
        goal: the number of cores that each executor can have; fewer than wanted if there are too few.
        kept: the current cores that still exist.
        homes: the home of each executor; a new one if its node is gone.
        state: bytes of state of each executor.
        traffic: bytes per second in and out of each executor.
        intensity: bytes per second and core of each executor.
    """

    nodes: Ints
    wanted: Ints
    goal: Ints
    kept: Cores
    homes: Ints
    state: Floats
    traffic: Floats
    intensity: Floats

    @classmethod
    def of(
        cls,
        wanted: npt.ArrayLike,
        nodes: npt.ArrayLike,
        homes: npt.ArrayLike,
        current: Cores,
        state: npt.ArrayLike,
        traffic: npt.ArrayLike,
        informed: bool = True,
    ) -> _Problem:
        """Check the arguments of ``place``. If not ``informed``, traffic does not decide which cores are kept."""
        available, cores, old_homes = whole_numbers(nodes), whole_numbers(wanted), whole_numbers(homes, -1)
        goal = cores if cores.sum() <= available.sum() else share(cores, int(available.sum()))
        flows = clipped(traffic)
        intensity = flows / np.maximum(goal, 1)
        kept = _existing_cores(current, available, old_homes, intensity if informed else np.zeros(len(cores)))
        new_homes = _replace_lost_homes(old_homes, available, kept, goal)
        return cls(
            nodes=available,
            wanted=cores,
            goal=goal,
            kept=kept,
            homes=new_homes,
            state=clipped(state),
            traffic=flows,
            intensity=intensity,
        )

    def placement(self, after: Cores, threshold: float) -> CorePlacement:
        """Return the placement with the given cores, and its costs."""
        total = after.by_executor(len(self.wanted))
        away = after.part(after.node != self.homes[after.executor])
        remote = away.by_executor(len(self.wanted))
        missing = np.maximum(self.wanted - total, 0)
        each = self.traffic / np.maximum(total, 1)
        while (each[away.executor] > threshold).any():
            threshold *= 2
        moved = migration(self.kept, after, self.state)
        reason = f"{moved:.3g} bytes of state move, {remote.sum()} cores are remote"
        if missing.any():
            reason += f"; {missing.sum()} cores are missing for {np.count_nonzero(missing)} executors"
        return CorePlacement(
            cores=after,
            homes=self.homes,
            missing=missing,
            threshold=threshold,
            migrated=moved,
            remote=float((each * remote).sum()),
            reason=reason,
        )


def _at_least_one(threshold: float) -> float:
    """Return the threshold, at least 1 so that doubling raises it; the default for NaN."""
    return LOCALITY if math.isnan(threshold) else max(threshold, 1.0)


def _existing_cores(current: Cores, nodes: Ints, homes: Ints, intensity: Floats) -> Cores:
    """Return the current cores that still exist.

    If a node has fewer cores than are in use, remote executors lose theirs first, then those with little data.
    """
    exists = (
        (current.executor >= 0) & (current.executor < len(homes)) & (current.node >= 0) & (current.node < len(nodes))
    )
    executor, node, cores = current.executor[exists], current.node[exists], np.maximum(current.cores[exists], 0)
    crowded = np.flatnonzero((sums(node, cores, len(nodes)) > nodes)[node])
    owners = executor[crowded]
    crowded = crowded[np.lexsort((owners, -intensity[owners], node[crowded] != homes[owners]))]
    cores[crowded] = fill(node[crowded], cores[crowded], nodes)
    return Cores.summed(executor, node, cores)


def _replace_lost_homes(homes: Ints, nodes: Ints, kept: Cores, wanted: Ints) -> Ints:
    """Return the homes, with new ones for executors that have none or whose node is gone.

    The new home is the node on which the executor has most cores, or else the node with most room left.
    """
    has_home = (homes >= 0) & (homes < len(nodes))
    has_home[has_home] = nodes[homes[has_home]] > 0
    homeless = np.flatnonzero(~has_home)
    if not len(homeless):
        return homes
    result = homes.copy()
    result[homeless] = 0
    theirs = kept.part(np.isin(kept.executor, homeless))
    order = np.lexsort((-theirs.node, theirs.cores))
    result[theirs.executor[order]] = theirs.node[order]  # the last entry of an executor wins: its most cores
    has_home[theirs.executor] = True
    left, size = np.flatnonzero(~has_home), len(nodes)
    left = left[np.argsort(-wanted[left], kind="stable")]
    alive = np.flatnonzero(nodes)
    room = nodes - sums(result[has_home], wanted[has_home], size)
    if len(alive):
        # Keys as ``key_of`` computes them. A sorted array is a heap.
        result[left] = choose_homes(np.sort(-room[alive] * size + alive), size, wanted[left])
    return result
