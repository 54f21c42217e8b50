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

    >>> from rheostat.elastic.posg import Posg
    >>> seen = CostSketch.empty().updated([0, 1], [3.0, 1.0])  # item 0 took 3 seconds, item 1 took 1
    >>> scheduler = Posg(slots=1).receive(SketchReport(slot=0, number=1, sketch=seen), now=0.0)
    >>> submission, _ = scheduler.submit([0, 1], now=0.0)
    >>> [request.estimate for _, request in submission.requests]
    [3.0]
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

    >>> from rheostat.elastic.posg import Instance
    >>> slot, _ = Instance(0, CostSketch.empty()).executed([1, 1], [1.0, 1.5])
    >>> slot.asked(SyncRequest(slot=0, epoch=1, estimate=2.0))  # it worked for 2.5 seconds
    SyncReply(slot=0, epoch=1, difference=0.5)
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

    >>> from rheostat.elastic.posg import Posg
    >>> report = SketchReport(0, 1, CostSketch.empty().updated([1], [1.0]))
    >>> _, scheduler = Posg(slots=1).receive(report, now=0.0).submit([1, 1], now=0.0)
    >>> scheduler.work.loads.tolist()
    [2.0]
    >>> scheduler.receive(SyncReply(slot=0, epoch=1, difference=0.5), now=1.0).work.loads.tolist()
    [2.5]
    """

    slot: int
    epoch: int
    difference: float
