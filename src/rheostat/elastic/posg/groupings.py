"""Groupings assign tuples to slots; those in this file need no messages (POSG sections III-A and V).

A grouping is a value. ``assign`` returns the slots of a batch of tuples and the grouping for the next batch. The paper
assigns one tuple at a time, which is a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.compiled_hash import column
from rheostat.elastic.posg.estimates import Estimates
from rheostat.elastic.posg.exchanges import even_out
from rheostat.elastic.posg.hashing import Items, Multipliers, items_of
from rheostat.elastic.posg.sketch import Costs
from rheostat.errors import ConfigurationError
from rheostat.jit import compiled

Slots = npt.NDArray[np.int64]
"""Slot of each tuple."""


class Grouping(Protocol):
    """Assigns the tuples of a stream to slots.

    >>> def busiest(grouping: Grouping, items: list[int]) -> int:
    ...     slots, _ = grouping.assign(items)
    ...     return int(np.bincount(slots).max())
    >>> busiest(RoundRobin(2), [5, 5, 5])
    2
    """

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Self]:
        """Return the slot of each tuple, and the grouping for the next batch."""


@dataclass(frozen=True)
class RoundRobin:
    """Assigns tuples to one slot after the other, whatever they cost.

    Attributes:
        slots: number of slots.
        turn: slot of the next tuple.

    >>> slots, after = RoundRobin(3).assign([5, 5, 5, 5])
    >>> slots.tolist(), after.turn
    ([0, 1, 2, 0], 1)
    """

    slots: int
    turn: int = 0

    def __post_init__(self) -> None:
        _check_slots(self.slots)

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, RoundRobin]:
        """Return the slot of each tuple, and the grouping for the next batch."""
        count = len(items_of(items))
        return (self.turn + np.arange(count)) % self.slots, replace(self, turn=(self.turn + count) % self.slots)


@dataclass(frozen=True, eq=False)
class FullKnowledge:
    """Assigns each tuple to the slot with the least work so far, by true execution times.

    No real scheduler knows them; this shows how much better estimates could make it.

    >>> seconds = np.array([[3.0, 3.0], [1.0, 1.0]])
    >>> slots, after = FullKnowledge.start(2, lambda items: seconds[items]).assign([0, 1, 1, 1])
    >>> slots.tolist(), after.loads.tolist()
    ([0, 1, 1, 1], [3.0, 3.0])

    Attributes:
        cost: returns the true seconds of items, with a row per item and a column per slot.
        loads: seconds of work assigned to each slot so far.
    """

    cost: Callable[[Items], Costs]
    loads: Costs

    @classmethod
    def start(cls, slots: int, cost: Callable[[Items], Costs]) -> FullKnowledge:
        """Return the grouping before any tuple is assigned."""
        return cls(cost, np.zeros(_check_slots(slots)))

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, FullKnowledge]:
        """Return the slot of each tuple, and the grouping for the next batch."""
        which = items_of(items)
        costs = np.require(self.cost(which), np.float64, ["C", "W"])
        if costs.shape != (len(which), len(self.loads)):
            raise ConfigurationError(
                f"cost returned an array of shape {costs.shape} for {len(which)} items and {len(self.loads)} slots: "
                "return a row per item and a column per slot"
            )
        loads = self.loads.copy()
        return _assign_by_cost(costs, loads), replace(self, loads=loads)


@dataclass(frozen=True, eq=False)
class Greedy:
    """Assigns each tuple, in order of arrival, to the slot with the least estimated work so far (Listing III.2).

    >>> from rheostat.elastic.posg import CostSketch
    >>> known = Estimates.of([CostSketch.empty().updated([0, 1], [3.0, 1.0])] * 2)
    >>> slots, after = Greedy.start(known).assign([0, 1, 1, 1])
    >>> slots.tolist(), after.loads.tolist()
    ([0, 1, 1, 1], [3.0, 3.0])

    Attributes:
        estimates: seconds of every item in every slot.
        loads: estimated seconds of work assigned to each slot so far.
    """

    estimates: Estimates
    loads: Costs

    @classmethod
    def start(cls, estimates: Estimates) -> Self:
        """Return the grouping before any tuple is assigned, with no work left in any slot."""
        return cls(estimates, np.zeros(estimates.slots))

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Self]:
        """Return the slot of each tuple, and the grouping for the next batch."""
        loads = self.loads.copy()
        slots = _assign_by_estimate(self.estimates.numbers, self.estimates.cells, items_of(items), loads)
        return slots, replace(self, loads=loads)


@dataclass(frozen=True, eq=False)
class LptGrouping(Greedy):
    """Assigns a batch as a whole, the tuples with the longest estimates first (longest processing time first).

    Short tuples then even out the differences that long ones leave. The largest load is at most 4/3 - 1/(3 slots) times
    the best possible one, instead of 2 - 1/slots in order of arrival (Graham 1969). Tuples of the same item are spread
    over all slots, so that an error of its estimate adds the same to each slot.

    If the estimate of an item is the same in every slot, tuples are then exchanged between slots to even out the loads.

    >>> from rheostat.elastic.posg import CostSketch
    >>> known = Estimates.of([CostSketch.empty().updated([0, 1], [3.0, 1.0])] * 2)
    >>> slots, after = LptGrouping.start(known).assign([1, 1, 1, 0])
    >>> slots.tolist(), after.loads.tolist()
    ([1, 1, 1, 0], [3.0, 3.0])

    Attributes:
        exchange: True to exchange tuples between slots in the end.
    """

    exchange: bool = True

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Self]:
        """Return the slot of each tuple, and the grouping for the next batch."""
        which = items_of(items)
        order = self.estimates.longest_first(which)
        placed, after = super().assign(which[order])
        if self.exchange and self.estimates.alike:
            loads = after.loads.copy()
            even_out(placed, self.estimates.typical(which[order]), loads)
            after = replace(after, loads=loads)
        slots = np.empty_like(placed)
        slots[order] = placed
        return slots, after


def _check_slots(slots: int) -> int:
    if slots < 1:
        raise ConfigurationError(f"slots={slots}: a grouping needs one slot or more")
    return slots


@compiled
def _assign_by_estimate(numbers: Multipliers, cells: Costs, items: Items, loads: Costs) -> Slots:
    """Assign in order, adding estimates to the loads in place; for speed, no branch depends on data."""
    slots = np.empty(len(items), np.int64)
    columns = np.empty(cells.shape[1], np.int64)
    best = int(np.argmin(loads))
    for position in range(len(items)):
        for row in range(len(columns)):
            columns[row] = column(numbers, row, items[position], cells.shape[2])
        fewest, cost = np.inf, 0.0
        for row in range(len(columns)):
            count, estimate = cells[best, row, columns[row], 0], cells[best, row, columns[row], 1]
            cost = estimate if count < fewest else cost
            fewest = min(count, fewest)
        loads[best] += cost
        slots[position] = best
        best, least = 0, loads[0]
        for slot in range(1, len(loads)):
            load = loads[slot]
            best = slot if load < least else best
            least = min(load, least)
    return slots


@compiled
def _assign_by_cost(costs: Costs, loads: Costs) -> Slots:
    """Assign in order, adding costs to the loads in place."""
    slots = np.empty(len(costs), np.int64)
    for position in range(len(costs)):
        best = np.argmin(loads)
        loads[best] += costs[position, best]
        slots[position] = best
    return slots
