"""Which slot gets each tuple of a stateless operator: the groupings that need no messages (POSG sections III-A, V).

A grouping is a value. ``assign`` gives the slots of a batch of tuples and the grouping for the next batch; batches of
one tuple are what the paper has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.estimates import Estimates
from rheostat.elastic.posg.exchanges import evened
from rheostat.elastic.posg.hashing import Items, Multipliers, column, items_of
from rheostat.elastic.posg.sketch import Costs
from rheostat.errors import ConfigurationError
from rheostat.jit import compiled

Slots = npt.NDArray[np.int64]


class Grouping(Protocol):
    """Spreads the tuples of a stream over slots."""

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Self]:
        """The slot of every tuple, and the grouping that goes on after them."""


@dataclass(frozen=True)
class RoundRobin:
    """One slot after the other, whatever the tuples cost.

    Attributes:
        slots: how many.
        turn: the slot that is next.

    >>> slots, after = RoundRobin(3).assign([5, 5, 5, 5])
    >>> slots.tolist(), after.turn
    ([0, 1, 2, 0], 1)
    """

    slots: int
    turn: int = 0

    def __post_init__(self) -> None:
        _check_slots(self.slots)

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, RoundRobin]:
        """The slot of every tuple, and the grouping that goes on after them."""
        count = len(items_of(items))
        return (self.turn + np.arange(count)) % self.slots, replace(self, turn=(self.turn + count) % self.slots)


@dataclass(frozen=True, eq=False)
class FullKnowledge:
    """Each tuple to the slot with the least work so far, counted with the true execution times.

    No real router knows them; it shows how far estimates could be improved at all.

    >>> seconds = np.array([[3.0, 3.0], [1.0, 1.0]])
    >>> slots, after = FullKnowledge.start(2, lambda items: seconds[items]).assign([0, 1, 1, 1])
    >>> slots.tolist(), after.loads.tolist()
    ([0, 1, 1, 1], [3.0, 3.0])

    Attributes:
        cost: true seconds of items, one line per item and one entry per slot.
        loads: seconds of work that every slot was given so far.
    """

    cost: Callable[[Items], Costs]
    loads: Costs

    @classmethod
    def start(cls, slots: int, cost: Callable[[Items], Costs]) -> FullKnowledge:
        """Nothing assigned yet."""
        return cls(cost, np.zeros(_check_slots(slots)))

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, FullKnowledge]:
        """The slot of every tuple, and the grouping that goes on after them."""
        which = items_of(items)
        costs = np.require(self.cost(which), np.float64, ["C", "W"])
        if costs.shape != (len(which), len(self.loads)):
            raise ConfigurationError(f"costs of {len(which)} items and {len(self.loads)} slots are not {costs.shape}")
        loads = self.loads.copy()
        return _least_known(costs, loads), replace(self, loads=loads)


@dataclass(frozen=True, eq=False)
class Greedy:
    """Each tuple, as it comes, to the slot with the least estimated work so far (Listing III.2).

    >>> from rheostat.elastic.posg import CostSketch
    >>> known = Estimates.of([CostSketch.empty().updated([0, 1], [3.0, 1.0])] * 2)
    >>> slots, after = Greedy.start(known).assign([0, 1, 1, 1])
    >>> slots.tolist(), after.loads.tolist()
    ([0, 1, 1, 1], [3.0, 3.0])

    Attributes:
        estimates: seconds of every item in every slot.
        loads: estimated seconds of work that every slot was given so far.
    """

    estimates: Estimates
    loads: Costs

    @classmethod
    def start(cls, estimates: Estimates) -> Self:
        """Nothing assigned yet: the state in which an epoch begins if all slots finished the one before."""
        return cls(estimates, np.zeros(estimates.slots))

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Self]:
        """The slot of every tuple, and the grouping that goes on after them."""
        loads = self.loads.copy()
        slots = _least_estimated(self.estimates.numbers, self.estimates.cells, items_of(items), loads)
        return slots, replace(self, loads=loads)


@dataclass(frozen=True, eq=False)
class LptGrouping(Greedy):
    """The same for a batch that is known as a whole: the tuples with the longest estimates are placed first.

    Short tuples then fill what the long ones left uneven: at most 4/3 - 1/(3 slots) times the best possible
    largest load instead of 2 - 1/slots (Graham 1969). And tuples of the same item are dealt out to all slots alike, so
    that a wrong estimate of the item adds the same to all of them, where arrival order leaves that to chance.

    If items count the same in every slot, tuples are then exchanged between slots while that evens out their loads.

    >>> from rheostat.elastic.posg import CostSketch
    >>> known = Estimates.of([CostSketch.empty().updated([0, 1], [3.0, 1.0])] * 2)
    >>> slots, after = LptGrouping.start(known).assign([1, 1, 1, 0])
    >>> slots.tolist(), after.loads.tolist()
    ([1, 1, 1, 0], [3.0, 3.0])

    Attributes:
        exchange: True if tuples are exchanged in the end.
    """

    exchange: bool = True

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Self]:
        """The slot of every tuple, and the grouping that goes on after them."""
        which = items_of(items)
        order = self.estimates.longest_first(which)
        placed, after = super().assign(which[order])
        if self.exchange and self.estimates.alike:
            loads = after.loads.copy()
            evened(placed, self.estimates.typical(which[order]), loads)
            after = replace(after, loads=loads)
        slots = np.empty_like(placed)
        slots[order] = placed
        return slots, after


def _check_slots(slots: int) -> int:
    if slots < 1:
        raise ConfigurationError(f"a grouping needs one slot or more, not {slots}")
    return slots


@compiled
def _least_estimated(numbers: Multipliers, cells: Costs, items: Items, loads: Costs) -> Slots:
    """Assign in order, adding to the loads in place; no branch in it depends on data."""
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
def _least_known(costs: Costs, loads: Costs) -> Slots:
    """Assign in order, adding to the loads in place."""
    slots = np.empty(len(costs), np.int64)
    for position in range(len(costs)):
        best = np.argmin(loads)
        loads[best] += costs[position, best]
        slots[position] = best
    return slots
