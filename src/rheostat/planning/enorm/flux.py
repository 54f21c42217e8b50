"""Flux: periodic pairwise moves from the most to the least loaded places (Enorm section 3.2, after Shah et al.).

Every period, places are sorted by load. The first gives its biggest suitable shard to the last, the second to the
second last, and so on. A shard is suitable if its move makes the loads of the pair more alike: it is smaller than their
difference. So the larger load of a pair always falls, and neither place can end above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import Assignment, imbalance, slot_loads
from rheostat.errors import TopologyError

Pick = Literal["biggest", "closest"]

PERIOD = 60.0
"""Seconds between two rounds. Enorm's experiments use one minute, five minutes, and continuous adaptation."""


@dataclass(frozen=True)
class ShardMove:
    """A shard that goes from one place to another.

    Attributes:
        shard: its number.
        source: the place that it leaves.
        target: the place that takes it.
    """

    shard: int
    source: int
    target: int


@dataclass(frozen=True)
class Flux:
    """The policy and its settings.

    Attributes:
        period: seconds between two rounds.
        threshold: a place gives nothing while its load is at most this many times the mean.
        pick: ``biggest`` suitable shard, as the paper has it, or the one ``closest`` to half of the difference, which
            makes the pair as even as one move can.

    >>> flux = Flux()
    >>> flux.moves((0, 0, 0, 1), np.array([4.0, 3.0, 2.0, 1.0]), slots=2)
    (ShardMove(shard=0, source=0, target=1),)
    >>> flux.balance((0, 0, 0, 1, 1), np.array([6.0, 3.0, 2.0, 1.0, 0.5]), slots=2).routing
    (1, 0, 0, 0, 1)
    """

    period: float = PERIOD
    threshold: float = 1.0
    pick: Pick = "biggest"

    def __post_init__(self) -> None:
        if not (0 < self.period < float("inf") and 1 <= self.threshold < float("inf")):
            raise TopologyError(f"{self}: the period is in seconds above 0, the threshold from 1")
        if self.pick not in ("biggest", "closest"):
            raise TopologyError(f"pick={self.pick!r}: choose 'biggest' or 'closest'")

    def due(self, now: float, last: float | None) -> bool:
        """True if it is time for a round, given when the last one was."""
        return last is None or now - last >= self.period

    def moves(self, routing: Sequence[int], loads: Floats, slots: int) -> tuple[ShardMove, ...]:
        """One round: at most one shard leaves each of the more loaded half of the places."""
        where = np.asarray(routing, dtype=np.int64)
        totals = slot_loads(where, loads, slots)
        order = np.argsort(-totals, kind="stable")
        enough = self.threshold * totals.mean()
        pairs = zip(order[: slots // 2].tolist(), order[::-1].tolist(), strict=False)
        found = ((self._suitable(where, loads, totals, a, b), a, b) for a, b in pairs if totals[a] > enough)
        return tuple(ShardMove(shard, a, b) for shard, a, b in found if shard is not None)

    def balance(self, routing: Sequence[int], loads: Floats, slots: int, rounds: int | None = None) -> Assignment:
        """The routing after so many rounds over the same loads; with None, until no move is suitable.

        Every round makes the loads, sorted from the largest, smaller in the order of dictionaries. There are finitely
        many routings, so it ends. A round that does not, which only rounding can bring about, is not made.
        ``hot`` names a shard that is larger than an even share of everything.
        """
        where = np.asarray(routing, dtype=np.int64).copy()
        totals = slot_loads(where, loads, slots)
        before, done = imbalance(totals), 0
        while (rounds is None or done < rounds) and (moves := self.moves(where.tolist(), loads, slots)):
            after = where.copy()
            after[[m.shard for m in moves]] = [m.target for m in moves]
            lower = slot_loads(after, loads, slots)
            if not np.sort(lower)[::-1].tolist() < np.sort(totals)[::-1].tolist():
                break
            where, totals, done = after, lower, done + 1
        heaviest = int(loads.argmax())
        hot = heaviest if loads[heaviest] > self.threshold * totals.mean() else None
        return Assignment(tuple(where.tolist()), before, imbalance(totals), hot)

    def _suitable(
        self, where: npt.NDArray[np.int64], loads: Floats, totals: Floats, source: int, target: int
    ) -> int | None:
        mine = np.flatnonzero((where == source) & (loads > 0))
        mine = mine[totals[target] + loads[mine] < totals[source]]
        if not len(mine):
            return None
        if self.pick == "biggest":
            return int(mine[loads[mine].argmax()])
        return int(mine[np.abs(loads[mine] - (totals[source] - totals[target]) / 2).argmin()])
