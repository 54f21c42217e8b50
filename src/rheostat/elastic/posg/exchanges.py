"""Evens out the loads of slots by exchanging tuples of a batch that are already assigned; our addition.

Longest first leaves a difference if tuples cost about the same: of 128 equal tuples, three of five slots get one more
than the others. Exchanging a longer tuple of the busiest slot for a shorter one of the idlest slot halves the
difference, and the next exchange halves it again (Finn and Horowitz 1979). The largest load never grows, so the bound
of longest first still holds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.sketch import Costs
from rheostat.jit import compiled

ROUNDS = 4
"""Maximum number of exchanges per slot: each is a pass over the batch, and the first few gain nearly everything."""

_MIN_GAIN = 1e-6
"""Smallest useful gain of an exchange, relative to the difference between the two loads."""


def even_out(slots: npt.NDArray[np.int64], costs: Costs, loads: Costs) -> None:
    """Exchange tuples of a batch between slots, in place, while that evens out the loads.

    Args:
        slots: slot of each tuple.
        costs: estimated seconds of each tuple, the same in every slot, in descending order.
        loads: seconds of work of every slot, with these tuples.

    >>> slots, loads = np.array([0, 1, 0, 1, 0]), np.array([11.0, 7.0])
    >>> even_out(slots, np.array([5.0, 4.0, 3.0, 3.0, 3.0]), loads)
    >>> slots.tolist(), loads.tolist()
    ([1, 1, 0, 0, 0], [9.0, 9.0])
    """
    _exchange(slots, costs, loads, ROUNDS * len(loads))


@compiled
def _exchange(slots: npt.NDArray[np.int64], costs: Costs, loads: Costs, rounds: int) -> None:
    """Make up to ``rounds`` exchanges between the busiest and the idlest slot; a tuple may also move without return."""
    for _ in range(rounds):
        most, least = -1, int(np.argmin(loads))
        for position in range(len(slots)):
            slot = slots[position]
            most = slot if most < 0 or loads[slot] > loads[most] else most
        gap = loads[most] - loads[least] if most >= 0 else 0.0
        # The best exchange so far: its gain, and positions of the longer and the shorter tuple (-1 for none).
        gain, longer, shorter = _MIN_GAIN * gap, -1, -1
        before, after = -1, 0
        for position in range(len(slots)):
            if slots[position] != most:
                continue
            # A partner with the ideal cost would make both loads equal. The nearest are the last tuple of the idlest
            # slot that costs at least as much, and the next one. The ideal falls with the costs: no need to go back.
            ideal = costs[position] - gap / 2
            while after < len(slots) and (slots[after] != least or costs[after] >= ideal):
                before = after if slots[after] == least else before
                after += 1
            for choice in (before, after if after < len(slots) else -1):
                shift = costs[position] - (costs[choice] if choice >= 0 else 0.0)
                if min(shift, gap - shift) > gain:
                    gain, longer, shorter = min(shift, gap - shift), position, choice
        if longer < 0:
            return
        shift = costs[longer] - (costs[shorter] if shorter >= 0 else 0.0)
        loads[most] -= shift
        loads[least] += shift
        slots[longer] = least
        if shorter >= 0:
            slots[shorter] = most
