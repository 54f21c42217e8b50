"""Simulate a scheduler that sends tuples to slots with queues, and measure completion times.

Tuples arrive at given times. The grouping sends each to a slot, which executes its tuples in the order in which they
came. The completion time of a tuple is the time from its arrival to the end of its execution (POSG section II).
Messages from slots reach the scheduler after ``delay`` seconds.

Scheduler and slots are the state machines of ``rheostat.elastic.posg``. They are immutable values, so tuples are placed
and executed in batches by compiled loops. If a slot could have sent a message during a batch, the batch is cut there
and placed again up to that tuple.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.elastic.posg import (
    CostSketch,
    FullKnowledge,
    Instance,
    Phase,
    Posg,
    RoundRobin,
    SketchReport,
    SyncReply,
    SyncRequest,
)
from rheostat.elastic.posg.hashing import items_of
from rheostat.elastic.posg.instance import TOLERANCE, WINDOW
from rheostat.errors import ConfigurationError
from rheostat.jit import compiled

Slots = npt.NDArray[np.int64]
"""Numbers of slots, or positions of tuples."""

_BATCH = 2048
"""Most tuples in a batch."""


@dataclass(frozen=True, eq=False)
class Shuffle:
    """The input of a simulation: tuples and the speeds of slots.

    >>> even = Shuffle.at_provisioning([1, 2, 1], [0.1, 0.3, 0.1], slots=2, provisioning=1.0)
    >>> even.arrivals.round(3).tolist()
    [0.0, 0.083, 0.167]

    Attributes:
        items: the item of every tuple.
        costs: seconds that a slot with factor 1 takes to execute each tuple.
        arrivals: seconds at which each tuple reaches the scheduler, in ascending order.
        factors: factors of the costs, by period (row) and slot (column). All periods have the same number of tuples.
    """

    items: npt.NDArray[np.int64]
    costs: Floats
    arrivals: Floats
    factors: Floats

    @classmethod
    def at_provisioning(
        cls,
        items: npt.ArrayLike,
        costs: npt.ArrayLike,
        slots: int,
        provisioning: float = 1.0,
        factors: npt.ArrayLike | None = None,
    ) -> Shuffle:
        """Space arrivals evenly, at the highest rate that the slots can sustain divided by the provisioning.

        Args:
            items: the item of every tuple.
            costs: seconds that each tuple takes.
            slots: number of slots.
            provisioning: 1.0 if slots can just sustain the rate, above 1 if they could sustain more.
            factors: factors of the costs, by period and slot; None for 1 everywhere.
        """
        which, seconds = np.asarray(items, dtype=np.int64), np.asarray(costs, dtype=np.float64)
        if not len(which) or which.shape != seconds.shape or slots < 1 or not 0 < provisioning < np.inf:
            raise ConfigurationError(
                f"invalid shuffle: items of shape {which.shape}, costs of shape {seconds.shape}, slots={slots}, "
                f"provisioning={provisioning}; need at least one item, one cost per item, slots >= 1 and "
                "provisioning > 0"
            )
        speeds = np.ones((1, slots)) if factors is None else np.asarray(factors, dtype=np.float64)
        if speeds.ndim != 2 or speeds.shape[1] != slots:
            raise ConfigurationError(
                f"invalid factors of shape {speeds.shape}: need one row per period with {slots} columns, one per slot"
            )
        gap = float(seconds.mean()) / slots * provisioning
        arrivals: Floats = np.arange(len(which), dtype=np.float64) * gap
        return cls(which, seconds, arrivals, speeds)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return int(self.factors.shape[1])

    def seconds(self, begin: int, slots: Slots) -> Floats:
        """Return the execution times of the tuples from position ``begin`` on, one for each of the given slots."""
        positions = np.arange(begin, begin + len(slots))
        taken: Floats = self.costs[positions] * self.factors[positions * len(self.factors) // len(self.items), slots]
        return taken


@dataclass(frozen=True, eq=False)
class ShuffleOutcome:
    """The outcome of a simulation.

    Attributes:
        slots: the slot of every tuple.
        completion: completion time of every tuple in seconds.
        phases: every phase that the scheduler entered, with the position of the next tuple.
        messages: number of reports and replies that slots sent. Requests travel with tuples and do not count.
    """

    slots: Slots
    completion: Floats
    phases: tuple[tuple[int, Phase], ...] = ()
    messages: int = 0

    @property
    def mean(self) -> float:
        """Mean completion time in seconds, the paper's L."""
        return float(self.completion.mean())


