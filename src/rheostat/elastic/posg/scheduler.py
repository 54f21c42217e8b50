"""The scheduler's part of POSG: collect sketches, synchronise, assign tuples by estimate (section III-B, figure 3).

The paper waits until every slot has answered. Here both waits have a limit. When ``report_limit`` has passed since the
first report, slots without one are estimated by the sketches of the others. When ``reply_limit`` has passed, a
synchronisation ends with the replies received so far. Numbers of epochs and of reports show which messages are old or
duplicates.

Slots and scheduler must start together: after a slot lost its counters, start a new scheduler, and vice versa.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from rheostat.elastic.posg.estimates import Estimates
from rheostat.elastic.posg.groupings import Greedy, LptGrouping, RoundRobin, Slots
from rheostat.elastic.posg.hashing import items_of
from rheostat.elastic.posg.instance import WINDOW
from rheostat.elastic.posg.messages import SketchReport, SyncReply, SyncRequest
from rheostat.errors import ConfigurationError

REPLY_LIMIT = 60.0
"""Seconds to wait for replies. A slot replies after processing its queue, so queues must be shorter than this."""

REPORT_LIMIT = 300.0
"""Seconds to wait, after the first report, for the reports of the other slots."""

Requests = tuple[tuple[int, SyncRequest], ...]
"""Requests, each with the position in the batch of the tuple that carries it."""


class Phase(Enum):
    """States of the scheduler (figure 3).

    ROUND_ROBIN: assigns tuples in turn until slots have reported. SEND_ALL: sends a request with the next tuple of each
    slot. WAIT_ALL: waits for the replies. RUN: synchronised.

    >>> from rheostat.elastic.posg import CostSketch
    >>> report = SketchReport(0, 1, CostSketch.empty().updated([7], [1.0]))
    >>> reported = Posg(slots=1).receive(report, now=0.0)
    >>> submission, asked = reported.submit([7], now=0.0)
    >>> answered = asked.receive(SyncReply(slot=0, epoch=1, difference=0.0), now=1.0)
    >>> [scheduler.phase.value for scheduler in (Posg(slots=1), reported, asked, answered)]
    ['round robin', 'send all', 'wait all', 'run']
    """

    ROUND_ROBIN = "round robin"
    SEND_ALL = "send all"
    WAIT_ALL = "wait all"
    RUN = "run"


@dataclass(frozen=True, eq=False)
class Submission:
    """The assignment of a batch of tuples.

    Attributes:
        slots: slot of each tuple.
        requests: requests to send, each with the position in the batch of the tuple that carries it.
        order: positions of the tuples in the order of execution; None for the order of arrival.

    >>> submission, scheduler = Posg(slots=2).submit([7, 7, 8], now=0.0)  # nothing reported yet: in turn
    >>> submission.slots.tolist(), submission.requests
    ([0, 1, 0], ())
    """

    slots: Slots
    requests: Requests = ()
    order: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Posg:
    """The state of the scheduler; its methods take tuples, messages and the time, and return the next state.

    >>> from rheostat.elastic.posg import CostSketch
    >>> scheduler = Posg(slots=2)
    >>> submission, scheduler = scheduler.submit([0, 1, 1, 1], now=0.0)
    >>> submission.slots.tolist()
    [0, 1, 0, 1]
    >>> for slot in (0, 1):
    ...     report = SketchReport(slot, 1, CostSketch.empty().updated([0, 1], [3.0, 1.0]))
    ...     scheduler = scheduler.receive(report, now=1.0)
    >>> submission, scheduler = scheduler.submit([0, 1, 1, 1], now=2.0)
    >>> submission.slots.tolist(), scheduler.phase
    ([0, 1, 1, 1], <Phase.WAIT_ALL: 'wait all'>)
    >>> for _, request in submission.requests:
    ...     scheduler = scheduler.receive(SyncReply(request.slot, request.epoch, 0.5), now=3.0)
    >>> scheduler.phase, scheduler.work.loads.tolist()
    (<Phase.RUN: 'run'>, [3.5, 3.5])

    Attributes:
        slots: number of slots.
        longest_first: True to assign each batch as a whole, the longest tuples first, with the merged estimates of all
            slots. False to assign tuples in order of arrival, each slot with its own estimates.
        resync: number of tuples in RUN after which to synchronise again even without new sketches; 0 for never, as in
            the paper. The authors' published implementation uses the number of slots times the window.
        reply_limit: seconds to wait for replies.
        report_limit: seconds to wait, after the first report, for those of the other slots.
        shortest_inside: True if slots execute their tuples of a batch by ascending estimate, after those that carry
            requests. No order has a smaller mean completion time for the same tuples (Smith 1956). False for the order
            of arrival.
        unseen: estimated seconds of an item that a sketch has not seen; None for the mean of its cells. Listing III.2
            divides by zero in this case; 0.0 is the closest reading of it.
        phase: state of the protocol (figure 3).
        turn: next slot in round robin.
        work: estimates and assigned work of the slots; None while in round robin.
        epoch: number of synchronisations begun.
        sent: number of requests sent in this epoch.
        since: number of tuples assigned since RUN began.
        replies: differences in seconds that slots replied in this epoch, by slot.
        deadline: time in seconds at which the current wait ends; ``inf`` if there is none.
        reports: newest report of each slot.
    """

    slots: int
    longest_first: bool = False
    resync: int = 0
    reply_limit: float = REPLY_LIMIT
    report_limit: float = REPORT_LIMIT
    shortest_inside: bool = False
    unseen: float | None = None
    phase: Phase = Phase.ROUND_ROBIN
    turn: int = 0
    work: Greedy | None = None
    epoch: int = 0
    sent: int = 0
    since: int = 0
    replies: Mapping[int, float] = field(default_factory=dict)
    deadline: float = math.inf
    reports: Mapping[int, SketchReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.slots < 1 or self.resync < 0 or not (self.reply_limit > 0 and self.report_limit > 0):
            raise ConfigurationError(
                f"slots={self.slots}, resync={self.resync}, reply_limit={self.reply_limit}, "
                f"report_limit={self.report_limit}: a scheduler needs at least one slot, resync must not be "
                "negative, and the limits must be above 0 seconds"
            )

    @classmethod
    def published(cls, slots: int, window: int = WINDOW) -> Posg:
        """Return the scheduler as published, which synchronises again as the authors' implementation does.

        >>> Posg.published(slots=5).resync
        5120
        """
        return cls(slots, resync=slots * window)

    @property
    def undisturbed(self) -> int:
        """Number of tuples that can be submitted before the scheduler synchronises again because of ``resync``."""
        return self.resync - self.since if self.resync and self.phase is Phase.RUN else sys.maxsize

    def submit(self, items: npt.ArrayLike, now: float) -> tuple[Submission, Posg]:
        """Assign a batch of tuples; a synchronisation that is due begins with the first of them.

        Args:
            items: items of the tuples, in order of arrival.
            now: time in seconds.
        """
        state, which = self.tick(now), items_of(items)
        if state.work is None:
            slots, after = RoundRobin(state.slots, state.turn).assign(which)
            return Submission(slots), replace(state, turn=after.turn)
        if state.undisturbed <= 0:
            state = state._begin_epoch()
        first, requests, state = state._send_requests(which, now)
        assert state.work is not None
        rest, work = state.work.assign(which[len(first) :])
        since = state.since + len(rest) if state.phase is Phase.RUN else 0
        order = None
        if self.shortest_inside:
            behind = len(first) + work.estimates.shortest_first(which[len(first) :])
            order = np.concatenate([np.arange(len(first)), behind])
        return Submission(np.concatenate([first, rest]), requests, order), replace(state, work=work, since=since)

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Posg]:
        """Assign tuples that cannot carry requests, as a ``Grouping``; no time passes.

        Requests that are due go out with the next tuples that are submitted.
        """
        which = items_of(items)
        if self.work is None:
            slots, after = RoundRobin(self.slots, self.turn).assign(which)
            return slots, replace(self, turn=after.turn)
        slots, work = self.work.assign(which)
        since = self.since + len(which) if self.phase is Phase.RUN else 0
        return slots, replace(self, work=work, since=since)

    def receive(self, message: SketchReport | SyncReply, now: float) -> Posg:
        """Return the state after a message from a slot."""
        if not 0 <= message.slot < self.slots:
            raise ConfigurationError(
                f"message from slot {message.slot}: the scheduler has slots 0 to {self.slots - 1}; start a new "
                "scheduler to change the number of slots"
            )
        state = self.tick(now)
        if isinstance(message, SyncReply):
            return state._with_reply(message)
        newest = state.reports.get(message.slot)
        if newest is not None and message.number <= newest.number:
            return state
        state = replace(state, reports={**state.reports, message.slot: message})
        if state.work is None and len(state.reports) < state.slots:
            return replace(state, deadline=min(state.deadline, now + state.report_limit))
        return state._use_reports()

    def tick(self, now: float) -> Posg:
        """Return the state at a time; a wait whose deadline has passed ends."""
        if now < self.deadline:
            return self
        return self._use_reports() if self.phase is Phase.ROUND_ROBIN else self._run()

    def _use_reports(self) -> Posg:
        """Estimate with the newest sketches, and synchronise (figure 3, B and F)."""
        reported = [report.sketch for report in self.reports.values()]
        merged = reported[0].merged(reported[1:])
        sketches = [self.reports[s].sketch if s in self.reports else merged for s in range(self.slots)]
        estimates = Estimates.of(sketches, self.unseen)
        estimates = estimates.shared() if self.longest_first else estimates
        if self.work is None:
            work = (LptGrouping if self.longest_first else Greedy).start(estimates)
        else:
            work = replace(self.work, estimates=estimates)
        return replace(self, work=work)._begin_epoch()

    def _begin_epoch(self) -> Posg:
        """Begin the next epoch; replies to earlier requests will be ignored."""
        return replace(self, phase=Phase.SEND_ALL, epoch=self.epoch + 1, sent=0, since=0, replies={}, deadline=math.inf)

    def _send_requests(self, items: npt.NDArray[np.int64], now: float) -> tuple[Slots, Requests, Posg]:
        """Assign one tuple with a request to each slot that has none yet (figure 3, C).

        Returns:
            The slots of the first tuples, which carry requests, the requests, and the next state.
        """
        if self.phase is not Phase.SEND_ALL:
            return np.empty(0, np.int64), (), self
        assert self.work is not None
        chosen = np.arange(self.sent, min(self.sent + len(items), self.slots))
        loads, requests = self.work.loads.copy(), []
        for position, slot in enumerate(chosen.tolist()):
            loads[slot] += self.work.estimates.cost(slot, items[position])
            requests.append((position, SyncRequest(slot, self.epoch, float(loads[slot]))))
        state = replace(self, work=replace(self.work, loads=loads), sent=self.sent + len(chosen))
        if state.sent == state.slots:
            state = replace(state, phase=Phase.WAIT_ALL, deadline=now + state.reply_limit)
        return chosen, tuple(requests), state

    def _with_reply(self, reply: SyncReply) -> Posg:
        """Return the state after a reply; replies of other epochs and duplicates are ignored (figure 3, D and E)."""
        if not math.isfinite(reply.difference):
            raise ConfigurationError(
                f"slot {reply.slot} replied with a difference of {reply.difference} seconds: it must be finite"
            )
        if reply.epoch != self.epoch or reply.slot >= self.sent or reply.slot in self.replies:
            return self
        state = replace(self, replies={**self.replies, reply.slot: reply.difference})
        if state.phase is Phase.RUN:
            # The wait has ended, but the late reply is still correct, and no other reply corrects this slot.
            return state._correct_loads({reply.slot: reply.difference})
        return state._run() if len(state.replies) == state.slots else state

    def _run(self) -> Posg:
        """End the synchronisation with the replies received so far."""
        return replace(self._correct_loads(self.replies), phase=Phase.RUN, deadline=math.inf)

    def _correct_loads(self, differences: Mapping[int, float]) -> Posg:
        """Add the differences that slots replied to their estimated work."""
        assert self.work is not None
        loads = self.work.loads.copy()
        loads[list(differences)] += list(differences.values())
        return replace(self, work=replace(self.work, loads=loads))
