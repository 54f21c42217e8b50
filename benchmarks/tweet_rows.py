"""The tweets of ``bench shuffle``: POSG's application (section V-C), in phases with different numbers of slots.

A tweet sleeps 25 ms if it mentions media, 5 ms for politicians and 1 ms for others. With uniform costs, every tweet
sleeps as long as these do on average.

In every phase tweets arrive evenly, at the rate that its slots can sustain divided by ``PROVISIONING``. The paper sets
its systems up at 100 % and calls those up to 109 % correctly sized (section V-B). An epoch has a fixed cost that slots
spend idle, so that on Spark every backlog would grow without end at 100 %; a tenth more leaves room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from papers.posg.testbed.mentions import Tweets
from rheostat.arrays import Floats, Ints
from rheostat.workloads.live_rows import LiveRows

SECONDS = (0.025, 0.005, 0.001)
"""What a tweet sleeps, by kind of entity: media, politicians, others."""

PROVISIONING = 1.1
"""The rate that slots can sustain, over the rate of arrivals."""

KINDS = 4
"""A key is ``KINDS`` times the entity, plus its kind."""


@dataclass(frozen=True)
class Phases:
    """Tweets in phases, one for each number of slots, after a warm-up with as many slots as the first.

    >>> phases = Phases(slots=(4, 2), seconds=10, settle=2, warm_up=3)
    >>> phases.slots_at(0.0), phases.slots_at(16.0), phases.slots_at(99.0)
    (4, 2, 2)
    >>> [int(n) for n in np.histogram(phases.rows.times, [0, 15, 27])[0]]
    [10435, 4174]

    Attributes:
        slots: number of slots of every phase.
        seconds: seconds of a phase that count.
        settle: seconds before them, in which the backlog of the phase before is worked off.
        warm_up: seconds before the first phase.
        uniform: True if every tweet costs the same.
        seed: seed of the tweets.
    """

    slots: tuple[int, ...]
    seconds: int = 40
    settle: int = 10
    warm_up: int = 25
    uniform: bool = False
    seed: int = 1

    @property
    def begins(self) -> list[float]:
        """When every phase begins, its settling included, in seconds since the first row."""
        return [self.warm_up + i * (self.settle + self.seconds) for i in range(len(self.slots))]

    @property
    def length(self) -> float:
        """Seconds of all phases together."""
        return self.warm_up + len(self.slots) * (self.settle + self.seconds)

    def slots_at(self, seconds: float) -> int:
        """Return the number of slots at a time."""
        return self.slots[max(int(np.searchsorted(self.begins, seconds, side="right")) - 1, 0)]

    def counted(self, phase: int, arrived: Floats) -> Ints:
        """Return the positions of the rows that arrived in the part of a phase that counts."""
        begin = self.begins[phase] + self.settle
        return np.flatnonzero((arrived >= begin) & (arrived < begin + self.seconds))

    @cached_property
    def costs(self) -> Sequence[float]:
        """What a tweet sleeps, by kind."""
        return (self._mean,) * len(SECONDS) if self.uniform else SECONDS

    @cached_property
    def rows(self) -> LiveRows:
        """The tweets: when each is due, and the key of its entity and kind."""
        edges = [0.0, *self.begins[1:], self.length]
        rates = [slots / self._mean / PROVISIONING for slots in self.slots]
        parts = []
        for rate, begin, end in zip(rates, edges, edges[1:], strict=False):
            count = int((end - begin) * rate)
            parts.append(begin + (np.arange(count) + 1) / rate)
        times = np.concatenate(parts)
        mentions = Tweets(len(times), seed=self.seed).mentions()
        return LiveRows(times, mentions.entities * KINDS + mentions.kinds)

    @cached_property
    def _mean(self) -> float:
        """The mean of what tweets sleep."""
        return float(np.array(SECONDS)[Tweets(200_000, seed=self.seed).mentions().kinds].mean())
