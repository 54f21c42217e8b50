"""Reactive and proactive ELYSIUM, its one-dimensional variants, and joint scaling: decisions by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from rheostat.arrays import Floats
from rheostat.elastic.elysium.algorithm1 import Bounds
from rheostat.elastic.elysium.configuration import Config, Thresholds
from rheostat.elastic.elysium.forecasts.series import Origins, Series
from rheostat.elastic.elysium.joint_scaling import JointScaling
from rheostat.elastic.elysium.policy import Elysium, Observation, OnlyNodes, OnlyOperators, Policy, Static
from rheostat.elastic.elysium.profiles.profile import Line
from rheostat.errors import TopologyError
from tests.elastic.elysium.builders import chain, estimator, profiles

FLOW = chain("t", ("a", "b"))
NOW = Config({"t": {"a": 1, "b": 1}}, 1)


class Always:
    """A forecast that does not look."""

    def __init__(self, value: float) -> None:
        self.value = value

    def peaks(self, series: Series, origins: Origins) -> Floats:
        return np.full(len(origins), self.value)


def seen(*loads: float, waiting: float = 0.0) -> Observation:
    return Observation({"t": Series(np.array(loads))}, waiting={"t": waiting})


def known(forecast: float | None = None) -> Elysium:
    found = profiles(FLOW, {"a": 0.01, "b": 0.02}, None, None if forecast is None else Always(forecast))
    return Elysium(estimator(found), proactive=forecast is not None)


def test_reactive_takes_the_last_minute() -> None:
    assert known().decide(seen(500.0, 30.0), NOW).config.parallelism == {"t": {"a": 1, "b": 1}}
    assert known().decide(seen(30.0, 100.0), NOW).config.parallelism == {"t": {"a": 2, "b": 4}}


def test_proactive_takes_the_forecast() -> None:
    found = known(forecast=100.0).decide(seen(30.0), NOW)
    assert found.config.parallelism == {"t": {"a": 2, "b": 4}}
    assert found.loads == {"t": 100.0}
    assert known(forecast=-5.0).decide(seen(30.0), NOW).loads == {"t": 0.0}


def test_patience_waits_before_it_scales_in_and_never_before_it_scales_out() -> None:
    patient = Elysium(known().estimator, patience=2)
    assert patient.decide(seen(100.0, 30.0, 30.0), NOW).loads == {"t": 100.0}
    assert patient.decide(seen(100.0, 30.0, 30.0, 30.0), NOW).loads == {"t": 30.0}
    assert patient.decide(seen(30.0, 30.0, 100.0), NOW).loads == {"t": 100.0}


def test_a_backlog_counts_as_load_and_holds_what_there_is_unless_the_papers_reading_is_asked_for() -> None:
    wide = Config({"t": {"a": 2, "b": 4}}, 2)
    # 30 seconds of 30 rows are no backlog, all beyond them are: 1200 rows in 120 seconds are 10 more a second.
    small, large = (known().decide(seen(30.0, waiting=rows), wide) for rows in (900.0, 2100.0))
    assert (small.loads, small.config.slots, small.config.nodes) == ({"t": 30.0}, 2, 1)
    assert (large.loads, large.config) == ({"t": 40.0}, wide)
    assert "t: it has a backlog, so nothing is scaled in" in large.reasons
    more = known().decide(seen(30.0, waiting=9300.0), NOW)
    assert (more.loads, more.config.slots) == ({"t": 100.0}, 6)
    paper = Elysium(known().estimator, catch_up=np.inf).decide(seen(30.0, waiting=9300.0), wide)
    assert (paper.loads, paper.config.slots, paper.config.nodes) == ({"t": 30.0}, 2, 1)
    apart = Elysium(two()[0].estimator, Bounds(apart=True))
    both = Config({"t": {"a": 2, "b": 4}, "u": {"c": 2}}, 4, own={"t": 2, "u": 2})
    series = {name: Series(np.array([30.0])) for name in ("t", "u")}
    found = apart.decide(Observation(series, waiting={"t": 2100.0}), both).config
    assert (found.parallelism, found.own) == ({"t": {"a": 2, "b": 4}, "u": {"c": 1}}, {"t": 2, "u": 1})


@pytest.mark.parametrize(("catch_up", "patience"), [(0.0, 0), (-1.0, 0), (np.nan, 0), (60.0, -1)])
def test_absurd_settings_are_refused(catch_up: float, patience: int) -> None:
    with pytest.raises(TopologyError, match="catch_up must be above 0"):
        Elysium(known().estimator, patience=patience, catch_up=catch_up)


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
    assert policy.decide(Observation(loads), now).config == now
    found = policy.decide(Observation({"t": Series(np.array([100.0])), **loads}), now)
    assert found.config.parallelism["u"] == {"c": 3}
    assert found.config.parallelism["t"] == ({"a": 1, "b": 1} if number == 1 else {"a": 2, "b": 4})
    assert found.config.nodes == 2
    assert found.loads == {"t": 100.0}


def test_one_dimension_alone_says_whether_it_is_enough() -> None:
    crowded = estimator(profiles(FLOW, {"a": 0.01, "b": 0.02}), overhead=Line(0.0, 3.0))
    operators = OnlyOperators(Elysium(crowded))
    # 6 slots use 3 cores, 9 with the overhead: three nodes carry them, one does not.
    one, three = (operators.decide(seen(100.0), Config(NOW.parallelism, nodes)) for nodes in (1, 3))
    assert (one.feasible, three.feasible) == (False, True)
    assert one.reasons[-1] == "1 nodes stay: the busiest uses 281% of what it may"
    apart = Config(NOW.parallelism, 3, own={"t": 3})
    assert operators.decide(seen(100.0), apart).config.own == {"t": 3}
    # The slots are in stress, however many nodes there are.
    stuck = OnlyNodes(crowded).decide(seen(100.0), NOW)
    assert not stuck.feasible
    assert "t: b stays in stress with the slots it has" in stuck.reasons


def test_before_anything_was_measured_nothing_changes() -> None:
    policies: tuple[Policy, ...] = (known(), OnlyNodes(known().estimator), OnlyOperators(known()), Static())
    for policy in policies:
        assert policy.decide(seen(), NOW).config == NOW


def test_one_dimension_alone() -> None:
    crowded = estimator(profiles(FLOW, {"a": 0.01, "b": 0.02}), overhead=Line(0.0, 3.0))
    both = Elysium(crowded).decide(seen(100.0), NOW).config
    assert (both.slots, both.nodes) == (6, 3)
    operators = OnlyOperators(Elysium(crowded)).decide(seen(100.0), NOW).config
    assert (operators.slots, operators.nodes) == (6, 1)
    nodes = OnlyNodes(crowded).decide(seen(50.0), NOW).config
    assert (nodes.slots, nodes.nodes) == (2, 2)


def joint(
    slots: Mapping[str, tuple[float, ...]], nodes: tuple[float, ...], current: Config, at_once: bool = False
) -> Config:
    observation = Observation({}, {("t", name): used for name, used in slots.items()}, nodes)
    thresholds = Thresholds(cpu_min=0.4)
    policy = JointScaling({"t": FLOW}, Bounds(4, thresholds), at_once)
    return policy.decide(observation, current).config


def test_joint_scaling_adds_a_node_with_every_slot() -> None:
    assert joint({"a": (0.7,), "b": (0.5,)}, (0.3,), NOW) == Config({"t": {"a": 2, "b": 1}}, 2)


def test_joint_scaling_takes_the_operator_that_is_most_in_stress_or_all_at_once() -> None:
    stressed = {"a": (0.7,), "b": (0.9,)}
    assert joint(stressed, (0.3,), NOW) == Config({"t": {"a": 1, "b": 2}}, 2)
    assert joint(stressed, (0.3,), NOW, at_once=True) == Config({"t": {"a": 2, "b": 2}}, 2)


def test_joint_scaling_gives_up_slots_of_idle_operators_and_keeps_the_nodes() -> None:
    wide = Config({"t": {"a": 3, "b": 2}}, 3)
    idle = {"a": (0.2, 0.1, 0.2), "b": (0.1, 0.1)}
    assert joint(idle, (0.1, 0.1, 0.1), wide) == Config({"t": {"a": 3, "b": 1}}, 3)
    # One slot that is busy keeps the operator as it is.
    assert joint({"a": (0.2, 0.1, 0.3), "b": (0.3, 0.3)}, (0.5, 0.5, 0.5), wide) == wide


@pytest.mark.parametrize(("used", "nodes"), [((0.9, 0.5), 3), ((0.3, 0.2), 1), ((0.5, 0.2), 2)])
def test_joint_scaling_scales_nodes_only_if_no_operator_was(used: tuple[float, ...], nodes: int) -> None:
    two = Config({"t": {"a": 1, "b": 1}}, 2)
    assert joint({"a": (0.5,), "b": (0.5,)}, used, two) == Config({"t": {"a": 1, "b": 1}}, nodes)


def test_joint_scaling_stays_within_its_bounds() -> None:
    most = Config({"t": {"a": 4, "b": 4}}, 4)
    full = {"a": (1.0,) * 4, "b": (1.0,) * 4}
    assert joint(full, (1.0,) * 4, most) == most
    assert joint({"a": (0.0,), "b": (0.0,)}, (0.0,), NOW) == NOW
    assert joint({}, (), NOW) == NOW


def test_joint_scaling_says_when_nothing_more_can_be_done() -> None:
    policy = JointScaling({"t": FLOW}, Bounds(4, Thresholds(cpu_min=0.4)))
    most, full = Config({"t": {"a": 4, "b": 4}}, 4), {("t", "a"): (1.0,) * 4, ("t", "b"): (0.5,) * 4}
    stuck = policy.decide(Observation({}, full, (1.0,) * 4), most)
    assert not stuck.feasible
    assert stuck.reasons == (
        "t: a is in stress with all slots it may have",
        "a node is in stress and there are all 4 already",
    )
    assert policy.decide(Observation({}, {("t", "a"): (1.0,)}, (0.9,)), NOW).feasible
    assert policy.decide(Observation({}, full, (0.5,) * 3), Config(most.parallelism, 3)).feasible is False


def test_joint_scaling_keeps_nodes_with_their_topologies() -> None:
    flows = {"t": FLOW, "u": chain("u", ("c",))}
    policy = JointScaling(flows, Bounds(4, Thresholds(cpu_min=0.4)))
    now = Config({"t": {"a": 1, "b": 1}, "u": {"c": 1}}, 3, own={"t": 1, "u": 2})
    calm = {("t", "a"): (0.5,), ("t", "b"): (0.5,), ("u", "c"): (0.5,)}
    stressed = policy.decide(Observation({}, {**calm, ("t", "b"): (0.9,)}, (0.5,) * 3), now).config
    assert (stressed.own, stressed.nodes) == ({"t": 2, "u": 2}, 4)
    busy = policy.decide(Observation({}, calm, (0.5, 0.5, 0.9)), now).config
    assert (busy.own, busy.nodes) == ({"t": 1, "u": 3}, 4)
    idle = policy.decide(Observation({}, calm, (0.1, 0.1, 0.1)), now).config
    assert (idle.own, idle.nodes) == ({"t": 1, "u": 1}, 2)
    least = policy.decide(Observation({}, calm, (0.1, 0.1)), idle).config
    assert least == idle
    full = Config(now.parallelism, 4, own={"t": 2, "u": 2})
    assert policy.decide(Observation({}, calm, (0.9,) * 4), full).config == full
