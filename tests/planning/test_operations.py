"""Adaptation operations: what they give, what they keep, and what they refuse."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.migration import Strategy
from rheostat.errors import TopologyError
from rheostat.planning.attributes import Kind, Operator
from rheostat.planning.components import Dataflow
from rheostat.planning.fusion import FusedComponent, fuse, score_by_rate
from rheostat.planning.operations import Deployment, Migrate, RePartition, apply, combine, deploy, scale_out, split

NODES = ["n1", "n2", "n3"]


def lending() -> Deployment:
    """The paper's job of figure 3: rates, then approvals and interest per area, windows of each, and overall ones."""
    everything, area = frozenset({"user", "area", "date"}), frozenset({"area"})

    def by_area(name: str, kind: Kind) -> Operator:
        return Operator(name, kind, area, reads=everything, windowed=True)

    operators = (
        Operator("rate", Kind.MAP, everything),
        by_area("interest", Kind.COMPUTE),
        by_area("approval", Kind.COMPUTE),
        by_area("interest windows", Kind.CONSOLIDATE),
        by_area("approval windows", Kind.CONSOLIDATE),
        Operator("overall", Kind.COMPUTE, frozenset(), reads=everything, windowed=True),
    )
    rates = {
        ("rate", "interest"): 90.0,
        ("rate", "approval"): 80.0,
        ("interest", "interest windows"): 9.0,
        ("approval", "approval windows"): 8.0,
        ("interest windows", "overall"): 1.0,
        ("approval windows", "overall"): 2.0,
    }
    flow = Dataflow(operators, rates)
    return deploy(flow, fuse(flow.attributes, rates, score_by_rate(rates)), NODES, shards=12)


def simple() -> Deployment:
    x = frozenset("x")
    sums, windows = Operator("sum", Kind.COMPUTE, x, windowed=True), Operator("windows", Kind.CONSOLIDATE, x)
    flow = Dataflow((sums, windows), {("sum", "windows"): 1.0})
    return deploy(flow, [FusedComponent(("sum", "windows"), x)], NODES, shards=6)


def test_from_the_papers_figure_3_to_figure_4() -> None:
    before = lending()
    assert before.members["C1"] == ("rate", "interest", "approval", "interest windows", "approval windows")
    assert before.strategies("C1") == (Strategy.SMOOTH, Strategy.DISRUPTIVE)
    after = apply(before, *split(before, "C1"))
    assert after.members["C1"] == ("rate", "interest", "approval")
    assert after.strategies("C1")[0] is Strategy.INSTANT
    # The overall component is partitioned by nothing, so the consolidates cannot join it.
    assert after.members["C1 consolidate"] == ("interest windows", "approval windows")
    assert after.members["C2"] == ("overall",)


def test_consolidates_join_the_one_component_that_reads_them_if_attributes_agree() -> None:
    x = frozenset("x")
    kinds = {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE, "report": Kind.MAP}
    flow = Dataflow(
        tuple(Operator(n, k, x, windowed=True) for n, k in kinds.items()),
        {("sum", "windows"): 5.0, ("windows", "report"): 1.0},
    )
    before = deploy(flow, [FusedComponent(("sum", "windows"), x), FusedComponent(("report",), x)], NODES, 6)
    after = apply(before, *split(before, "C1"))
    assert dict(after.members) == {"C1": ("sum",), "C2": ("windows", "report")}


def test_combine_undoes_split() -> None:
    for before in (lending(), simple()):
        after = apply(before, *split(before, "C1"))
        again = apply(after, *combine(after, "C1"))
        assert dict(again.members) == dict(before.members)
        assert dict(again.placed) == dict(before.placed)


def test_only_rigid_stateful_components_are_split() -> None:
    before = apply(simple(), *split(simple(), "C1"))
    assert split(before, "C1") == split(before, "C1 consolidate") == ()
    assert combine(before, "C1 consolidate") == ()


def test_attributes_follow_an_operator_that_migrates() -> None:
    names = {"a": "xy", "b": "x", "c": "xyz"}
    flow = Dataflow(tuple(Operator(n, Kind.MAP, frozenset(s)) for n, s in names.items()), {})
    parts = [FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("xyz"))]
    before = deploy(flow, parts, NODES, 6)
    after = apply(before, Migrate("a", "C1", "C2"))
    assert (after.attributes("C1"), after.attributes("C2")) == (frozenset("x"), frozenset("xy"))
    later = apply(after, Migrate("b", "C1", "C2"))
    assert dict(later.members) == {"C2": ("a", "b", "c")}
    assert (list(later.placed), later.attributes("C2")) == (["C2"], frozenset("x"))
    assert dict(before.members) == {"C1": ("a", "b"), "C2": ("c",)}
    assert apply(before, Migrate("a", "C1", "C1")) == before


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 9).map(float), min_size=12, max_size=12),
    st.lists(st.sampled_from(["n1", "n2", "n3", "n4", "n5"]), min_size=1, unique=True),
)
def test_repartitioning_puts_all_shards_on_the_nodes_and_spreads_them(loads: list[float], nodes: list[str]) -> None:
    before = lending()
    after = apply(before, RePartition("C1", tuple(nodes), tuple(loads)))
    placed = after.placed["C1"]
    assert len(placed) == 12
    assert set(placed) <= set(nodes)
    load = Counter[str](dict.fromkeys(nodes, 0))
    for node, value in zip(placed, loads, strict=True):
        load[node] += value  # type: ignore[assignment]
    # No single move from the most to the least loaded node would help.
    assert max(load.values()) - min(load.values()) <= max(loads)
    assert after.placed["C2"] == before.placed["C2"]


def test_repartitioning_over_the_same_nodes_moves_nothing_that_is_even() -> None:
    before = lending()
    assert apply(before, RePartition("C1", tuple(NODES))) == before
    removed = apply(before, RePartition("C1", ("n1", "n2")))
    kept = [a == b for a, b in zip(before.placed["C1"], removed.placed["C1"], strict=True) if a != "n3"]
    assert all(kept)


def test_scaling_out_splits_first_what_could_not_be_moved_instantly() -> None:
    after = scale_out(simple(), "C1", "n4")
    assert dict(after.members) == {"C1": ("sum",), "C1 consolidate": ("windows",)}
    assert after.placed["C1"].count("n4") == 1
    assert sorted(Counter(after.placed["C1"]).values()) == [1, 1, 2, 2]
    assert set(after.placed["C1 consolidate"]) == set(NODES)


def test_what_cannot_be_done_is_refused() -> None:
    before = lending()
    with pytest.raises(TopologyError, match="partitioned by nothing, shares no attribute with component 'C1'"):
        apply(before, Migrate("overall", "C2", "C1"))
    with pytest.raises(TopologyError, match="operator 'rate' is not in component 'C2' but in 'C1'"):
        apply(before, Migrate("rate", "C2", "C1"))
    with pytest.raises(TopologyError, match="there is no component 'C9'"):
        apply(before, RePartition("C9", ("n1",)))
    with pytest.raises(TopologyError, match="12 shards on 0 nodes"):
        apply(before, RePartition("C1", ()))
    with pytest.raises(TopologyError, match="has 12 shards, but 2 loads"):
        apply(before, RePartition("C1", ("n1",), (1.0, 2.0)))
    with pytest.raises(TopologyError, match="2 shards on 3 nodes"):
        deploy(before.flow, [], NODES, shards=2)
