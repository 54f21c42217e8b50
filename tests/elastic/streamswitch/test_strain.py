"""Diagnose's compiled arithmetic against whole vectors of latencies, and DRS's against the queueing formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.elastic.baselines.drs import fewest_slots
from rheostat.elastic.model.plan import Action
from rheostat.elastic.model.queueing import mmk_sojourn
from rheostat.elastic.streamswitch.diagnose import diagnose
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.elastic.streamswitch.health import problem, slot_health, slot_strains, strain
from rheostat.elastic.streamswitch.readings import Readings
from rheostat.errors import ConfigurationError
from tests.elastic.streamswitch.plain_diagnose import Found, plainly_diagnosed


@st.composite
def operators(draw: st.DrawFn) -> Readings:
    """Some slots under some load; whole numbers, whose sums are exact in any order."""
    slots = draw(st.lists(st.integers(0, 8), min_size=1, max_size=5, unique=True))
    shards = draw(st.integers(len(slots), 12))
    routing = slots + [draw(st.sampled_from(slots)) for _ in range(shards - len(slots))]
    unit, most = draw(st.sampled_from([(1, 20), (1, 600), (50, 4), (150, 4), (750, 4)]))

    def some(values: st.SearchStrategy[float], size: int) -> list[float]:
        return draw(st.lists(values, min_size=size, max_size=size))

    now = Readings.of(
        routing,
        some(st.integers(0, most).map(lambda number: float(unit * number)), shards),
        some(st.sampled_from([250.0, 500.0, 1000.0, 0.0]), len(slots)),
        some(st.sampled_from([0.0, 0.05, 0.5, 5.0]), len(slots)),
        some(st.integers(0, 5).map(float), shards),
    )
    usual = np.array(some(st.sampled_from([250.0, 1000.0]), len(slots)))
    return replace(now, usual=usual)


LIMITS = st.builds(
    Limits,
    bound=st.sampled_from([0.005, 0.1, 1.0]),
    alert=st.sampled_from([0.01, 0.1]),
    margin=st.sampled_from([0.0, 0.25, 0.5]),
    max_slots=st.integers(2, 6),
    min_slots=st.integers(1, 2),
)


@settings(max_examples=300, deadline=None)
@given(operators(), LIMITS)
@example(Readings.of((0, 0, 0, 1), (300, 300, 300, 100), (1000, 1000), (0.5, 0.0)), Limits())
@example(Readings.of((0, 0, 1, 1), (900, 900, 900, 900), (1000, 1000), (5.0, 5.0)), Limits(max_slots=2))
@example(Readings.of((0, 1, 2), (10, 10, 10), (1000, 1000, 1000), (0.0, 0.0, 0.0)), Limits())
@example(Readings.of((0, 1, 1, 2), (1500, 500, 500, 100), (1000, 1000, 1000), (9.0, 9.0, 0.0)), Limits())
@example(Readings.of((0, 0, 0), (600, 600, 600), (1000,), (9.0,)), Limits())
def test_decisions_are_those_of_whole_vectors(now: Readings, limits: Limits) -> None:
    found = diagnose(now, limits)
    assert Found(found.action, found.moves, found.health, found.projected, found.feasible) == plainly_diagnosed(
        now, limits
    )
    moves = dict(found.moves)
    assert found.routing == tuple(moves.get(shard, slot) for shard, slot in enumerate(now.routing))
    assert bool(found.moves) == (found.action != Action.NOTHING)


@settings(max_examples=100, deadline=None)
@given(operators(), LIMITS)
def test_slots_are_as_strained_and_as_healthy_as_each_of_them(now: Readings, limits: Limits) -> None:
    for i, slot in enumerate(now.slots):
        load = sum(a for a, s in zip(now.arrival, now.routing, strict=True) if s == slot)
        assert slot_strains(now, limits)[i] == strain(load, now.service[i], limits.margin)
        free = (1 - limits.margin) * now.service[i] - load
        late = now.latency[i] > limits.alert
        assert slot_health(now, limits)[i] == int(late) + int(not (free > 0 and 1 / free <= limits.bound))


def test_shards_in_slots_that_nobody_measured_are_a_problem() -> None:
    now = Readings.of((0, 1), (1, 1), (9, 9), (0, 0))
    moved = replace(now, routing=(0, 5))
    assert problem(now) == ""
    assert problem(moved) == "some shards are in slots without measurements"
    assert diagnose(moved, Limits()).action == Action.NOTHING


@pytest.mark.parametrize(("shards", "slots"), [(3, 2), (2, 1), (1, 2)])
def test_readings_of_other_sizes_are_refused(shards: int, slots: int) -> None:
    with pytest.raises(ConfigurationError, match="need a"):
        Readings.of((0, 1), [1.0] * shards, [9.0] * slots, [0.0] * slots)


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1e4), st.floats(1e-3, 1e4), st.floats(0, 0.9), st.integers(1, 80), st.floats(1e-4, 10))
@example(5.0, 5e-324, 0.9, 8, 1.0)
@example(0.0, 5e-324, 0.9, 8, 1.0)
@example(1e-320, 1e-310, 0.5, 3, 1.0)
def test_times_by_number_of_slots_are_those_of_the_queueing_formula(
    arrival: float, service: float, margin: float, most: int, bound: float
) -> None:
    size = fewest_slots(arrival, service, Limits(bound=bound, margin=margin, max_slots=most))
    if size.latency < np.inf:
        expected = float(mmk_sojourn(arrival, (1 - margin) * service, size.slots))
        assert size.latency == pytest.approx(expected, rel=1e-9)
    else:
        assert not size.feasible
