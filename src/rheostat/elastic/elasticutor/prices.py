"""What it costs an executor to take or give up a core, in bytes of state that move (Elasticutor section 4.2)."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats, Ints


def give_prices(state: Floats, total: Ints, there: Ints) -> Floats:
    """Return the bytes of state that move if an executor gives up one of its cores on a node: the paper's C-.

    That is ``s (X - x) / (X (X - 1))``: the state of this core that goes to other nodes. With its last core, the
    executor gives up all its state. Arguments are broadcast.

    Args:
        state: bytes of state of the executor, s.
        total: the number of its cores, X.
        there: the number of its cores on the node, x.

    >>> give_prices(np.array([12.0, 12.0]), np.array([3, 1]), np.array([1, 1])).tolist()
    [4.0, 12.0]
    """
    return np.where(total > 1, state * (total - there) / np.maximum(total * (total - 1), 1), state)


def take_prices(cores: Ints, total: int, state: float, home: int) -> Floats:
    """Return the bytes of state that move if an executor takes a core, by node: the paper's C+.

    That is ``s (X - x) / (X (X + 1))``. All state of an executor without a core is at home.

    Args:
        cores: the number of its cores on every node, x.
        total: the number of its cores, X.
        state: bytes of state of the executor, s.
        home: its home node.

    >>> take_prices(np.array([1, 0]), 1, 12.0, home=0).tolist(), take_prices(np.array([0, 0]), 0, 12.0, home=0).tolist()
    ([0.0, 6.0], [0.0, 12.0])
    """
    if total:
        return np.asarray(state * (total - cores) / (total * (total + 1)), dtype=np.float64)
    return np.where(np.arange(len(cores)) == home, 0.0, state)
