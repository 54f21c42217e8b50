"""compute_config: stays within its bounds, finds the minimum, and returns the best configuration if none fits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elysium.allocator import BalancedAllocator, RoundRobinAllocator
from rheostat.elastic.elysium.config_search import Bounds, Current, compute_config
from rheostat.elastic.elysium.configuration import Config, NodeType, Thresholds
from rheostat.elastic.elysium.dataflow import ScalableOperator
from rheostat.elastic.elysium.estimator import Estimator, Profiles
from rheostat.elastic.elysium.profiles.profile import Line
from rheostat.errors import ConfigurationError
from tests.elastic.elysium.builders import chain, estimator, profiles


@dataclass(frozen=True)
class Problem:
    """Topologies that are chains with selectivity 1: slopes of their operators, and the load of each."""

    slopes: tuple[tuple[float, ...], ...]
    loads: tuple[float, ...]
    most: int
    base: float
    share: float

    def estimator(self) -> Estimator:
        known = []
        for number, slopes in enumerate(self.slopes):
            names = [f"o{i}" for i in range(len(slopes))]
            known.append(profiles(chain(f"t{number}", names, self.most), dict(zip(names, slopes, strict=True))))
        return estimator(*known, overhead=Line(self.base, self.share))

    def rates(self) -> dict[str, float]:
        return {f"t{number}": load for number, load in enumerate(self.loads)}


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    slope = st.floats(0.0001, 0.02)
    shapes = draw(st.lists(st.lists(slope, min_size=1, max_size=3), min_size=1, max_size=2))
    loads = draw(st.lists(st.floats(0, 200), min_size=len(shapes), max_size=len(shapes)))
    most, base, share = draw(st.integers(1, 4)), draw(st.floats(0, 0.5)), draw(st.floats(1, 1.5))
    return Problem(tuple(map(tuple, shapes)), tuple(loads), most, base, share)


def by_hand(problem: Problem, core_max: float, cpu_max: float, most_nodes: int) -> tuple[list[list[int]], int | None]:
    """Try all numbers of slots, then all numbers of nodes with slots assigned round robin."""
    parallelism = []
    for slopes, load in zip(problem.slopes, problem.loads, strict=True):
        chosen = []
        for slope in slopes:
            enough = [p for p in range(1, problem.most + 1) if slope * (load / p) <= core_max]
            chosen.append(enough[0] if enough else problem.most)
        parallelism.append(chosen)
    slots = [
        slope * (load / p)
        for slopes, load, chosen in zip(problem.slopes, problem.loads, parallelism, strict=True)
        for slope, p in zip(slopes, chosen, strict=True)
        for _ in range(p)
    ]
    for nodes in range(1, most_nodes + 1):
        used = [problem.base + problem.share * sum(slots[node::nodes]) for node in range(nodes)]
        if max(used) / 4 <= cpu_max:
            return parallelism, nodes
    return parallelism, None


@settings(deadline=None, max_examples=300)
@given(problems(), st.integers(1, 6))
def test_it_is_minimal_against_trying_everything(problem: Problem, most_nodes: int) -> None:
    found = compute_config(problem.estimator(), problem.rates(), Bounds(most_nodes))
    parallelism, nodes = by_hand(problem, 0.65, 0.80, most_nodes)
    assert [list(operators.values()) for operators in found.config.parallelism.values()] == parallelism
    if nodes is not None:
        assert found.config.nodes == nodes
    else:
        assert not found.feasible


@settings(deadline=None, max_examples=200)
@given(problems(), st.integers(1, 5), st.booleans(), st.floats(1, 1000))
def test_it_never_exceeds_its_bounds(problem: Problem, most_nodes: int, balanced: bool, times: float) -> None:
    allocator = BalancedAllocator() if balanced else RoundRobinAllocator()
    loads = {topology: times * load for topology, load in problem.rates().items()}
    found = compute_config(problem.estimator(), loads, Bounds(most_nodes, allocator=allocator))
    assert 1 <= found.config.nodes <= most_nodes
    assert all(1 <= p <= problem.most for operators in found.config.parallelism.values() for p in operators.values())
    assert found.reasons
    cpus = problem.estimator().slot_cpus(found.config.parallelism, loads)
    allocation = allocator.allocate(found.config.parallelism, found.config.nodes, cpus)
    stressed = max(v for x in cpus.values() for v in x.values()) > 0.65
    full = float(problem.estimator().node_cpus(allocation, cpus).max()) > 0.80
    assert found.feasible == (not stressed and not full)


def test_operators_are_scaled_without_nodes_and_nodes_without_operators() -> None:
    flow = chain("t", ("light", "heavy"))
    found = estimator(profiles(flow, {"light": 0.001, "heavy": 0.01}))
    one, two = (compute_config(found, {"t": load}).config for load in (60.0, 70.0))
    assert (dict(one.parallelism["t"]), one.nodes) == ({"light": 1, "heavy": 1}, 1)
    assert (dict(two.parallelism["t"]), two.nodes) == ({"light": 1, "heavy": 2}, 1)
    crowded = estimator(profiles(flow, {"light": 0.001, "heavy": 0.01}), overhead=Line(0.0, 5.0))
    assert compute_config(crowded, {"t": 60.0}).config.nodes == 2


def test_a_slot_that_is_too_much_for_any_node_ends_the_search() -> None:
    found = estimator(profiles(chain("t", ("a",), most=2), {"a": 1.0}))
    decision = compute_config(found, {"t": 1000.0}, Bounds(most_nodes=10_000))
    assert decision.config.nodes == 2  # every slot has a node of its own; more nodes would be empty
    assert not decision.feasible
    assert any("not enough" in reason for reason in decision.reasons)
    assert any("a stays in stress" in reason for reason in decision.reasons)


def test_bounds_from_below_are_kept() -> None:
    flow = replace(chain("t", ("a",)), operators=(ScalableOperator("a", most=5, least=3),))
    assert compute_config(estimator(profiles(flow, {"a": 0.001})), {"t": 1.0}).config.parallelism == {"t": {"a": 3}}


def test_topologies_apart_have_their_own_nodes_and_leave_one_for_each() -> None:
    known = (profiles(chain("t", ("a",)), {"a": 0.01}), profiles(chain("u", ("b",)), {"b": 0.01}))
    found = estimator(*known, overhead=Line(1.0, 3.0))
    decision = compute_config(found, {"t": 250.0, "u": 30.0}, Bounds(most_nodes=3, apart=True))
    # t: 4 slots of 0.625; on 2 nodes each 1 + 3 x 1.25 = 4.75 of 4, so even 2 are too few. u: 1 + 0.9.
    assert decision.config.own == {"t": 2, "u": 1}
    assert not decision.feasible
    easy = compute_config(found, {"t": 50.0, "u": 30.0}, Bounds(most_nodes=3, apart=True))
    assert (easy.config.own, easy.config.nodes, easy.feasible) == ({"t": 1, "u": 1}, 2, True)
    crowded = compute_config(found, {"t": 1.0, "u": 1.0}, Bounds(most_nodes=1, apart=True))
    assert (crowded.config.own, crowded.config.nodes, crowded.feasible) == (None, 1, False)
    assert any("nodes of its own among 1" in reason for reason in crowded.reasons)


def test_a_topology_whose_load_is_not_known_keeps_what_it_has() -> None:
    known = (profiles(chain("t", ("a",)), {"a": 0.01}), profiles(chain("u", ("b",)), {"b": 0.01}))
    found, loads = estimator(*known), {"t": 100.0}
    now = Current(Config({"u": {"b": 3}, "t": {"a": 1}}, 2))
    decision = compute_config(found, loads, Bounds(), now)
    assert decision.config == Config({"u": {"b": 3}, "t": {"a": 2}}, 2)
    assert decision.loads == loads
    assert any("u: its load is unknown" in reason for reason in decision.reasons)
    # The measured use of its slots counts: 3 x 0.9 beside 2 x 0.5 fill a node, 2 x 0.9 and one more the next.
    busy = Current(replace(now.config, nodes=1), {("u", "b"): (0.9, 0.9, 0.9)})
    assert compute_config(found, loads, Bounds(), busy).config.nodes == 2
    assert compute_config(found, loads, Bounds(), replace(busy, slot_cpu={})).config.nodes == 1
    # It keeps nodes of its own; if it has none, nodes are shared.
    apart = replace(now, config=Config(now.config.parallelism, 4, own={"u": 3, "t": 1}))
    assert compute_config(found, loads, Bounds(apart=True), apart).config.own == {"u": 3, "t": 1}
    shared = compute_config(found, loads, Bounds(apart=True), now)
    assert (shared.config.own, shared.config.nodes) == (None, 2)


def test_while_no_load_is_known_nothing_changes() -> None:
    found = estimator(profiles(chain("t", ("a",)), {"a": 0.01}))
    now = Config({"t": {"a": 3}}, 3, own={"t": 3})
    assert compute_config(found, {}, Bounds(), Current(now)).config == now


def test_smart_placement_can_save_a_node() -> None:
    flow = chain("t", ("h1", "l1", "h2", "l2"))
    found = estimator(profiles(flow, {"h1": 0.6, "l1": 0.2, "h2": 0.6, "l2": 0.2}), node=NodeType(cores=1, hertz=1.0))
    # Round robin on two nodes puts both heavy slots together: 1.2 of one core; balanced has 0.8 on each.
    assert compute_config(found, {"t": 1.0}, Bounds(4)).config.nodes == 3
    assert compute_config(found, {"t": 1.0}, Bounds(4, allocator=BalancedAllocator())).config.nodes == 2


def test_memory_and_bandwidth_count_where_they_are_known() -> None:
    flow = chain("t", ("a", "b"), most=1)
    cpu = {"a": Line(0.0, 0.001), "b": Line(0.0, 0.001)}
    memory = Profiles(flow, {("a", "b"): 1.0}, cpu, memory={"a": Line(60.0, 0.0), "b": Line(60.0, 0.0)})
    node = NodeType(cores=4, hertz=1.0, memory=100.0)
    assert compute_config(Estimator({"t": memory}, Line(0, 1), node), {"t": 1.0}).config.nodes == 2
    both = replace(memory, row_bytes={("a", "b"): 10.0})
    wired = replace(node, bandwidth=100.0)
    for load, feasible in ((5.0, True), (50.0, False)):  # 10 bytes a row cross from node to node
        found = compute_config(Estimator({"t": both}, Line(0, 1), wired), {"t": load})
        assert found.feasible == feasible


@pytest.mark.parametrize("load", [np.nan, np.inf, -1.0])
def test_invalid_loads_are_refused(load: float) -> None:
    found = estimator(profiles(chain("t", ("a",)), {"a": 1.0}))
    with pytest.raises(ConfigurationError, match="input load of topology 't'"):
        compute_config(found, {"t": load})


def test_invalid_bounds_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="most_nodes=0"):
        Bounds(0)
    with pytest.raises(ConfigurationError, match="in order"):
        Thresholds(core_min=0.7)
