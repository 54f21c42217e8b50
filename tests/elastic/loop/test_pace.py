"""Rows per epoch: near the promise's length, enough to catch up, and never so few that overhead is most of the work."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rheostat.elastic.loop.pace import Pace, longest_epoch, rows_per_epoch, sustained
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.promise import Latency

seconds = st.floats(0.01, 2.0)


@st.composite
def laws(draw: st.DrawFn) -> EpochLaw:
    overhead, task = draw(seconds), draw(st.floats(0.0, 0.1))
    return EpochLaw(
        overhead=overhead, task=task, tail=draw(st.floats(0.0, overhead)), trigger=draw(st.floats(0.0, 2.0))
    )


@given(laws(), st.floats(0.1, 20.0))
def test_the_longest_epoch_reaches_the_bound(law: EpochLaw, bound: float) -> None:
    length = longest_epoch(law, bound)
    if length > law.tail:
        assert float(law.latency_at(length)) == pytest.approx(bound)
    else:
        assert float(law.latency_at(law.tail)) >= bound * (1 - 1e-9)


@given(laws(), st.floats(1e-5, 1e-2), st.integers(1, 16), st.floats(0.0, 1e5), st.floats(0.1, 20.0))
def test_rows_keep_the_promise_or_catch_up(law: EpochLaw, cost: float, slots: int, rate: float, bound: float) -> None:
    rows = rows_per_epoch(law, cost, slots, rate, Latency(f"{bound:.6f} seconds"))
    fixed = float(law.fixed(slots))
    length = fixed + rows * cost
    longest = longest_epoch(law, bound)
    assert rows >= 1
    assert length <= max(longest, 10 * fixed, fixed + cost) * (1 + 1e-6)
    if length > max(longest, 2 * fixed, fixed + cost) * (1 + 1e-6):
        # Longer than promised only because rows come so fast: they are caught up with, or nearly all time is for rows.
        assert rows >= min(rate * length, 9 * fixed / cost) * (1 - 1e-6)


@given(laws(), st.floats(1e-5, 1e-3), st.floats(0.05, 0.75), st.floats(0.5, 5.0), st.floats(1.0, 300.0))
def test_a_backlog_is_worked_off(law: EpochLaw, cost: float, busy: float, bound: float, late: float) -> None:
    """Rows arrive at a steady rate, and seconds of them wait. Epochs of the limit work them off in bounded time."""
    rate, fixed = busy / cost, float(law.fixed(4))
    limit = rows_per_epoch(law, cost, 4, rate, Latency(f"{bound:.6f} seconds"))
    assume(limit > 1)
    waiting, passed = late * rate, 0.0
    while waiting > limit:
        read = min(waiting, limit)
        length = fixed + read * cost
        waiting += rate * length - read
        passed += length
        assert passed < 400 * (late + 1), "it does not get shorter"


def seen(rows: float, cost: float = 0.001, span: float = 1.0, **more: Any) -> Observation:
    shards = np.full(4, rows / 4)
    plan = OperatorPlan.even(4, 2)
    count = OperatorObservation(
        plan=plan, arrived=shards, completed=shards, useful=shards, rows=shards, cost=np.full(4, cost)
    )
    law = EpochLaw(overhead=0.18, task=0.01)
    options = {"law": law, "external": rows / span, "span": span, **more}
    return Observation(time=1.0, seconds=span, operators={"a": count}, cores=np.array([4]), **options)


PLAN = Plan({"a": OperatorPlan.even(4, 2)}, 1)
PROMISE = Latency("1.5 seconds")


def test_nothing_is_limited_before_the_law_and_the_costs_are_known() -> None:
    assert isnan(Pace().after(seen(100.0, law=None), PLAN, PROMISE).rows)
    assert isnan(Pace().after(seen(100.0, cost=nan), PLAN, PROMISE).rows)
    assert isnan(Pace().after(seen(0.0), PLAN, PROMISE).rows)


def test_the_limit_follows_the_plan() -> None:
    """Two slots share the work of a row, and an epoch of 1 s has 0.8 s for rows; with four slots 0.78 s."""
    assert Pace().after(seen(100.0), PLAN, PROMISE).rows == 1600.0
    wider = Plan({"a": OperatorPlan.even(4, 4)}, 1)
    assert Pace().after(seen(100.0), wider, PROMISE).rows == 3120.0


def test_small_differences_change_nothing() -> None:
    pace = Pace(rows=1500.0).after(seen(100.0), PLAN, PROMISE)
    assert pace.rows == 1500.0
    assert Pace(rows=1000.0).after(seen(100.0), PLAN, PROMISE).rows == 1600.0


def test_a_backlog_ends_after_some_epochs_that_are_not_full() -> None:
    pace = Pace(rows=1600.0).after(seen(1600.0), PLAN, PROMISE)
    assert pace.backlog
    states = []
    for _ in range(6):
        pace = pace.after(seen(100.0), PLAN, PROMISE)
        states.append(pace.backlog)
    assert states == [True] * 4 + [False] * 2


def test_a_full_epoch_does_not_say_how_fast_rows_arrive_and_epochs_grow_slowly() -> None:
    """Sixteen hundred rows are read in every epoch of a second. They may arrive as fast, or not at all."""
    pace, limits = Pace(rows=1600.0), []
    for _ in range(60):
        pace = pace.after(seen(pace.rows), PLAN, PROMISE)
        limits.append(pace.rows)
    assert limits[:9] == [1600.0] * 9
    assert limits == sorted(limits)
    assert 1.5 < limits[-1] / 1600 < 1.9
    assert Pace(rows=1600.0).after(seen(1600.0, wanted=1600.0), PLAN, PROMISE).rows > 1700  # unless the source says so


def test_a_promise_that_is_out_of_reach_does_not_starve_the_query() -> None:
    """An epoch without rows takes 0.2 s. Half of the time is for rows then: 0.2 s, at half a millisecond each."""
    assert Pace().after(seen(100.0), PLAN, Latency("100 ms")).rows == 400.0


def test_what_a_plan_sustains_is_said_in_rows_per_second() -> None:
    assert sustained(seen(100.0), PLAN) == "this plan processes at most about 2000 rows/s"
    assert sustained(seen(100.0, law=None), PLAN) == ""
