"""The micro-batch law: how long an epoch takes with a plan, and how late its rows are.

A row waits for the running epoch to end, and then for its own. An epoch takes a fixed time, a time per task, a time per
row that is read, and as long as its busiest slot. If epochs follow each other without a pause, the rows of an epoch are
those that arrived during the last one, so the length settles at ``D = o / (1 - rho)``. Mean latency is about ``1.5 D``.
The law takes the place that M/M/1 and M/M/k have in engines without epochs.

More slots are not always better: each adds the time of a task, and only so many run at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats


@dataclass(frozen=True)
class EpochLaw:
    """The calibrated parameters of the law, in seconds.

    Attributes:
        overhead: an epoch without tasks and rows.
        task: what every slot adds to an epoch.
        reading: what every row adds before it reaches its slot.
        parallelism: how many slots really work at the same time.
        tail: time from the commit of an epoch to the begin of the next one; it delays no row of the epoch itself.
        trigger: least time between the begins of two epochs.
        epochs: number of epochs that the parameters were calibrated with.

    >>> law = EpochLaw(overhead=0.2, task=0.02, parallelism=4)
    >>> float(law.seconds([0.3, 0.5], rows=1000).round(3))  # 0.2 + 2 * 0.02 + 0.5
    0.74
    >>> float(law.length([0.3, 0.5], rate=1000).round(3))  # (0.2 + 2 * 0.02) / (1 - 0.5)
    0.48
    >>> float(law.latency([0.3, 0.5], rate=1000).round(3))
    0.72
    """

    overhead: float = 0.25
    task: float = 0.02
    reading: float = 0.0
    parallelism: float = float("inf")
    tail: float = 0.0
    trigger: float = 0.0
    epochs: int = 0

    def fixed(self, slots: npt.ArrayLike) -> Floats:
        """Return the seconds of an epoch without rows, with a number of slots.

        >>> EpochLaw(overhead=0.2, task=0.02).fixed([1, 16]).round(2).tolist()
        [0.22, 0.52]
        """
        return self.overhead + self.task * np.asarray(slots, dtype=np.float64)

    def stage(self, work: npt.ArrayLike) -> float:
        """Return the time that slots take which work at the same time: that of the busiest, or an even share of all.

        Args:
            work: the work of every slot, in seconds, or in seconds per second.

        >>> EpochLaw(parallelism=2).stage([1.0, 1.0, 1.0, 1.0])
        2.0
        """
        each = np.asarray(work, dtype=np.float64)
        return float(max(each.max(initial=0.0), each.sum() / max(self.parallelism, 1.0)))

    def seconds(
        self, work: npt.ArrayLike, rows: float = 0.0, *, before: float = 0.0, slots: int | None = None
    ) -> Floats:
        """Return the length of one epoch.

        Args:
            work: seconds that the rows of the epoch take in every slot.
            rows: rows that are read.
            before: seconds of the stages of other levels, which run one after the other.
            slots: number of tasks; as many as there are values of work if None.
        """
        count = np.size(work) if slots is None else slots
        return self.fixed(count) + self.reading * rows + before + self.stage(work)

    def length(
        self, load: npt.ArrayLike, rate: float = 0.0, *, before: float = 0.0, slots: int | None = None
    ) -> Floats:
        """Return the length at which epochs settle under a steady load; infinite if they grow without end.

        Args:
            load: seconds of work that arrive per second in every slot.
            rate: rows per second that are read.
            before: load of the stages of other levels: seconds per second.
            slots: number of tasks; as many as there are values of load if None.
        """
        count = np.size(load) if slots is None else slots
        free = 1 - self.stage(load) - self.reading * rate - before
        return self.fixed(count) / free if free > 0 else np.asarray(np.inf)

    def latency(
        self, load: npt.ArrayLike, rate: float = 0.0, *, before: float = 0.0, slots: int | None = None
    ) -> Floats:
        """Return the mean latency at which rows settle under a steady load; arguments as those of ``length``."""
        return self.latency_at(self.length(load, rate, before=before, slots=slots))

    def latency_at(self, length: npt.ArrayLike) -> Floats:
        """Return the mean latency of rows if epochs have this length: half an epoch of waiting, and their own epoch."""
        each = np.asarray(length, dtype=np.float64)
        return np.maximum(each, self.trigger) / 2 + np.maximum(each - self.tail, 0.0)
