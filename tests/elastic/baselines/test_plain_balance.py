"""Plain balancing as a policy: what it learns from, when it moves shards, and what it says when no move helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.baselines.plain_balance import Balance, WorkHistory
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal
from rheostat.elastic.routing.balance import imbalance, slot_loads
from rheostat.errors import ConfigurationError
from rheostat.simulate.epochs import Epochs
from rheostat.simulate.job import Cluster, Job, Operator
from rheostat.simulate.simulation import Simulation
from rheostat.workloads.arrivals import Constant

PLAN = Plan({"count": OperatorPlan.even(shards=4, slots=2)}, 1)
NAN = np.full(4, np.nan)


def seen(plan: Plan = PLAN, cores: tuple[int, ...] = (4,), **fields: Any) -> Observation:
    """One observation of the operator, by shard or by slot."""
    known: dict[str, Any] = {"arrived": NAN, "completed": NAN, "useful": np.zeros(0), **fields}
    known = {k: np.array(v, dtype=np.float64) if k != "hottest" else v for k, v in known.items()}
    part = OperatorObservation(plan=plan.operators["count"], **known)
    return Observation(time=1.0, seconds=1.0, operators={"count": part}, cores=np.array(cores))


def learned(policy: Balance, *observations: Observation, plan: Plan = PLAN) -> WorkHistory:
    history = policy.begin(plan)
    for observation in observations:
        history = policy.learn(history, observation)
    return history


def said(policy: Balance, *observations: Observation, plan: Plan = PLAN) -> Proposal:
    return policy.decide(learned(policy, *observations, plan=plan), plan)


def test_slots_within_the_threshold_are_left_alone() -> None:
    assert not said(Balance(), seen(work=[3, 3, 3, 2])).changes
    assert not said(Balance(threshold=2.0), seen(work=[4, 3, 2, 1])).changes
    assert not said(Balance()).changes


def test_the_busiest_slot_gives_the_shard_that_evens_out_most() -> None:
    (found,) = said(Balance(), seen(work=[4, 3, 2, 1])).revisions
    assert (found.action, found.plan.routing.tolist()) == (Action.BALANCE, [0, 1, 1, 1])
    assert found.reasons == ("the busiest slot had 1.40 times the mean",)
    assert (found.urgent, found.asked, found.hot) == (False, "", "")


def test_older_epochs_fade() -> None:
    before, now = seen(work=[9, 0, 0, 0]), seen(work=[0, 0, 1, 1])
    assert said(Balance(), before).revisions[0].hot
    assert not said(Balance(), before, *[now] * 30).revisions[0].hot


def test_one_slot_cannot_be_balanced() -> None:
    plan = Plan({"count": OperatorPlan.even(shards=4, slots=1)}, 1)
    assert said(Balance(), seen(plan, work=[9, 0, 0, 0]), plan=plan).revisions == ()


def test_a_key_that_no_placement_helps_is_named_and_nothing_is_asked_for() -> None:
    found = said(Balance(), seen(work=[9, 0, 0, 0], hottest=("area='ny'", 0.8)))
    assert not found.changes
    (only,) = found.revisions
    assert only.action == Action.NOTHING
    assert only.hot == "shard 0 (area='ny') alone carries 100% of the work: no placement is balanced"


def test_where_only_slots_were_measured_their_seconds_are_spread_by_rows() -> None:
    first = seen(completed=[0, 0, 0, 0], useful=[0, 0])
    second = seen(completed=[40, 30, 20, 10], useful=[7, 3])
    history = learned(Balance(), first, second)
    assert history.operators["count"].loads.seconds.tolist() == pytest.approx([4, 3, 2, 1])
    (found,) = said(Balance(), first, second).revisions
    assert found.plan.routing.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "missing",
    [
        seen(),
        seen(work=[np.nan, 1, 1, 1]),
        seen(work=[-1, 1, 1, 1]),
        seen(work=[np.inf, 1, 1, 1]),
        seen(work=[1, 1]),
        seen(completed=[0, 0, 0, 0], useful=[1, 1]),  # counters went back
        seen(completed=[5, 5, 5, 5], useful=[np.nan, 1]),
    ],
)
def test_what_was_not_measured_changes_nothing(missing: Observation) -> None:
    known = seen(completed=[1, 1, 1, 1], work=[4, 3, 2, 1])
    before = learned(Balance(), known).operators["count"].loads
    after = learned(Balance(), known, missing).operators["count"].loads
    assert (after.seconds.tolist(), after.epochs) == (before.seconds.tolist(), before.epochs)


def test_looking_ahead_needs_rows_that_are_counted() -> None:
    ahead = Balance(ahead=True)
    assert not said(ahead, seen(work=[4, 3, 2, 1])).changes
    (found,) = said(ahead, seen(work=[1, 1, 1, 1], coming=[40, 30, 20, 10])).revisions
    assert found.reasons == ("the busiest slot will have 1.40 times the mean",)


def test_looking_ahead_multiplies_rows_by_what_they_cost() -> None:
    """Rows of shard 0 cost three seconds, others one. Ten rows of each: 40 seconds and 20."""
    first = seen(coming=[1, 1, 1, 1])
    second = seen(work=[3, 1, 1, 1], coming=[10, 10, 10, 10])
    (found,) = said(Balance(ahead=True), first, second).revisions
    assert found.reasons == ("the busiest slot will have 1.33 times the mean",)
    known = learned(Balance(ahead=True), first, second).operators["count"]
    assert known.coming is not None
    assert known.loads.expected(known.coming).tolist() == [30, 10, 10, 10]


def test_numbers_of_slots_with_gaps_stay_and_so_do_slots_without_shards() -> None:
    plan = Plan({"count": OperatorPlan(np.array([1, 1, 1, 4]), np.array([-1, 0, -1, 0, 0]))}, 1)
    (found,) = said(Balance(), seen(plan, work=[4, 3, 2, 1]), plan=plan).revisions
    assert found.plan.nodes.tolist() == [-1, 0, -1, 0, 0]
    assert set(found.plan.routing.tolist()) == {1, 3, 4}


def test_slots_on_nodes_that_have_gone_come_first() -> None:
    plan = Plan({"count": OperatorPlan.even(shards=4, slots=2, nodes=2)}, 2)
    (found,) = said(Balance(), seen(plan, cores=(4, 0), work=[4, 3, 2, 1]), plan=plan).revisions
    assert found.urgent
    assert (found.plan.nodes[found.plan.routing] == 0).all()


@pytest.mark.parametrize("threshold", [0.99, 0.0, -1.0, np.nan])
def test_thresholds_below_one_are_refused(threshold: float) -> None:
    with pytest.raises(ConfigurationError, match="must be 1 or more"):
        Balance(threshold=threshold)


@pytest.mark.parametrize("ahead", [False, True])
def test_on_simulated_epochs_it_keeps_slots_even(ahead: bool) -> None:
    weights = [16.0, 12.0, 8.0, 4.0, *[1.0] * 28]
    job = Job((Operator("work", shards=32, cost=0.001),))
    plan = Plan({"work": OperatorPlan.even(32, 4)}, 1)
    engine = Epochs(job, Cluster(1, 4), Constant(2_000.0, weights), plan)
    before = imbalance(slot_loads(plan.operators["work"].routing, np.array(weights), 4))
    Simulation(engine, Balance(ahead=ahead)).run(30.0)
    after = imbalance(slot_loads(engine.observed.operators["work"].routing, np.array(weights), 4))
    assert before > 2.0
    assert after < 1.25


def test_another_operator_is_left_alone() -> None:
    plan = Plan({**PLAN.operators, "other": OperatorPlan.even(4, 2)}, 1)
    stray = replace(seen(work=[4, 3, 2, 1]), operators={"count": seen(work=[4, 3, 2, 1]).operators["count"]})
    found = said(Balance(), stray, plan=plan)
    assert [r.operator for r in found.revisions] == ["count"]
