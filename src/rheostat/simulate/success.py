"""How often a latency bound was kept: by shard, over windows that slide by one interval (StreamSwitch section 6)."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats


class Success:
    """Counts the windows in which the mean latency of the rows completed was within the bound.

    A window ends with every interval and has as many of the last ones as fit into it, but at least one. A window in
    which no row was completed fails if the one before it failed and rows still wait, or if rows have waited for longer
    than the bound; otherwise it counts as kept: nobody waited for anything, or not for long yet.

    >>> kept = Success(shards=1, bound=1.0, window=0.2)
    >>> for done, waited, waits in [(4, 2.0, False), (1, 3.0, True), (0, 0.0, True), (1, 5.0, False)]:
    ...     kept.add(np.array([done]), np.array([waited]), np.array([waits]), seconds=0.1)
    >>> kept.rates().tolist()
    [0.5]
    """

    def __init__(self, shards: int, bound: float, window: float) -> None:
        self._bound, self._window = bound, window
        self._lines: deque[tuple[float, Floats, Floats]] = deque()
        self._span = 0.0
        self._done, self._waited = np.zeros(shards), np.zeros(shards)
        self._kept, self._windows = np.zeros(shards), 0
        self._last, self._age = np.ones(shards, dtype=bool), np.zeros(shards)

    def add(
        self, done: npt.NDArray[np.int64], waited: Floats, waits: npt.NDArray[np.bool_], seconds: float = 0.1
    ) -> None:
        """One more interval, and the window that ends with it.

        Args:
            done: rows completed, by shard.
            waited: their latencies, summed.
            waits: True where rows still wait.
            seconds: how long the interval was.
        """
        self._lines.append((seconds, done.astype(np.float64), waited))
        self._span += seconds
        self._done += done
        self._waited += waited
        while len(self._lines) > 1 and self._span > self._window * (1 + 1e-6):
            old, rows, latencies = self._lines.popleft()
            self._span -= old
            self._done -= rows
            self._waited -= latencies
        self._age = np.where(waits & (done == 0), self._age + seconds, 0.0)
        within = self._waited <= self._bound * self._done + 1e-9 * np.maximum(1.0, np.abs(self._waited))
        patient = (self._last | ~waits) & (self._age <= self._bound)
        self._last = np.where(self._done > 0, within, patient)
        self._kept += self._last
        self._windows += 1

    def rates(self) -> Floats:
        """Share of windows within the bound, by shard."""
        return self._kept / max(self._windows, 1)
