"""Measure how often each shard met a latency bound, in windows that slide by one interval (StreamSwitch section 6)."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats


class Success:
    """Counts the windows in which the mean latency of the completed rows was within a bound.

    Every interval ends one window, which consists of the last intervals that fit into its length, and of at least one.
    A window without completed rows fails if rows wait and either the window before it failed, or no row has been
    completed for longer than the bound. Otherwise it succeeds.

    A window counts as much as the interval that ends it is long, because the epochs of Spark have different lengths.
    With intervals of equal length, all windows count the same.

    Args:
        shards: number of shards.
        bound: the largest mean latency that is a success, in seconds.
        window: length of a window in seconds.

    >>> success = Success(shards=1, bound=1.0, window=0.2)
    >>> for done, waited, waits in [(4, 2.0, False), (1, 3.0, True), (0, 0.0, True), (1, 5.0, False)]:
    ...     success.add(np.array([done]), np.array([waited]), np.array([waits]), seconds=0.1)
    >>> success.rates().tolist()
    [0.5]
    """

    def __init__(self, shards: int, bound: float, window: float) -> None:
        self._bound, self._window = bound, window
        self._intervals: deque[tuple[float, Floats, Floats]] = deque()  # of the window: seconds, done, waited
        self._span = 0.0  # seconds of these intervals
        self._done, self._waited = np.zeros(shards), np.zeros(shards)  # sums over these intervals
        self._unit = 0.0  # seconds of the first interval: the unit of all weights
        self._successes, self._windows = np.zeros(shards), 0.0  # sums of weights
        self._served, self._kept = np.zeros(shards), np.zeros(shards)  # windows with rows: all, and the successful ones
        self._last = np.ones(shards, dtype=bool)  # True where the last window succeeded
        self._idle = np.zeros(shards)  # seconds for which rows waited and none was completed

    def add(
        self, done: npt.NDArray[np.int64], waited: Floats, waits: npt.NDArray[np.bool_], seconds: float = 0.1
    ) -> None:
        """Add an interval, and judge the window that ends with it.

        Args:
            done: rows completed, by shard.
            waited: sum of their latencies in seconds, by shard.
            waits: True for shards with rows that still wait.
            seconds: length of the interval.
        """
        self._intervals.append((seconds, done.astype(np.float64), waited))
        self._span += seconds
        self._done += done
        self._waited += waited
        while len(self._intervals) > 1 and self._span > self._window * (1 + 1e-6):
            old, rows, latencies = self._intervals.popleft()
            self._span -= old
            self._done -= rows
            self._waited -= latencies
        self._idle = np.where(waits & (done == 0), self._idle + seconds, 0.0)
        within = self._waited <= self._bound * self._done + 1e-9 * np.maximum(1.0, np.abs(self._waited))
        without_rows = (self._last | ~waits) & (self._idle <= self._bound)
        self._last = np.where(self._done > 0, within, without_rows)
        self._unit = self._unit or seconds
        weight = seconds / self._unit if self._unit > 0 else 1.0
        self._successes += weight * self._last
        self._windows += weight
        self._served += weight * (self._done > 0)
        self._kept += weight * (self._last & (self._done > 0))

    def rates(self) -> Floats:
        """Return the share of windows that succeeded, by shard; 0 if there was no window."""
        return self._successes / self._windows if self._windows else self._successes

    def served(self) -> tuple[Floats, Floats]:
        """Return the weights of the windows with completed rows that succeeded, and of all that had some, by shard."""
        return self._kept.copy(), self._served.copy()
