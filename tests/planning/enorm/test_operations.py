"""Operations on deployments: their results, their invariants, and their errors."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Kind, PartitionedOperator, shared_attributes
from rheostat.planning.enorm.components import OperatorGraph
from rheostat.planning.enorm.deployment import Deployment, deploy
from rheostat.planning.enorm.fusion import FusedComponent, fuse, score_by_rate
from rheostat.planning.enorm.migration import Strategy
from rheostat.planning.enorm.operations import Migrate, RePartition, apply, combine, scale_out, split

NODES = ["n1", "n2", "n3"]


def lending() -> Deployment:
    """The paper's job of figure 3: rates, then approvals and interest per area, windows of each, and overall ones."""
    everything, area = frozenset({"user", "area", "date"}), frozenset({"area"})

    def by_area(name: str, kind: Kind) -> PartitionedOperator:
        return PartitionedOperator(name, kind, area, reads=everything, windowed=True)

    operators = (
        PartitionedOperator("rate", Kind.MAP, everything),
        by_area("interest", Kind.COMPUTE),
        by_area("approval", Kind.COMPUTE),
        by_area("interest windows", Kind.CONSOLIDATE),
        by_area("approval windows", Kind.CONSOLIDATE),
        PartitionedOperator("overall", Kind.COMPUTE, frozenset(), reads=everything, windowed=True),
    )
    rates = {
        ("rate", "interest"): 90.0,
        ("rate", "approval"): 80.0,
        ("interest", "interest windows"): 9.0,
        ("approval", "approval windows"): 8.0,
        ("interest windows", "overall"): 1.0,
        ("approval windows", "overall"): 2.0,
    }
    flow = OperatorGraph(operators, rates)
    return deploy(flow, fuse(flow.attributes, rates, score_by_rate(rates)), NODES, shards=12, distinct={"area": 50})


def simple() -> Deployment:
    x = frozenset("x")
    sums, windows = (
        PartitionedOperator("sum", Kind.COMPUTE, x, windowed=True),
        PartitionedOperator("windows", Kind.CONSOLIDATE, x),
    )
    flow = OperatorGraph((sums, windows), {("sum", "windows"): 1.0})
    return deploy(flow, [FusedComponent(("sum", "windows"), x)], NODES, shards=6)


def reporting(*parts: tuple[str, ...]) -> Deployment:
    """Sums, their windows, and a report of these, in the components that are named."""
    x, kinds = frozenset("x"), {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE, "report": Kind.MAP}
    rates = {("sum", "windows"): 5.0, ("windows", "report"): 1.0}
    flow = OperatorGraph(tuple(PartitionedOperator(n, k, x, windowed=True) for n, k in kinds.items()), rates)
    return deploy(flow, [FusedComponent(part, x) for part in parts], NODES, shards=6)


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    """Operators of all kinds, rows only forward, in any components that share an attribute."""
    count = draw(st.integers(1, 7))
    sets = draw(st.lists(st.frozensets(st.sampled_from("xy"), min_size=1), min_size=count, max_size=count))
    kinds = draw(st.lists(st.sampled_from(Kind), min_size=count, max_size=count))
    operators = [
        PartitionedOperator(f"o{i}", k, s, windowed=True) for i, (k, s) in enumerate(zip(kinds, sets, strict=True))
    ]
    forward = [(f"o{i}", f"o{j}") for j in range(count) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(forward), unique=True, max_size=12)) if forward else []
    parts: dict[int, list[PartitionedOperator]] = {}
    for operator in operators:
        part = draw(st.integers(0, 2))
        part = part if shared_attributes([*parts.get(part, []), operator]) else 3 + len(parts)
        parts.setdefault(part, []).append(operator)
    flow = OperatorGraph(tuple(draw(st.permutations(operators))), dict.fromkeys(edges, 1.0))
    return deploy(
        flow, [FusedComponent(tuple(o.name for o in p), shared_attributes(p)) for p in parts.values()], NODES, shards=6
    )


def circular(deployment: Deployment) -> bool:
    """True if rows can return to a component that they have left."""
    reached = {(a, b) for s, t in deployment.flow.rates if (a := deployment.home(s)) != (b := deployment.home(t))}
    while more := {(a, d) for a, b in reached for c, d in reached if b == c} - reached:
        reached |= more
    return any(a == b for a, b in reached)


def test_readers_of_a_consolidate_in_the_same_component_move_with_it() -> None:
    before = reporting(("sum", "windows", "report"))
    after = apply(before, *split(before, "C1"))
    assert dict(after.members) == {"C1": ("sum",), "C1 consolidate": ("windows", "report")}
    assert not circular(after)
    again = apply(after, *combine(after, "C1"))
    assert (dict(again.members), dict(again.placed)) == (dict(before.members), dict(before.placed))


def test_consolidates_join_the_one_component_that_reads_them_and_leave_it_again() -> None:
    before = reporting(("sum", "windows"), ("report",))
    after = apply(before, *split(before, "C1"))
    assert dict(after.members) == {"C1": ("sum",), "C2": ("windows", "report")}
    assert dict(apply(after, *combine(after, "C1")).members) == dict(before.members)


def test_a_component_that_begins_with_a_consolidate_cannot_be_split() -> None:
    x = frozenset("x")
    flow = OperatorGraph(
        (PartitionedOperator("w", Kind.CONSOLIDATE, x), PartitionedOperator("s", Kind.COMPUTE, x)), {("w", "s"): 1.0}
    )
    assert split(deploy(flow, [FusedComponent(("w", "s"), x)], NODES, 6), "C1") == ()


