"""StreamSwitch and DRS where there are epochs: least cost within the bound, by the micro-batch law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.arrays import Floats
from rheostat.elastic.baselines.drs import drs_epochs, drs_lb_epochs
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.observation import LatencySummary, Observation, OperatorObservation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan
from rheostat.elastic.model.promise import Latency
from rheostat.elastic.policies import policy_for_spark
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.elastic.streamswitch.epoch_diagnose import Situation, diagnose_epochs, place
from rheostat.elastic.streamswitch.epoch_examine import EpochReadings
from rheostat.elastic.streamswitch.epoch_sizes import Demand, Need, Slots, fewest_slots

LAW = EpochLaw(overhead=0.3, task=0.02, parallelism=16, epochs=30)
LIMITS = Limits(bound=2.0, margin=0.1, max_slots=16)


def readings(work: Floats, rate: float, latency: float = 0.5, **known: float) -> EpochReadings:
    """Readings of one operator whose shards take these seconds per row."""
    values = {"coming": np.nan, "waited": np.nan, "error": np.nan, "peak": rate, **known}
    return EpochReadings(
        law=LAW,
        rate=rate,
        peak=values["peak"],
        latency=latency,
        coming=values["coming"],
        waited=values["waited"],
        error=values["error"],
        work={"count": work},
        levels={"count": 0},
    )


def situation(seen: EpochReadings, slots: int, limits: Limits = LIMITS) -> Situation:
    return Situation(seen, limits, {"count": OperatorPlan.even(len(seen.work["count"]), slots)})


EVEN = np.full(64, 0.004 / 64)
"""Each row takes 4 ms, and every shard has as many."""


def test_severe_latency_takes_as_many_slots_as_the_law_asks_for_and_no_more() -> None:
    found = diagnose_epochs(situation(readings(EVEN, rate=1000.0, latency=9.0), slots=2))
    (revision,) = found.revisions
    assert revision.action == Action.SCALE_OUT
    assert revision.expected <= 2.0
    demand = Demand(LAW, 1000.0, margin=0.1)
    count = revision.plan.slots - 1
    busiest = -(-64 // count) * EVEN[0]  # shards cannot be divided
    assert demand.latency({"count": Slots(count, busiest, 0.004)}) > 2.0
    assert "severe: latency 9 s" in revision.reasons[0]
    assert "2 to" in revision.reasons[-1]


def test_good_latency_gives_up_slots_at_once_and_moderate_latency_changes_nothing() -> None:
    good = diagnose_epochs(situation(readings(EVEN, rate=100.0), slots=16))
    (revision,) = good.revisions
    assert (revision.action, revision.plan.slots) == (Action.SCALE_IN, 1)
    late = diagnose_epochs(situation(readings(EVEN, rate=100.0, latency=1.9), slots=16))
    assert not late.revisions
    assert late.reasons[0].startswith("moderate")


def test_the_highest_recent_rate_decides_how_many_slots_can_go() -> None:
    found = diagnose_epochs(situation(readings(EVEN, rate=100.0, peak=1000.0), slots=16))
    assert found.revisions[0].plan.slots > 5


def test_a_better_placement_comes_before_more_slots() -> None:
    work = np.r_[np.full(8, 0.0004), np.full(56, 0.00001)]
    found = diagnose_epochs(situation(readings(work, rate=500.0, latency=9.0), slots=4))
    (revision,) = found.revisions
    assert (revision.action, revision.plan.slots) == (Action.BALANCE, 4)


def test_rows_that_have_arrived_are_known_before_their_epoch_is_late() -> None:
    calm = readings(EVEN, rate=100.0, latency=0.6, coming=100.0, waited=0.3)
    assert not any(r.action == Action.SCALE_OUT for r in diagnose_epochs(situation(calm, 2)).revisions)
    surge = replace(calm, rate=2000.0, peak=2000.0, coming=1200.0)
    (revision,) = diagnose_epochs(situation(surge, 2)).revisions
    assert revision.action == Action.SCALE_OUT


def test_overload_is_said_plainly_and_gives_up_nothing() -> None:
    found = diagnose_epochs(situation(readings(EVEN, rate=9000.0, latency=30.0), slots=16))
    assert not found.feasible
    assert not any(r.action == Action.SCALE_IN for r in found.revisions)
    assert "overload: 9000 rows/s have to be processed" in found.reasons[1]
    assert "nothing is dropped" in found.reasons[1]


def test_more_slots_are_not_taken_where_they_do_not_help() -> None:
    hot = np.r_[0.0045, np.full(63, 1e-6)]
    found = diagnose_epochs(situation(readings(hot, rate=200.0, latency=9.0), slots=2))
    assert all(r.plan.slots <= 3 for r in found.revisions)
    assert not found.feasible


def test_slots_outside_the_range_are_brought_into_it() -> None:
    limits = replace(LIMITS, max_slots=8, min_slots=4)
    assert diagnose_epochs(situation(readings(EVEN, 900.0, 1.9), 16, limits)).revisions[0].plan.slots <= 8
    assert diagnose_epochs(situation(readings(EVEN, 1.0, 1.9), 1, limits)).revisions[0].plan.slots == 4


def test_nothing_is_decided_before_anything_was_measured() -> None:
    plan = Plan({"count": OperatorPlan.even(8, 2)}, 1)
    for name in ("streamswitch", "drs", "drs-lb", "elasticutor", "resource-centric"):
        policy = policy_for_spark(name, Latency("1 second"), (1, 4))
        seen = Observation(time=0.0, seconds=0.0, operators={}, cores=np.array([4]), law=EpochLaw())
        assert not policy.decide(policy.learn(policy.begin(plan), seen), plan).revisions


def test_drs_takes_all_slots_to_be_equally_busy_and_drs_lb_balances_them() -> None:
    hot = np.r_[np.full(4, 0.0009), np.full(60, 0.000001)]
    skewed = situation(readings(hot, rate=500.0, latency=9.0), slots=4)
    wanted, _ = fewest_slots(Demand(LAW, 500.0, 0.1), {"count": Need(hot.sum(), 0.0, 64)}, 2.0, 1, 16)
    same = situation(readings(hot, rate=500.0, latency=9.0), slots=wanted["count"])
    assert not drs_epochs(same).revisions
    (revision,) = drs_lb_epochs(same).revisions
    assert revision.action == Action.BALANCE
    assert drs_epochs(skewed).revisions == () or wanted["count"] != 4


@given(
    st.integers(1, 16),
    st.integers(1, 16),
    st.lists(st.floats(0.0, 1.0), min_size=16, max_size=64),
)
def test_placements_use_every_slot_keep_numbers_and_are_no_worse_than_lpt_allows(
    before: int, after: int, loads: list[float]
) -> None:
    work = np.array(loads)
    part = OperatorPlan.even(len(work), before)
    new = place(part, work, after)
    new.check(len(work), 1)
    assert new.slots == after
    assert set(new.routing.tolist()) == set(new.used.tolist())
    kept = np.intersect1d(part.used, new.used)
    assert len(kept) == min(before, after)
    if work.any() and not new.same(part):
        heaviest = np.sort(work)[::-1]
        pair = heaviest[after - 1] + heaviest[after] if len(heaviest) > after else 0.0
        lower = max(work.sum() / after, heaviest[0], pair)  # of after + 1 shards, two share a slot
        assert np.bincount(new.routing, weights=work).max() <= 4 / 3 * lower * 1.01


@given(
    st.lists(st.tuples(st.floats(1e-5, 0.01), st.floats(0, 1), st.integers(0, 2)), min_size=1, max_size=4),
    st.floats(1.0, 3000.0),
    st.floats(0.5, 5.0),
)
def test_the_fewest_slots_keep_the_bound_or_nothing_within_the_range_does(
    operators: list[tuple[float, float, int]], rate: float, bound: float
) -> None:
    needs = {str(i): Need(total, total * share / 8, 64, level) for i, (total, share, level) in enumerate(operators)}
    demand = Demand(LAW, rate)
    counts, latency = fewest_slots(demand, needs, bound, 1, 12)
    assert latency == pytest.approx(demand.latency({n: need.over(counts[n]) for n, need in needs.items()}))
    assert all(1 <= count <= 12 for count in counts.values())
    if latency > bound and len(needs) == 1:
        ((name, need),) = needs.items()
        assert all(demand.latency({name: need.over(k)}) > bound for k in range(1, 13))
    if latency <= bound and len(needs) == 1:
        ((name, need),) = needs.items()
        assert all(demand.latency({name: need.over(k)}) > bound for k in range(1, counts[name]))


def epoch(number: int, plan: Plan, rows: Floats, law: EpochLaw = LAW) -> Observation:
    part = plan.operators["count"]
    work = rows * 0.004
    useful = np.bincount(part.routing, weights=work, minlength=len(part.nodes)).astype(np.float64)
    busy = float(law.seconds(useful[part.used]))
    count = OperatorObservation(
        plan=part,
        arrived=rows * (number + 1),
        completed=rows * (number + 1),
        useful=useful,
        work=work,
        rows=rows,
        cost=np.full(len(rows), 0.004),
        traffic=rows,
        state=rows,
    )
    return Observation(
        time=number * 1.0,
        seconds=1.0,
        operators={"count": count},
        cores=np.array([16]),
        external=float(rows.sum()),
        wanted=float(rows.sum()),
        epoch=number,
        busy=busy,
        committed=busy,
        span=1.0,
        latency=LatencySummary(float(rows.sum()), 1.5 * busy, 1.5 * busy, 1.5 * busy),
        law=law,
        expected=busy,
    )


@pytest.mark.parametrize("name", ["streamswitch", "drs", "drs-lb", "elasticutor", "naive-ec", "resource-centric"])
def test_every_policy_scales_out_under_load_and_back_in(name: str) -> None:
    policy = policy_for_spark(name, Latency("2 seconds"), (1, 12))
    plan = Plan({"count": OperatorPlan.even(64, 1)}, 1)
    history, slots = policy.begin(plan), []
    for number in range(40):
        rows = np.full(64, (1200.0 if number < 20 else 60.0) / 64)
        history = policy.learn(history, epoch(number, plan, rows))
        plan = plan.revised(policy.decide(history, plan).revisions)
        slots.append(plan.operators["count"].slots)
    assert max(slots[5:20]) >= 6
    assert slots[-1] <= 3
    assert all(1 <= count <= 12 for count in slots)