def shuffle_round_robin(shuffle: Shuffle) -> ShuffleOutcome:
    """Simulate round robin.

    >>> shuffle_round_robin(Shuffle.at_provisioning([1, 2], [0.5, 0.5], slots=1)).completion.tolist()
    [0.5, 0.5]
    """
    slots, _ = RoundRobin(shuffle.slots).assign(shuffle.items)
    return execute_in_slots(shuffle, slots)


def shuffle_full_knowledge(shuffle: Shuffle) -> ShuffleOutcome:
    """Simulate the paper's Full Knowledge: greedy placement by the true execution times."""
    # Execution times may change during the stream, so they are looked up by position and not by item.
    positions = np.arange(len(shuffle.items))
    single_slots = [np.full(len(positions), slot) for slot in range(shuffle.slots)]
    seconds = np.stack([shuffle.seconds(0, slots) for slots in single_slots], axis=1)
    slots, _ = FullKnowledge.start(shuffle.slots, lambda p: seconds[p]).assign(positions)
    return execute_in_slots(shuffle, slots)


def execute_in_slots(shuffle: Shuffle, slots: Slots) -> ShuffleOutcome:
    """Simulate the slots' queues for a given slot of every tuple."""
    finished, never = np.empty(len(slots)), np.zeros(shuffle.slots, np.int64)
    _execute(shuffle.arrivals, shuffle.seconds(0, slots), slots, np.zeros(shuffle.slots), never, 0.0, finished)
    return ShuffleOutcome(slots, finished - shuffle.arrivals)


@dataclass(frozen=True, eq=False)
class Parties:
    """The scheduler and the slots' learners, before the first tuple.

    Attributes:
        scheduler: the scheduler's state machine.
        learners: the state machine of every slot, which learns execution times.

    >>> parties = Parties.start(slots=2, sketch=CostSketch.empty(), window=4)
    >>> parties.warmed_up([1, 1] * 8, [0.5] * 16).scheduler.phase
    <Phase.SEND_ALL: 'send all'>
    """

    scheduler: Posg
    learners: tuple[Instance, ...]

    @classmethod
    def start(
        cls,
        slots: int,
        sketch: CostSketch,
        window: int = WINDOW,
        tolerance: float = TOLERANCE,
        resync: int = 0,
        longest_first: bool = False,
        shortest_inside: bool = False,
        unseen: float | None = None,
        count_new: bool = False,
    ) -> Parties:
        """Return a scheduler and slots that have learned nothing yet.

        Args:
            slots: number of slots.
            sketch: an empty sketch, the same for every slot.
            window: tuples from one check of the sketch to the next.
            tolerance: relative change of the sketch below which it is stable.
            resync: tuples after which the scheduler asks slots again without a new sketch; 0 for never.
            longest_first: True to place the longest tuples of a batch first.
            shortest_inside: True if slots execute their tuples of a batch from the shortest to the longest.
            unseen: estimate in seconds for items that a sketch has not seen; None for its mean cell.
            count_new: True if a cell that was empty at the last check counts as a changed cell.
        """
        learners = tuple(Instance(slot, sketch, window, tolerance, count_new) for slot in range(slots))
        return cls(Posg(slots, longest_first, resync, shortest_inside=shortest_inside, unseen=unseen), learners)

    def warmed_up(self, items: npt.ArrayLike, costs: npt.ArrayLike) -> Parties:
        """Return the parties after an earlier stream, placed by round robin, from which slots have learned.

        Every slot stops after its first report, or at the end of the stream. Sketches and reports are kept; queues are
        empty again, and the work of that time does not count.
        """
        which, seconds = items_of(items), np.asarray(costs, dtype=np.float64)
        scheduler, learners, slots = self.scheduler, [], self.scheduler.slots
        for learner in self.learners:
            state, share = learner, slice(learner.slot, None, slots)
            for begin in range(0, len(which[share]), learner.window):
                step = slice(begin, begin + learner.window)
                state, reports = state.executed(which[share][step], seconds[share][step])
                if reports:
                    scheduler = scheduler.receive(reports[0], 0.0)
                    break
            learners.append(replace(state, seconds=0.0))
        return Parties(scheduler, tuple(learners))


