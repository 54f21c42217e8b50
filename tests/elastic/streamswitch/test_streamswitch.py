"""StreamSwitch, DRS and DRS-LB as policies: bounds by operator, where new slots go, and what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheostat.elastic.baselines.drs import fewest_slots
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan, Proposal
from rheostat.elastic.policies import Drs, DrsLb, StreamSwitch
from rheostat.elastic.streamswitch.diagnosis import Limits
from rheostat.errors import ConfigurationError
from rheostat.simulate.simulation import LatencyBound, Simulation
from rheostat.workloads.arrivals import Constant
from tests.elastic.situations import Fluid, driven, small_engine, world


def proposal(policy: StreamSwitch, fluid: Fluid, steps: int = 3) -> Proposal:
    history = policy.begin(fluid.plan)
    for _ in range(steps):
        history = policy.learn(history, fluid.step())
    return policy.decide(history, fluid.plan)


def test_a_step_moves_shards_from_one_slot_to_one_other() -> None:
    policy = StreamSwitch()
    fluid = world(policy, 45.0)
    before = fluid.plan
    for _, request in driven(policy, fluid, 30):
        old, new = before.operators["work"], request.operators["work"]
        moved = old.routing != new.routing
        assert len(set(old.routing[moved])) == 1
        assert len(set(new.routing[moved])) == 1
        assert abs(new.slots - old.slots) <= 1
        before = request


def test_a_new_slot_goes_to_the_node_with_most_free_cores() -> None:
    policy = StreamSwitch()
    plan = Plan({"work": OperatorPlan(np.arange(8) // 4, np.array([0, 0]))}, 3)
    fluid = Fluid(plan, {"work": np.full(8, 60.0)}, np.array([8, 3, 7]))
    (revision,) = proposal(policy, fluid).revisions
    assert revision.action is Action.SCALE_OUT
    assert revision.plan.nodes.tolist() == [0, 0, 2]


def test_a_slot_that_was_merged_frees_its_core() -> None:
    policy = StreamSwitch()
    fluid = world(policy, 2.0)
    (revision,) = proposal(policy, fluid).revisions
    assert revision.action is Action.SCALE_IN
    assert revision.plan.slots == 3
    assert sorted(set(revision.plan.routing.tolist())) == revision.plan.used.tolist()


def test_the_number_of_a_slot_that_went_is_used_again() -> None:
    policy = StreamSwitch()
    plan = Plan({"work": OperatorPlan(np.array([0, 0, 0, 2, 2, 2]), np.array([0, -1, 1]))}, 2)
    fluid = Fluid(plan, {"work": np.full(6, 45.0)}, np.array([4, 4]))
    (revision,) = proposal(policy, fluid).revisions
    assert revision.plan.used.tolist() == [0, 1, 2]


def test_an_operator_may_have_a_bound_of_its_own() -> None:
    """Four slots for 1.3 cores' worth of rows: two of them merged are projected to take 1 / (80 - 64) seconds."""
    fluid = world(StreamSwitch(), 8.0, operators=("a", "b"))
    policy = StreamSwitch(bounds={"a": 1 / 15.9, "b": 1 / 16.1})
    assert [r.operator for r in proposal(policy, fluid).revisions] == ["a"]


def test_the_reasons_name_their_operator() -> None:
    fluid = world(StreamSwitch(), 60.0, operators=("a", "b"))
    found = proposal(StreamSwitch(), fluid)
    assert found.reasons
    assert all(reason.startswith(("a: ", "b: ")) for reason in found.reasons)
    assert not found.together


def test_no_more_slots_than_the_limit() -> None:
    policy = StreamSwitch(limits=Limits(max_slots=6))
    fluid = world(policy, 60.0)
    assert max(request.slots()["work"] for _, request in driven(policy, fluid, 30)) == 6


def test_a_scale_in_waits_for_calm() -> None:
    """Two seconds after the last change, a scale out does not wait, a scale in does."""
    policy = StreamSwitch(waits=replace(StreamSwitch().waits, rest=0.0, calm=10.0))
    fluid = world(policy, 2.0)
    numbers = [number for number, _ in driven(policy, fluid, 40)]
    assert len(numbers) == 3  # from four slots to one
    assert np.diff(numbers).min() >= 10


