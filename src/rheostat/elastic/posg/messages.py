"""Messages between slots and scheduler (POSG figure 1). Any message may be lost, delayed or duplicated."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.posg.sketch import CostSketch


@dataclass(frozen=True, eq=False)
class SketchReport:
    """From a slot: the execution times that it learned since its last report.

    Attributes:
        slot: the sender.
        number: the slot's reports are numbered from 1, so that old and duplicate ones can be ignored.
        sketch: execution times since the last report.
    """

    slot: int
    number: int
    sketch: CostSketch


@dataclass(frozen=True)
class SyncRequest:
    """To a slot, together with a tuple: asks for its real work, to correct the scheduler's estimate.

    Attributes:
        slot: the receiver.
        epoch: number of the scheduler's synchronisation; the reply repeats it.
        estimate: seconds of work that the scheduler estimates it gave the slot, with this tuple.
    """

    slot: int
    epoch: int
    estimate: float


@dataclass(frozen=True)
class SyncReply:
    """From a slot: the difference between its real work and the scheduler's estimate.

    Attributes:
        slot: the sender.
        epoch: epoch of the request.
        difference: seconds of real work minus the estimate, both with the tuple that carried the request.
    """

    slot: int
    epoch: int
    difference: float
