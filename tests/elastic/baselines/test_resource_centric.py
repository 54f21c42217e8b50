"""The resource-centric baseline: slots by M/M/k, shards balanced over the whole operator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.allocation import allocate
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.plan import Action, OperatorPlan, Plan
from rheostat.elastic.policies import ResourceCentric
from tests.elastic.situations import Fluid, driven, fits, kept_all, world


def test_as_many_slots_as_mmk_asks_for() -> None:
    policy = ResourceCentric(steady=1.0)
    fluid = world(policy, 5.0, shards=64)
    list(driven(policy, fluid, 20))
    assert fluid.waiting() == 0.0
    model = allocate([320.0], [100.0], 16, policy.bound, 320.0)
    assert fluid.plan.slots()["work"] == model.cores[0]


def test_slots_are_even_after_a_change() -> None:
    policy = ResourceCentric()
    fluid = world(policy, 10.0, shards=64)
    (_, request), *_ = driven(policy, fluid, 1)
    counts = np.bincount(request.operators["work"].routing)
    assert counts.max() <= 1.2 * 64 / request.slots()["work"]
    assert (counts > 0).all()


def test_keys_go_to_any_slot_of_the_operator() -> None:
    """Unlike with elastic executors, a shard may end up anywhere: nobody owns it."""
    policy = ResourceCentric()
    fluid = world(policy, 10.0, shards=64)
    list(driven(policy, fluid, 10))
    assert fluid.plan.operators["work"].subspaces is None


def test_a_slot_more_or_less_is_not_worth_a_stop() -> None:
    """Ten slots are there and the model asks for nine, or the other way round: that is within a tenth."""
    fluid = world(ResourceCentric(), 5.0, shards=64)
    list(driven(ResourceCentric(steady=1.0), fluid, 20))
    right = fluid.plan.slots()["work"]
    for slots in (right - 1, right + 1):
        policy = ResourceCentric(steady=2.0)
        other = world(policy, 5.0, shards=64, slots=slots)
        assert not list(driven(policy, other, 20))


def test_uneven_slots_are_balanced_without_another_slot() -> None:
    policy = ResourceCentric(bound=1.0)
    plan = Plan({"work": OperatorPlan(np.array([0] * 6 + [1] * 2), np.zeros(2, dtype=np.int64))}, 1)
    fluid = Fluid(plan, {"work": np.full(8, 15.0)}, np.array([8]))
    result = turn(Control.start(policy, plan), fluid.step(), plan)
    assert [r.action for r in result.accepted] == [Action.BALANCE]
    assert result.request is not None
    assert np.bincount(result.request.operators["work"].routing).tolist() == [4, 4]


@pytest.mark.parametrize(("policy", "left"), [(ResourceCentric.published(1.0), 12), (ResourceCentric(1.0), 10)])
def test_as_published_shards_move_until_the_threshold_is_met(policy: ResourceCentric, left: int) -> None:
    plan = Plan({"work": OperatorPlan(np.repeat([0, 1], [14, 6]), np.zeros(2, dtype=np.int64))}, 1)
    fluid = Fluid(plan, {"work": np.full(20, 6.0)}, np.array([2]))
    result = turn(Control.start(policy, plan), fluid.step(), plan)
    assert result.request is not None
    assert np.bincount(result.request.operators["work"].routing).tolist() == [left, 20 - left]


def test_a_core_that_one_operator_gives_up_goes_to_the_other() -> None:
    """Seven of eight cores are with the operator that needs two."""
    policy = ResourceCentric()
    plan = Plan({"a": OperatorPlan.even(16, 1), "b": OperatorPlan.even(16, 7)}, 1)
    fluid = Fluid(plan, {"a": np.full(16, 25.0), "b": np.full(16, 5.0)}, np.array([8]))
    for _, request in driven(policy, fluid, 20):
        assert fits(request, fluid.cores)
    assert fluid.plan.slots()["a"] >= 5


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0.0, 200.0), min_size=24, max_size=24),
    st.lists(st.integers(1, 5), min_size=2, max_size=3),
    st.integers(1, 2),
)
def test_whatever_the_load_plans_fit(rates: list[float], cores: list[int], slots: int) -> None:
    policy = ResourceCentric()
    nodes = np.repeat(np.arange(len(cores)), cores)
    half = np.arange(12) * slots // 12
    parts = {"a": OperatorPlan(half, nodes[:1].repeat(slots)), "b": OperatorPlan(half * 0, nodes[-1:])}
    plan = Plan(parts, len(cores))
    fluid = Fluid(plan, {"a": np.array(rates[:12]), "b": np.array(rates[12:])}, np.array(cores))
    if not fits(plan, fluid.cores):
        return
    for _, request in driven(policy, fluid, 6):
        assert kept_all(request)
        assert fits(request, fluid.cores)
