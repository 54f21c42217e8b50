"""Random jobs and slow, obvious definitions of fusion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from hypothesis import strategies as st

from rheostat.planning.enorm.fusion import Attributes, Edge, FusedComponent

Job = tuple[dict[str, Attributes], dict[Edge, float]]


@st.composite
def jobs(draw: st.DrawFn, most: int = 8) -> Job:
    """Operators in the order of the stream, edges only forward, rates that are all different."""
    sets = draw(st.lists(st.frozensets(st.sampled_from("abcd")), min_size=1, max_size=most))
    names = [f"op{i}" for i in range(len(sets))]
    forward = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    edges = draw(st.lists(st.sampled_from(forward), unique=True, max_size=14)) if forward else []
    rates = draw(st.lists(st.integers(1, 1000), min_size=len(edges), max_size=len(edges), unique=True))
    return dict(zip(names, sets, strict=True)), dict(zip(edges, map(float, rates), strict=True))


def shared(operators: Iterable[str], attributes: dict[str, Attributes]) -> Attributes:
    return reduce(frozenset.intersection, (attributes[o] for o in operators))


def check(components: Iterable[FusedComponent], attributes: dict[str, Attributes]) -> None:
    """What must hold of every fusion: each operator once, and attributes in common."""
    components = list(components)
    assert sorted(o for c in components for o in c.operators) == sorted(attributes)
    for component in components:
        assert component.attributes == shared(component.operators, attributes)
        assert component.attributes or len(component.operators) == 1


def groups(components: Iterable[FusedComponent]) -> set[frozenset[str]]:
    return {frozenset(c.operators) for c in components}


def algorithm_1(attributes: dict[str, Attributes], rates: dict[Edge, float]) -> set[frozenset[str]]:
    """The paper's listing, line by line."""
    fused = {o: frozenset({o}) for o in attributes}
    while True:
        best, found = 0.0, None
        for i in attributes:
            for j in (t for s, t in rates if s == i):
                if j in fused[i] or not shared(fused[i], attributes) & shared(fused[j], attributes):
                    continue
                if rates[i, j] > best:
                    best, found = rates[i, j], (i, j)
        if found is None:
            return set(fused.values())
        both = fused[found[0]] | fused[found[1]]
        fused.update(dict.fromkeys(both, both))


def partitions(names: list[str]) -> Iterator[list[frozenset[str]]]:
    """Every way to divide names into groups."""
    if not names:
        yield []
        return
    first, rest = names[0], names[1:]
    for parts in partitions(rest):
        yield [frozenset({first}), *parts]
        for i, part in enumerate(parts):
            yield [*parts[:i], part | {first}, *parts[i + 1 :]]


def least_traffic(attributes: dict[str, Attributes], rates: dict[Edge, float]) -> float:
    """The best that any fusion can reach."""
    return min(
        sum(r for (a, b), r in rates.items() if not any(a in p and b in p for p in parts))
        for parts in partitions(list(attributes))
        if all(len(p) == 1 or shared(p, attributes) for p in parts)
    )
