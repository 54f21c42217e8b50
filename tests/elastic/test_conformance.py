"""Every policy crossed with every rule that all policies keep."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.loop.actuation import RequestError, carry_out
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.plan import OperatorPlan, Plan, Subspaces
from rheostat.elastic.model.policy import Policy
from rheostat.simulate.simulation import Simulation
from rheostat.simulate.trace import Trace
from rheostat.workloads.arrivals import Constant
from tests.elastic.situations import (
    EVERY,
    EXECUTORS,
    FIXED,
    PUBLISHED,
    Fluid,
    crossed,
    driven,
    fits,
    frozen,
    kept_all,
    small_engine,
    small_epochs,
    world,
)

# Purity and determinism


@crossed()
def test_no_argument_is_changed_and_the_same_arguments_give_the_same_answer(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 30.0, operators=("a", "b"))
    history, plan = policy.begin(fluid.plan), fluid.plan
    assert frozen(policy.begin(plan)) == frozen(history)
    for number in range(12):
        fluid.rates["a"][:4] *= 1.0 + 0.1 * number  # a new array each time would hide a change in place
        seen = fluid.step()
        before = frozen((history, seen, plan))
        after = policy.learn(history, seen)
        assert frozen(policy.learn(history, seen)) == frozen(after)
        wanted = policy.decide(after, plan)
        assert frozen(policy.decide(after, plan)) == frozen(wanted)
        assert frozen((history, seen, plan)) == before
        history = after
        fluid.plan = plan = plan.revised(wanted.revisions)


@crossed()
def test_a_turn_changes_none_of_its_arguments(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 60.0)
    control = Control.start(policy, fluid.plan)
    for _ in range(8):
        seen, before = fluid.step(), frozen((control, fluid.plan))
        result = turn(control, seen, fluid.plan)
        again = turn(control, seen, fluid.plan)
        assert frozen((control, fluid.plan)) == before
        assert frozen(result) == frozen(again)
        control, fluid.plan = result.control, result.request or fluid.plan


def columns(trace: Trace) -> dict[str, Any]:
    return {f.name: frozen(getattr(trace, f.name)) for f in fields(trace) if f.name != "decision_seconds"}


@crossed()
def test_two_runs_with_the_same_seed_are_equal(name: str) -> None:
    def run(seed: int) -> dict[str, Any]:
        policy = EVERY[name]()
        engine = small_engine(policy, Constant(250.0, [1.0] * 32, seed=seed), operators=2, seed=seed)
        return columns(Simulation(engine, policy).run(20.0))

    first = run(1)
    assert run(1) == first
    assert run(2)["throughput"] != first["throughput"]


@crossed()
def test_two_runs_of_epochs_with_the_same_seed_are_equal(name: str) -> None:
    def run() -> dict[str, Any]:
        policy = EVERY[name]()
        return columns(Simulation(small_epochs(policy, Constant(150.0, [1.0] * 32)), policy).run(20.0))

    assert run() == run()


# Capacity, and shards that stay


@crossed()
@pytest.mark.parametrize(("rate", "cores"), [(30.0, (8, 8)), (60.0, (8, 8)), (90.0, (4, 4)), (6.0, (1, 3))])
def test_every_request_fits_and_keeps_every_shard(name: str, rate: float, cores: tuple[int, int]) -> None:
    policy = EVERY[name]()
    fluid = world(policy, rate, cores)
    fluid.plan = Plan({k: on_cores(p, cores) for k, p in fluid.plan.operators.items()}, 2)
    for number, request in driven(policy, fluid, 40):
        assert kept_all(request), number
        assert fits(request, fluid.cores), (number, request.cores(2))
        request.operators["work"].check(16, 2)


def on_cores(plan: OperatorPlan, cores: tuple[int, ...]) -> OperatorPlan:
    """The same slots, on nodes that have cores for them."""
    nodes = np.repeat(np.arange(len(cores)), cores)[: len(plan.nodes)]
    owned = plan.subspaces
    return OperatorPlan(plan.routing, nodes, owned and Subspaces(owned.executors, owned.owners, nodes))


SOME_RATES = st.lists(st.sampled_from([0.0, 1.0, 10.0, 40.0, 90.0, 300.0]), min_size=12, max_size=12)


@crossed()
@settings(max_examples=15, deadline=None)
@given(loads=st.lists(SOME_RATES, min_size=1, max_size=3))
def test_requests_fit_and_keep_every_shard_whatever_the_load(name: str, loads: list[list[float]]) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 0.0, (4, 4), shards=12)
    control = Control.start(policy, fluid.plan)
    for rates in loads:
        fluid.rates["work"] = np.array(rates)
        for _ in range(6):
            result = turn(control, fluid.step(), fluid.plan)
            control, fluid.plan = result.control, result.request or fluid.plan
            assert kept_all(fluid.plan)
            assert fits(fluid.plan, fluid.cores)


@crossed()
def test_operators_that_grow_at_the_same_time_share_the_cores(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 60.0, (5, 4), operators=("a", "b"))
    for number, request in driven(policy, fluid, 30):
        assert fits(request, fluid.cores), (number, request.cores(2))


@crossed()
def test_cores_that_were_requested_are_no_longer_free(name: str) -> None:
    """As above, but what was requested comes true only three intervals later, as it does after a pause."""
    policy = EVERY[name]()
    fluid = world(policy, 60.0, (5, 4), operators=("a", "b"))
    fluid.rates["b"][:] = 16.0
    control, later = Control.start(policy, fluid.plan), dict[int, Plan]()
    for number in range(30):
        fluid.rates["b"][:] = 16.0 if number < 2 else 60.0
        result = turn(control, fluid.step(), fluid.plan)
        control = result.control
        if result.request is not None:
            assert fits(result.request, fluid.cores), (number, result.request.cores(2))
            later[number + 3] = result.request
        fluid.plan = later.pop(number, fluid.plan)


@crossed()
def test_after_a_node_has_gone_no_request_uses_it(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 30.0)
    control = Control.start(policy, fluid.plan)
    for number in range(60):
        fluid.cores = np.array([8, 8] if number < 20 else [8, 0])
        result = turn(control, fluid.step(), fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
        assert kept_all(fluid.plan)
        if result.request is not None:
            assert fits(result.request, fluid.cores), (number, result.request.cores(2))
    if name != "static":
        assert fits(fluid.plan, fluid.cores)
    if name not in (*FIXED, "drs", "drs-published", "drs-lb-published"):
        # Seven slots are what M/M/k asks for, and all that DRS looks at: one of them has four of the sixteen shards.
        # The published DRS-LB moves none of the four, since a slot would stay overloaded.
        assert fluid.waiting() < 480.0


@crossed()
def test_with_fewer_cores_than_slots_no_shard_is_dropped(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 10.0, (3, 3), slots=5)
    control = Control.start(policy, fluid.plan)
    for number in range(40):
        fluid.cores = np.array([3, 3] if number < 20 else [3, 0])
        result = turn(control, fluid.step(), fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
        assert kept_all(fluid.plan), number


@crossed()
def test_without_any_node_nothing_is_requested(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 60.0)
    fluid.cores = np.array([0, 0])
    assert not list(driven(policy, fluid, 10))


@crossed()
def test_a_plan_that_somebody_else_changed_since_keeps_its_shards(name: str) -> None:
    """Slot 3 has been given up by hand after the last observation."""
    policy = EVERY[name]()
    fluid = world(policy, 60.0)
    history = policy.begin(fluid.plan)
    for _ in range(5):
        history = policy.learn(history, fluid.step())
    old = fluid.plan.operators["work"]
    nodes, routing, owned = np.r_[old.nodes[:3], -1], np.where(old.routing == 3, 0, old.routing), old.subspaces
    if owned is not None:
        owned = Subspaces(np.where(owned.executors == 3, 0, owned.executors), np.r_[owned.owners[:3], -1], owned.homes)
    changed = Plan({"work": OperatorPlan(routing, nodes, owned)}, 2)
    assert kept_all(changed.revised(policy.decide(history, changed).revisions))


# Rest


@crossed()
def test_a_constant_load_without_chance_is_soon_left_alone(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 7.5, shards=64)
    late = [number for number, _ in driven(policy, fluid, 100) if number > 30]
    assert not late


@crossed(*PUBLISHED, reason="cores follow every reading of the rates")
def test_two_operators_that_share_too_few_cores_come_to_rest(name: str) -> None:
    """Nine cores for two times 9.6: whoever gets the ninth, giving it to the other one the next time helps nobody."""
    policy = EVERY[name]()
    fluid = world(policy, 60.0, (5, 4), operators=("a", "b"))
    late = [number for number, _ in driven(policy, fluid, 100) if number > 40]
    assert len(late) <= 4


@crossed("resource-centric-published", reason="slots follow every reading of the rates")
def test_a_constant_random_load_comes_to_rest(name: str) -> None:
    """2.8 cores' worth of rows that cost 1 ms on average: chance moves the rate of a second by 2 % or so."""
    policy = EVERY[name]()
    engine = small_engine(policy, Constant(2800.0, [1.0] * 64), cost=0.001)
    trace = Simulation(engine, policy).run(120.0)
    late = [d for d in trace.decisions if d.time > 60.0]
    assert len(late) <= 2, Counter(d.action for d in late)
    assert len(np.unique(trace.slots["op0"][-60:])) == 1


