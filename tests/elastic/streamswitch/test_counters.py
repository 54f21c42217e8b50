"""Examine's compiled arithmetic against the definitions, on histories in which everything goes wrong."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.streamswitch import examine
from rheostat.elastic.streamswitch.examine import Examination, advance, readings
from rheostat.elastic.streamswitch.readings import Metrics, Readings
from tests.elastic.streamswitch.plain_examine import PlainExamination

NAN = float("nan")
SHARDS = 3
FAULTS = [None] * 12 + [NAN, NAN, float("inf"), -1.0, 0.0, 3.0, 1e5, 1e17]


class Interval(NamedTuple):
    """What happens in an interval, and what is told of it instead of the counters."""

    seconds: float
    arrive: list[int]
    complete: list[int]
    faults: list[float | None]
    restart: int
    useful: dict[int, float]
    routing: tuple[int, ...]


def intervals(faults: list[float | None], routings: st.SearchStrategy[tuple[int, ...]]) -> st.SearchStrategy[Interval]:
    rows = st.lists(st.integers(0, 9), min_size=SHARDS, max_size=SHARDS)
    return st.builds(
        Interval,
        seconds=st.sampled_from([0.1, 0.1, 0.1, 0.25, 0.5, 1.0, 4.0, 1e-7]),
        arrive=rows,
        complete=rows,
        faults=st.lists(st.sampled_from(faults), min_size=2 * SHARDS, max_size=2 * SHARDS),
        restart=st.integers(0, 30),
        useful=st.dictionaries(st.integers(0, 9), st.sampled_from([0.01, 0.1, 0.5, 9.0, 0.0, NAN, -1.0]), max_size=4),
        routing=routings,
    )


ROUTINGS = st.sampled_from([(0, 0, 1)] * 5 + [(0, 1, 2), (7, 7, 7), (1, 0, 9), (0, 0, 0)])
MESSY = st.lists(intervals(FAULTS, ROUTINGS), min_size=1, max_size=40)
CALM = st.lists(intervals([None], st.just((0, 0, 1))), min_size=1, max_size=40)


def told(history: list[Interval], restarts: bool = True) -> list[Metrics]:
    """The metrics of a history: rows complete in the order they arrived, and some counters are not what they should."""
    arrived, completed, now, metrics = np.zeros(SHARDS), np.zeros(SHARDS), 0.0, []
    for each in history:
        now += each.seconds
        if restarts and each.restart < SHARDS:
            arrived[each.restart] = completed[each.restart] = 0.0
        arrived = arrived + each.arrive
        completed = np.minimum(completed + each.complete, arrived)
        counters = [*arrived.tolist(), *completed.tolist()]
        seen = [c if fault is None else fault for c, fault in zip(counters, each.faults, strict=True)]
        metrics.append(Metrics(now, seen[:SHARDS], seen[SHARDS:], each.useful, each.routing))
    return metrics


def check(found: Readings, expected: Readings) -> None:
    for each in fields(Readings):
        value, wanted = getattr(found, each.name), getattr(expected, each.name)
        if isinstance(value, np.ndarray):
            assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9, nan_ok=True), each.name
        else:
            assert value == wanted, each.name


@settings(max_examples=150, deadline=None)
@given(MESSY | CALM, st.sampled_from([0.25, 1.0, 3.0, 100.0]), st.integers(0, 4))
def test_readings_are_those_of_the_definitions(history: list[Interval], window: float, patience: int) -> None:
    state, plain = Examination.start(SHARDS, window, patience=patience), PlainExamination(SHARDS, window, patience)
    for metrics in told(history):
        before = state
        kept = readings(before)
        state = advance(state, metrics)
        plain.advance(metrics)
        check(readings(state), plain.readings())
        # The state before is still what it was.
        check(readings(before), kept)


@settings(max_examples=50, deadline=None)
@given(MESSY, st.integers(0, 39))
def test_histories_that_part_do_not_disturb_each_other(history: list[Interval], cut: int) -> None:
    metrics = told(history)
    states = [Examination.start(SHARDS)]
    for each in metrics:
        states.append(advance(states[-1], each))
    # Another future from somewhere in the middle, then the first one again.
    middle = states[min(cut, len(metrics) - 1)]
    other = Metrics(float(middle.ends[-1]) + 1.0, [1e6] * SHARDS, [NAN] * SHARDS, {}, (3, 1, 1))
    advance(advance(middle, other), Metrics(other.time + 1.0, [0.0] * SHARDS, [0.0] * SHARDS, {}, (0, 0, 1)))
    for state, each, after in zip(states, metrics, states[1:], strict=False):
        check(readings(advance(state, each)), readings(after))
    for state in states:
        assert not any(v.flags.writeable for v in vars(state).values() if isinstance(v, np.ndarray))


@settings(max_examples=50, deadline=None)
@given(CALM, st.integers(3, 12))
def test_a_short_memory_changes_only_how_long_rows_have_waited(history: list[Interval], memory: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examine, "MEMORY", memory)
        short, long = Examination.start(SHARDS, window=0.2), PlainExamination(SHARDS, 0.2, 3)
        for metrics in told(history, restarts=False):
            short = advance(short, metrics)
            long.advance(metrics)
            assert len(short.ends) <= memory
            found, expected = readings(short), long.readings()
            assert found.backlog.tolist() == expected.backlog.tolist()
            assert found.arrival == pytest.approx(expected.arrival)
            assert (found.shard_latency <= expected.shard_latency + 1e-9).all()
            if len(long.ends) <= memory:
                check(found, expected)


def test_useful_time_and_routing_may_be_arrays() -> None:
    routing, useful = (0, 3, 3), {0: 0.2, 3: 0.4}
    by_number = np.array([0.2, NAN, NAN, 0.4])
    tuples = arrays = unknown = Examination.start(SHARDS)
    for t in (1.0, 2.0, 3.0):
        counters = [100.0 * t] * SHARDS
        tuples = advance(tuples, Metrics(t, counters, counters, useful, routing))
        arrays = advance(arrays, Metrics(t, np.array(counters), np.array(counters), by_number, np.array(routing)))
        unknown = advance(unknown, Metrics(t, counters, counters, by_number[:1], routing))
    check(readings(arrays), readings(tuples))
    assert readings(tuples).service.tolist() == pytest.approx([500, 500])
    assert readings(unknown).service.tolist() == pytest.approx([500, 500])
    assert readings(unknown).slots == (0, 3)
    assert not unknown.rates[3].measured
