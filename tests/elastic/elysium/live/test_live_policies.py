"""ELYSIUM and joint scaling over epochs: operators first, nodes second; what they ask for, and what they save."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.elysium.configuration import Thresholds
from rheostat.elastic.elysium.forecasts.series import Series
from rheostat.elastic.elysium.live.epoch_config import (
    NodeBounds,
    StageDemand,
    compute_epoch_config,
    operator_stage,
    stages_share,
)
from rheostat.elastic.elysium.live.live_elysium import LiveElysium
from rheostat.elastic.elysium.live.live_joint import LiveJointScaling
from rheostat.elastic.elysium.live.load_cycles import cycles_of
from rheostat.elastic.elysium.live.past_loads import resampled
from rheostat.elastic.elysium.live.past_thresholds import PastTrial, learned_thresholds
from rheostat.elastic.elysium.live.query_profile import QueryProfile
from rheostat.elastic.policies import policy_for_spark
from rheostat.errors import ConfigurationError
from tests.elastic.elysium.live.epochs import EpochWorld

COST = {"sum": (0.01, 1.0, 0)}
"""A hundred rows per second keep one slot busy."""

demands = st.lists(
    st.builds(
        lambda work, hot, level: StageDemand(work, work * hot, level, 1, 16),
        st.floats(0.0, 6.0), st.floats(0.0, 0.3), st.integers(0, 2),
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@given(demands)
def test_no_slot_could_be_spared(found: list[StageDemand]) -> None:
    needs = {str(i): demand for i, demand in enumerate(found)}
    slots, calm = operator_stage(needs, 0.65)
    longest: dict[int, float] = {}
    for name, demand in needs.items():
        longest[demand.level] = max(longest.get(demand.level, 0.0), demand.busiest(slots[name]))
    assert calm == (sum(longest.values()) <= 0.65)
    for name, demand in needs.items():
        if calm and slots[name] > 1:
            # With one slot less, some stage of this operator would be longer than it may be now.
            assert demand.busiest(slots[name] - 1) > longest[demand.level] - 1e-12


@given(demands, st.integers(1, 8), st.integers(1, 3))
def test_the_fewest_nodes_that_carry_the_stages_are_chosen(found: list[StageDemand], most: int, cores: int) -> None:
    needs = {str(i): demand for i, demand in enumerate(found)}
    limits, bounds = Thresholds(), NodeBounds(1, most, cores)
    chosen = compute_epoch_config(needs, bounds, limits)
    assert 1 <= chosen.nodes <= most
    assert chosen.use == pytest.approx(stages_share(needs, chosen.slots, chosen.nodes * cores) / limits.cpu_max)
    if chosen.feasible and chosen.nodes > 1:
        fewer = compute_epoch_config(needs, NodeBounds(chosen.nodes - 1, chosen.nodes - 1, cores), limits)
        assert fewer.use > 1.0


def test_operators_are_scaled_without_a_node_if_the_node_has_time() -> None:
    world = EpochWorld(COST)
    turns = world.drive(LiveElysium(period=2.0, nodes=(1, 8)), [68.0] * 6)
    assert world.plan.slots() == {"sum": 2}  # one slot would be busy 68 % of the time
    assert world.plan.nodes == 1
    assert any("need 2 of sum" in reason for t in turns for reason in t.proposal.reasons)


def test_nodes_follow_the_load_in_one_decision_and_back() -> None:
    world = EpochWorld(COST)
    world.drive(LiveElysium(period=2.0, nodes=(1, 8)), [40.0] * 4 + [400.0] * 4)
    assert (world.plan.slots()["sum"], world.plan.nodes) == (12, 6)  # two turns of a third of a second each
    world.drive(LiveElysium(period=2.0, nodes=(1, 8)), [40.0] * 4)
    assert (world.plan.slots()["sum"], world.plan.nodes) == (1, 1)


def test_a_surge_is_met_by_the_epoch_that_has_to_process_it() -> None:
    world = EpochWorld(COST)
    turns = world.drive(LiveElysium(period=10.0, nodes=(1, 8)), [40.0] * 12 + [400.0])
    assert [t.proposal.nodes for t in turns[10:]] == [None, None, 6]  # within a period
    assert "a surge: the next epoch would take 4.0 times as long" in turns[-1].proposal.reasons[-1]


def test_joint_scaling_takes_one_slot_and_one_node_at_a_time() -> None:
    world = EpochWorld(COST)
    world.drive(LiveJointScaling(period=2.0, nodes=(1, 8)), [70.0] * 2)
    assert (world.plan.slots()["sum"], world.plan.nodes) == (2, 2)
    calm = [t.proposal for t in world.drive(LiveJointScaling(period=2.0, nodes=(1, 8)), [70.0] * 8)]
    assert max(len(p.revisions) for p in calm) <= 1
    assert world.plan.nodes >= 1


def test_elysium_needs_fewer_nodes_than_joint_scaling_for_the_same_load() -> None:
    wave = ([40.0] * 30 + [300.0] * 30) * 3
    used = {}
    for policy in (LiveElysium(period=2.0, nodes=(1, 8)), LiveJointScaling(period=2.0, nodes=(1, 8))):
        world = EpochWorld(COST)
        world.drive(policy, wave)
        used[policy.name] = float(np.mean(world.wanted))
    assert used["elysium"] < used["joint-scaling"]


def test_nothing_is_given_up_while_rows_wait() -> None:
    world, policy = EpochWorld(COST), LiveElysium(period=1.0, nodes=(1, 8))
    world.drive(policy, [400.0] * 4)
    history = policy.begin(world.plan)
    history = policy.learn(history, replace(world.step(40.0), behind=5000.0))
    found = policy.decide(history, world.plan)
    assert not found.changes
    assert "rows wait: nothing is given up" in found.reasons[-1]
    history = policy.learn(policy.begin(world.plan), world.step(40.0))
    assert policy.decide(history, world.plan).nodes == 1


def test_levels_run_one_after_the_other() -> None:
    world = EpochWorld({"split": (0.0035, 1.0, 0), "count": (0.0035, 1.0, 1)})
    world.drive(LiveElysium(period=2.0, nodes=(1, 8)), [100.0] * 4)
    # Each needs 0.35 s per second; together 0.7 on one slot each, which is above 0.65.
    assert sum(world.plan.slots().values()) == 3
    assert world.plan.nodes == 1


def test_nodes_that_take_long_to_come_are_asked_for_earlier() -> None:
    wave = ([40.0] * 20 + [400.0] * 20) * 6
    there = {}
    for told in (False, True):
        world = EpochWorld(COST, late=10, told_delay=told)
        world.drive(LiveElysium(period=2.0, horizon=2, proactive=True, nodes=(1, 8)), wave)
        begin = 20 + 5 * 40  # the last rise
        there[told] = world.wanted[begin - world.late]  # nodes that are there when the load comes
    assert there[True] >= 5 > there[False]


def test_a_proactive_policy_is_there_before_the_load() -> None:
    wave = ([40.0] * 20 + [400.0] * 20) * 6
    first = {}
    for proactive in (False, True):
        world = EpochWorld(COST)
        policy = LiveElysium(period=2.0, horizon=2, proactive=proactive, nodes=(1, 8))
        world.drive(policy, wave)
        begin = 20 + 5 * 40  # the last rise
        first[proactive] = next(i for i, nodes in enumerate(world.wanted[begin - 8 :]) if nodes >= 5) - 8
    assert first[True] < 0 < first[False] <= 3


def test_a_policy_that_knows_its_operators_decides_in_its_first_period() -> None:
    world, known = EpochWorld(COST), EpochWorld(COST)
    profile = QueryProfile()
    for rate in (50.0, 100.0):
        profile = profile.after(known.step(rate))
    policy = LiveElysium(period=2.0, nodes=(1, 8)).knowing(profile)
    assert policy.profile_of(policy.begin(world.plan)).operators["sum"].known
    world.drive(policy, [400.0] * 2)
    assert world.plan.nodes == 6


def test_learned_thresholds_come_before_the_policys_own() -> None:
    world = EpochWorld(COST)
    profile = QueryProfile(thresholds=Thresholds(cpu_max=0.55))
    world.drive(LiveElysium(period=2.0, nodes=(1, 8)).knowing(profile), [60.0] * 4)
    assert world.plan.nodes == 2


def test_a_hot_shard_is_not_given_slots_that_do_not_help() -> None:
    slots, calm = operator_stage({"sum": StageDemand(work=2.0, hottest=1.0, most=64)}, 0.65)
    assert slots == {"sum": 2}
    assert not calm


def test_thresholds_are_lower_for_loads_that_jump() -> None:
    steady, jumping = Series(np.full(60, 250.0), step=10.0), Series(np.tile([100.0, 250.0, 400.0], 20), step=10.0)
    found = [
        learned_thresholds(PastTrial(load, {"sum": StageDemand(0.01)}, NodeBounds(1, 12)))[0].cpu_max
        for load in (steady, jumping)
    ]
    assert found[1] < found[0]
    with pytest.raises(ConfigurationError, match="3 periods are too few"):
        learned_thresholds(PastTrial(Series(np.ones(3)), {"sum": StageDemand(0.01)}, NodeBounds(1, 2)))


@given(cycle=st.integers(4, 20), times=st.integers(3, 6), seed=st.integers(0, 99))
def test_a_cycle_is_found_in_a_load_that_has_one(cycle: int, times: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = np.r_[np.full(cycle // 2, 100.0), np.full(cycle - cycle // 2, 500.0)]
    load = np.tile(shape, times) * (1 + 0.02 * rng.standard_normal(cycle * times))
    assert cycles_of(Series(load, step=10.0)) == (10.0 * cycle,)


@given(st.lists(st.floats(0.0, 1e6), min_size=2, max_size=50), st.sampled_from([2, 5, 10]))
def test_a_coarser_load_has_the_same_rows(values: list[float], factor: int) -> None:
    load = Series(np.array(values), step=1.0)
    coarse = resampled(load, float(factor))
    assert coarse.values.sum() * factor == pytest.approx(sum(values[: len(coarse) * factor]), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", ["elysium", "elysium-proactive", "joint-scaling"])
def test_policies_are_accepted_by_name_on_spark(name: str) -> None:
    policy = policy_for_spark(name, slots=(2, 5))
    assert (policy.name, policy.fewest, policy.most) == (name, 2, 5)  # type: ignore[attr-defined]


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="period=0: an assessment period must be longer"):
        LiveElysium(period=0)
    with pytest.raises(ConfigurationError, match=r"nodes=\(4, 2\): the fewest"):
        LiveJointScaling(nodes=(4, 2))
    with pytest.raises(ConfigurationError, match="horizon=0"):
        LiveElysium(horizon=0)
