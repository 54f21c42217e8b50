"""Which cores on which nodes every executor gets (Elasticutor section 4.2, Algorithm 1).

Executors that need more cores take them from nodes with free ones and from executors that have more than they need, so
that little state crosses the network. Executors that move much data per core, more than the locality threshold,
accept only cores of their own node, their home, as long as it has any to give. There is always a plan: too few cores
are shared, and the plan says who misses how many.

Most moves cost nothing: an executor that lives on one node takes a free core there, or one of a neighbour that lives
there as well. These are made for all executors at once with array operations; the others follow one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.elasticutor.allocation import Allocation, allocate, share
from rheostat.elastic.elasticutor.core_market import settle
from rheostat.elastic.elasticutor.core_trades import Board
from rheostat.elastic.elasticutor.cores import Cores, clean, fill, migration, sums, whole
from rheostat.elastic.elasticutor.printed_placement import reassigned

LOCALITY = 512 * 1024.0
"""Bytes per second and core above which an executor stays at home: the paper's value."""

HORIZON = 30.0
"""Seconds that a plan is expected to last: the paper's workloads shift every half minute (section 5.1)."""


@dataclass(frozen=True)
class Executors:
    """What is known of the executors of a topology, one value of each array per executor.

    Attributes:
        arrivals: rows per second that arrive.
        services: rows per second that one core processes.
        state: bytes of state.
        traffic: bytes per second that go in and out.
        homes: the node on which each one lives; -1 for one that has none yet.
    """

    arrivals: Floats
    services: Floats
    state: Floats
    traffic: Floats
    homes: Ints


@dataclass(frozen=True)
class CorePlacement:
    """Where every executor's cores are, and what that costs.

    Attributes:
        cores: of every executor, by node.
        homes: the node of every executor; another one only if the node it lived on has gone.
        missing: how many cores each executor wanted and did not get.
        threshold: the locality threshold, doubled until no executor with more bytes per second and core is remote.
        migrated: bytes of state that have to change their node.
        remote: bytes per second that will go between homes and cores on other nodes.
        reason: in words and numbers.
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
    """One round of scheduling: how many cores everyone gets, and where they are.

    Attributes:
        allocation: how many cores everyone gets.
        placement: where they are.
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
    """One scheduling decision: cores for every executor by the queueing model, then a place for each core.

    Args:
        nodes: how many cores each node has; 0 for a node that has gone.
        current: who has which cores now.
        bound: the largest E[T] wanted, in seconds.
        external: rows per second that enter the topology.
        threshold: bytes per second and core above which an executor stays at home.
        horizon: seconds for which the plan is expected to last.

    >>> rates, sizes = (np.array([150.0, 90.0]), np.array([100.0, 100.0])), np.array([1e6, 1e6])
    >>> two = Executors(*rates, state=sizes, traffic=sizes, homes=np.array([0, 1]))
    >>> decided = schedule(two, [4, 4], Cores.of([]), bound=0.03, external=150.0)
    >>> decided.placement.cores.entries(), decided.placement.reason
    ([(0, 0, 3), (1, 1, 2)], '0 bytes of state move, 0 cores are remote')
    """
    available = whole(nodes)
    allocation = allocate(executors.arrivals, executors.services, int(available.sum()), bound, external)
    known = executors.homes, current, executors.state, executors.traffic
    return Schedule(allocation, place(allocation.cores, available, *known, threshold, horizon))


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
    """Algorithm 1: the wanted cores for every executor, with little state moved and busy executors at home.

    Algorithm 1 never looks again at executors that have remote cores and want no more, even if its problem forbids
    them. Here they come home if that moves less state than the data they would send over the horizon.

    Args:
        wanted: how many cores each executor is to have; the others as in ``Executors`` and ``schedule``.

    >>> old = Cores.of([(0, 0, 2), (1, 1, 1), (2, 1, 1)])
    >>> new = place([1, 2, 1], [2, 2], [0, 1, 1], old, state=[8e6, 8e6, 8e6], traffic=[0, 0, 0])
    >>> new.cores.entries(), new.migrated
    ([(0, 0, 1), (1, 0, 1), (1, 1, 1), (2, 1, 1)], 4000000.0)
    """
    case, phi = _Case.of(wanted, nodes, homes, current, state, traffic), _limited(threshold)
    stays = case.intensity > phi
    returns = stays & (case.traffic * (horizon if horizon > 0 else 0.0) > case.state)
    board = Board(case.kept, case.homes, case.goal, case.nodes)
    board.leave_surplus(returns)
    board.move_for_free(case.intensity, stays)
    board.trade(case.state, case.intensity, stays)
    board.come_home(returns)
    return case.outcome(board.cores(), phi)


def place_as_printed(
    wanted: npt.ArrayLike,
    nodes: npt.ArrayLike,
    homes: npt.ArrayLike,
    current: Cores,
    state: npt.ArrayLike,
    traffic: npt.ArrayLike,
    threshold: float = LOCALITY,
) -> CorePlacement:
    """Algorithm 1 as printed: remote cores are kept, and the threshold is doubled for all executors.

    >>> old = Cores.of([(0, 0, 1), (0, 1, 2)])
    >>> place_as_printed([3], [4, 4], [0], old, state=[1e6], traffic=[12e6]).cores.entries()
    [(0, 0, 1), (0, 1, 2)]
    >>> place([3], [4, 4], [0], old, state=[1e6], traffic=[12e6]).cores.entries()
    [(0, 0, 3)]
    """
    case = _Case.of(wanted, nodes, homes, current, state, traffic)
    cores = np.zeros((len(case.asked), len(case.nodes)), dtype=np.int64)
    cores[case.kept.executor, case.kept.node] = case.kept.cores
    given = case.goal, cores, case.nodes, case.homes, case.state, case.intensity
    found, phi = reassigned(*given, _limited(threshold))
    executor, node = np.nonzero(found)
    return case.outcome(Cores.summed(executor, node, found[executor, node]), phi)


