"""POSG's synthetic streams (section V-A), and trials of the three groupings on such a stream.

The paper leaves five details open, which are options of ``StreamSetting`` so that their effect can be measured:

- ``warm``: slots have learned before the measured stream begins.
- ``count_idle``: slots count idle time as work.
- ``resync``: the scheduler asks slots again even if no sketch is new.
- ``skip_new_cells``: equation 1 leaves out cells that were empty at the last check.
- ``estimate_unseen``: an item that a sketch has not seen is estimated by its mean cell.

The authors' published implementation counts idle time and asks again, and empty cells need some rule. So
``StreamSetting.published`` has the last four. A warm start is only in our version, because the paper's means are over
all tuples of a stream (section V-A).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.posg.testbed.shuffle import (
    Parties,
    Shuffle,
    shuffle_by_posg,
    shuffle_full_knowledge,
    shuffle_round_robin,
)
from rheostat.arrays import Floats
from rheostat.elastic.posg import CostSketch
from rheostat.elastic.posg.instance import WINDOW
from rheostat.elastic.posg.sketch import COLUMNS

LESSON = 10
"""Windows per slot of the stream that slots learn from before a warm start.

A slot whose sketch is not stable by then continues to learn in the measured stream.
"""


@dataclass(frozen=True)
class StreamSetting:
    """The parameters of a stream, with the paper's defaults, and how its text is read, with our version as default.

    >>> items, costs = StreamSetting(tuples=4, values=2).stream(np.random.default_rng(1))
    >>> len(items), sorted(set(costs.tolist()) - {0.001, 0.064})
    (4, [])

    Attributes:
        skew: exponent of the Zipf distribution of items; 0 is uniform.
        values: number of distinct execution times, evenly spaced: the paper's w_n.
        longest: longest execution time in milliseconds, the paper's w_max; the shortest is 1.
        slots: number of slots, the paper's k.
        provisioning: highest rate that the slots can sustain, divided by the rate of the stream.
        columns: number of columns of the sketches.
        tuples: number of tuples in the stream, the paper's m.
        items: number of distinct items, the paper's n.
        warm: True if slots have learned from an earlier stream before this one is measured, False for a cold start.
        count_idle: True if slots count idle time when asked how far they are, False to count execution time only.
        resync: True if the scheduler asks slots again after as many tuples as all their windows hold together, False if
            it asks only after a new sketch.
        skip_new_cells: True to leave a cell that was empty at the last check out of equation 1, False to take its mean
            as 0 then.
        estimate_unseen: True to estimate an item that a sketch has not seen by the mean cell, False to estimate 0.
    """

    skew: float = 1.0
    values: int = 64
    longest: float = 64.0
    slots: int = 5
    provisioning: float = 1.0
    columns: int = COLUMNS
    tuples: int = 32_768
    items: int = 4_096
    warm: bool = True
    count_idle: bool = True
    resync: bool = True
    skip_new_cells: bool = True
    estimate_unseen: bool = True

    @classmethod
    def published(cls, **varied: Any) -> StreamSetting:
        """Return a setting with POSG as published, from a cold start.

        >>> StreamSetting.published(skew=2.5).warm
        False
        """
        return cls(warm=False, **varied)

    def seconds(self, rng: np.random.Generator) -> Floats:
        """Return the execution time of every item in seconds; each value is given to equally many random items."""
        values = np.linspace(1.0, self.longest, self.values) / 1e3
        return rng.permutation(np.resize(values, self.items))

    def draw_items(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Return the items of a stream of ``count`` tuples."""
        weights = 1 / np.arange(1, self.items + 1) ** self.skew
        return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(count)).clip(max=self.items - 1)

    def stream(self, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the items of a stream and their execution times in seconds."""
        items = self.draw_items(rng, self.tuples)
        return items, self.seconds(rng)[items]

    def parties(self, seed: int, longest_first: bool = False, shortest_inside: bool = False) -> Parties:
        """Return a scheduler and slots that have learned nothing yet."""
        resync = self.slots * WINDOW if self.resync else 0
        sketch = CostSketch.empty(columns=self.columns, seed=seed)
        unseen = None if self.estimate_unseen else 0.0
        return Parties.start(
            self.slots,
            sketch,
            resync=resync,
            longest_first=longest_first,
            shortest_inside=shortest_inside,
            unseen=unseen,
            count_new=not self.skip_new_cells,
        )


@dataclass(frozen=True)
class GroupingTrial:
    """Mean completion times of one stream, in seconds.

    Attributes:
        round_robin: with round robin.
        posg: with POSG.
        full_knowledge: with greedy placement by the true execution times.
    """

    round_robin: float
    posg: float
    full_knowledge: float


def prepare_stream(
    setting: StreamSetting, seed: int, number: int, longest_first: bool = False, shortest_inside: bool = False
) -> tuple[Shuffle, Parties]:
    """Return a stream of a setting, and the scheduler and slots that it runs on.

    The items of a stream do not depend on the slots, so settings are compared on the same streams.

    Args:
        setting: parameters of the stream, and how the text is read.
        seed: seed of everything random.
        number: which of the streams with that seed.
        longest_first: True to place the longest tuples of a micro-batch first.
        shortest_inside: True if slots execute their tuples of a micro-batch from the shortest to the longest.
    """
    items = _stream_items(setting.skew, setting.items, setting.tuples, (seed, number, 0))
    costs = setting.seconds(np.random.default_rng([seed, number, 1]))
    # What the parties have learned depends neither on the rate nor on the length of the measured stream.
    cache_key = replace(setting, provisioning=1.0, tuples=1, count_idle=True)
    parties = _parties_for(cache_key, seed, number, longest_first, shortest_inside)
    return Shuffle.at_provisioning(items, costs[items], setting.slots, setting.provisioning), parties


@lru_cache(maxsize=200)
def _stream_items(skew: float, items: int, count: int, seed: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return the items of a stream; cached, because a sweep uses each of its hundred streams many times."""
    drawn = StreamSetting(skew=skew, items=items).draw_items(np.random.default_rng(seed), count)
    drawn.setflags(write=False)
    return drawn


@lru_cache(maxsize=200)
def _parties_for(setting: StreamSetting, seed: int, number: int, longest_first: bool, shortest_inside: bool) -> Parties:
    """Return the scheduler and slots for a stream, warmed up if the setting says so; cached for the same reason."""
    parties = setting.parties(number, longest_first, shortest_inside)
    if not setting.warm:
        return parties
    lesson = _stream_items(setting.skew, setting.items, LESSON * WINDOW * setting.slots, (seed, number, 2))
    return parties.warmed_up(lesson, setting.seconds(np.random.default_rng([seed, number, 1]))[lesson])


@lru_cache(maxsize=10_000)
def trial(setting: StreamSetting, seed: int, number: int) -> GroupingTrial:
    """Run all three groupings on one stream; cached, because every sweep includes the paper's defaults.

    >>> found = trial(StreamSetting(tuples=2_000, skew=2.5), seed=1, number=0)
    >>> found.full_knowledge < found.round_robin
    True
    """
    shuffle, parties = prepare_stream(setting, seed, number)
    return GroupingTrial(
        shuffle_round_robin(shuffle).mean,
        shuffle_by_posg(shuffle, parties, setting.count_idle).mean,
        shuffle_full_knowledge(shuffle).mean,
    )


@dataclass(frozen=True, eq=False)
class GroupingTrials:
    """Mean completion times of the same setting on many streams, in seconds, by stream.

    Attributes:
        round_robin: with round robin.
        posg: with POSG.
        full_knowledge: with greedy placement by the true execution times.
    """

    round_robin: Floats
    posg: Floats
    full_knowledge: Floats

    @classmethod
    def of(cls, trials: Sequence[GroupingTrial]) -> GroupingTrials:
        """Return the trials as arrays, one value per stream."""
        return cls(
            *(np.array([getattr(t, name) for t in trials]) for name in ("round_robin", "posg", "full_knowledge"))
        )

    @property
    def speedup(self) -> Floats:
        """Speed-up of POSG over round robin by stream, the paper's S."""
        return self.round_robin / self.posg

    @property
    def gain(self) -> float:
        """Share by which the mean completion time of round robin exceeds POSG's: 0.25 is a quarter more.

        The paper does not define its gain. It must be the speed-up minus one: the paper gives a speed-up of 1.19 for
        figure 6, and says of figure 7 that the gain is the same, 19 %.
        """
        return float(self.round_robin.mean() / self.posg.mean() - 1)

    @property
    def saved(self) -> float:
        """Share of round robin's mean completion time that POSG saves: 0.2 if the gain is 0.25."""
        return float(1 - self.posg.mean() / self.round_robin.mean())
