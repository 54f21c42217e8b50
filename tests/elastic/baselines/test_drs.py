"""DRS and DRS-LB: the fewest slots by trying all, and a plan in every case."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.baselines.drs import drs, drs_lb, fewest_slots
from rheostat.elastic.model.plan import Action
from rheostat.elastic.model.queueing import mmk_sojourn
from rheostat.elastic.streamswitch.diagnosis import Diagnosis, Health, Limits, Rules
from rheostat.elastic.streamswitch.examine import Examination, readings
from rheostat.elastic.streamswitch.readings import Readings
from tests.elastic.streamswitch.test_diagnose import carried_out, reading

Policy = Callable[[Readings, Limits], Diagnosis]


@settings(deadline=None)
@given(st.floats(0, 1e5), st.floats(0.1, 1e4), st.floats(1e-3, 10), st.floats(0, 0.9), st.integers(1, 40))
def test_the_fewest_slots_are_those_that_trying_all_finds(
    arrival: float, service: float, bound: float, margin: float, most: int
) -> None:
    limits = Limits(bound=bound, margin=margin, max_slots=most)
    found = fewest_slots(arrival, service, limits)
    times = {k: float(mmk_sojourn(arrival, (1 - margin) * service, k)) for k in range(1, most + 1)}
    enough = [k for k, seconds in times.items() if seconds <= bound]
    assert 1 <= found.slots <= most
    assert found.feasible == bool(enough)
    if enough:
        assert found.slots == enough[0]
    elif np.isinf(times[most]):
        assert found.slots == most
    else:
        assert times[found.slots] <= 1.01 * times[most]


@pytest.mark.parametrize(("arrival", "service"), [(np.nan, 1.0), (1.0, np.nan), (1.0, 0.0), (np.inf, 1.0), (-1.0, 1.0)])
def test_absurd_rates_give_a_size_all_the_same(arrival: float, service: float) -> None:
    found = fewest_slots(arrival, service, Limits(max_slots=7))
    assert (found.slots, found.feasible) == (7, False)


def test_a_size_checked_by_hand() -> None:
    # M/M/1 with 500 of 1000: 2 ms. M/M/2 with 1500 of 1000 each: 1 / (1000 (1 - 0.75^2)) = 2.2857 ms.
    assert fewest_slots(500.0, 1000.0, Limits(bound=0.0021, margin=0.0)).slots == 1
    two = fewest_slots(1500.0, 1000.0, Limits(bound=0.0023, margin=0.0))
    assert two.slots == 2
    assert two.latency == pytest.approx(0.0022857, rel=1e-4)
    assert fewest_slots(1500.0, 1000.0, Limits(bound=0.0022, margin=0.0)).slots == 3


@pytest.mark.parametrize("policy", [drs, drs_lb])
def test_overload_gives_a_plan(policy: Policy) -> None:
    overload = reading((0, 0, 1, 1), (3000, 3000, 3000, 3000))
    found = policy(overload, Limits(max_slots=4))
    assert (found.action, found.feasible) == (Action.SCALE_OUT, False)
    assert "this number comes closest" in " ".join(found.reasons)


def test_scaling_goes_one_slot_at_a_time() -> None:
    found = drs(reading((0, 0, 0, 0), (600, 600, 600, 600)), Limits())
    assert (found.action, found.target, len(set(found.routing))) == (Action.SCALE_OUT, 1, 2)
    found = drs(reading((0, 1, 2, 3), (10, 10, 10, 10)), Limits())
    assert (found.action, len(set(found.routing))) == (Action.SCALE_IN, 3)


def test_no_slot_is_given_up_while_rows_are_late() -> None:
    calm, late = (Readings.of((0, 1, 2), (10, 10, 10), (1000,) * 3, (0.001, latency, 0.001)) for latency in (0.9, 1.1))
    assert drs(calm, Limits(bound=1.0)).action == Action.SCALE_IN
    found = drs(late, Limits(bound=1.0))
    assert found.action == Action.NOTHING
    assert "no slot is given up while rows take 1.1 s in 1 of them" in found.reasons
    assert drs(late, Limits(bound=1.0), Rules(patient=False)).action == Action.SCALE_IN
    # More slots than there may be are given up all the same.
    assert drs(late, Limits(bound=1.0, max_slots=2)).action == Action.SCALE_IN


def test_only_drs_lb_balances() -> None:
    # Enough slots for the sum, but one has nearly all of it.
    skewed = reading((0, 0, 0, 1), (400, 300, 300, 50))
    assert drs(skewed, Limits(bound=0.01)).action == Action.NOTHING
    found = drs_lb(skewed, Limits(bound=0.01))
    assert (found.action, found.source, found.target) == (Action.BALANCE, 0, 1)
    even = reading((0, 0, 1, 1), (300, 300, 300, 300))
    assert drs_lb(even, Limits(bound=0.01)).action == Action.NOTHING


def test_more_slots_than_shards_cannot_be_filled() -> None:
    found = drs(reading((0, 1), (2000, 2000)), Limits())
    assert (found.action, found.feasible) == (Action.NOTHING, False)
    assert "cannot be divided" in " ".join(found.reasons)


@pytest.mark.parametrize("policy", [drs, drs_lb])
def test_readings_that_cannot_be_trusted_change_nothing(policy: Policy) -> None:
    assert policy(readings(Examination.start(2)), Limits()).action == Action.NOTHING
    assert policy(reading((0, 1), (np.nan, 1)), Limits()).action == Action.NOTHING


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=8).map(lambda r: tuple(sorted(set(r)).index(s) for s in r)),
    st.lists(st.integers(0, 2000).map(float), min_size=8, max_size=8),
    st.integers(1, 6),
    st.sampled_from([drs, drs_lb]),
)
def test_constant_load_comes_to_rest_at_the_size_asked_for(
    routing: tuple[int, ...], arrival: list[float], most: int, policy: Policy
) -> None:
    limits = Limits(max_slots=most)
    now = reading(routing, arrival[: len(routing)])
    wanted = fewest_slots(float(now.arrival.sum()), 1000.0, limits)
    for _ in range(60):
        found = policy(now, limits)
        assert found == policy(now, limits)
        if found.action == Action.NOTHING:
            break
        assert len(found.routing) == len(routing)
        now = carried_out(now, found, [1000.0] * 20)
    assert found.action == Action.NOTHING
    assert len(now.slots) <= most
    # Fewer only where shards run out, more only where rows are late.
    loaded = [sum(1 for k, s in enumerate(now.routing) if s == slot and now.arrival[k] > 0) for slot in now.slots]
    assert len(now.slots) >= wanted.slots or max(loaded) <= 1
    assert len(now.slots) <= wanted.slots or (now.latency > limits.bound).any()
    assert wanted.feasible or not found.feasible
    assert found.health in Health
