"""Flux: load balancing by periodic moves between pairs of slots (Enorm section 3.2, after Shah et al.).

Every period, slots are sorted by load. The most loaded slot gives its largest suitable shard to the least loaded one,
the second to the second last, and so on. A shard is suitable if its load is smaller than the difference of the pair:
then the larger load of the pair falls, and the other slot does not rise above it.
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
"""Which of the suitable shards is moved."""

PERIOD = 60.0
"""Seconds between two rounds. Enorm's experiments use one minute, five minutes, and continuous adaptation."""


@dataclass(frozen=True)
class ShardMove:
    """The move of a shard from one slot to another.

    Attributes:
        shard: number of the shard.
        source: the slot that it leaves.
        target: the slot that it moves to.
    """

    shard: int
    source: int
    target: int


@dataclass(frozen=True)
class Flux:
    """Flux and its parameters.

    Attributes:
        period: seconds between two rounds.
        threshold: a slot gives shards away only if its load is more than this many times the mean.
        pick: ``biggest`` moves the largest suitable shard, as in the paper; ``closest`` the one whose load is closest
            to half of the difference, which balances the pair best.

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
            raise TopologyError(f"{self}: period must be above 0 seconds, threshold at least 1")
        if self.pick not in ("biggest", "closest"):
            raise TopologyError(f"pick={self.pick!r}: choose 'biggest' or 'closest'")

    def due(self, now: float, last: float | None) -> bool:
        """True if a round is due.

        Args:
            now: the current time, in seconds.
            last: the time of the last round, in seconds; None if there was none.
        """
        return last is None or now - last >= self.period

    def moves(self, routing: Sequence[int], loads: Floats, slots: int) -> tuple[ShardMove, ...]:
        """The moves of one round: at most one shard of each slot in the more loaded half.

        Args:
            routing: the slot of every shard.
            loads: the load of every shard.
            slots: the number of slots.
        """
        where = np.asarray(routing, dtype=np.int64)
        totals = slot_loads(where, loads, slots)
        order = np.argsort(-totals, kind="stable")
        limit = self.threshold * totals.mean()
        moves = []
        for source, target in zip(order[: slots // 2].tolist(), order[::-1].tolist(), strict=False):
            shard = self._suitable(where, loads, totals, source, target) if totals[source] > limit else None
            if shard is not None:
                moves.append(ShardMove(shard, source, target))
        return tuple(moves)

    def balance(self, routing: Sequence[int], loads: Floats, slots: int, rounds: int | None = None) -> Assignment:
        """The routing after several rounds over the same loads.

        Every round makes the loads of the slots, sorted from the largest, lexicographically smaller. There are finitely
        many routings, so this ends; a round that fails to do so because of rounding is not made. ``hot`` of the result
        is a shard whose load exceeds the mean load of a slot times the threshold.

        Args:
            routing: the slot of every shard.
            loads: the load of every shard.
            slots: the number of slots.
            rounds: how many rounds, at most; None continues until no move is suitable.
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
        """The shard of ``source`` to move to ``target``; None if none is suitable."""
        shards = np.flatnonzero((where == source) & (loads > 0))
        shards = shards[totals[target] + loads[shards] < totals[source]]
        if not len(shards):
            return None
        if self.pick == "biggest":
            return int(shards[loads[shards].argmax()])
        return int(shards[np.abs(loads[shards] - (totals[source] - totals[target]) / 2).argmin()])
