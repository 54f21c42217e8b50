"""Elasticutor's Algorithm 1 as printed (section 4.2), over a dense matrix of cores by executor and node.

It looks at every executor on every node for each core that changes hands. ``placement.place`` is faster, and also
brings executors back to their own node; this one is here for comparison, and for ``slot_homes``, where the bytes that
nodes lack are known and need not be estimated.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.elastic.elasticutor.prices import give_prices, take_prices


def reassign_cores(
    wanted: Ints,
    current: Ints,
    nodes: Ints,
    homes: Ints,
    state: Floats,
    intensity: Floats,
    threshold: float,
    lacking: Floats | None = None,
) -> tuple[Ints, float]:
    """Return the cores by executor and node, and the threshold, doubled until a plan was found.

    The printed algorithm takes cores only from executors that have too many. Here free cores are taken first and cost
    nothing. Of equal costs, a core at home wins. The state of an executor without a core is at home.

    Args:
        wanted: the number of cores for each executor; their sum must not exceed the cores of the nodes.
        current: the number of cores that each executor has now, by executor and node.
        nodes: the number of cores of each node.
        homes: the home node of each executor.
        state: bytes of state of each executor.
        intensity: bytes per second and core of each executor.
        threshold: intensity above which an executor takes only cores at home.
        lacking: bytes of state that move if an executor takes a core on a node, by executor and node; None to estimate
            them as the paper does.

    >>> held, sizes = np.array([[2, 0], [0, 1], [0, 1]]), np.full(3, 8e6)
    >>> inputs = np.array([1, 2, 1]), held, np.array([2, 2]), np.array([0, 1, 1]), sizes
    >>> cores, threshold = reassign_cores(*inputs, intensity=np.array([0.0, 3.0, 0.0]), threshold=2.0)
    >>> cores.tolist(), threshold
    ([[1, 0], [1, 1], [0, 1]], 4.0)
    """
    while True:
        cores = _attempt(
            wanted=wanted,
            cores=current.copy(),
            nodes=nodes,
            homes=homes,
            state=state,
            local=intensity > threshold,
            intensity=intensity,
            lacking=lacking,
        )
        if cores is not None:
            return cores, threshold
        threshold *= 2


def _attempt(
    wanted: Ints,
    cores: Ints,
    nodes: Ints,
    homes: Ints,
    state: Floats,
    local: Flags,
    intensity: Floats,
    lacking: Floats | None,
) -> Ints | None:
    """Run the printed algorithm from line 2 on for one threshold. Return None where it returns FAIL."""
    total, free = cores.sum(axis=1), nodes - cores.sum(axis=0)
    takers = np.flatnonzero(total < wanted)
    for taker in takers[np.argsort(-intensity[takers], kind="stable")]:
        home_first = np.argsort(np.arange(len(nodes)) != homes[taker], kind="stable")
        where = home_first[:1] if local[taker] else home_first
        while total[taker] < wanted[taker]:
            donors = np.flatnonzero(total > wanted)
            costs = np.vstack(
                [np.where(free > 0, 0.0, np.inf), _give_prices(cores[donors], total[donors], state[donors])]
            )
            if lacking is not None:
                costs += lacking[taker]
            elif not local[taker]:
                costs += take_prices(cores[taker], int(total[taker]), float(state[taker]), int(homes[taker]))
            costs = costs[:, where].T
            best = int(costs.argmin())
            node, row = where[best // costs.shape[1]], best % costs.shape[1]
            if costs.flat[best] == np.inf:
                return None
            if row:
                cores[donors[row - 1], node] -= 1
                total[donors[row - 1]] -= 1
            else:
                free[node] -= 1
            cores[taker, node] += 1
            total[taker] += 1
    return cores


def _give_prices(cores: Ints, total: Ints, state: Floats) -> Floats:
    """Return the price of one core of every donor on every node, C-; infinite where it has none."""
    return np.where(cores > 0, give_prices(state[:, None], total[:, None], cores), np.inf)
