"""A scheduler in front of slots that each work through a queue: what a grouping does to completion times.

Tuples arrive at given times, the grouping sends each to a slot, a slot executes one tuple after the other in the order
they came. A tuple's completion time is from its arrival to the end of its execution (POSG section II). Messages from
slots reach the scheduler after ``delay`` seconds.

The scheduler's and the slots' machines are the ones that run elsewhere. Between two messages only compiled loops run:
as the machines are values, a batch of tuples is tried, and cut where a slot could have said something meanwhile.
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
from rheostat.errors import TopologyError
from rheostat.jit import compiled

Slots = npt.NDArray[np.int64]

_BATCH = 2048
"""Tuples that are tried at once."""


@dataclass(frozen=True, eq=False)
class Shuffle:
    """The input of a simulation.

    >>> even = Shuffle.at_provisioning([1, 2, 1], [0.1, 0.3, 0.1], slots=2, provisioning=1.0)
    >>> even.arrivals.round(3).tolist()
    [0.0, 0.083, 0.167]

    Attributes:
        items: one per tuple.
        costs: seconds that a slot of speed 1 works on the tuple.
        arrivals: when each tuple reaches the scheduler, never falling.
        factors: by period and slot, what costs are multiplied with; periods have the same number of tuples.
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
        """Evenly spaced arrivals at the rate that the slots could just sustain, divided by the provisioning."""
        which, seconds = np.asarray(items, dtype=np.int64), np.asarray(costs, dtype=np.float64)
        if not len(which) or which.shape != seconds.shape or slots < 1 or not 0 < provisioning < np.inf:
            raise TopologyError(
                f"{which.shape} items, {seconds.shape} costs, slots={slots}, provisioning={provisioning}: there must "
                "be as many costs as items, one slot or more, and a provisioning above 0"
            )
        speeds = np.ones((1, slots)) if factors is None else np.asarray(factors, dtype=np.float64)
        if speeds.ndim != 2 or speeds.shape[1] != slots:
            raise TopologyError(f"factors of {slots} slots are one line per period, not of shape {speeds.shape}")
        gap = float(seconds.mean()) / slots * provisioning
        arrivals: Floats = np.arange(len(which), dtype=np.float64) * gap
        return cls(which, seconds, arrivals, speeds)

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return int(self.factors.shape[1])

    def seconds(self, begin: int, slots: Slots) -> Floats:
        """How long the tuples from a position on take in these slots."""
        positions = np.arange(begin, begin + len(slots))
        taken: Floats = self.costs[positions] * self.factors[positions * len(self.factors) // len(self.items), slots]
        return taken


@dataclass(frozen=True, eq=False)
class ShuffleOutcome:
    """What became of the tuples.

    Attributes:
        slots: where each went.
        completion: seconds from its arrival to its end.
        phases: positions of tuples before which the scheduler entered a phase.
        messages: reports and replies; requests travel with tuples.
    """

    slots: Slots
    completion: Floats
    phases: tuple[tuple[int, Phase], ...] = ()
    messages: int = 0

    @property
    def mean(self) -> float:
        """Average completion time, the paper's L."""
        return float(self.completion.mean())


def shuffle_blindly(shuffle: Shuffle) -> ShuffleOutcome:
    """Round robin.

    >>> shuffle_blindly(Shuffle.at_provisioning([1, 2], [0.5, 0.5], slots=1)).completion.tolist()
    [0.5, 0.5]
    """
    slots, _ = RoundRobin(shuffle.slots).assign(shuffle.items)
    return queued(shuffle, slots)


def shuffle_knowingly(shuffle: Shuffle) -> ShuffleOutcome:
    """The paper's Full Knowledge: greedy with the true execution times."""
    # Costs may change while the stream runs, so they are known by position rather than by item.
    positions = np.arange(len(shuffle.items))
    alike = [np.full(len(positions), slot) for slot in range(shuffle.slots)]
    known = np.stack([shuffle.seconds(0, slots) for slots in alike], axis=1)
    slots, _ = FullKnowledge.start(shuffle.slots, lambda p: known[p]).assign(positions)
    return queued(shuffle, slots)


def queued(shuffle: Shuffle, slots: Slots) -> ShuffleOutcome:
    """Completion times if every tuple goes where it is told."""
    finished, never = np.empty(len(slots)), np.zeros(shuffle.slots, np.int64)
    _worked(shuffle.arrivals, shuffle.seconds(0, slots), slots, np.zeros(shuffle.slots), never, 0.0, finished)
    return ShuffleOutcome(slots, finished - shuffle.arrivals)


@dataclass(frozen=True, eq=False)
class Parties:
    """The scheduler and the slots that learn, as they are before the first tuple.

    >>> parties = Parties.start(slots=2, sketch=CostSketch.empty(), window=4)
    >>> parties.taught([1, 1] * 8, [0.5] * 16).scheduler.phase
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
        """Nothing learnt yet."""
        learners = tuple(Instance(slot, sketch, window, tolerance, count_new) for slot in range(slots))
        return cls(Posg(slots, longest_first, resync, shortest_inside=shortest_inside, unseen=unseen), learners)

    def taught(self, items: npt.ArrayLike, costs: npt.ArrayLike) -> Parties:
        """After an earlier stream, dealt out in turn, of which every slot executed what it needed for a report.

        What the slots learnt is kept. Their queues are empty again, and nobody counts the work of that time.
        """
        which, seconds = items_of(items), np.asarray(costs, dtype=np.float64)
        scheduler, learners, slots = self.scheduler, [], self.scheduler.slots
        for learner in self.learners:
            state, mine = learner, slice(learner.slot, None, slots)
            for begin in range(0, len(which[mine]), learner.window):
                step = slice(begin, begin + learner.window)
                state, reports = state.executed(which[mine][step], seconds[mine][step])
                if reports:
                    scheduler = scheduler.receive(reports[0], 0.0)
                    break
            learners.append(replace(state, seconds=0.0))
        return Parties(scheduler, tuple(learners))


def shuffle_by_posg(
    shuffle: Shuffle, parties: Parties, idle: bool = True, delay: float = 0.0, period: float | None = None
) -> ShuffleOutcome:
    """POSG: slots learn and report, the scheduler places tuples by what it was told.

    Args:
        idle: whether slots count idle time as work when they are asked how far they are.
        delay: seconds from a slot's saying something to the scheduler's hearing it.
        period: seconds of micro-batches; the scheduler then sees tuples at the end of their period, all at once.
    """
    if parties.scheduler.slots != shuffle.slots or not 0 <= delay < np.inf or not (period is None or period > 0):
        raise TopologyError(
            f"{parties.scheduler.slots} slots of the scheduler, {shuffle.slots} slots to work, delay={delay}, "
            f"period={period}: their numbers must agree, and no time is negative"
        )
    if period is None:
        return _Run(shuffle, shuffle.arrivals, parties.scheduler, list(parties.learners), idle, delay).online()
    released = (np.floor(shuffle.arrivals / period) + 1) * period
    return _Run(shuffle, released, parties.scheduler, list(parties.learners), idle, delay).in_batches()


@dataclass(eq=False)
class _Run:
    """One simulation under way.

    Attributes:
        seen: when the scheduler sees each tuple.
        items: in the order of execution, as far as that is known.
        which: the place in the stream of the tuple that is executed at a place.
        mail: on its way to the scheduler, by the time of arrival, in the order in which it was sent.
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
        self.slots, self.seconds, self.finished = np.empty(count, np.int64), np.empty(count), np.empty(count)
        self.items, self.which, self.free = self.shuffle.items.copy(), np.arange(count), np.zeros(slots)
        self.left = np.array([learner.left for learner in self.learners])
        # Tuples and requests of which a slot has not been told: it need not be until it may have something to say.
        self.untold: list[list[Slots]] = [[] for _ in range(slots)]
        self.asked: list[dict[int, SyncRequest]] = [{} for _ in range(slots)]

    def online(self) -> ShuffleOutcome:
        """Tuple by tuple: a batch ends where the next message might have come."""
        begin, count = 0, len(self.seen)
        while begin < count:
            self._deliver(begin)
            limit = min(self.mail[0][0] if self.mail else np.inf, self.scheduler.deadline)
            many = 1 if self.scheduler.phase is Phase.SEND_ALL else min(_BATCH, self.scheduler.undisturbed)
            end = min(begin + many, int(np.searchsorted(self.seen, limit)), count)
            begin = self._play(begin, max(end, begin + 1), self.delay)
        return self._outcome()

    def in_batches(self) -> ShuffleOutcome:
        """Batch by batch: tuples that are seen at the same time are placed together."""
        begin, count = 0, len(self.seen)
        while begin < count:
            self._deliver(begin)
            end = int(np.searchsorted(self.seen, self.seen[begin], side="right"))
            begin = self._play(begin, end, np.inf)
        return self._outcome()

    def _outcome(self) -> ShuffleOutcome:
        slots, finished = np.empty_like(self.slots), np.empty_like(self.finished)
        slots[self.which], finished[self.which] = self.slots, self.finished
        return ShuffleOutcome(slots, finished - self.shuffle.arrivals, tuple(self.phases), self.messages)

    def _deliver(self, position: int) -> None:
        """Every message that has arrived by the time of a tuple."""
        now = float(self.seen[position])
        while self.mail and self.mail[0][0] <= now:
            time, _, message = heapq.heappop(self.mail)
            self._become(self.scheduler.receive(message, time), position)
        self._become(self.scheduler.tick(now), position)

    def _become(self, scheduler: Posg, position: int) -> None:
        if scheduler.phase is not self.scheduler.phase:
            self.phases.append((position, scheduler.phase))
        self.scheduler = scheduler

    def _play(self, begin: int, end: int, delay: float) -> int:
        """Place and execute tuples, up to the first that a slot's word could have sent elsewhere."""
        now, part = float(self.seen[begin]), slice(begin, end)
        submission, scheduler = self.scheduler.submit(self.items[part], now)
        self.slots[part] = submission.slots
        self.seconds[part] = self.shuffle.seconds(begin, submission.slots)
        if submission.order is not None:
            for of in (self.items, self.which, self.slots, self.seconds):
                of[part] = of[part][submission.order]
        done = begin + _worked(
            self.seen[part], self.seconds[part], self.slots[part], self.free, self.left, delay, self.finished[part]
        )
        if done < end:
            submission, scheduler = self.scheduler.submit(self.items[begin:done], now)
        for position, request in submission.requests:
            self.asked[request.slot][begin + position] = request
        for slot in range(self.shuffle.slots):
            self.untold[slot].append(begin + np.flatnonzero(self.slots[begin:done] == slot))
            if self.left[slot] <= 0 or self.asked[slot]:
                self._tell(slot)
        self._become(scheduler, done)
        return done

    def _tell(self, slot: int) -> None:
        """A slot hears of what it has executed, and says what it has to say."""
        mine, learner = np.concatenate(self.untold[slot]), self.learners[slot]
        while len(mine):
            stop = min([learner.left, *(int(np.searchsorted(mine, at)) + 1 for at in self.asked[slot])])
            step, mine = mine[:stop], mine[stop:]
            learner, reports = learner.executed(self.items[step], self.seconds[step])
            finished = float(self.finished[step[-1]])
            request = self.asked[slot].pop(int(step[-1]), None)
            replies = (learner.asked(request, finished if self.idle else None),) if request else ()
            for message in (*reports, *replies):
                self.messages += 1
                heapq.heappush(self.mail, (finished + self.delay, self.messages, message))
        self.learners[slot], self.untold[slot], self.left[slot] = learner, [], learner.left


@compiled
def _worked(
    seen: Floats, seconds: Floats, slots: Slots, free: Floats, left: Slots, delay: float, finished: Floats
) -> int:
    """Execute tuples in their slots' order, in place; how many, until one is seen after a slot may have spoken.

    A slot may speak when it has finished the last of the tuples that are left to its next look.
    """
    silent = np.inf
    for position in range(len(slots)):
        if seen[position] >= silent:
            return position
        slot = slots[position]
        free[slot] = max(free[slot], seen[position]) + seconds[position]
        finished[position] = free[slot]
        left[slot] -= 1
        if left[slot] == 0:
            silent = min(silent, free[slot] + delay)
    return len(slots)
