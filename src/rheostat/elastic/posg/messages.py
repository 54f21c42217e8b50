"""What slots and scheduler tell each other (POSG figure 1). Every message may be lost, late, or come twice."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.posg.sketch import CostSketch


@dataclass(frozen=True, eq=False)
class SketchReport:
    """From a slot: what it learnt of execution times since its last report.

    Attributes:
        slot: that sends it.
        number: counts the slot's reports from 1, so that an old or repeated one is known as such.
        sketch: execution times since the last report.
    """

    slot: int
    number: int
    sketch: CostSketch


@dataclass(frozen=True)
class SyncRequest:
    """To a slot, with a tuple: compare what you have worked with what I think you have.

    Attributes:
        slot: that is asked.
        epoch: counts the scheduler's synchronisations; the reply carries the same.
        estimate: seconds of work that the scheduler thinks it gave the slot, this tuple included.
    """

    slot: int
    epoch: int
    estimate: float


@dataclass(frozen=True)
class SyncReply:
    """From a slot: how many seconds more it has worked, this tuple included, than the scheduler thought.

    Attributes:
        slot: that replies.
        epoch: of the request.
        difference: seconds worked beyond the estimate; negative if it was less.
    """

    slot: int
    epoch: int
    difference: float