@pytest.mark.parametrize("policy", [Drs(), DrsLb()])
def test_drs_has_the_slots_that_mmk_asks_for(policy: Drs | DrsLb) -> None:
    fluid = world(policy, 7.0, shards=64)
    list(driven(policy, fluid, 40))
    assert fluid.plan.slots()["work"] == fewest_slots(448.0, 100.0, policy.limits).slots


def test_only_drs_lb_balances_slots_whose_number_is_right() -> None:
    """Five slots for 3.2 cores' worth, but one of them has half of the rows."""
    routing = np.array([0] * 8 + [1, 1, 2, 2, 3, 3, 4, 4])
    left = {}
    for policy in (Drs(), DrsLb()):
        plan = Plan({"work": OperatorPlan(routing, np.array([0, 0, 0, 1, 1]))}, 2)
        fluid = Fluid(plan, {"work": np.full(16, 20.0)}, np.array([8, 8]))
        list(driven(policy, fluid, 30))
        left[policy.name] = np.bincount(fluid.plan.operators["work"].routing).max(), fluid.plan.slots()["work"]
    assert left["drs"] == (8, 5)
    assert left["drs-lb"][0] < 8
    assert left["drs-lb"][1] == 5


def test_the_bound_is_kept_in_a_run() -> None:
    """Starting with a fifth of the slots that are needed, nearly all windows after a minute are within a second."""
    policy = StreamSwitch()
    engine = small_engine(policy, Constant(400.0, [1.0] * 64), slots=1)
    trace = Simulation(engine, policy, bound=LatencyBound(1.0, 1.0), warm_up=60.0).run(120.0)
    assert trace.mean_success() > 0.95


def test_a_slot_without_shards_is_given_back() -> None:
    policy = StreamSwitch()
    plan = Plan({"work": OperatorPlan(np.array([0, 0, 0, 0]), np.array([0, 0]))}, 1)
    fluid = Fluid(plan, {"work": np.full(4, 5.0)}, np.array([8]))
    list(driven(policy, fluid, 20))
    assert fluid.plan.slots()["work"] == 1


def test_every_request_is_repeated_until_it_is_observed() -> None:
    """An engine that takes four intervals to obey is asked four times for the same plan."""
    policy = StreamSwitch()
    fluid = world(policy, 60.0)
    control, asked = Control.start(policy, fluid.plan), []
    for _ in range(6):
        result = turn(control, fluid.step(), fluid.plan)
        control = result.control
        if result.request is not None:
            asked.append(result.request.operators["work"])
    assert len(asked) >= 4
    assert all(plan.same(asked[0]) for plan in asked)


@pytest.mark.parametrize(("part", "merged"), [(1 / 15.9, ["a", "b"]), (1 / 16.1, [])])
def test_every_operator_is_held_to_its_part_of_an_end_to_end_bound(part: float, merged: list[str]) -> None:
    """As with a bound of its own: two slots merged are projected to take 1 / (80 - 64) seconds."""
    fluid = world(StreamSwitch(), 8.0, operators=("a", "b"))
    assert [r.operator for r in proposal(StreamSwitch(end_to_end=2 * part), fluid).revisions] == merged


def test_of_an_end_to_end_bound_the_operator_that_is_late_gets_more() -> None:
    policy = StreamSwitch(end_to_end=2.0, dividing=20.0)
    fluid = world(policy, 10.0, (4, 4), operators=("a", "b"))
    control = Control.start(policy, fluid.plan)
    for number in range(60):
        fluid.rates["a"][:] = 90.0 if 10 <= number < 30 else 10.0  # more than all cores can do
        result = turn(control, fluid.step(), fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
    bounds = control.history.path.bounds
    assert bounds["a"] > 1.0 > bounds["b"]
    assert sum(bounds.values()) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"end_to_end": 2.0, "bounds": {"a": 1.0}}, "pass the bound of the whole path, or one per operator"),
        ({"end_to_end": 0.0}, "end_to_end=0.0, dividing=60.0: both must be above 0 seconds"),
        ({"end_to_end": 1.0, "dividing": float("nan")}, "both must be above 0 seconds"),
    ],
)
def test_an_end_to_end_bound_that_makes_no_sense_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        StreamSwitch(**wrong)
