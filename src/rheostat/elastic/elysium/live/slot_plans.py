"""Another number of slots for an operator, evenly loaded; and slots that are evened out.

The paper assumes that rows are spread fairly over the instances of an operator. Here the shards are placed by their
measured work, so that it comes true.
"""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.elastic.routing.balance import THRESHOLD, balance, imbalance, rescale, slot_loads
from rheostat.elastic.routing.requests import plan_of


def with_slots(part: OperatorPlan, loads: Floats, slots: int, free: Ints | None = None) -> OperatorPlan:
    """Return the operator on a number of slots.

    Args:
        part: where it runs now.
        loads: work of every shard.
        slots: the number of slots.
        free: free cores of every node, in an engine where every slot needs a core of its own; None elsewhere.

    >>> with_slots(OperatorPlan.even(4, 2), np.ones(4), 4).slots
    4
    >>> with_slots(OperatorPlan.even(4, 1, 2), np.ones(4), 4, free=np.array([0, 2])).nodes.tolist()
    [0, 1, 1]
    """
    if free is not None:
        slots = min(slots, part.slots + int(free.sum()))
    numbers, routing = np.unique(part.routing, return_inverse=True)
    assignment = rescale(routing.tolist(), loads, slots)
    new = plan_of(np.array(assignment.routing, dtype=np.int64), part, numbers)
    if free is None:
        return new
    nodes, left = new.nodes.copy(), free.copy()
    before = np.r_[part.nodes, np.full(max(len(nodes) - len(part.nodes), 0), -1)][: len(nodes)]
    for slot in np.flatnonzero((nodes >= 0) & (before < 0)):
        nodes[slot] = int(left.argmax())
        left[nodes[slot]] -= 1
    return OperatorPlan(new.routing, nodes)


def evened(part: OperatorPlan, loads: Floats) -> OperatorPlan | None:
    """Return the operator with evenly loaded slots; None if they are even enough, or no move helps.

    >>> evened(OperatorPlan(np.array([0, 0, 0, 1]), np.zeros(2, dtype=int)), np.ones(4)).routing.tolist()
    [1, 0, 0, 1]
    >>> evened(OperatorPlan.even(4, 2), np.ones(4))
    """
    numbers, routing = np.unique(part.routing, return_inverse=True)
    if len(numbers) < 2 or not imbalance(slot_loads(routing, loads, len(numbers))) > THRESHOLD:
        return None
    assignment = balance(routing.tolist(), loads, len(numbers))
    if not assignment.moved(routing.tolist()):
        return None
    return OperatorPlan(numbers[np.array(assignment.routing)], part.nodes)
