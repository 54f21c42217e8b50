"""The scheduler's half of POSG: gather sketches, synchronise, place tuples by estimate (section III-B, figure 3).

The paper waits until every slot has answered. Here both waits end: a slot without a sketch is estimated by those of
the others once ``report_limit`` has passed since the first, and a synchronisation goes on with the replies that came
within ``reply_limit``. Epochs, and numbers of reports, tell what is late or repeated.

Slots and scheduler begin together: a slot that loses its counters needs a new scheduler, and the reverse.
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
"""Seconds that replies are waited for. A reply comes after the queue of its slot, so queues must be shorter."""

REPORT_LIMIT = 300.0
"""Seconds from the first sketch of a slot to the time when those that are missing are done without."""

Requests = tuple[tuple[int, SyncRequest], ...]


class Phase(Enum):
    """The states of the paper's machine."""

    ROUND_ROBIN = "round robin"
    SEND_ALL = "send all"
    WAIT_ALL = "wait all"
    RUN = "run"


@dataclass(frozen=True, eq=False)
class Submission:
    """What became of a batch of tuples.

    Attributes:
        slots: where each goes.
        requests: each with the position in the batch of the tuple that carries it.
        order: positions in the order in which the tuples are to be executed; None: as they came.
    """

    slots: Slots
    requests: Requests = ()
    order: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Posg:
    """State of the scheduler; tuples, messages and time give the next state.

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
        slots: how many.
        longest_first: place each batch of tuples as a whole, by falling estimate, instead of in order of arrival; all
            slots share what each has learnt.
        resync: tuples in RUN after which slots are asked again, though no sketch is new; 0 for never, as in the paper.
            The authors' published implementation does after as many tuples as all windows of the slots have.
        reply_limit: seconds that a reply is waited for.
        report_limit: seconds that reports of all slots are waited for.
        shortest_inside: have slots execute their tuples of a batch by rising estimate, not in order of arrival; those
            that carry requests come first. Few then wait for the long ones: for the same tuples in a slot, no order has
            a smaller mean completion time (Smith 1956).
        unseen: seconds that an item counts as of which a slot's sketch has nothing. None: as the mean cell. Listing
            III.2 divides by zero there; 0.0 is what is nearest to its letter.
        phase: of the protocol (figure 3).
        turn: the slot that is next in round robin.
        work: estimates and cumulated work of the slots, once every slot can be estimated.
        epoch: synchronisations begun.
        sent: requests of this epoch that are out.
        since: tuples placed since RUN was entered.
        replies: of this epoch, by slot.
        deadline: when a wait ends.
        reports: the newest from every slot.
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
                f"report_limit={self.report_limit}: a scheduler needs one slot or more, a number of tuples of 0 or "
                "more, and limits of more than 0 seconds"
            )

    @classmethod
    def published(cls, slots: int, window: int = WINDOW) -> Posg:
        """As published: tuples in order of arrival; asked again as in the authors' implementation.

        >>> Posg.published(slots=5).resync
        5120
        """
        return cls(slots, resync=slots * window)

    @property
    def undisturbed(self) -> int:
        """Tuples that can be submitted before the scheduler itself would ask the slots again."""
        return self.resync - self.since if self.resync and self.phase is Phase.RUN else sys.maxsize

    def submit(self, items: npt.ArrayLike, now: float) -> tuple[Submission, Posg]:
        """Where the tuples of a batch go, in the order in which they came; a new epoch begins only with a batch."""
        state, which = self.tick(now), items_of(items)
        if state.work is None:
            slots, after = RoundRobin(state.slots, state.turn).assign(which)
            return Submission(slots), replace(state, turn=after.turn)
        if state.undisturbed <= 0:
            state = state._ask()
        first, requests, state = state._send(which, now)
        assert state.work is not None
        rest, work = state.work.assign(which[len(first) :])
        since = state.since + len(rest) if state.phase is Phase.RUN else 0
        order = None
        if self.shortest_inside:
            behind = len(first) + work.estimates.shortest_first(which[len(first) :])
            order = np.concatenate([np.arange(len(first)), behind])
        return Submission(np.concatenate([first, rest]), requests, order), replace(state, work=work, since=since)

    def assign(self, items: npt.ArrayLike) -> tuple[Slots, Posg]:
        """As a grouping whose tuples carry no requests: no time passes, and nothing is synchronised.

        What is to be asked stays to be asked, of the next tuples that are submitted.
        """
        which = items_of(items)
        if self.work is None:
            slots, after = RoundRobin(self.slots, self.turn).assign(which)
            return slots, replace(self, turn=after.turn)
        slots, work = self.work.assign(which)
        since = self.since + len(which) if self.phase is Phase.RUN else 0
        return slots, replace(self, work=work, since=since)

    def receive(self, message: SketchReport | SyncReply, now: float) -> Posg:
        """After a message from a slot."""
        if not 0 <= message.slot < self.slots:
            raise ConfigurationError(f"there is no slot {message.slot} among {self.slots}")
        state = self.tick(now)
        if isinstance(message, SyncReply):
            return state._replied(message)
        known = state.reports.get(message.slot)
        if known is not None and message.number <= known.number:
            return state
        state = replace(state, reports={**state.reports, message.slot: message})
        if state.work is None and len(state.reports) < state.slots:
            return replace(state, deadline=min(state.deadline, now + state.report_limit))
        return state._begin()

    def tick(self, now: float) -> Posg:
        """At a time: waits that have lasted too long are over."""
        if now < self.deadline:
            return self
        return self._begin() if self.phase is Phase.ROUND_ROBIN else self._synchronised()

    def _begin(self) -> Posg:
        """New sketches are there: the next tuples ask every slot how far it is (figure 3, B and F)."""
        others = [report.sketch for report in self.reports.values()]
        spare = others[0].merged(others[1:])
        sketches = [self.reports[s].sketch if s in self.reports else spare for s in range(self.slots)]
        estimates = Estimates.of(sketches, self.unseen)
        estimates = estimates.shared() if self.longest_first else estimates
        if self.work is None:
            work = (LptGrouping if self.longest_first else Greedy).start(estimates)
        else:
            work = replace(self.work, estimates=estimates)
        return replace(self, work=work)._ask()

    def _ask(self) -> Posg:
        """Begin the next epoch; earlier requests no longer matter."""
        return replace(self, phase=Phase.SEND_ALL, epoch=self.epoch + 1, sent=0, since=0, replies={}, deadline=math.inf)

    def _send(self, items: npt.NDArray[np.int64], now: float) -> tuple[Slots, Requests, Posg]:
        """One tuple with a request to every slot that has none yet (figure 3, C)."""
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

    def _replied(self, reply: SyncReply) -> Posg:
        """After a reply; one of another epoch, or a second one, says nothing (figure 3, D and E)."""
        if not math.isfinite(reply.difference):
            raise ConfigurationError(f"slot {reply.slot} replied with a difference of {reply.difference} seconds")
        if reply.epoch != self.epoch or reply.slot >= self.sent or reply.slot in self.replies:
            return self
        state = replace(self, replies={**self.replies, reply.slot: reply.difference})
        if state.phase is Phase.RUN:
            # The wait is over, but the difference is as true as it was: nothing else of this epoch corrects this slot.
            return state._corrected({reply.slot: reply.difference})
        return state._synchronised() if len(state.replies) == state.slots else state

    def _synchronised(self) -> Posg:
        return replace(self._corrected(self.replies), phase=Phase.RUN, deadline=math.inf)

    def _corrected(self, differences: Mapping[int, float]) -> Posg:
        assert self.work is not None
        loads = self.work.loads.copy()
        loads[list(differences)] += list(differences.values())
        return replace(self, work=replace(self.work, loads=loads))
