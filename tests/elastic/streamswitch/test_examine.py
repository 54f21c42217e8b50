"""Examine: latency and rates from counters, against rows followed one by one, and with metrics that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.streamswitch.examine import MEMORY, Examination, advance, readings
from rheostat.elastic.streamswitch.readings import Metrics, Readings, ServiceRate
from rheostat.errors import ConfigurationError

NAN = float("nan")


def one_slot(time: float, arrived: Sequence[float], completed: Sequence[float], useful: float = 1.0) -> Metrics:
    return Metrics(time, arrived, completed, {0: useful}, (0,) * len(arrived))


def run(state: Examination, *metrics: Metrics) -> Examination:
    for each in metrics:
        state = advance(state, each)
    return state


def same(a: Readings, b: Readings) -> bool:
    arrays = ("arrival", "latency", "service", "usual", "shard_latency", "backlog")
    values = ("time", "routing", "slots", "blind", "problem")
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in arrays) and all(
        getattr(a, n) == getattr(b, n) for n in values
    )


def test_a_trace_checked_by_hand() -> None:
    # Interval:   1  2  3  4       Rows 1-4 arrive in interval 1, 5-6 in 2, 7-10 in 4.
    # arrived     4  6  6  10      Completed: rows 1-2 in 1, row 3 in 2, rows 4-6 in 3, rows 7-8 in 4.
    # completed   2  3  6  8       Waited:    0, 1, 2+1+1, 0 intervals of half a second.
    state = run(
        Examination.start(1, window=1.5),
        *(
            one_slot(0.5 * (i + 1), [a], [c], useful)
            for i, (a, c, useful) in enumerate([(4, 2, 0.1), (6, 3, 0.1), (6, 6, 0.25), (10, 8, 0.2)])
        ),
    )
    found = readings(state)
    assert found.valid
    # The window of 1.5 s holds intervals 2 to 4.
    assert found.arrival.tolist() == [(10 - 4) / 1.5]
    assert found.latency.tolist() == [(0.5 + 2.0 + 0.0) / 6]
    assert found.backlog.tolist() == [2]
    # Rows per useful second: 20, 10, 12, 10, an eighth each.
    mean = 20.0
    for sample in (10.0, 12.0, 10.0):
        mean = mean * 7 / 8 + sample / 8
    assert found.service.tolist() == pytest.approx([mean])


class ByRow:
    """The same measurement with every row followed: what Examine should find."""

    def __init__(self, shards: int) -> None:
        self.queues: list[list[float]] = [[] for _ in range(shards)]
        self.arrived, self.completed = [0] * shards, [0] * shards
        self.done: list[tuple[float, int, int, float]] = []

    def interval(self, end: float, routing: Sequence[int], arrive: Sequence[int], complete: Sequence[int]) -> Metrics:
        useful: dict[int, float] = {}
        for shard, slot in enumerate(routing):
            self.queues[shard] += [end] * arrive[shard]
            count = min(complete[shard], len(self.queues[shard]))
            self.done += [(end, shard, slot, end - self.queues[shard].pop(0)) for _ in range(count)]
            self.arrived[shard] += arrive[shard]
            self.completed[shard] += count
            useful[slot] = useful.get(slot, 0.0) + 0.01 * count
        return Metrics(end, list(self.arrived), list(self.completed), useful, tuple(routing))

    def latency(self, since: float, slot: int | None = None, shard: int | None = None) -> float | None:
        waits = [w for end, k, i, w in self.done if end > since and slot in (None, i) and shard in (None, k)]
        return sum(waits) / len(waits) if waits else None


INTERVALS = st.lists(
    st.tuples(
        st.sampled_from([0.25, 0.5, 1.0]),
        st.lists(st.integers(0, 2), min_size=3, max_size=3),
        st.lists(st.integers(0, 6), min_size=3, max_size=3),
        st.lists(st.integers(0, 6), min_size=3, max_size=3),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(INTERVALS)
def test_latency_is_that_of_rows_followed_one_by_one(
    intervals: list[tuple[float, list[int], list[int], list[int]]],
) -> None:
    truth, state, ends, now = ByRow(3), Examination.start(3, window=2.0), [0.0], 0.0
    # Slots stay all the time here, or what they did before they went would be forgotten.
    for seconds, _, arrive, complete in intervals:
        now += seconds
        ends.append(now)
        state = advance(state, truth.interval(now, (0, 1, 1), arrive, complete))
    since = max((e for e in ends if e <= now - 2.0), default=0.0)
    found = readings(state)
    waiting = [len(q) for q in truth.queues]
    assert found.backlog.tolist() == waiting
    for shard in range(3):
        expected = truth.latency(since, shard=shard)
        if expected is None and waiting[shard]:
            expected = float(np.mean([now - arrived for arrived in truth.queues[shard]]))
        assert found.shard_latency[shard] == pytest.approx(expected or 0.0)
    for slot in (0, 1):
        completed = truth.latency(since, slot=slot)
        assert found.latency[slot] >= (completed or 0.0) - 1e-9
        if all(truth.latency(since, shard=k) is not None for k in (0, 1, 2)):
            assert found.latency[slot] == pytest.approx(completed)


@settings(max_examples=50, deadline=None)
@given(INTERVALS)
def test_shards_may_change_their_slot(intervals: list[tuple[float, list[int], list[int], list[int]]]) -> None:
    truth, state, now = ByRow(3), Examination.start(3, window=100.0), 0.0
    for seconds, routing, arrive, complete in intervals:
        now += seconds
        state = advance(state, truth.interval(now, routing, arrive, complete))
    found = readings(state)
    assert found.slots == tuple(sorted(set(intervals[-1][1])))
    done = [truth.latency(0.0, shard=k) for k in range(3)]
    assert found.shard_latency == pytest.approx(
        [
            d if d is not None else np.mean([now - a for a in q] or [0.0])
            for d, q in zip(done, truth.queues, strict=True)
        ]
    )


def test_a_slot_that_comes_back_under_its_number_starts_anew() -> None:
    def at(time: float, routing: tuple[int, ...], useful: Mapping[int, float]) -> Metrics:
        return Metrics(time, [10 * time, 10 * time], [10 * time - 5, 10 * time], useful, routing)

    state = run(Examination.start(2, window=10), at(1, (1, 0), {0: 0.5, 1: 0.1}), at(2, (1, 0), {0: 0.5, 1: 0.1}))
    assert readings(state).latency[1] > 0
    state = run(state, at(3, (0, 0), {0: 1.0}), at(4, (0, 1), {0: 0.5, 1: 0.5}))
    found = readings(state)
    assert found.slots == (0, 1)
    assert found.latency[1] == 0
    assert not np.isclose(found.service[1], 100)


def test_useful_time_without_a_completion_counts_for_the_next_one() -> None:
    # A row that takes half a second, seen every tenth of one.
    rate = ServiceRate()
    for done in (0, 0, 0, 0, 1):
        rate = rate.after(done, 0.1, True, 0.1)
    assert rate.mean == pytest.approx(2.0)


def test_each_slot_has_its_own_service_rate() -> None:
    state = run(
        Examination.start(2), *(Metrics(t, [100 * t] * 2, [100 * t] * 2, {0: 0.2, 1: 0.8}, (0, 1)) for t in (1, 2, 3))
    )
    assert readings(state).service.tolist() == pytest.approx([500, 125])


def test_a_new_slot_is_as_fast_as_where_its_shards_came_from_until_it_is_measured() -> None:
    state = run(Examination.start(3), Metrics(1, [100] * 3, [100] * 3, {0: 0.4, 1: 0.1}, (0, 0, 1)))
    state = advance(state, Metrics(2, [200] * 3, [200, 100, 200], {0: 0.2, 1: 0.1, 2: 0.0}, (0, 2, 1)))
    assert readings(state).service.tolist() == pytest.approx([500, 1000, 500])
    state = advance(state, Metrics(3, [300] * 3, [300, 200, 300], {0: 0.2, 1: 0.1, 2: 0.8}, (0, 2, 1)))
    # Measured: not mixed with what was assumed.
    assert readings(state).service.tolist() == pytest.approx([500, 1000, 125])


def test_missing_counters_make_the_readings_invalid_until_they_are_interpolated() -> None:
    whole = [one_slot(t, [100 * t, 50 * t], [90 * t, 50 * t]) for t in range(1, 8)]
    holes = list(whole)
    holes[3] = one_slot(4, [NAN, 200], [360, 200])
    holes[4] = one_slot(5, [NAN, 250], [NAN, 250])
    states = [run(Examination.start(2, window=4), *holes[:n]) for n in range(1, 8)]
    assert [readings(s).valid for s in states] == [True, True, True, False, False, True, True]
    assert "1 shards are missing" in readings(states[4]).problem
    expected, found = readings(run(Examination.start(2, window=4), *whole)), readings(states[-1])
    assert found.latency == pytest.approx(expected.latency)
    assert found.arrival.tolist() == expected.arrival.tolist()
    assert found.backlog.tolist() == expected.backlog.tolist()


def test_missing_counters_are_not_waited_for_for_ever() -> None:
    state = run(Examination.start(2, patience=3), *(one_slot(t, [100 * t, 50 * t], [100 * t, 50 * t]) for t in (1, 2)))
    valid = []
    for t in range(3, 9):
        state = advance(state, one_slot(t, [100 * t, NAN], [100 * t, NAN]))
        valid.append(readings(state).valid)
    assert valid == [False, False, False, True, True, True]
    found = readings(state)
    assert found.blind == (1,)
    assert found.arrival.tolist() == [100, 50]
    # And when they come back, all is known.
    found = readings(advance(state, one_slot(9, [900, 450], [900, 450])))
    assert (found.blind, found.arrival.tolist(), found.valid) == ((), [100, 50], True)


def test_one_bad_reading_leaves_no_trace() -> None:
    metrics = [one_slot(t, [100 * t], [100 * t]) for t in range(1, 6)]
    metrics[2] = one_slot(3, [3], [-1])
    found = readings(run(Examination.start(1), *metrics))
    assert found.arrival.tolist() == [100]
    assert found.valid


def test_counters_that_start_again_are_trusted_after_a_while() -> None:
    state = run(Examination.start(1, window=2.0, patience=2), *(one_slot(t, [1000 * t], [1000 * t]) for t in (1, 2, 3)))
    problems = []
    for t in range(4, 10):
        state = advance(state, one_slot(t, [100 * (t - 3)], [100 * (t - 3)]))
        problems.append(readings(state).problem.split(" ")[4:6])
    assert problems == [["are", "missing"]] * 2 + [["started", "again"]] * 2 + [[]] * 2
    found = readings(state)
    assert found.arrival.tolist() == [100]
    assert found.backlog.tolist() == [0]


def test_one_reading_far_too_high_is_forgotten() -> None:
    metrics = [one_slot(t, [100 * t], [100 * t]) for t in range(1, 10)]
    metrics[2] = one_slot(3, [1e15], [300])
    found = readings(run(Examination.start(1, window=1.0, patience=2), *metrics))
    assert found.valid
    assert (found.arrival.tolist(), found.backlog.tolist(), found.latency.tolist()) == ([100], [0], [0])


def test_rows_that_nobody_completes_have_a_latency_and_are_load() -> None:
    state = run(Examination.start(2, window=2.0), one_slot(1, [100, 100], [100, 100], 0.2))
    state = run(state, *(one_slot(t, [100 * t, 200], [100, 100 * t], 0.0) for t in range(2, 8)))
    found = readings(state)
    # Shard 0: rows have arrived for six seconds, and wait 0 to 5 seconds.
    assert found.shard_latency[0] == pytest.approx(2.5)
    assert found.latency[0] >= 2.5
    assert found.arrival[0] == pytest.approx(600 / 2)


def test_a_slot_that_stalls_has_no_service_rate_to_speak_of() -> None:
    state = run(Examination.start(1, window=1.0), one_slot(1, [100], [100], 0.2))
    state = run(state, *(one_slot(t, [100 * t], [100], NAN) for t in (2, 3, 4)))
    found = readings(state)
    assert found.valid
    assert found.service.tolist() == [0.5]  # two seconds since rows waited
    assert found.usual.tolist() == [500]
    found = readings(advance(state, one_slot(5, [500], [500], 0.8)))
    assert found.service.tolist() == [500]


def test_a_job_that_never_completed_anything_is_known_to_be_stuck() -> None:
    state = run(Examination.start(1, window=1.0), *(one_slot(t, [100 * t], [0], NAN) for t in (1, 2, 3)))
    found = readings(state)
    assert found.valid
    assert found.service.tolist() == [0.5]


def test_without_useful_time_a_slot_with_a_backlog_counts_as_busy() -> None:
    metrics = [one_slot(t, [100 * t + 10], [80 * t], NAN) for t in (1, 2, 3)]
    assert readings(run(Examination.start(1), *metrics)).service.tolist() == [80]
    idle = [one_slot(t, [100 * t], [100 * t], NAN) for t in (1, 2, 3)]
    assert "no service rate" in readings(run(Examination.start(1), *idle)).problem


def test_nothing_is_known_before_anything_was_measured() -> None:
    assert readings(Examination.start(4)).problem == "nothing has been measured yet"


def test_time_does_not_go_back() -> None:
    state = run(Examination.start(1), one_slot(1, [10], [10]))
    assert all(advance(state, one_slot(t, [20], [20])) is state for t in (1, 0.5, -1, NAN, float("inf")))


def test_counting_may_begin_in_the_middle() -> None:
    state = Examination.start(1, time=50, arrived=[1000], completed=[900])
    assert readings(advance(state, one_slot(51, [1100], [1000]))).arrival.tolist() == [100]


@pytest.mark.parametrize(
    "wrong", [{"shards": 0}, {"window": 0}, {"window": NAN}, {"patience": -1}, {"time": NAN}, {"arrived": [NAN, 1.0]}]
)
def test_what_cannot_be_examined_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        Examination.start(**{"shards": 2, **wrong})  # type: ignore[arg-type]


def test_metrics_of_another_size_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="counters of 2 shards"):
        advance(Examination.start(2), Metrics(1, [1], [1], {}, (0, 0)))
    with pytest.raises(ConfigurationError, match="routing of 2 shards"):
        advance(Examination.start(2), Metrics(1, [1, 1], [1, 1], {}, (0,)))


def test_only_what_is_needed_is_remembered() -> None:
    state = Examination.start(2, window=1.0)
    for i in range(1, 200):
        state = advance(state, one_slot(0.1 * i, [10 * i] * 2, [10 * i] * 2, 0.05))
        assert len(state.ends) <= 12
    stuck = Examination.start(1)
    for i in range(1, MEMORY + 200):
        stuck = advance(stuck, one_slot(0.1 * i, [10 * i], [0]))
    assert len(stuck.ends) == MEMORY
    lost = Examination.start(1)
    for i in range(1, MEMORY + 200):
        lost = advance(lost, one_slot(0.1 * i, [NAN], [NAN]))
    assert len(lost.ends) <= MEMORY
    lost = advance(lost, one_slot(0.1 * (MEMORY + 200), [100], [100]))
    assert readings(lost).backlog.tolist() == [0]


ABSURD = st.sampled_from([NAN, float("inf"), -float("inf"), -1.0, 0.0, 1e-300, 1e300, 1e17]) | st.floats(0, 1e6)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            ABSURD | st.just(None),
            st.lists(ABSURD, min_size=2, max_size=2),
            st.lists(ABSURD, min_size=2, max_size=2),
            st.dictionaries(st.integers(0, 3), ABSURD, max_size=3),
            st.tuples(st.integers(0, 3), st.integers(0, 3)),
        ),
        max_size=20,
    )
)
def test_absurd_metrics_are_survived(
    intervals: list[tuple[float | None, list[float], list[float], dict[int, float], tuple[int, int]]],
) -> None:
    state = Examination.start(2, window=1.0, patience=2)
    for time, arrived, completed, useful, routing in intervals:
        now = float(state.ends[-1]) + 0.5 if time is None else time
        metrics = Metrics(now, arrived, completed, useful, routing)
        counters, rates = [state.arrived.copy(), state.completed.copy()], repr(state.rates)
        first, second = advance(state, metrics), advance(state, metrics)
        assert same(readings(first), readings(second))
        assert np.array_equal(counters[0], state.arrived, equal_nan=True)
        assert np.array_equal(counters[1], state.completed, equal_nan=True)
        assert rates == repr(state.rates)
        state = first
        found = readings(state)
        if found.valid:
            for values in (
                found.arrival,
                found.latency,
                found.service,
                found.usual,
                found.shard_latency,
                found.backlog,
            ):
                assert np.isfinite(values).all()
                assert (values >= 0).all()
            assert found.slots == tuple(sorted(set(found.routing)))
