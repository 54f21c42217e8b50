"""Evening out a batch that is already placed: tuples of the slot with most work for tuples of the one with least.

Longest first leaves what is left over when tuples hardly differ: of 128 about equal ones, three of five slots get one
more than the others. An exchange of a longer for a shorter tuple halves that, and halves it again (Finn and Horowitz
1979). The largest load never grows, so longest first's bound stays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.sketch import Costs
from rheostat.jit import compiled

ROUNDS = 4
"""Exchanges per slot at most: each is a pass over the batch, and the first few bring nearly all."""


def evened(slots: npt.NDArray[np.int64], costs: Costs, loads: Costs) -> None:
    """Exchange tuples of a batch between slots, in place, while that evens out their loads.

    Args:
        slots: where each tuple is, in the order of falling costs.
        costs: estimated seconds of each in whatever slot, falling.
        loads: seconds of work of every slot, with these tuples.

    >>> slots, loads = np.array([0, 1, 0, 1, 0]), np.array([11.0, 7.0])
    >>> evened(slots, np.array([5.0, 4.0, 3.0, 3.0, 3.0]), loads)
    >>> slots.tolist(), loads.tolist()
    ([1, 1, 0, 0, 0], [9.0, 9.0])
    """
    _exchange(slots, costs, loads, ROUNDS * len(loads))


@compiled
def _exchange(slots: npt.NDArray[np.int64], costs: Costs, loads: Costs, rounds: int) -> None:
    """Up to so many exchanges; a tuple that is exchanged for nothing simply moves."""
    for _ in range(rounds):
        most, least = -1, int(np.argmin(loads))
        for position in range(len(slots)):
            slot = slots[position]
            most = slot if most < 0 or loads[slot] > loads[most] else most
        gap = loads[most] - loads[least] if most >= 0 else 0.0
        gain, given, taken = 1e-6 * gap, -1, -1
        before, after = -1, 0
        for position in range(len(slots)):
            if slots[position] != most:
                continue
            # Costs fall, and with them what is best taken for it: the last that is no shorter, or the one after that.
            wanted = costs[position] - gap / 2
            while after < len(slots) and (slots[after] != least or costs[after] >= wanted):
                before = after if slots[after] == least else before
                after += 1
            for choice in (before, after if after < len(slots) else -1):
                less = costs[position] - (costs[choice] if choice >= 0 else 0.0)
                if min(less, gap - less) > gain:
                    gain, given, taken = min(less, gap - less), position, choice
        if given < 0:
            return
        less = costs[given] - (costs[taken] if taken >= 0 else 0.0)
        loads[most] -= less
        loads[least] += less
        slots[given] = least
        if taken >= 0:
            slots[taken] = most
