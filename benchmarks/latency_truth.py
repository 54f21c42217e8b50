"""Latency as it was: from the arrival and the commit of every row, without anything that the query says of itself.

Success is what StreamSwitch's evaluation calls it (section 6): the share of time windows in which the mean latency of
the rows completed is within the bound, by substream, as a mean over substreams.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.arrays import Floats, Ints
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.model.success import Success

INTERVAL = 0.1
"""Seconds by which windows slide, as in StreamSwitch's evaluation."""


@dataclass(frozen=True, eq=False)
class CommittedRows:
    """The rows of a run. Times are in seconds since its begin.

    Attributes:
        arrived: when each row arrived.
        committed: when its epoch was committed.
        shard: its shard.
    """

    arrived: Floats
    committed: Floats
    shard: Ints

    @property
    def latency(self) -> Floats:
        """Seconds from arrival to commit."""
        return self.committed - self.arrived


def success_rate(rows: CommittedRows, promise: Latency, shards: int, begin: float, end: float) -> float:
    """Return the share of windows that kept a promise, as a mean over the shards that had rows.

    Args:
        rows: all rows of the run.
        promise: the promise.
        shards: number of shards.
        begin: when the first window begins.
        end: when the last window ends.

    >>> arrived = np.arange(0.0, 10.0, 0.1)
    >>> late = np.where(arrived < 5.0, 0.5, 2.0)  # committed 0.5 s, then 2 s after arrival
    >>> rows = CommittedRows(arrived, arrived + late, np.zeros(100, dtype=np.int64))
    >>> round(success_rate(rows, Latency("1 second"), shards=1, begin=0.0, end=10.0), 1)
    0.6
    """
    intervals = round((end - begin) / INTERVAL)
    done, waited, arrived = (np.zeros((intervals, shards)) for _ in range(3))
    counted = (rows.committed > begin) & (rows.committed <= end)
    at = _interval(rows.committed[counted], begin), rows.shard[counted]
    np.add.at(done, at, 1)
    np.add.at(waited, at, rows.latency[counted])
    came = rows.arrived <= end
    np.add.at(arrived, (_interval(rows.arrived[came], begin), rows.shard[came]), 1)
    before = np.bincount(rows.shard[rows.committed <= begin], minlength=shards)
    waits = np.cumsum(arrived, axis=0) - np.cumsum(done, axis=0) - before > 0
    success = Success(shards, promise.seconds, promise.window)
    for number in range(intervals):
        success.add(done[number].astype(np.int64), waited[number], waits[number], INTERVAL)
    seen = np.bincount(rows.shard[came], minlength=shards) > 0
    return float(success.rates()[seen].mean()) if seen.any() else float("nan")


def _interval(times: Floats, begin: float) -> Ints:
    """Return the interval of each time; times before the begin count to the first."""
    return np.maximum(np.ceil((times - begin) / INTERVAL - 1e-9).astype(np.int64) - 1, 0)


def slot_seconds(commits: Floats, slots: Ints, begin: float, end: float) -> float:
    """Return the slots of every epoch times its seconds, between two times.

    An epoch lasts from the commit before to its own; the last one's slots are held until the end.

    Args:
        commits: when each epoch was committed, sorted.
        slots: the slots of each epoch.
        begin: from when to count.
        end: until when to count.

    >>> slot_seconds(np.array([1.0, 3.0, 4.0]), np.array([2, 4, 8]), begin=0.0, end=10.0)  # 2 + 8 + 8 + 48
    66.0
    """
    if not len(commits):
        return 0.0
    edges = np.clip(np.concatenate([[min(begin, commits[0])], commits, [max(end, commits[-1])]]), begin, end)
    return float(np.diff(edges) @ np.concatenate([slots, slots[-1:]]))