def shuffle_by_posg(
    shuffle: Shuffle, parties: Parties, idle: bool = True, delay: float = 0.0, period: float | None = None
) -> ShuffleOutcome:
    """Simulate POSG: slots learn and report, and the scheduler places tuples by the reports.

    Args:
        shuffle: the tuples and the speeds of slots.
        parties: the scheduler and the slots before the first tuple.
        idle: True if slots count idle time as work when the scheduler asks how far they are.
        delay: seconds that a message takes from a slot to the scheduler.
        period: seconds of a micro-batch, whose tuples the scheduler sees together at its end; None to see every tuple
            as it arrives.
    """
    if parties.scheduler.slots != shuffle.slots or not 0 <= delay < np.inf or not (period is None or period > 0):
        raise ConfigurationError(
            f"invalid simulation: the scheduler has {parties.scheduler.slots} slots and the shuffle {shuffle.slots}, "
            f"delay={delay}, period={period}; need as many slots in both, delay >= 0, and period > 0 or None"
        )
    if period is None:
        return _Run(shuffle, shuffle.arrivals, parties.scheduler, list(parties.learners), idle, delay).online()
    released = (np.floor(shuffle.arrivals / period) + 1) * period
    return _Run(shuffle, released, parties.scheduler, list(parties.learners), idle, delay).in_batches()


