"""Deals the rows of one router to slots by their estimated costs: greedily as they come, or the longest first.

The rules are those of ``Greedy`` (Listing III.2) and ``LptGrouping``, without Numba. A loop over rows is needed: where
a row goes depends on all rows before. It takes about half a microsecond per row, and ``cost_choice`` counts that.

Several routers deal at the same time, each its own rows and without knowing of the others. Each deals evenly, so all
together do. Ties go to another slot first in every router: otherwise slot 0 would get the first row of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.elastic.posg.array_sketch import estimated_costs
from rheostat.elastic.posg.hashing import items_of
from rheostat.elastic.posg.sketch import CostSketch
from rheostat.errors import ConfigurationError

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly however many there are."""


@dataclass(frozen=True, eq=False)
class CostRouter:
    """A router, and the work that it has given to every slot so far.

    >>> from rheostat.elastic.posg.array_sketch import sketch_of
    >>> known = sketch_of([0, 1], [3.0, 1.0], rows=4, columns=54)
    >>> router = CostRouter.start(known, factors=(1.0, 1.0), longest_first=True)
    >>> slots, after = router.deal([1, 1, 1, 0])
    >>> slots.tolist(), after.loads.tolist()
    ([1, 1, 1, 0], [3.0, 3.0])

    Attributes:
        sketch: the costs of items in a slot of mean speed.
        factors: how much longer than that each slot takes.
        longest_first: True to deal the longest rows of a batch first; False to deal rows in order.
        loads: estimated seconds of work that each slot has got.
        first: the slot that the first of several equally loaded slots is.
    """

    sketch: CostSketch
    factors: tuple[float, ...]
    longest_first: bool
    loads: Floats
    first: int = 0

    @classmethod
    def start(cls, sketch: CostSketch, factors: tuple[float, ...], longest_first: bool, number: int = 0) -> CostRouter:
        """Return a router that has not dealt any row.

        Args:
            sketch: the costs of items.
            factors: how much longer than a slot of mean speed each slot takes.
            longest_first: True to deal the longest rows of a batch first.
            number: number of the router among all routers.
        """
        if not factors or not all(0 < factor < np.inf for factor in factors):
            raise ConfigurationError(f"factors={factors}: a router needs a factor above 0 for every slot")
        first = int((number * _GOLDEN) % 1.0 * len(factors))
        return cls(sketch, factors, longest_first, np.zeros(len(factors)), first)

    def deal(self, items: npt.ArrayLike) -> tuple[Ints, CostRouter]:
        """Return the slot of every row, and the router after that.

        Args:
            items: item of every row, in order of arrival.
        """
        which = items_of(items)
        costs = estimated_costs(self.sketch, which)
        if not self.longest_first:
            slots, loads = self._in_order(costs)
        else:
            # Equal items come one after the other, so that an error of their estimate adds the same to each slot.
            order = np.lexsort((which, -costs))
            placed, loads = self._in_order(costs[order])
            slots = np.empty_like(placed)
            slots[order] = placed
        return slots, CostRouter(self.sketch, self.factors, self.longest_first, loads, self.first)

    def _in_order(self, costs: Floats) -> tuple[Ints, Floats]:
        """Give each row to the slot with the least work so far; return the slots, and the work of all slots."""
        count = len(self.factors)
        queue = [(load, (slot - self.first) % count, slot) for slot, load in enumerate(self.loads.tolist())]
        heapify(queue)
        slots = []
        for cost in costs.tolist():
            load, rank, slot = queue[0]
            slots.append(slot)
            heapreplace(queue, (load + cost * self.factors[slot], rank, slot))
        loads = np.empty(count)
        loads[[slot for _, _, slot in queue]] = [load for load, _, _ in queue]
        return np.array(slots, dtype=np.int64), loads