def place_naively(
    wanted: npt.ArrayLike,
    nodes: npt.ArrayLike,
    homes: npt.ArrayLike,
    current: Cores,
    state: npt.ArrayLike,
    traffic: npt.ArrayLike,
) -> CorePlacement:
    """The paper's naive-EC baseline (section 5.4): the same numbers of cores, wherever there are any.

    >>> place_naively([1, 1], [1, 1], [1, 0], Cores.of([]), [0, 0], [1e6, 1e6]).remote
    2000000.0
    """
    case = _Case.of(wanted, nodes, homes, current, state, traffic, informed=False)
    available, kept = case.nodes, case.kept
    have = kept.by_executor(len(case.asked))
    need = np.maximum(case.goal - have, 0)
    taken = max(0, int(need.sum() - (available - kept.by_node(len(available))).sum()))
    # The first executors that have too many give what is needed, from the first nodes they have cores on.
    gives = fill(kept.executor, kept.cores, np.maximum(have - case.goal, 0))
    gives = fill(np.zeros(len(gives), dtype=np.int64), gives, np.array([taken]))
    stay = Cores.summed(kept.executor, kept.node, kept.cores - gives)
    takers = np.repeat(np.arange(len(need)), need)
    free = np.repeat(np.arange(len(available)), np.minimum(available - stay.by_node(len(available)), len(takers)))
    ones = np.ones(len(takers), dtype=np.int64)
    columns = (
        np.r_[stay.executor, takers],
        np.r_[stay.node, free[: len(takers)]],
        np.r_[stay.cores, ones],
    )
    return case.outcome(Cores.summed(*columns), LOCALITY)


@dataclass(frozen=True)
class _Case:
    """What all placements begin with: numbers that can be trusted, and cores that still exist.

    Attributes:
        nodes: how many cores each node has.
        asked: cores that each executor wants.
        goal: cores that each executor can have.
        kept: current cores that still exist.
        homes: the node of every executor, a new one if its own has gone.
        state: bytes of every executor.
        traffic: bytes per second of every executor.
        intensity: bytes per second and core of every executor.
    """

    nodes: Ints
    asked: Ints
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
    ) -> _Case:
        """From what was given; traffic decides which cores are kept only if ``informed``."""
        available, asked, known = whole(nodes), whole(wanted), whole(homes, -1)
        goal = asked if asked.sum() <= available.sum() else share(asked, int(available.sum()))
        flows = clean(traffic)
        intensity = flows / np.maximum(goal, 1)
        kept = _kept(current, available, known, intensity if informed else np.zeros(len(asked)))
        where = _homes(known, available, kept, goal)
        return cls(available, asked, goal, kept, where, clean(state), flows, intensity)

    def outcome(self, after: Cores, threshold: float) -> CorePlacement:
        """The placement with these cores, and its costs."""
        total = after.by_executor(len(self.asked))
        away = after.part(after.node != self.homes[after.executor])
        remote = away.by_executor(len(self.asked))
        missing = np.maximum(self.asked - total, 0)
        each = self.traffic / np.maximum(total, 1)
        while (each[away.executor] > threshold).any():
            threshold *= 2
        moved = migration(self.kept, after, self.state)
        reason = f"{moved:.3g} bytes of state move, {remote.sum()} cores are remote"
        if missing.any():
            reason += f"; {missing.sum()} cores are missing for {np.count_nonzero(missing)} executors"
        return CorePlacement(after, self.homes, missing, threshold, moved, float((each * remote).sum()), reason)


def _limited(threshold: float) -> float:
    """The threshold, with a lower limit so that doubling it has an effect."""
    return LOCALITY if math.isnan(threshold) else max(threshold, 1.0)


def _kept(current: Cores, nodes: Ints, homes: Ints, intensity: Floats) -> Cores:
    """The current cores that still exist: of too many on a node, remote ones go first, then those with little data."""
    known = (
        (current.executor >= 0) & (current.executor < len(homes)) & (current.node >= 0) & (current.node < len(nodes))
    )
    executor, node, cores = current.executor[known], current.node[known], np.maximum(current.cores[known], 0)
    crowded = np.flatnonzero((sums(node, cores, len(nodes)) > nodes)[node])
    who = executor[crowded]
    crowded = crowded[np.lexsort((who, -intensity[who], node[crowded] != homes[who]))]
    cores[crowded] = fill(node[crowded], cores[crowded], nodes)
    return Cores.summed(executor, node, cores)


def _homes(homes: Ints, nodes: Ints, kept: Cores, wanted: Ints) -> Ints:
    """Homes, with new ones for executors that have none or whose node has gone.

    That is the node on which it has most cores, or else the one with most room left.
    """
    there = (homes >= 0) & (homes < len(nodes))
    there[there] = nodes[homes[there]] > 0
    lost = np.flatnonzero(~there)
    if not len(lost):
        return homes
    found = homes.copy()
    found[lost] = 0
    mine = np.isin(kept.executor, lost)
    order = np.lexsort((-kept.node[mine], kept.cores[mine]))
    found[kept.executor[mine][order]] = kept.node[mine][order]
    there[kept.executor[mine]] = True
    left, size = np.flatnonzero(~there), len(nodes)
    left = left[np.argsort(-wanted[left], kind="stable")]
    alive = np.flatnonzero(nodes)
    room = nodes - sums(found[there], wanted[there], size)
    if len(alive):
        # A sorted array is a heap.
        found[left] = settle(np.sort(-room[alive] * size + alive), size, wanted[left])
    return found
