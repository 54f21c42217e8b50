"""Fusion: operators whose key attributes agree become one component (Enorm section 4.4.1, Algorithm 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Attributes = frozenset[str]
Edge = tuple[str, str]


@dataclass(frozen=True)
class FusedComponent:
    """Operators that run together, and the attributes they are all partitioned by."""

    operators: tuple[str, ...]
    attributes: Attributes


Score = Callable[[Edge, Attributes, Iterable[FusedComponent]], float]
"""How much fusing the two ends of an edge is worth, given what both sides could be partitioned by together."""


def score_by_rate(rates: Mapping[Edge, float]) -> Score:
    """The paper's ``COMM``: tuples per second between the two operators, which need not travel once they are fused."""
    return lambda edge, shared, components: rates.get(edge, 0.0)  # noqa: ARG005


def score_by_attributes(edge: Edge, shared: Attributes, components: Iterable[FusedComponent]) -> float:  # noqa: ARG001
    """The paper's ``PA``: how common the shared attributes are, so that more can be fused later. Needs no trial run."""
    common = Counter(a for c in components for a in c.attributes)
    return float(sum(common[a] for a in shared))


def fuse(
    attributes: Mapping[str, Attributes], edges: Iterable[Edge], score: Score = score_by_attributes
) -> list[FusedComponent]:
    """Merge the two ends of the best edge while their attributes still intersect.

    Every operator ends up in exactly one component; components of more than one operator share an attribute.

    >>> ops = {"map": frozenset("ab"), "by_a": frozenset("a"), "by_ab": frozenset("ab"), "all": frozenset()}
    >>> [(c.operators, sorted(c.attributes)) for c in fuse(ops, [("map", o) for o in ("by_a", "by_ab", "all")])]
    [(('map', 'by_a', 'by_ab'), ['a']), (('all',), [])]
    """
    edges = list(edges)
    component = {name: FusedComponent((name,), attributes[name]) for name in attributes}
    while True:
        best: tuple[float, Edge, Attributes] | None = None
        current = list(dict.fromkeys(component.values()))
        for edge in edges:
            source, target = component[edge[0]], component[edge[1]]
            shared = source.attributes & target.attributes
            if source is target or not shared:
                continue
            value = score(edge, shared, current)
            if value > 0 and (best is None or value > best[0]):
                best = (value, edge, shared)
        if best is None:
            return current
        _, (a, b), shared = best
        together = {*component[a].operators, *component[b].operators}
        merged = FusedComponent(tuple(n for n in attributes if n in together), shared)
        component.update(dict.fromkeys(merged.operators, merged))