RESTLESS = [n for n in EVERY if n.startswith("drs")]


@crossed(*RESTLESS, reason="DRS follows the measured rate at once: near the bound, chance adds and removes a slot")
def test_a_constant_load_comes_to_rest_in_the_micro_batch_engine(name: str) -> None:
    policy = EVERY[name]()
    trace = Simulation(small_epochs(policy, Constant(2800.0, [1.0] * 64), cost=0.001), policy).run(180.0)
    late = [d for d in trace.decisions if d.time > 90.0]
    assert len(late) <= 2, Counter(d.action for d in late)


# Overload


@crossed(but=FIXED)
def test_overload_is_answered(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 15.0, shards=64)  # 9.6 cores for 4 slots
    assert list(driven(policy, fluid, 40))
    assert fluid.plan.slots()["work"] >= 10


@dataclass
class Unreliable:
    """Makes a plan real at every third attempt."""

    fluid: Fluid
    asked: int = 0

    def apply(self, plan: Plan) -> None:
        self.asked += 1
        if self.asked % 3:
            raise RequestError("the cluster does not answer")
        self.fluid.plan = plan


@crossed(but=FIXED)
def test_overload_is_answered_although_most_requests_fail(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 15.0, shards=64)
    control, actuator = Control.start(policy, fluid.plan), Unreliable(fluid)
    for _ in range(80):
        seen = fluid.step()
        control = carry_out(turn(control, seen, fluid.plan), actuator, seen.time)
        assert kept_all(fluid.plan)
        assert fits(fluid.plan, fluid.cores)
    assert fluid.plan.slots()["work"] >= 10