@settings(max_examples=300, deadline=None)
@given(deployments())
def test_rows_do_not_return_to_a_component_after_split_or_combine(before: Deployment) -> None:
    assert before.circular == circular(before)
    for component in before.members:
        after = apply(before, *split(before, component))
        assert sorted(n for names in after.members.values() for n in names) == sorted(before.flow.by_name)
        if split(before, component):
            assert all(o.kind.flexible for o in after.operators(component))
        for later in (after, apply(after, *combine(after, component)), apply(before, *combine(before, component))):
            assert before.circular or not circular(later)


def test_a_second_split_does_not_join_what_the_first_one_made() -> None:
    x, names = frozenset("x"), ("s", "w1", "m", "w2")
    kinds = (Kind.COMPUTE, Kind.CONSOLIDATE, Kind.MAP, Kind.CONSOLIDATE)
    operators = tuple(PartitionedOperator(n, k, x) for n, k in zip(names, kinds, strict=True))
    flow = OperatorGraph(operators, {("s", "w1"): 1.0, ("w1", "m"): 1.0, ("m", "w2"): 1.0})
    parts = [FusedComponent((n,), x) for n in ("m", "w2")]
    before = deploy(flow, [FusedComponent(("s", "w1"), x), *parts], NODES, 6)
    members = {"C1": ("s", "w2"), "C1 consolidate": ("w1",), "C2": ("m",)}
    again = apply(
        before,
        Migrate("w1", "C1", "C1 consolidate"),
        Migrate("w2", "C3", "C1"),
    )
    assert dict(again.members) == members
    assert split(again, "C1") == (Migrate("w2", "C1", "C1 consolidate 2"),)


def test_no_component_is_on_more_nodes_than_it_has_partitions() -> None:
    before = lending()
    assert [before.most_nodes(c) for c in ("C1", "C2")] == [50, 1]
    assert [before.nodes(c) for c in ("C1", "C2")] == [("n1", "n2", "n3"), ("n1",)]
    with pytest.raises(TopologyError, match="'C2', partitioned by nothing, has 1 partitions at most and cannot use 2"):
        apply(before, RePartition("C2", ("n1", "n2")))
    with pytest.raises(TopologyError, match="cannot use 2 nodes"):
        scale_out(before, "C2", "n2")
    assert apply(before, RePartition("C2", ("n3",))).nodes("C2") == ("n3",)


def test_components_with_few_partitions_take_turns() -> None:
    flow = OperatorGraph(tuple(PartitionedOperator(n, Kind.MAP, frozenset()) for n in "abcd"), {})
    placed = deploy(flow, [FusedComponent((n,), frozenset()) for n in "abcd"], NODES, 6)
    assert [placed.nodes(f"C{i}") for i in range(1, 5)] == [("n1",), ("n2",), ("n3",), ("n1",)]


@settings(max_examples=100, deadline=None)
@given(deployments(), st.integers(1, 3), st.data())
def test_a_migration_spreads_a_component_over_fewer_nodes_if_it_must(
    before: Deployment, values: int, data: st.DataObject
) -> None:
    parts = [FusedComponent(m, before.attributes(c)) for c, m in before.members.items()]
    limited = deploy(before.flow, parts, NODES, 6, distinct={"x": values, "y": 2})
    name, target = (
        data.draw(st.sampled_from(sorted(before.flow.by_name))),
        data.draw(st.sampled_from(list(limited.members))),
    )
    together = shared_attributes([*limited.operators(target), limited.flow.by_name[name]])
    after = apply(limited, Migrate(name, limited.home(name), target)) if together else limited
    for component in after.members:
        assert len(after.nodes(component)) <= after.most_nodes(component)
        assert len(after.placed[component]) == 6


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
    flow = OperatorGraph(tuple(PartitionedOperator(n, Kind.MAP, frozenset(s)) for n, s in names.items()), {})
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


def test_impossible_operations_are_refused() -> None:
    before = lending()
    with pytest.raises(TopologyError, match="partitioned by nothing, shares no attribute with component 'C1'"):
        apply(before, Migrate("overall", "C2", "C1"))
    with pytest.raises(TopologyError, match="operator 'rate' is not in component 'C2' but in 'C1'"):
        apply(before, Migrate("rate", "C2", "C1"))
    with pytest.raises(TopologyError, match="there is no component 'C9'"):
        apply(before, RePartition("C9", ("n1",)))
    for what in (before.strategies, before.nodes, lambda c: combine(before, c), lambda c: split(before, c)):
        with pytest.raises(TopologyError, match="there is no component 'C9': choose one of C1, C2"):
            what("C9")
    with pytest.raises(TopologyError, match="there is no component 'C9'"):
        scale_out(before, "C9", "n4")
    with pytest.raises(TopologyError, match="there is no operator 'nobody': choose one of rate, interest, .*overall"):
        apply(before, Migrate("nobody", "C1", "C2"))
    with pytest.raises(TopologyError, match="distinct has area=0"):
        deploy(before.flow, [], NODES, shards=12, distinct={"area": 0})
    with pytest.raises(TopologyError, match="12 shards on 0 nodes"):
        apply(before, RePartition("C1", ()))
    with pytest.raises(TopologyError, match="has 12 shards, but 2 loads"):
        apply(before, RePartition("C1", ("n1",), (1.0, 2.0)))
    with pytest.raises(TopologyError, match="2 shards on 3 nodes"):
        deploy(before.flow, [], NODES, shards=2)
