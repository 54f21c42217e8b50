"""Decides before an epoch how rows are dealt: by cost, or in turn because costs hardly differ.

Dealing by cost needs a Python task that looks at every row before the slots do. It pays if the busiest slot then ends
earlier by more than that takes. With uniform costs nothing is gained; with very many rows of any costs hardly anything,
because chance evens them out.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.posg.learned_costs import LearnedCosts, expected_excess

ROUTING = 0.017
"""Seconds that dealing by cost adds to an epoch: a Python task between reading and the slots. Measured on two shared
cores, ``local[16]``, medians of 35 epochs: 19 ms for 2,000 rows on 4 slots, 18 ms on 10, 32 ms for 20,000 rows."""

ROUTING_ROW = 0.8e-6
"""Seconds that it adds per row of a router, from the same measurement."""

ROUTER_ROWS = 20_000
"""Rows that one router deals before a second one is worth a task."""

ENTER, LEAVE = 1.5, 0.75
"""Multiples of the price that the gain must exceed to begin dealing by cost, and to go on with it."""


@dataclass(frozen=True)
class CostChoice:
    """How rows are dealt in an epoch.

    Attributes:
        by_cost: True to deal by cost, False to deal in turn.
        saving: seconds by which dealing by cost is expected to shorten the work of the busiest slot.
        reason: why, in words and numbers.
    """

    by_cost: bool
    saving: float
    reason: str


def choose_dealing(learned: LearnedCosts, slots: int, *, by_cost: bool) -> CostChoice:
    """Decide how rows are dealt in the next epoch.

    Args:
        learned: what is known of costs.
        slots: number of slots.
        by_cost: True if rows are dealt by cost now.

    >>> from rheostat.elastic.posg.array_sketch import sketch_of
    >>> from rheostat.elastic.posg.learned_costs import SlotCosts
    >>> seen = [SlotCosts(slot, sketch_of([0, 1] * 200, [0.03, 0.01] * 200, 4, 4096)) for slot in (0, 1)]
    >>> print(choose_dealing(LearnedCosts.start(2).after(seen, 2), 2, by_cost=False).reason)
    costs differ by item: dealing 800 rows by cost saves about 118 ms of 8.0 s per slot
    >>> even = [SlotCosts(slot, sketch_of([0, 1] * 200, [0.02] * 400, 4, 4096)) for slot in (0, 1)]
    >>> print(choose_dealing(LearnedCosts.start(2).after(even, 2), 2, by_cost=True).reason)
    costs hardly differ by item: dealing 800 rows by cost would save 0 ms and take 18 ms
    """
    if slots < 2:
        return CostChoice(False, 0.0, "there is only one slot")
    if not learned.known:
        return CostChoice(False, 0.0, "nothing is known of costs yet")
    rows = learned.rows
    work = rows * learned.sketch.mean / slots
    uneven = expected_excess(learned.spread, rows, slots) * learned.tilt + _slowest(learned.with_slots(slots).speeds)
    saving, price = uneven * work, routing_seconds(rows)
    if saving > price * (LEAVE if by_cost else ENTER):
        what = f"dealing {rows:,.0f} rows by cost saves about {saving * 1000:.0f} ms of {work:.1f} s per slot"
        return CostChoice(True, saving, f"costs differ by item: {what}")
    would = f"dealing {rows:,.0f} rows by cost would save {saving * 1000:.0f} ms and take {price * 1000:.0f} ms"
    return CostChoice(False, saving, f"costs hardly differ by item: {would}")


def routing_seconds(rows: float) -> float:
    """Return the seconds that dealing by cost adds to an epoch."""
    return ROUTING + ROUTING_ROW * rows / routers_for(rows)


def routers_for(rows: float) -> int:
    """Return the number of tasks that deal the rows of an epoch by cost.

    >>> routers_for(0), routers_for(20_000), routers_for(50_000)
    (1, 1, 3)
    """
    return max(1, -(-int(rows) // ROUTER_ROWS))


def _slowest(factors: tuple[float, ...]) -> float:
    """Return how much longer the slowest slot takes than the mean, as a share of the mean."""
    return max(factors) / (sum(factors) / len(factors)) - 1
