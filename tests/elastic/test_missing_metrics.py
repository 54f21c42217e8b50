"""Every policy with metrics that are missing, absurd, or start again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.observation import Observation, OperatorObservation
from tests.elastic.situations import EVERY, FIXED, crossed, fits, kept_all, world

ABSURD = (np.nan, 0.0, -1.0, -1e18, np.inf, -np.inf, 1e18, 1e308, 3.5)
BY_SHARD = ("arrived", "completed", "latency", "traffic", "state")


Fault = tuple[int, str, int, float]
"""The interval in which a value is wrong, its field, its place in it, and what is reported instead."""

PLAIN = ("seconds", "external", "wanted")
FAULTS = st.lists(
    st.one_of(
        st.tuples(
            st.integers(1, 8),
            st.sampled_from([*BY_SHARD, "useful", *PLAIN]),
            st.integers(0, 7),
            st.sampled_from(ABSURD),
        ),
        st.tuples(st.integers(1, 8), st.just("time"), st.just(0), st.sampled_from([np.nan, -1.0, 0.0, -np.inf])),
    ),
    max_size=12,
)


def spoilt(seen: Observation, faults: list[Fault]) -> Observation:
    """The observation with some values replaced by absurd ones."""
    found = seen.operators["work"]
    changed = {field: getattr(found, field).copy() for field in (*BY_SHARD, "useful")}
    plain: dict[str, Any] = {}
    for number, field, place, value in faults:
        if number == seen.epoch and field in changed:
            changed[field][place % len(changed[field])] = value
        elif number == seen.epoch:
            plain[field] = value
    return replace(seen, operators={"work": replace(found, **changed)}, **plain)


@crossed()
@settings(max_examples=25, deadline=None)
@given(faults=FAULTS)
@example([(1, "arrived", 0, 1e18), (2, "arrived", 0, np.nan), (2, "seconds", 0, 1e308)])
@example([(2, "arrived", 0, np.nan), (2, "seconds", 0, 1e308)])
@example([(2, "seconds", 0, 5e-324)])
def test_absurd_metrics_are_survived(name: str, faults: list[Fault]) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 45.0, (4, 4), shards=8, slots=3)
    control = Control.start(policy, fluid.plan)
    for _ in range(9):
        result = turn(control, spoilt(fluid.step(), faults), fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
        assert kept_all(fluid.plan)
        assert fits(fluid.plan, fluid.cores)


@crossed()
def test_an_endless_time_is_survived(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 30.0)
    control = Control.start(policy, fluid.plan)
    for _ in range(4):
        control = turn(control, replace(fluid.step(), time=np.inf), fluid.plan).control


def all_missing(seen: Observation) -> Observation:
    def missing(found: OperatorObservation) -> OperatorObservation:
        fields: dict[str, Any] = {f: np.full(len(getattr(found, f)), np.nan) for f in ("useful", *BY_SHARD)}
        return replace(found, **fields)

    nothing = {name: missing(found) for name, found in seen.operators.items()}
    return replace(seen, operators=nothing, external=np.nan, wanted=np.nan)


@crossed()
def test_while_everything_is_missing_nothing_is_requested(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 60.0)
    control = Control.start(policy, fluid.plan)
    for _ in range(8):
        result = turn(control, all_missing(fluid.step()), fluid.plan)
        control = result.control
        assert result.request is None


@crossed(but=FIXED)
def test_metrics_that_come_back_after_a_gap_are_acted_upon(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 2.0)
    control = Control.start(policy, fluid.plan)
    for number in range(60):
        fluid.rates["work"][:] = 2.0 if number < 20 else 60.0
        seen = fluid.step()
        result = turn(control, all_missing(seen) if 10 <= number < 15 else seen, fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
    assert fluid.plan.slots()["work"] >= 10


def restarted(seen: Observation, lost: dict[str, Any]) -> Observation:
    """Counters that began again at zero."""
    operators = {
        name: replace(o, arrived=o.arrived - lost[name].arrived, completed=o.completed - lost[name].completed)
        for name, o in seen.operators.items()
    }
    return replace(seen, operators=operators)


@crossed(but=FIXED)
def test_counters_that_start_again_are_acted_upon(name: str) -> None:
    """After 100 intervals with 30 rows a second and shard the processes restart, and the load doubles."""
    policy = EVERY[name]()
    fluid = world(policy, 30.0)
    control = Control.start(policy, fluid.plan)
    lost: dict[str, Any] = {}
    for number in range(130):
        fluid.rates["work"][:] = 30.0 if number < 100 else 60.0
        seen = fluid.step()
        lost = dict(seen.operators) if number == 99 else lost
        result = turn(control, restarted(seen, lost) if number >= 100 else seen, fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
        if number == 99:
            before = fluid.plan.slots()["work"]
    assert fluid.plan.slots()["work"] > before
