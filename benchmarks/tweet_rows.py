"""The tweets of ``bench shuffle``: POSG's application (section V-C), in phases with different numbers of slots.

A tweet sleeps 25 ms if it mentions media, 5 ms for politicians and 1 ms for others. With uniform costs, every tweet
sleeps as long as these do on average.

Between two phases no tweet arrives, so that the queues of the one before are worked off, and every phase begins with
empty queues, as every run of the paper does. In a phase tweets arrive evenly, at the rate that its slots can sustain
divided by ``PROVISIONING``. The paper sets its systems up at 100 % and calls those up to 109 % correctly sized (section
V-B). An epoch has a fixed cost that slots spend idle, so that on Spark every backlog would grow without end at 100 %; a
tenth more leaves room for it. A phase of 120 s is long enough for epochs to reach the length at which they stay.
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

    >>> phases = Phases(slots=(4, 2), seconds=10, pause=2, warm_up=3)
    >>> phases.begins, phases.length, phases.slots_at(4.0), phases.slots_at(16.5), phases.slots_at(99.0)
    ([5, 17], 27, 4, 2, 2)
    >>> [int(n) for n in np.histogram(phases.rows.times, [0, 3, 5, 15, 17, 27])[0]]
    [2087, 0, 6957, 0, 3478]

    Attributes:
        slots: number of slots of every phase.
        seconds: seconds of a phase.
        pause: seconds before it, without tweets.
        warm_up: seconds of tweets before the first pause.
        uniform: True if every tweet costs the same.
        seed: seed of the tweets.
    """

    slots: tuple[int, ...]
    seconds: int = 120
    pause: int = 20
    warm_up: int = 25
    uniform: bool = False
    seed: int = 1

    @property
    def begins(self) -> list[float]:
        """When the tweets of every phase begin, in seconds since the first row."""
        return [self.warm_up + i * (self.pause + self.seconds) + self.pause for i in range(len(self.slots))]

    @property
    def length(self) -> float:
        """Seconds of all phases together."""
        return self.warm_up + len(self.slots) * (self.pause + self.seconds)

    def slots_at(self, seconds: float) -> int:
        """Return the number of slots at a time; that of a phase from the middle of the pause before it."""
        return self.slots[max(int(np.searchsorted(self.begins, seconds + self.pause / 2, side="right")) - 1, 0)]

    def counted(self, phase: int, arrived: Floats) -> Ints:
        """Return the positions of the rows that arrived in a phase, or shortly after."""
        begin, late = self.begins[phase], self.pause / 2
        return np.flatnonzero((arrived >= begin) & (arrived < begin + self.seconds + late))

    @cached_property
    def costs(self) -> Sequence[float]:
        """What a tweet sleeps, by kind."""
        return (self._mean,) * len(SECONDS) if self.uniform else SECONDS

    @cached_property
    def rows(self) -> LiveRows:
        """The tweets: when each is due, and the key of its entity and kind."""
        spans = [(0.0, self.warm_up), *((begin, self.seconds) for begin in self.begins)]
        parts = []
        for slots, (begin, seconds) in zip((self.slots[0], *self.slots), spans, strict=True):
            rate = slots / self._mean / PROVISIONING
            parts.append(begin + (np.arange(int(seconds * rate)) + 1) / rate)
        times = np.concatenate(parts)
        mentions = Tweets(len(times), seed=self.seed).mentions()
        return LiveRows(times, mentions.entities * KINDS + mentions.kinds)

    @cached_property
    def _mean(self) -> float:
        """The mean of what tweets sleep."""
        return float(np.array(SECONDS)[Tweets(200_000, seed=self.seed).mentions().kinds].mean())