@crossed("joint-scaling", reason="every step of one slot pauses the operator again", but=FIXED)
def test_overload_is_answered_in_the_continuous_engine(name: str) -> None:
    policy = EVERY[name]()
    engine = small_engine(policy, Constant(250.0, [1.0] * 64), slots=1)
    trace = Simulation(engine, policy).run(90.0)
    assert trace.slots["op0"][-1] >= 3
    assert trace.throughput[-30:].mean() >= 0.95 * 250.0  # above it, while rows that waited are worked off


@crossed(but=FIXED)
def test_overload_is_answered_in_the_micro_batch_engine(name: str) -> None:
    policy = EVERY[name]()
    trace = Simulation(small_epochs(policy, Constant(250.0, [1.0] * 64)), policy).run(120.0)
    assert trace.slots["op0"][-1] >= 3


@crossed(but=FIXED)
def test_overload_is_answered_although_another_operator_is_idle(name: str) -> None:
    policy = EVERY[name]()
    fluid = world(policy, 15.0, operators=("a", "b"), shards=64)
    fluid.rates["b"][:] = 0.0
    list(driven(policy, fluid, 40))
    assert fluid.plan.slots()["a"] >= 10


@crossed(
    *("streamswitch-published", "drs-lb-published"),
    reason="a slot that stays overloaded is not helped",
    but=[*FIXED, "drs", "drs-published"],
)
def test_without_a_free_core_an_uneven_load_is_at_least_balanced(name: str) -> None:
    """Seven of eight shards in one of two slots, and more than the two cores can do. DRS never balances, by design."""
    policy = EVERY[name]()
    routing, nodes = np.array([0] * 7 + [1]), np.array([0, 0])
    owned = Subspaces(np.zeros(8, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64))
    plan = Plan({"work": OperatorPlan(routing, nodes, owned if name in EXECUTORS else None)}, 1)
    fluid = Fluid(plan, {"work": np.full(8, 40.0)}, np.array([2]))
    list(driven(policy, fluid, 30))
    assert np.bincount(fluid.plan.operators["work"].routing).max() <= 5


@crossed("drs-published", "drs-lb-published", reason="looks at rates alone", but=FIXED)
def test_no_slot_is_given_up_while_many_rows_still_wait(name: str) -> None:
    """After half a minute with more rows than 16 cores can do, few arrive. Those that wait take seconds to work off."""
    policy = EVERY[name]()
    fluid = world(policy, 120.0)
    control = Control.start(policy, fluid.plan)
    for number in range(60):
        fluid.rates["work"][:] = 120.0 if number < 40 else 10.0
        waited, slots = fluid.waiting(), fluid.plan.slots()["work"]
        result = turn(control, fluid.step(), fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
        if waited > 3200.0 and fluid.waiting() > 3200.0:
            assert fluid.plan.slots()["work"] >= slots, number
    assert fluid.waiting() < 3200.0


# No rows


@crossed()
def test_no_row_at_all_is_no_reason_to_do_anything_absurd(name: str) -> None:
    policy = EVERY[name]()
    trace = Simulation(small_engine(policy, Constant(0.0, [1.0] * 16)), policy).run(20.0)
    assert (trace.throughput == 0).all()
    assert trace.slots["op0"].max() <= 2
    trace = Simulation(small_epochs(policy, Constant(0.0, [1.0] * 16)), policy).run(20.0)
    assert trace.slots["op0"].max() <= 2


@crossed("elasticutor-published", reason="executors keep cores until others need them", but=FIXED)
def test_when_the_rows_stop_slots_are_given_back(name: str) -> None:
    policy: Policy = EVERY[name]()
    fluid = world(policy, 15.0, shards=64)
    control = Control.start(policy, fluid.plan)
    most = 0
    for number in range(120):
        fluid.rates["work"][:] = 15.0 if number < 40 else 0.0
        result = turn(control, fluid.step(), fluid.plan)
        control, fluid.plan = result.control, result.request or fluid.plan
        most = max(most, fluid.plan.slots()["work"])
        assert kept_all(fluid.plan)
    assert fluid.plan.slots()["work"] <= most / 2