@dataclass(eq=False)
class _Run:
    """The state of a running simulation.

    Attributes:
        shuffle: the tuples and the speeds of slots.
        seen: seconds at which the scheduler sees each tuple.
        scheduler: the scheduler's state machine.
        learners: the state machine of every slot.
        idle: True if slots count idle time as work.
        delay: seconds that a message takes.
        mail: a heap of messages on their way to the scheduler: (time of arrival, number of the message, message).
        messages: number of messages sent.
        phases: every phase that the scheduler entered, with the position of the next tuple.
    """

    shuffle: Shuffle
    seen: Floats
    scheduler: Posg
    learners: list[Instance]
    idle: bool
    delay: float
    mail: list[tuple[float, int, SketchReport | SyncReply]] = field(default_factory=list)
    messages: int = 0
    phases: list[tuple[int, Phase]] = field(default_factory=list)

    def __post_init__(self) -> None:
        count, slots = len(self.seen), self.shuffle.slots
        # These five arrays are in the order of execution; tuples that are not placed yet, in the order of the stream.
        self.slots, self.seconds, self.finished = np.empty(count, np.int64), np.empty(count), np.empty(count)
        self.items, self.stream_position = self.shuffle.items.copy(), np.arange(count)
        self.free = np.zeros(slots)  # when every slot has executed all its tuples
        self.left = np.array([learner.left for learner in self.learners])  # tuples until a slot's next check
        # Tuples and requests that a slot's learner has not processed yet: it does so when it might send a message.
        self.pending: list[list[Slots]] = [[] for _ in range(slots)]
        self.requests: list[dict[int, SyncRequest]] = [{} for _ in range(slots)]

    def online(self) -> ShuffleOutcome:
        """Simulate a scheduler that sees every tuple as it arrives; a batch ends before the next message."""
        begin, count = 0, len(self.seen)
        while begin < count:
            self._deliver(begin)
            limit = min(self.mail[0][0] if self.mail else np.inf, self.scheduler.deadline)
            many = 1 if self.scheduler.phase is Phase.SEND_ALL else min(_BATCH, self.scheduler.undisturbed)
            end = min(begin + many, int(np.searchsorted(self.seen, limit)), count)
            begin = self._play(begin, max(end, begin + 1), self.delay)
        return self._outcome()

    def in_batches(self) -> ShuffleOutcome:
        """Simulate micro-batches: tuples that the scheduler sees at the same time are placed together."""
        begin, count = 0, len(self.seen)
        while begin < count:
            self._deliver(begin)
            end = int(np.searchsorted(self.seen, self.seen[begin], side="right"))
            begin = self._play(begin, end, np.inf)
        return self._outcome()

    def _outcome(self) -> ShuffleOutcome:
        slots, finished = np.empty_like(self.slots), np.empty_like(self.finished)
        slots[self.stream_position], finished[self.stream_position] = self.slots, self.finished
        return ShuffleOutcome(slots, finished - self.shuffle.arrivals, tuple(self.phases), self.messages)

    def _deliver(self, position: int) -> None:
        """Deliver every message that has arrived when the scheduler sees the tuple at a position."""
        now = float(self.seen[position])
        while self.mail and self.mail[0][0] <= now:
            time, _, message = heapq.heappop(self.mail)
            self._set_scheduler(self.scheduler.receive(message, time), position)
        self._set_scheduler(self.scheduler.tick(now), position)

    def _set_scheduler(self, scheduler: Posg, position: int) -> None:
        if scheduler.phase is not self.scheduler.phase:
            self.phases.append((position, scheduler.phase))
        self.scheduler = scheduler

    def _play(self, begin: int, end: int, delay: float) -> int:
        """Place and execute tuples from ``begin`` on, and return the position of the next one.

        That is ``end``, or earlier if a message of a slot could have changed where the tuple goes.
        """
        now, part = float(self.seen[begin]), slice(begin, end)
        submission, scheduler = self.scheduler.submit(self.items[part], now)
        self.slots[part] = submission.slots
        self.seconds[part] = self.shuffle.seconds(begin, submission.slots)
        if submission.order is not None:
            for array in (self.items, self.stream_position, self.slots, self.seconds):
                array[part] = array[part][submission.order]
        done = begin + _execute(
            self.seen[part], self.seconds[part], self.slots[part], self.free, self.left, delay, self.finished[part]
        )
        if done < end:
            submission, scheduler = self.scheduler.submit(self.items[begin:done], now)
        for position, request in submission.requests:
            self.requests[request.slot][begin + position] = request
        for slot in range(self.shuffle.slots):
            self.pending[slot].append(begin + np.flatnonzero(self.slots[begin:done] == slot))
            if self.left[slot] <= 0 or self.requests[slot]:
                self._update_learner(slot)
        self._set_scheduler(scheduler, done)
        return done

    def _update_learner(self, slot: int) -> None:
        """Let a slot's learner process the tuples that the slot has executed, and send its reports and replies."""
        pending, learner = np.concatenate(self.pending[slot]), self.learners[slot]
        while len(pending):
            stop = min([learner.left, *(int(np.searchsorted(pending, at)) + 1 for at in self.requests[slot])])
            step, pending = pending[:stop], pending[stop:]
            learner, reports = learner.executed(self.items[step], self.seconds[step])
            finished = float(self.finished[step[-1]])
            request = self.requests[slot].pop(int(step[-1]), None)
            replies = (learner.asked(request, finished if self.idle else None),) if request else ()
            for message in (*reports, *replies):
                self.messages += 1
                heapq.heappush(self.mail, (finished + self.delay, self.messages, message))
        self.learners[slot], self.pending[slot], self.left[slot] = learner, [], learner.left


@compiled
def _execute(
    seen: Floats, seconds: Floats, slots: Slots, free: Floats, left: Slots, delay: float, finished: Floats
) -> int:
    """Execute tuples in the order of their slots' queues, and return how many were executed.

    Stops at the first tuple that is seen after a slot might have sent a message, which is when it has executed the last
    tuple before its next check. Changes ``free``, ``left`` and ``finished`` in place.
    """
    first_message = np.inf
    for position in range(len(slots)):
        if seen[position] >= first_message:
            return position
        slot = slots[position]
        free[slot] = max(free[slot], seen[position]) + seconds[position]
        finished[position] = free[slot]
        left[slot] -= 1
        if left[slot] == 0:
            first_message = min(first_message, free[slot] + delay)
    return len(slots)
