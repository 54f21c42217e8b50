"""Components: how their operators determine the strategies by which they may be moved (Enorm section 5)."""

from __future__ import annotations

import itertools

import pytest

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Kind, PartitionedOperator
from rheostat.planning.enorm.components import OperatorGraph, strategies, traits
from rheostat.planning.enorm.migration import Strategy

X = frozenset("x")
N, S, D = Strategy.INSTANT, Strategy.SMOOTH, Strategy.DISRUPTIVE


def operator(name: str, kind: Kind, windowed: bool = True) -> PartitionedOperator:
    return PartitionedOperator(name, kind, X, windowed=windowed)


def chain(*operators: PartitionedOperator) -> OperatorGraph:
    names = [o.name for o in operators]
    return OperatorGraph(operators, dict.fromkeys(itertools.pairwise(names), 1.0))


MAP, SUM, WINDOWS = (operator(n, k) for n, k in (("m", Kind.MAP), ("s", Kind.COMPUTE), ("w", Kind.CONSOLIDATE)))


def test_all_combinations_of_kinds_have_the_papers_traits() -> None:
    expected = {
        (MAP,): "flexible stateless",
        (SUM,): "flexible stateful",
        (WINDOWS,): "rigid stateless",
        (MAP, SUM): "flexible stateful",
        (MAP, WINDOWS): "rigid stateless",
        (SUM, WINDOWS): "rigid stateful",
        (MAP, SUM, WINDOWS): "rigid stateful",
    }
    assert {members: traits(members).label for members in expected} == expected


def test_the_papers_four_cases() -> None:
    flow = chain(MAP, SUM, WINDOWS)
    assert strategies(flow, ["m"]) == (N,)
    assert strategies(flow, ["m", "s"]) == (N, S, D)
    assert strategies(flow, ["w"]) == (N,)
    assert strategies(flow, ["m", "s", "w"]) == (S, D)


def test_instant_migration_needs_a_consolidate_that_merges_partials() -> None:
    after = operator("t", Kind.COMPUTE)
    assert strategies(chain(SUM, after, WINDOWS), ["s"]) == (S, D)
    assert strategies(chain(SUM, after, WINDOWS), ["s", "t"]) == (S, D)
    assert strategies(chain(SUM, operator("n", Kind.MAP)), ["s"]) == (S, D)
    assert strategies(chain(SUM), ["s"]) == (S, D)
    both = OperatorGraph((SUM, WINDOWS, MAP), {("s", "w"): 1.0, ("s", "m"): 1.0})
    assert strategies(both, ["s"]) == (S, D)


def test_smooth_migration_needs_windows() -> None:
    running = operator("r", Kind.COMPUTE, windowed=False)
    assert strategies(chain(running, MAP), ["r"]) == (D,)
    assert strategies(chain(running, WINDOWS), ["r"]) == (N, D)
    assert strategies(OperatorGraph((SUM, running), {}), ["s", "r"]) == (D,)


def test_neighbours() -> None:
    flow = chain(MAP, SUM, WINDOWS)
    assert (flow.upstream("s"), flow.downstream("s")) == (("m",), ("w",))
    assert flow.attributes == {"m": X, "s": X, "w": X}


def test_invalid_graphs_are_refused() -> None:
    with pytest.raises(TopologyError, match="more than one operator is called m"):
        OperatorGraph((MAP, MAP), {})
    with pytest.raises(TopologyError, match="there is no operator 'q'"):
        OperatorGraph((MAP,), {("m", "q"): 1.0})
    with pytest.raises(TopologyError, match="rate from 'm' to 's' is -1"):
        OperatorGraph((MAP, SUM), {("m", "s"): -1.0})
    with pytest.raises(TopologyError, match="form a cycle"):
        OperatorGraph((MAP, SUM), {("m", "s"): 1.0, ("s", "m"): 1.0})
