"""How often a latency bound was kept: by shard, over windows that slide by one interval (StreamSwitch section 6)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


class Success:
    """Counts the windows in which the mean latency of the rows completed was within the bound.

    A window in which no row was completed fails if the one before it failed and rows still wait, and counts as kept
    otherwise: nobody waited for anything, or not for long yet.

    >>> kept = Success(shards=1, bound=1.0, intervals=2)
    >>> for done, waited, waits in [(4, 2.0, False), (1, 3.0, True), (0, 0.0, True), (1, 5.0, False)]:
    ...     kept.add(np.array([done]), np.array([waited]), np.array([waits]))
    >>> kept.rates().tolist()
    [0.5]
    """

    def __init__(self, shards: int, bound: float, intervals: int) -> None:
        self._bound = bound
        self._done, self._waited = np.zeros((intervals, shards)), np.zeros((intervals, shards))
        self._sum_done, self._sum_waited = np.zeros(shards), np.zeros(shards)
        self._kept, self._windows = np.zeros(shards), 0
        self._last = np.ones(shards, dtype=bool)

    def add(self, done: npt.NDArray[np.int64], waited: Values, waits: npt.NDArray[np.bool_]) -> None:
        """One more interval, and the window that ends with it.

        Args:
            done: rows completed by shard; ``waited``, their latencies summed; ``waits``, whether rows still wait.
        """
        place = self._windows % len(self._done)
        self._sum_done += done - self._done[place]
        self._sum_waited += waited - self._waited[place]
        self._done[place], self._waited[place] = done, waited
        within = self._sum_waited <= self._bound * self._sum_done + 1e-9
        self._last = np.where(self._sum_done > 0, within, self._last | ~waits)
        self._kept += self._last
        self._windows += 1

    def rates(self) -> Values:
        """Share of windows within the bound, by shard."""
        return self._kept / max(self._windows, 1)
