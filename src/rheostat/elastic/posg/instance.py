"""The slots' part of POSG: learn execution times, report them once they are stable (section III-B, figure 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.hashing import items_of
from rheostat.elastic.posg.messages import SketchReport, SyncReply, SyncRequest
from rheostat.elastic.posg.sketch import Costs, CostSketch
from rheostat.errors import ConfigurationError

WINDOW = 1024
"""Number of tuples between two checks of the sketch: the paper's N."""

TOLERANCE = 0.05
"""Largest relative change between two checks at which a sketch counts as stable: the paper's mu."""


class Learning(Enum):
    """States of a slot (figure 2).

    START: the sketch was not checked since the last report. STABILIZING: it was, but is not stable yet.

    >>> slot = Instance(0, CostSketch.empty(), window=2)
    >>> for seconds in (1.0, 3.0, 2.0):  # the mean is 1 at the first check, then 2, and 2 again: stable, so reported
    ...     slot, reports = slot.executed([7, 7], [seconds, seconds])
    ...     print(slot.learning.value, len(reports))
    stabilizing 0
    stabilizing 0
    start 1
    """

    START = "start"
    STABILIZING = "stabilizing"


@dataclass(frozen=True, eq=False)
class Instance:
    """The state of one slot; its methods return the next state and the messages to send.

    >>> slot = Instance(0, CostSketch.empty(), window=2)
    >>> slot, reports = slot.executed([1, 2], [0.5, 1.0])
    >>> slot.learning, reports
    (<Learning.STABILIZING: 'stabilizing'>, ())
    >>> slot, reports = slot.executed([2, 1], [1.0, 0.5])
    >>> slot.learning, [report.sketch.costs([1, 2]).tolist() for report in reports]
    (<Learning.START: 'start'>, [[0.5, 1.0]])
    >>> slot.asked(SyncRequest(slot=0, epoch=1, estimate=2.75))
    SyncReply(slot=0, epoch=1, difference=0.25)

    Attributes:
        slot: number of the slot.
        sketch: execution times since the last report.
        window: number of tuples between two checks of the sketch.
        tolerance: largest relative change of the sketch at which it counts as stable.
        count_new: True if a cell that was empty at the last check counts as 0 there. Equation 1 divides by zero in this
            case; this is the closest reading of it. See ``relative_error``.
        snapshot: mean seconds of every cell at the last check; None before the first one.
        looked: number of tuples executed since the last check.
        seconds: total execution time of the slot, the paper's C.
        reports: number of reports sent.
    """

    slot: int
    sketch: CostSketch
    window: int = WINDOW
    tolerance: float = TOLERANCE
    count_new: bool = False
    snapshot: Costs | None = None
    looked: int = 0
    seconds: float = 0.0
    reports: int = 0

    def __post_init__(self) -> None:
        if self.slot < 0 or self.window < 1 or not self.tolerance >= 0:
            raise ConfigurationError(
                f"slot={self.slot}, window={self.window}, tolerance={self.tolerance}: slot and tolerance must not be "
                "negative, and window must be at least 1"
            )

    @property
    def learning(self) -> Learning:
        """The state in figure 2."""
        return Learning.START if self.snapshot is None else Learning.STABILIZING

    @property
    def left(self) -> int:
        """Number of tuples until the next check of the sketch, after which there may be a report."""
        return self.window - self.looked

    def executed(self, items: npt.ArrayLike, costs: npt.ArrayLike) -> tuple[Instance, tuple[SketchReport, ...]]:
        """Return the state after executing tuples, and the reports to send.

        Args:
            items: items of the tuples, in the order of execution.
            costs: seconds that each tuple took.
        """
        which, seconds = items_of(items), np.asarray(costs, dtype=np.float64)
        state, reports, done = self, [], 0
        while done < len(which):
            step = slice(done, done + state.left)
            state = state._with_executions(which[step], seconds[step])
            done = step.stop
            if state.left == 0:
                state, report = state._check()
                reports += [report] if report else []
        return state, tuple(reports)

    def asked(self, request: SyncRequest, now: float | None = None) -> SyncReply:
        """Return the reply to a request, after the tuple that carried it was executed.

        Args:
            request: the request.
            now: seconds since the stream began, to count idle time as work, as in the authors' published
                implementation. None to compare execution times only, as in the paper: an idle slot then counts as
                behind, and gets all the tuples it missed at once.
        """
        if request.slot != self.slot:
            raise ConfigurationError(f"slot {self.slot} received a request for slot {request.slot}")
        worked = self.seconds if now is None else now
        return SyncReply(self.slot, request.epoch, worked - request.estimate)

    def _with_executions(self, items: npt.NDArray[np.int64], costs: Costs) -> Instance:
        sketch = self.sketch.updated(items, costs)
        return replace(self, sketch=sketch, looked=self.looked + len(items), seconds=self.seconds + float(costs.sum()))

    def _check(self) -> tuple[Instance, SketchReport | None]:
        """Check the sketch at the end of a window (figure 2, transitions A, B and C)."""
        ratios = self.sketch.ratios()
        if self.snapshot is None or relative_error(self.snapshot, ratios, self.count_new) > self.tolerance:
            return replace(self, snapshot=ratios, looked=0), None
        number = self.reports + 1
        after = replace(self, sketch=self.sketch.cleared(), snapshot=None, looked=0, reports=number)
        return after, SketchReport(self.slot, number, self.sketch)


def relative_error(snapshot: Costs, ratios: Costs, count_new: bool = False) -> float:
    """Return the relative change of the mean seconds of all cells since the last check (equation 1).

    Args:
        snapshot: mean seconds of every cell at the last check; NaN for an empty cell.
        ratios: mean seconds of every cell now; NaN for an empty cell.
        count_new: False to ignore cells that were empty at the last check. True to count them as 0 there: a skewed
            stream then becomes stable late, because it reaches new cells for thousands of tuples.

    >>> before, now = np.array([[1.0, 3.0, np.nan]]), np.array([[1.5, 2.5, 9.0]])
    >>> relative_error(before, now), relative_error(before, now, count_new=True)
    (0.25, 2.5)
    """
    if count_new:
        snapshot, ratios = np.nan_to_num(snapshot), np.nan_to_num(ratios)
    known = ~np.isnan(snapshot)
    before, change = float(snapshot[known].sum()), float(np.abs(snapshot - ratios)[known].sum())
    if before == 0:
        return 0.0 if change == 0 else math.inf
    return change / before
