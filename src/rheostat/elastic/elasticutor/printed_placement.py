"""Algorithm 1 of Elasticutor as it is printed (section 4.2), over a dense matrix of cores by executor and node.

``placement.place`` gets to the same ends faster, and goes on where the listing stops. This one is for comparison: it
looks at every executor on every node for each core that changes hands.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats, Ints


def reassigned(
    wanted: Ints, current: Ints, nodes: Ints, homes: Ints, state: Floats, intensity: Floats, threshold: float
) -> tuple[Ints, float]:
    """Cores by executor and node, and the threshold at which a plan was found: doubled until there is one.

    The listing takes cores only from executors that have too many. Cores that nobody has are taken first here, for
    nothing; of equal costs, those at home win. An executor without a core has its state at home.

    Args:
        wanted: cores for every executor, no more in all than there are.
        current: cores that every executor has, by node.
        nodes: how many cores each node has.
        state: bytes of each executor.
        intensity: bytes per second and core of each executor.

    >>> held, sizes = np.array([[2, 0], [0, 1], [0, 1]]), np.full(3, 8e6)
    >>> known = np.array([1, 2, 1]), held, np.array([2, 2]), np.array([0, 1, 1]), sizes
    >>> found, threshold = reassigned(*known, intensity=np.array([0.0, 3.0, 0.0]), threshold=2.0)
    >>> found.tolist(), threshold
    ([[1, 0], [1, 1], [0, 1]], 4.0)
    """
    while True:
        found = _attempt(wanted, current.copy(), nodes, homes, state, intensity > threshold, intensity)
        if found is not None:
            return found, threshold
        threshold *= 2


def _attempt(
    wanted: Ints,
    cores: Ints,
    nodes: Ints,
    homes: Ints,
    state: Floats,
    local: np.ndarray[tuple[int], np.dtype[np.bool_]],
    intensity: Floats,
) -> Ints | None:
    """The listing for one threshold, from line 2 on; None for its FAIL."""
    total, free = cores.sum(axis=1), nodes - cores.sum(axis=0)
    takers = np.flatnonzero(total < wanted)
    for taker in takers[np.argsort(-intensity[takers], kind="stable")]:
        home_first = np.argsort(np.arange(len(nodes)) != homes[taker], kind="stable")
        where = home_first[:1] if local[taker] else home_first
        while total[taker] < wanted[taker]:
            donors = np.flatnonzero(total > wanted)
            costs = np.vstack([np.where(free > 0, 0.0, np.inf), _give(cores[donors], total[donors], state[donors])])
            if not local[taker]:
                costs += _take(cores[taker], int(total[taker]), float(state[taker]), int(homes[taker]))
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


def _give(cores: Ints, total: Ints, state: Floats) -> Floats:
    """C-, which is s (X - x) / (X (X - 1)), for every donor and node; everything from the last core."""
    price = state[:, None] * (total[:, None] - cores) / np.maximum(total * (total - 1), 1)[:, None]
    price = np.where(total[:, None] > 1, price, state[:, None])
    return np.where(cores > 0, price, np.inf)


def _take(cores: Ints, total: int, state: float, home: int) -> Floats:
    """C+, which is s (X - x) / (X (X + 1)), for every node."""
    if total:
        return np.asarray(state * (total - cores) / (total * (total + 1)), dtype=np.float64)
    return np.where(np.arange(len(cores)) == home, 0.0, state)
