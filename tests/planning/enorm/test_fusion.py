"""Fusion: the paper's example, and what must hold of every graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.planning.enorm.fusion import (
    FusedComponent,
    Score,
    fuse,
    fuse_baseline,
    inter_component_traffic,
    score_by_attributes,
    score_by_component_rate,
    score_by_rate,
)

SCHEMA = frozenset({"user", "area", "date", "approval", "amount", "return", "lendingTime", "income"})
AREA, NOTHING = frozenset({"area"}), frozenset[str]()
LENDING = {"op1": SCHEMA, "op2": AREA, "op3": AREA, "op4": NOTHING, "op5": NOTHING}
EDGES = [("op1", f"op{i}") for i in range(2, 6)]

Graph = tuple[dict[str, frozenset[str]], list[tuple[str, str]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Random operators and edges between them."""
    sets = draw(st.lists(st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=8))
    attributes = {f"op{i}": s for i, s in enumerate(sets)}
    names = st.sampled_from(sorted(attributes))
    return attributes, draw(st.lists(st.tuples(names, names).filter(lambda e: e[0] != e[1]), max_size=12))


def by_operators(components: list[FusedComponent]) -> dict[tuple[str, ...], frozenset[str]]:
    return {c.operators: c.attributes for c in components}


def test_the_papers_job_fuses_into_one_component_by_area_and_two_global_ones() -> None:
    expected = {("op1", "op2", "op3"): AREA, ("op4",): NOTHING, ("op5",): NOTHING}
    assert by_operators(fuse(LENDING, EDGES)) == expected
    assert by_operators(fuse(LENDING, EDGES, score_by_rate(dict.fromkeys(EDGES, 10.0)))) == expected


@settings(max_examples=100, deadline=None)
@given(graphs(), st.booleans())
def test_every_operator_is_in_exactly_one_component(graph: Graph, by_rate: bool) -> None:
    attributes, edges = graph
    score: Score = score_by_rate({e: 1.0 + i for i, e in enumerate(edges)}) if by_rate else score_by_attributes
    components = fuse(attributes, edges, score)
    assert sorted(o for c in components for o in c.operators) == sorted(attributes)
    for component in components:
        shared = frozenset[str].intersection(*(attributes[o] for o in component.operators))
        assert component.attributes == shared
        assert shared or len(component.operators) == 1


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_components_are_connected_and_nothing_more_can_be_fused(graph: Graph) -> None:
    attributes, edges = graph
    home = {o: c for c in fuse(attributes, edges) for o in c.operators}
    for component in set(home.values()):
        reached, pending = set[str](), [component.operators[0]]
        while pending:
            here = pending.pop()
            reached.add(here)
            pending += [
                o
                for a, b in edges
                for o in ((b,) if a == here else (a,) if b == here else ())
                if home[o] is component and o not in reached
            ]
        assert reached == set(component.operators)
    assert all(home[a] is home[b] or not home[a].attributes & home[b].attributes for a, b in edges)


def test_the_busiest_edge_is_fused_first() -> None:
    attributes = {"a": frozenset("x"), "ab": frozenset("xy"), "b": frozenset("y")}
    edges = [("a", "ab"), ("ab", "b")]
    assert by_operators(fuse(attributes, edges, score_by_rate({edges[0]: 1.0, edges[1]: 9.0}))) == {
        ("a",): frozenset("x"),
        ("ab", "b"): frozenset("y"),
    }
    assert ("a", "ab") in by_operators(fuse(attributes, edges, score_by_rate({edges[0]: 9.0, edges[1]: 1.0})))


def test_edges_without_traffic_are_not_worth_fusing() -> None:
    assert len(fuse(LENDING, EDGES, score_by_rate({}))) == 5


def test_common_attributes_are_preferred() -> None:
    attributes = {"hub": frozenset("xy"), "one": frozenset("x"), "two": frozenset("y"), "three": frozenset("y")}
    edges = [("hub", name) for name in ("one", "two", "three")]
    assert by_operators(fuse(attributes, edges)) == {("hub", "two", "three"): frozenset("y"), ("one",): frozenset("x")}


def test_an_edge_to_an_unknown_operator_is_refused() -> None:
    edges = [*EDGES, ("op1", "op9")]
    with pytest.raises(TopologyError, match="rows go from 'op1' to 'op9', but there is no operator 'op9'"):
        fuse(LENDING, edges)
    with pytest.raises(TopologyError, match="there is no operator 'op9'"):
        fuse_baseline(LENDING, edges, np.random.default_rng(1))
    with pytest.raises(TopologyError, match="there is no operator 'op9'"):
        inter_component_traffic(fuse(LENDING, EDGES), dict.fromkeys(edges, 1.0))


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0])
def test_impossible_rates_are_refused(rate: float) -> None:
    rates = {**dict.fromkeys(EDGES, 1.0), EDGES[2]: rate}
    for score in (score_by_rate, score_by_component_rate):
        with pytest.raises(TopologyError, match=f"the rate from 'op1' to 'op4' is {rate}: give rows per second"):
            score(rates)


def test_a_nan_score_is_refused_and_does_not_win() -> None:
    with pytest.raises(TopologyError, match="the score of .'op1', 'op3'. is nan"):
        fuse(LENDING, EDGES, lambda components, candidates: [1.0, float("nan")])
