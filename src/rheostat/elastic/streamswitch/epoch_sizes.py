"""How many slots every operator needs in an engine with epochs, by the micro-batch law.

The operators of a query share one epoch and one commit, so they share one latency: the lengths of their stages add up.
A bound on that latency is divided by adding slots where the next one lowers latency most. No division by success rates
as in section 6.6 is needed, since all operators of a query keep the bound equally often.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rheostat.elastic.model.epoch_law import EpochLaw

_GAIN = 1e-3
"""Share by which another slot must lower the latency; less is rounding."""


@dataclass(frozen=True)
class Slots:
    """The slots of one operator, and what a row that enters the topology means for them.

    Attributes:
        count: number of slots.
        busiest: seconds of work per row in the busiest slot.
        total: seconds of work per row in all slots.
        level: number of the stage.
    """

    count: int
    busiest: float
    total: float
    level: int = 0


@dataclass(frozen=True)
class Demand:
    """What has to be processed, and the law that says how long it takes.

    Attributes:
        law: the micro-batch law.
        rate: rows per second that enter the topology.
        margin: share of the capacity to keep free: the paper's epsilon.
        coming: rows of the epoch that begins now; NaN if unknown.
        waited: mean seconds that they have waited; NaN if unknown.

    >>> demand = Demand(EpochLaw(overhead=0.2, task=0.0), rate=1000.0)
    >>> round(demand.latency({"count": Slots(2, busiest=0.0005, total=0.001)}), 3)  # 1.5 * 0.2 / (1 - 0.5)
    0.6
    """

    law: EpochLaw
    rate: float
    margin: float = 0.0
    coming: float = float("nan")
    waited: float = float("nan")

    def latency(self, operators: Mapping[str, Slots]) -> float:
        """Return the projected mean latency: at the rate of now for ever, or of the next epoch if that is longer."""
        per_row = self.per_row(operators)
        fixed = float(self.law.fixed(sum(o.count for o in operators.values())))
        free = 1 - self.rate * per_row / (1 - self.margin)
        latency = float(self.law.latency_at(fixed / free)) if free > 0 else np.inf
        if self.coming >= 0 and self.waited >= 0:
            next_epoch = self.waited + max(fixed + self.coming * per_row / (1 - self.margin) - self.law.tail, 0.0)
            latency = max(latency, next_epoch)
        return latency

    def per_row(self, operators: Mapping[str, Slots]) -> float:
        """Return the seconds that a row adds to an epoch: to read it, and in the busiest slots of all levels."""
        levels: dict[int, tuple[float, float]] = {}
        for operator in operators.values():
            busiest, total = levels.get(operator.level, (0.0, 0.0))
            levels[operator.level] = max(busiest, operator.busiest), total + operator.total
        parallelism = max(self.law.parallelism, 1.0)
        return self.law.reading + sum(max(busiest, total / parallelism) for busiest, total in levels.values())

    def most(self, operators: Mapping[str, Slots]) -> float:
        """Return the rows per second from which on epochs grow without end; infinite if rows cost nothing."""
        per_row = self.per_row(operators)
        return 1 / per_row if per_row > 0 else np.inf


@dataclass(frozen=True)
class Need:
    """The work of one operator, before it is divided between slots.

    Attributes:
        total: seconds of work per row that enters the topology.
        largest: the part of it that cannot be divided: that of the heaviest shard.
        shards: number of shards, which no number of slots exceeds.
        level: number of the stage.
    """

    total: float
    largest: float
    shards: int
    level: int = 0

    def over(self, count: int) -> Slots:
        """Return the operator with its work spread over a number of slots as evenly as shards allow.

        >>> Need(total=10.0, largest=4.0, shards=8).over(4).busiest
        4.0
        """
        return Slots(count, max(self.total / count, self.largest), self.total, self.level)


def fewest_slots(
    demand: Demand, needs: Mapping[str, Need], bound: float, fewest: int, most: int
) -> tuple[dict[str, int], float]:
    """Return the fewest slots that keep the bound, or, if none do, those with the lowest latency; and that latency.

    Args:
        demand: what has to be processed.
        needs: the work of every operator, by name.
        bound: the latency bound, in seconds.
        fewest: least number of slots of an operator.
        most: largest number of slots of an operator.

    >>> demand = Demand(EpochLaw(overhead=0.2, task=0.01), rate=1000.0)
    >>> fewest_slots(demand, {"count": Need(0.004, 0.0001, 64)}, bound=1.0, fewest=1, most=16)[0]
    {'count': 7}
    """
    counts = {name: min(max(fewest, 1), need.shards) for name, need in needs.items()}
    limits = {name: max(min(most, need.shards), counts[name]) for name, need in needs.items()}
    best, found = dict(counts), _pressure(demand, needs, counts)
    lowest = found
    while found[0] > bound:
        steps = [step for level in {n.level for n in needs.values()} if (step := _step(level, needs, counts, limits))]
        if not steps:
            break
        found, _, step = min((_pressure(demand, needs, {**counts, **step}), i, step) for i, step in enumerate(steps))
        counts = {**counts, **step}
        if found[0] < lowest[0] * (1 - _GAIN) or (found[0] == lowest[0] == np.inf and found[1] < lowest[1]):
            best, lowest = dict(counts), found
    return (counts, found[0]) if found[0] <= bound else (best, lowest[0])


def _step(
    level: int, needs: Mapping[str, Need], counts: Mapping[str, int], limits: Mapping[str, int]
) -> dict[str, int]:
    """Return one slot more for each of the busiest operators of a level; empty if that is not possible or no help."""
    here = {name: need.over(counts[name]).busiest for name, need in needs.items() if need.level == level}
    longest = max(here.values())
    busiest = [name for name, busy in here.items() if busy >= longest * (1 - 1e-9)]
    if longest <= 0 or any(counts[n] >= limits[n] or needs[n].over(counts[n] + 1).busiest >= here[n] for n in busiest):
        return {}
    return {name: counts[name] + 1 for name in busiest}


def _pressure(demand: Demand, needs: Mapping[str, Need], counts: Mapping[str, int]) -> tuple[float, float]:
    """Return the latency, and for counts without a finite one the time that a row adds to an epoch."""
    operators = {name: need.over(counts[name]) for name, need in needs.items()}
    return demand.latency(operators), demand.per_row(operators)
