"""Completion times: by hand, and against a simulation that takes one tuple, and one message, after the other."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.posg.testbed.shuffle import (
    Parties,
    Shuffle,
    ShuffleOutcome,
    execute_in_slots,
    shuffle_by_posg,
    shuffle_full_knowledge,
    shuffle_round_robin,
)
from rheostat.elastic.posg import CostSketch, Phase, SketchReport, SyncReply
from rheostat.errors import ConfigurationError

SMALL = CostSketch.empty(rows=2, columns=7, seed=3)


def drawn(seed: int, count: int, slots: int, provisioning: float, factors: bool = False) -> Shuffle:
    """A short skewed stream."""
    rng = np.random.default_rng(seed)
    items = (rng.pareto(0.8, count) * 2).astype(np.int64).clip(max=30)
    costs = rng.integers(1, 20, 31).astype(np.float64)[items]
    speeds = rng.uniform(0.8, 1.2, (2, slots)) if factors else None
    return Shuffle.at_provisioning(items, costs, slots, provisioning, speeds)


def one_by_one(shuffle: Shuffle, parties: Parties, idle: bool, delay: float) -> ShuffleOutcome:
    """Every tuple is submitted alone, every slot is told of every tuple alone."""
    scheduler, learners = parties.scheduler, list(parties.learners)
    free, slots, completion = [0.0] * shuffle.slots, [], []
    mail: list[tuple[float, int, SketchReport | SyncReply]] = []
    messages, phases = 0, []
    for position, now in enumerate(shuffle.arrivals.tolist()):
        while mail and mail[0][0] <= now:
            time, _, message = heapq.heappop(mail)
            scheduler = scheduler.receive(message, time)
        submission, scheduler = scheduler.submit(shuffle.items[position : position + 1], now)
        slot = int(submission.slots[0])
        seconds = float(shuffle.seconds(position, submission.slots)[0])
        free[slot] = max(free[slot], now) + seconds
        slots.append(slot)
        completion.append(free[slot] - now)
        learners[slot], reports = learners[slot].executed([shuffle.items[position]], [seconds])
        replies = [learners[slot].asked(request, free[slot] if idle else None) for _, request in submission.requests]
        said: tuple[SketchReport | SyncReply, ...] = (*reports, *replies)
        for word in said:
            messages += 1
            heapq.heappush(mail, (free[slot] + delay, messages, word))
        phases.append(scheduler.phase)
    entered = tuple((p, phase) for p, phase in enumerate(phases) if p == 0 or phases[p - 1] is not phase)
    return ShuffleOutcome(np.array(slots), np.array(completion), entered, messages)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    slots=st.integers(1, 4),
    provisioning=st.sampled_from([0.7, 1.0, 1.4]),
    factors=st.booleans(),
    idle=st.booleans(),
    delay=st.sampled_from([0.0, 3.0, 40.0]),
    options=st.fixed_dictionaries(
        {
            "window": st.sampled_from([1, 4, 16]),
            "tolerance": st.sampled_from([0.05, 0.5]),
            "resync": st.sampled_from([0, 5, 40]),
        }
    ),
)
def test_batches_between_messages_give_what_single_tuples_give(
    seed: int, slots: int, provisioning: float, factors: bool, idle: bool, delay: float, options: dict[str, Any]
) -> None:
    shuffle = drawn(seed, 300, slots, provisioning, factors)
    parties = Parties.start(slots, SMALL, **options)
    fast, slow = shuffle_by_posg(shuffle, parties, idle, delay), one_by_one(shuffle, parties, idle, delay)
    assert fast.slots.tolist() == slow.slots.tolist()
    assert fast.completion == pytest.approx(slow.completion)


def test_the_paper_s_example() -> None:
    """Section II: a takes 10 s and b 1 s; one arrives every second, two slots."""
    arrivals = np.arange(3.0)
    shuffle = Shuffle(np.array([0, 1, 0]), np.array([10.0, 1.0, 10.0]), arrivals, np.ones((1, 2)))
    assert shuffle_round_robin(shuffle).completion.tolist() == [10.0, 1.0, 18.0]
    assert execute_in_slots(shuffle, np.array([0, 1, 1])).completion.tolist() == [10.0, 1.0, 10.0]
    assert shuffle_full_knowledge(shuffle).slots.tolist() == [0, 1, 1]


def test_slots_work_at_their_own_speed_period_by_period() -> None:
    shuffle = Shuffle.at_provisioning([1] * 4, [1.0] * 4, slots=2, provisioning=4.0, factors=[[1.0, 2.0], [3.0, 4.0]])
    assert shuffle.arrivals.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert shuffle_round_robin(shuffle).completion.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert shuffle_full_knowledge(shuffle).slots.tolist() == [0, 1, 0, 1]


def test_a_stream_at_full_provisioning_brings_as_much_work_as_the_slots_can_do() -> None:
    shuffle = drawn(1, 2_000, 4, 1.25)
    gap = float(shuffle.arrivals[1])
    assert len(shuffle.items) * gap * 4 == pytest.approx(1.25 * shuffle.costs.sum())


def test_slots_that_have_learnt_are_asked_with_the_first_tuples() -> None:
    lesson = drawn(2, 4_000, 3, 1.0)
    cold = Parties.start(3, SMALL, window=32, tolerance=0.3)
    parties = cold.warmed_up(lesson.items, lesson.costs)
    assert parties.scheduler.phase is Phase.SEND_ALL
    assert [learner.seconds for learner in parties.learners] == [0.0] * 3
    reports = [parties.scheduler.reports[slot].sketch.executions for slot in range(3)]
    assert all(count >= 64 and count % 32 == 0 for count in reports)
    shuffle = drawn(3, 1_000, 3, 1.0)
    assert shuffle_by_posg(shuffle, parties).phases[0] == (3, Phase.WAIT_ALL)
    assert shuffle_by_posg(shuffle, cold).phases[0][1] is Phase.SEND_ALL
    assert shuffle_by_posg(shuffle, cold).phases[0][0] >= 3 * 64
    # Too short a lesson: they go on learning.
    assert cold.warmed_up(lesson.items[:50], lesson.costs[:50]).scheduler.phase is Phase.ROUND_ROBIN


@pytest.mark.parametrize("longest_first", [False, True])
def test_in_batches_tuples_wait_for_the_end_of_their_period(longest_first: bool) -> None:
    shuffle = drawn(4, 3_000, 3, 1.1)
    lesson = drawn(5, 4_000, 3, 1.0)
    parties = Parties.start(3, SMALL, window=32, tolerance=0.3, longest_first=longest_first)
    period = float(shuffle.arrivals[100])
    outcome = shuffle_by_posg(shuffle, parties.warmed_up(lesson.items, lesson.costs), period=period)
    released = (np.floor(shuffle.arrivals / period) + 1) * period
    seconds = shuffle.seconds(0, outcome.slots)
    assert (outcome.completion >= released - shuffle.arrivals + seconds - 1e-9).all()
    assert outcome.messages > 0
    # The same slots, the same queues.
    later = Shuffle(shuffle.items, shuffle.costs, released, shuffle.factors)
    assert outcome.completion == pytest.approx(
        execute_in_slots(later, outcome.slots).completion + released - shuffle.arrivals
    )


@pytest.mark.parametrize("longest_first", [False, True])
def test_shortest_first_inside_slots_changes_the_order_and_nothing_else(longest_first: bool) -> None:
    """One batch with true estimates: the same slots, each of which executes what it got from the shortest on."""
    items, costs = np.array([0, 1, 2, 3] * 5), np.array([1.0, 4.0, 2.0, 8.0])
    shuffle = Shuffle(items, costs[items], np.zeros(20), np.ones((1, 2)))
    lesson, found = np.array([0, 0, 1, 1, 2, 2, 3, 3] * 2), []
    for inside in (False, True):
        sketch = CostSketch.empty(columns=97)
        parties = Parties.start(2, sketch, window=4, longest_first=longest_first, shortest_inside=inside)
        # The scheduler asks with the first tuple of each slot, and those come first in either order.
        found.append(shuffle_by_posg(shuffle, parties.warmed_up(lesson, costs[lesson]), period=1.0))
    arrival, shortest = found
    assert arrival.slots.tolist() == shortest.slots.tolist()
    for slot in range(2):
        first, *rest = np.flatnonzero(shortest.slots == slot).tolist()
        assert first == slot
        in_order = [first, *sorted(rest, key=lambda position: costs[items[position]])]
        assert shortest.completion[in_order].tolist() == (1.0 + np.cumsum(costs[items[in_order]])).tolist()
    assert shortest.mean < arrival.mean


def test_slots_reply_the_same_whatever_order_they_execute_in() -> None:
    """Requests travel with the first tuples, so that what a slot says of its delay does not depend on the order."""
    shuffle = drawn(7, 3_000, 3, 1.1)
    period = float(shuffle.arrivals[100])
    both = []
    for inside in (False, True):
        parties = Parties.start(3, SMALL, window=32, tolerance=0.3, resync=500, shortest_inside=inside)
        parties = parties.warmed_up(shuffle.items, shuffle.costs)
        silent = tuple(replace(learner, window=10_000) for learner in parties.learners)  # which report nothing new
        both.append(shuffle_by_posg(shuffle, Parties(parties.scheduler, silent), period=period))
    assert both[0].messages == both[1].messages > 3
    assert both[0].slots.tolist() == both[1].slots.tolist()
    assert both[0].phases == both[1].phases
    assert both[1].mean < both[0].mean


def test_posg_beats_round_robin_on_a_skewed_stream() -> None:
    shuffle = drawn(6, 20_000, 5, 1.0)
    parties = Parties.start(5, CostSketch.empty(), window=256, tolerance=0.3, resync=1_280)
    outcome = shuffle_by_posg(shuffle, parties)
    assert shuffle_full_knowledge(shuffle).mean < outcome.mean < shuffle_round_robin(shuffle).mean


def test_invalid_arguments_are_refused() -> None:
    shuffle, parties = drawn(1, 10, 2, 1.0), Parties.start(2, SMALL)
    for call in (
        lambda: shuffle_by_posg(shuffle, Parties.start(3, SMALL)),
        lambda: shuffle_by_posg(shuffle, parties, delay=-1.0),
        lambda: shuffle_by_posg(shuffle, parties, period=0.0),
        lambda: Shuffle.at_provisioning([1], [1.0], slots=0),
        lambda: Shuffle.at_provisioning([1, 2], [1.0], slots=1),
        lambda: Shuffle.at_provisioning([], [], slots=1),
        lambda: Shuffle.at_provisioning([1], [1.0], slots=2, factors=[[1.0]]),
    ):
        with pytest.raises(ConfigurationError):
            call()
