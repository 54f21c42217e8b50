"""Reactive and proactive ELYSIUM, its one-dimensional variants, and joint scaling: decisions worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from rheostat.arrays import Floats
from rheostat.elastic.baselines.static import Static
from rheostat.elastic.elysium.allocator import BalancedAllocator, RoundRobinAllocator, allocate_config
from rheostat.elastic.elysium.config_search import Bounds
from rheostat.elastic.elysium.configuration import Config, NodeType, Thresholds
from rheostat.elastic.elysium.dataflow import Dataflow
from rheostat.elastic.elysium.elysium import Elysium, OnlyNodes, OnlyOperators
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.forecasts.series import Origins, Series
from rheostat.elastic.elysium.joint_scaling import JointScaling
from rheostat.elastic.elysium.load_history import LoadHistory
from rheostat.elastic.elysium.plans import config_of, plan_of
from rheostat.elastic.elysium.profiles.profile import Line, Profile
from rheostat.elastic.loop.turn import Control, turn
from rheostat.elastic.model.observation import Observation, OperatorObservation, TopologyObservation
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Policy
from rheostat.errors import ConfigurationError
from tests.elastic.elysium.builders import chain, estimator, profiles

FLOW = chain("t", ("a", "b"))
FLOWS = {"t": FLOW, "u": chain("u", ("c",))}
NOW = Config({"t": {"a": 1, "b": 1}}, 1)


@dataclass(frozen=True)
class Decision:
    """The decision of a policy, as a configuration."""

    config: Config
    feasible: bool
    reasons: tuple[str, ...]


def plan_for(config: Config, flows: Mapping[str, Dataflow] = FLOWS) -> Plan:
    return plan_of(config, flows, allocate_config(config, RoundRobinAllocator(), {}))


def decide(policy: Policy, history: LoadHistory, now: Config) -> Decision:
    plan = plan_for(now)
    proposal = policy.decide(history, plan)
    after = replace(plan.revised(proposal.revisions), nodes=proposal.nodes or plan.nodes)
    assert config_of(plan, apart=now.own is not None) == now
    for name, part in after.operators.items():
        part.check(len(plan.operators[name].routing), after.nodes)
    same = all(part.same(plan.operators[name]) for name, part in after.operators.items())
    assert proposal.changes == (not same or after.nodes != now.nodes)
    return Decision(config_of(after, apart=now.own is not None), proposal.feasible, proposal.reasons)


class Always:
    """Always forecasts the same value."""

    def __init__(self, value: float) -> None:
        self.value = value

    def peaks(self, series: Series, origins: Origins) -> Floats:
        return np.full(len(origins), self.value)


def seen(*loads: float, waiting: float = 0.0) -> LoadHistory:
    return LoadHistory({"t": Series(np.array(loads))}, waiting={"t": waiting})


def elysium(forecast: float | None = None) -> Elysium:
    found = profiles(FLOW, {"a": 0.01, "b": 0.02}, None, None if forecast is None else Always(forecast))
    return Elysium(estimator(found), proactive=forecast is not None)


def test_reactive_takes_the_last_minute() -> None:
    assert decide(elysium(), seen(500.0, 30.0), NOW).config.parallelism == {"t": {"a": 1, "b": 1}}
    assert decide(elysium(), seen(30.0, 100.0), NOW).config.parallelism == {"t": {"a": 2, "b": 4}}


def test_proactive_takes_the_forecast() -> None:
    assert decide(elysium(forecast=100.0), seen(30.0), NOW).config.parallelism == {"t": {"a": 2, "b": 4}}
    assert elysium(forecast=100.0).loads(seen(30.0)) == {"t": 100.0}
    assert elysium(forecast=-5.0).loads(seen(30.0)) == {"t": 0.0}


def test_patience_waits_before_it_scales_in_and_never_before_it_scales_out() -> None:
    patient = Elysium(elysium().estimator, patience=2)
    assert patient.loads(seen(100.0, 30.0, 30.0)) == {"t": 100.0}
    assert patient.loads(seen(100.0, 30.0, 30.0, 30.0)) == {"t": 30.0}
    assert patient.loads(seen(30.0, 30.0, 100.0)) == {"t": 100.0}


def test_a_backlog_counts_as_load_and_prevents_scale_in_unless_ignored_as_in_the_paper() -> None:
    wide = Config({"t": {"a": 2, "b": 4}}, 2)
    # 30 seconds of 30 rows are no backlog, all beyond them are: 1200 rows in 120 seconds are 10 more a second.
    small, large = (decide(elysium(), seen(30.0, waiting=rows), wide) for rows in (900.0, 2100.0))
    assert [elysium().loads(seen(30.0, waiting=rows))["t"] for rows in (900.0, 2100.0, 9300.0)] == [30.0, 40.0, 100.0]
    assert (small.config.slots, small.config.nodes) == (2, 1)
    assert large.config == wide
    assert "t: it has a backlog, so it is not scaled in" in large.reasons
    assert decide(elysium(), seen(30.0, waiting=9300.0), NOW).config.slots == 6
    paper = Elysium(elysium().estimator, catch_up=np.inf)
    assert paper.loads(seen(30.0, waiting=9300.0)) == {"t": 30.0}
    found = decide(paper, seen(30.0, waiting=9300.0), wide).config
    assert (found.slots, found.nodes) == (2, 1)
    apart = Elysium(two()[0].estimator, Bounds(apart=True))
    both = Config({"t": {"a": 2, "b": 4}, "u": {"c": 2}}, 4, own={"t": 2, "u": 2})
    series = {name: Series(np.array([30.0])) for name in ("t", "u")}
    found = decide(apart, LoadHistory(series, waiting={"t": 2100.0}), both).config
    assert (found.parallelism, found.own) == ({"t": {"a": 2, "b": 4}, "u": {"c": 1}}, {"t": 2, "u": 1})


@pytest.mark.parametrize(("catch_up", "patience"), [(0.0, 0), (-1.0, 0), (np.nan, 0), (60.0, -1)])
def test_invalid_settings_are_refused(catch_up: float, patience: int) -> None:
    with pytest.raises(ConfigurationError, match="catch_up must be above 0"):
        Elysium(elysium().estimator, patience=patience, catch_up=catch_up)


def two() -> tuple[Elysium, OnlyNodes, OnlyOperators]:
    other = chain("u", ("c",))
    found = Elysium(estimator(profiles(FLOW, {"a": 0.01, "b": 0.02}), profiles(other, {"c": 0.01})))
    return found, OnlyNodes(found.estimator), OnlyOperators(found)


@pytest.mark.parametrize("loads", [{}, {"u": Series(np.zeros(0))}], ids=["absent", "empty"])
@pytest.mark.parametrize("number", range(3))
def test_a_topology_without_a_load_keeps_what_it_has_and_does_not_hold_up_the_others(
    loads: dict[str, Series], number: int
) -> None:
    policy, now = two()[number], Config({"t": {"a": 1, "b": 1}, "u": {"c": 3}}, 2)
    assert decide(policy, LoadHistory(loads), now).config == now
    found = decide(policy, LoadHistory({"t": Series(np.array([100.0])), **loads}), now)
    assert found.config.parallelism["u"] == {"c": 3}
    assert found.config.parallelism["t"] == ({"a": 1, "b": 1} if number == 1 else {"a": 2, "b": 4})
    assert found.config.nodes == 2


def test_one_dimension_alone_says_whether_it_is_enough() -> None:
    crowded = estimator(profiles(FLOW, {"a": 0.01, "b": 0.02}), overhead=Line(0.0, 3.0))
    operators = OnlyOperators(Elysium(crowded))
    # 6 slots use 3 cores, 9 with the overhead: three nodes carry them, one does not.
    one, three = (decide(operators, seen(100.0), Config(NOW.parallelism, nodes)) for nodes in (1, 3))
    assert (one.feasible, three.feasible) == (False, True)
    assert one.reasons[-1] == "keeps 1 node: the busiest uses 281% of its threshold"
    # The slots are in stress, however many nodes there are.
    stuck = decide(OnlyNodes(crowded), seen(100.0), NOW)
    assert not stuck.feasible
    assert "t: b stays in stress with its current slots" in stuck.reasons


@pytest.mark.parametrize("slots", [{"a": 1, "b": 2}, {"b": 2, "a": 1}], ids=["dataflow", "other"])
def test_memory_is_that_of_the_operator_whatever_the_order_of_the_plan(slots: dict[str, int]) -> None:
    # One slot of 60 bytes and two of 10 use the 80 that a node may; the other way round it would be 130.
    memory: dict[str, Profile] = {"a": Line(60.0, 0.0), "b": Line(10.0, 0.0)}
    cpu: dict[str, Profile] = {"a": Line(0.0, 0.001), "b": Line(0.0, 0.001)}
    known = Profiles(FLOW, {("a", "b"): 1.0}, cpu, memory=memory)
    policy = OnlyNodes(Estimator({"t": known}, Line(0.0, 1.0), NodeType(cores=4, hertz=1.0, memory=100.0)))
    assert decide(policy, seen(1.0), Config({"t": slots}, 1)).config.nodes == 1


def test_before_anything_was_measured_nothing_changes() -> None:
    policies: tuple[Policy, ...] = (elysium(), OnlyNodes(elysium().estimator), OnlyOperators(elysium()), Static())
    for policy in policies:
        assert decide(policy, seen(), NOW).config == NOW


def test_one_dimension_alone() -> None:
    crowded = estimator(profiles(FLOW, {"a": 0.01, "b": 0.02}), overhead=Line(0.0, 3.0))
    both = decide(Elysium(crowded), seen(100.0), NOW).config
    assert (both.slots, both.nodes) == (6, 3)
    operators = decide(OnlyOperators(Elysium(crowded)), seen(100.0), NOW).config
    assert (operators.slots, operators.nodes) == (6, 1)
    nodes = decide(OnlyNodes(crowded), seen(50.0), NOW).config
    assert (nodes.slots, nodes.nodes) == (2, 2)


def joint_config(
    slots: Mapping[str, tuple[float, ...]], nodes: tuple[float, ...], current: Config, at_once: bool = False
) -> Config:
    observation = LoadHistory({}, {("t", name): used for name, used in slots.items()}, nodes)
    thresholds = Thresholds(cpu_min=0.4)
    policy = JointScaling({"t": FLOW}, Bounds(4, thresholds), at_once)
    return decide(policy, observation, current).config


def test_joint_scaling_adds_a_node_with_every_slot() -> None:
    assert joint_config({"a": (0.7,), "b": (0.5,)}, (0.3,), NOW) == Config({"t": {"a": 2, "b": 1}}, 2)


def test_joint_scaling_takes_the_operator_that_is_most_in_stress_or_all_at_once() -> None:
    stressed = {"a": (0.7,), "b": (0.9,)}
    assert joint_config(stressed, (0.3,), NOW) == Config({"t": {"a": 1, "b": 2}}, 2)
    assert joint_config(stressed, (0.3,), NOW, at_once=True) == Config({"t": {"a": 2, "b": 2}}, 2)


def test_joint_scaling_gives_up_slots_of_idle_operators_and_keeps_the_nodes() -> None:
    wide = Config({"t": {"a": 3, "b": 2}}, 3)
    idle = {"a": (0.2, 0.1, 0.2), "b": (0.1, 0.1)}
    assert joint_config(idle, (0.1, 0.1, 0.1), wide) == Config({"t": {"a": 3, "b": 1}}, 3)
    # One slot that is busy keeps the operator as it is.
    assert joint_config({"a": (0.2, 0.1, 0.3), "b": (0.3, 0.3)}, (0.5, 0.5, 0.5), wide) == wide


@pytest.mark.parametrize(("used", "nodes"), [((0.9, 0.5), 3), ((0.3, 0.2), 1), ((0.5, 0.2), 2)])
def test_joint_scaling_scales_nodes_only_if_no_operator_was(used: tuple[float, ...], nodes: int) -> None:
    two = Config({"t": {"a": 1, "b": 1}}, 2)
    assert joint_config({"a": (0.5,), "b": (0.5,)}, used, two) == Config({"t": {"a": 1, "b": 1}}, nodes)


def test_joint_scaling_stays_within_its_bounds() -> None:
    most = Config({"t": {"a": 4, "b": 4}}, 4)
    full = {"a": (1.0,) * 4, "b": (1.0,) * 4}
    assert joint_config(full, (1.0,) * 4, most) == most
    assert joint_config({"a": (0.0,), "b": (0.0,)}, (0.0,), NOW) == NOW
    assert joint_config({}, (), NOW) == NOW


def test_joint_scaling_says_when_nothing_more_can_be_done() -> None:
    policy = JointScaling({"t": FLOW}, Bounds(4, Thresholds(cpu_min=0.4)))
    most, full = Config({"t": {"a": 4, "b": 4}}, 4), {("t", "a"): (1.0,) * 4, ("t", "b"): (0.5,) * 4}
    stuck = decide(policy, LoadHistory({}, full, (1.0,) * 4), most)
    assert not stuck.feasible
    assert stuck.reasons == (
        "t: a is in stress with its maximum number of slots",
        "a node is in stress with the maximum number of nodes, 4",
    )
    assert decide(policy, LoadHistory({}, {("t", "a"): (1.0,)}, (0.9,)), NOW).feasible
    assert decide(policy, LoadHistory({}, full, (0.5,) * 3), Config(most.parallelism, 3)).feasible is False


def test_joint_scaling_keeps_nodes_with_their_topologies() -> None:
    policy = JointScaling(FLOWS, Bounds(4, Thresholds(cpu_min=0.4), apart=True))
    now = Config({"t": {"a": 1, "b": 1}, "u": {"c": 1}}, 3, own={"t": 1, "u": 2})
    calm = {("t", "a"): (0.5,), ("t", "b"): (0.5,), ("u", "c"): (0.5,)}
    stressed = decide(policy, LoadHistory({}, {**calm, ("t", "b"): (0.9,)}, (0.5,) * 3), now).config
    assert (stressed.own, stressed.nodes) == ({"t": 2, "u": 2}, 4)
    busy = decide(policy, LoadHistory({}, calm, (0.5, 0.5, 0.9)), now).config
    assert (busy.own, busy.nodes) == ({"t": 1, "u": 3}, 4)
    idle = decide(policy, LoadHistory({}, calm, (0.1, 0.1, 0.1)), now).config
    assert (idle.own, idle.nodes) == ({"t": 1, "u": 1}, 2)
    least = decide(policy, LoadHistory({}, calm, (0.1, 0.1)), idle).config
    assert least == idle
    full = Config(now.parallelism, 4, own={"t": 2, "u": 2})
    assert decide(policy, LoadHistory({}, calm, (0.9,) * 4), full).config == full


# Through the loop


def observed(minute: int, plan: Plan, load: float, cpu: Mapping[str, float] | None = None) -> Observation:
    """Return the observation of a minute; ``cpu`` is the share of a core that each slot used, by operator."""

    def part(name: str, known: OperatorPlan) -> OperatorObservation:
        unknown = np.full(len(known.routing), np.nan)
        used = np.full(known.slots, (cpu or {}).get(name, np.nan)) if cpu else np.zeros(0)
        return OperatorObservation(plan=known, arrived=unknown, completed=unknown, useful=np.zeros(0), cpu=used)

    return Observation(
        time=60.0 * minute,
        seconds=60.0,
        operators={name: part(name, known) for name, known in plan.operators.items()},
        cores=np.full(plan.nodes, 4),
        node_cpu=np.full(plan.nodes, 0.5),
        topologies={"t": TopologyObservation(load)},
    )


@pytest.mark.parametrize("load", [20.0, 100.0, np.nan])
def test_the_loop_requests_slots_and_nodes_together_and_then_nothing_more(load: float) -> None:
    crowded = estimator(profiles(FLOW, {"a": 0.01, "b": 0.02}), overhead=Line(0.0, 3.0))
    plan = plan_for(NOW)
    control = Control.start(Elysium(crowded), plan)
    first = turn(control, observed(1, plan, load), plan)
    if not load > 20:
        assert first.request is None
        return
    assert first.request is not None
    assert config_of(first.request, apart=False) == Config({"t": {"a": 2, "b": 4}}, 3)
    assert {str(r.action) for r in first.accepted} == {"scale out"}
    second = turn(first.control, observed(2, first.request, load), first.request)
    assert (second.request, second.accepted) == (None, ())


def test_a_load_that_was_not_measured_counts_as_the_one_before_it() -> None:
    plan = plan_for(NOW)
    history = elysium().begin(plan)
    for minute, load in enumerate((np.nan, 30.0, np.nan, np.inf, -1.0, 50.0)):
        history = elysium().learn(history, observed(minute, plan, load))
    assert history.loads["t"].values.tolist() == [30.0, 30.0, 30.0, 30.0, 50.0]


def test_the_past_is_what_a_forecast_looks_back_at() -> None:
    past = {"t": Series(np.array([1.0, 2.0]), start=-120.0)}
    policy, plan = replace(elysium(), past=past), plan_for(NOW)
    history = policy.learn(policy.begin(plan), observed(1, plan, 3.0))
    assert (history.loads["t"].values.tolist(), history.loads["t"].start) == ([1.0, 2.0, 3.0], -120.0)


def test_topologies_that_do_not_run_are_ignored() -> None:
    policy, plan = two()[0], plan_for(NOW)
    stray = replace(observed(1, plan, 100.0), topologies={n: TopologyObservation(100.0) for n in ("t", "u", "x")})
    found = policy.decide(policy.learn(policy.begin(plan), stray), plan)
    assert {r.operator for r in found.revisions} == {"t/a", "t/b"}


@pytest.mark.parametrize("name", ["a", "t/x", "x/a"])
def test_operators_that_have_no_profile_are_refused_at_once(name: str) -> None:
    plan = Plan({name: OperatorPlan.even(4, 1)}, 1)
    policies: tuple[Policy, ...] = (
        elysium(),
        OnlyNodes(elysium().estimator),
        OnlyOperators(elysium()),
        JointScaling(FLOWS),
    )
    for policy in policies:
        with pytest.raises(ConfigurationError, match=r"topology/operator|plan and dataflows do not match"):
            policy.begin(plan)


def test_the_plan_has_slots_where_the_allocator_puts_them() -> None:
    found = profiles(FLOW, {"a": 0.005, "b": 0.03}, None)
    policy = Elysium(estimator(found, overhead=Line(0.0, 4.0)), Bounds(4, allocator=BalancedAllocator()))
    proposal = policy.decide(seen(50.0), plan_for(NOW))
    nodes = {r.operator: sorted(r.plan.nodes.tolist()) for r in proposal.revisions}
    assert nodes["t/b"] == list(range(len(nodes["t/b"])))  # heavy slots first, one on each node


@pytest.mark.parametrize("apart", [True, False])
def test_nodes_of_their_own_are_read_off_the_plan(apart: bool) -> None:
    own = {"t": 1, "u": 2} if apart else None
    config = Config({"t": {"a": 2, "b": 2}, "u": {"c": 1}}, 3, own)
    found = config_of(plan_for(config), apart=True)
    assert found.own == own  # also if nodes have no slots
    assert config_of(plan_for(config), apart=False).own is None
