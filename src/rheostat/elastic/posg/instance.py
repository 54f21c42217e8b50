"""The slot's half of POSG: learn execution times, report them once they are stable (section III-B, figure 2)."""

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
"""Tuples between two looks at the sketch: the paper's N."""

TOLERANCE = 0.05
"""Relative change from one look to the next that counts as stable: the paper's mu."""


class Learning(Enum):
    """What a slot does with its sketch."""

    START = "start"
    STABILIZING = "stabilizing"


@dataclass(frozen=True, eq=False)
class Instance:
    """State of one slot; every event gives the next state and the messages to send.

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
        slot: its number.
        sketch: everything executed since the last report.
        window: tuples between two looks at the sketch.
        tolerance: relative change of the sketch below which it counts as stable.
        count_new: True if a cell that was empty at the last look counts as one that was 0 and has changed. Equation 1
            divides by zero there, and this is what is nearest to its letter: see ``relative_error``.
        snapshot: mean seconds per cell at the last look; None until the first.
        looked: tuples executed since the last look.
        seconds: cumulated execution time since the slot began, the paper's C.
        reports: how many were sent.
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
                f"slot={self.slot}, window={self.window}, tolerance={self.tolerance}: a slot has a number from 0, "
                "looks after one tuple or more, and tolerates a change of 0 or more"
            )

    @property
    def learning(self) -> Learning:
        """The state of the paper's machine."""
        return Learning.START if self.snapshot is None else Learning.STABILIZING

    @property
    def left(self) -> int:
        """Tuples until the next look, at which there may be something to report."""
        return self.window - self.looked

    def executed(self, items: npt.ArrayLike, costs: npt.ArrayLike) -> tuple[Instance, tuple[SketchReport, ...]]:
        """After tuples were executed in this order, in that many seconds each."""
        which, seconds = items_of(items), np.asarray(costs, dtype=np.float64)
        state, reports, done = self, [], 0
        while done < len(which):
            step = slice(done, done + state.left)
            state = state._counted(which[step], seconds[step])
            done = step.stop
            if state.left == 0:
                state, report = state._look()
                reports += [report] if report else []
        return state, tuple(reports)

    def asked(self, request: SyncRequest, now: float | None = None) -> SyncReply:
        """The answer once the tuple that carried the request is executed; the state stays as it is.

        Args:
            now: seconds since the stream began. The paper compares execution times, without ``now``. A slot that was
                idle is then taken to be behind and is given what it missed, all at once. With ``now``, as in the
                authors' published implementation, idle time counts like work.
        """
        if request.slot != self.slot:
            raise ConfigurationError(f"slot {self.slot} was handed a request for slot {request.slot}")
        done = self.seconds if now is None else now
        return SyncReply(self.slot, request.epoch, done - request.estimate)

    def _counted(self, items: npt.NDArray[np.int64], costs: Costs) -> Instance:
        sketch = self.sketch.updated(items, costs)
        return replace(self, sketch=sketch, looked=self.looked + len(items), seconds=self.seconds + float(costs.sum()))

    def _look(self) -> tuple[Instance, SketchReport | None]:
        """The end of a window: figure 2's transitions A, B and C."""
        ratios = self.sketch.ratios()
        if self.snapshot is None or relative_error(self.snapshot, ratios, self.count_new) > self.tolerance:
            return replace(self, snapshot=ratios, looked=0), None
        number = self.reports + 1
        after = replace(self, sketch=self.sketch.cleared(), snapshot=None, looked=0, reports=number)
        return after, SketchReport(self.slot, number, self.sketch)


def relative_error(snapshot: Costs, ratios: Costs, count_new: bool = False) -> float:
    """How much the mean seconds of all cells changed, relative to what they were (equation 1).

    A cell that was empty at the last look had no mean that could have changed: it counts from the next look on. If it
    is taken as 0 instead, a skewed stream is stable late, since it reaches new cells for thousands of tuples.

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
