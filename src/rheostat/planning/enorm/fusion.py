"""Fusion: operators whose key attributes agree become one component (Enorm section 4.4.1, Algorithm 1).

Attributes of a component only ever become fewer. So two ends of an edge that cannot be fused once can never be fused
later, and such edges are forgotten: a job of 150 operators takes milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Attributes

Edge = tuple[str, str]


@dataclass(frozen=True)
class FusedComponent:
    """Operators that run together.

    Attributes:
        operators: their names, in the order of the stream.
        attributes: those that all of them are partitioned by.

    >>> (found,) = fuse({"sum": frozenset({"area", "user"}), "mean": frozenset({"area"})}, [("sum", "mean")])
    >>> found
    FusedComponent(operators=('sum', 'mean'), attributes=frozenset({'area'}))
    """

    operators: tuple[str, ...]
    attributes: Attributes


@dataclass(frozen=True)
class FusionStep:
    """One merge on the way to a fusion.

    Attributes:
        edge: the one with the best score.
        score: what fusing its ends is worth.
        component: what its ends became.
    """

    edge: Edge
    score: float
    component: FusedComponent


Candidate = tuple[Edge, FusedComponent, FusedComponent, Attributes]
"""An edge that can be fused: the components at its two ends, and the attributes they share."""

Score = Callable[[Sequence[FusedComponent], Sequence[Candidate]], Sequence[float]]
"""For the components there are, what fusing each candidate is worth; not worth it if not above 0."""


def score_by_rate(rates: Mapping[Edge, float]) -> Score:
    """The paper's ``COMM``: tuples per second between the two operators, which need not travel once they are fused.

    >>> score_by_rate({("a", "b"): float("nan")})
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: the rate from 'a' to 'b' is nan: give rows per second, 0 or more
    """
    check_rates(rates)
    return lambda components, candidates: [rates.get(c[0], 0.0) for c in candidates]  # noqa: ARG005


def score_by_component_rate(rates: Mapping[Edge, float]) -> Score:
    """``COMM`` over whole components: all that would no longer travel if the two were fused.

    The paper scores the single edge. Two components with many thin edges between them are then fused late, when
    their attributes may no longer agree.

    >>> ops = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y"), "d": frozenset("y")}
    >>> rates = {("a", "b"): 5.0, ("a", "c"): 4.0, ("a", "d"): 4.0, ("c", "d"): 9.0}
    >>> for score in (score_by_rate(rates), score_by_component_rate(rates)):  # 5 rows/s to b, or 8 to c and d together
    ...     print([c.operators for c in fuse(ops, rates, score)])
    [('a', 'b'), ('c', 'd')]
    [('a', 'c', 'd'), ('b',)]
    """
    check_rates(rates)

    def score(components: Sequence[FusedComponent], candidates: Sequence[Candidate]) -> list[float]:  # noqa: ARG001
        # Whether two components can be fused depends on them alone: all edges between them are candidates, or none.
        pairs = [(min(a, b), max(a, b)) for a, b in ((id(c[1]), id(c[2])) for c in candidates)]
        between: dict[tuple[int, int], float] = defaultdict(float)
        for pair, candidate in zip(pairs, candidates, strict=True):
            between[pair] += rates.get(candidate[0], 0.0)
        return [between[pair] for pair in pairs]

    return score


def score_by_attributes(components: Sequence[FusedComponent], candidates: Sequence[Candidate]) -> list[float]:
    """The paper's ``PA``: how common the shared attributes are, so that more can be fused later. Needs no trial run.

    A component counts once, however many operators it has: the paper counts among what is not fused yet.

    >>> ops = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y"), "d": frozenset("y")}
    >>> edges = [("a", "b"), ("a", "c"), ("c", "d")]
    >>> [c.operators for c in fuse(ops, edges, score_by_attributes)]  # more operators have y than x
    [('a', 'c', 'd'), ('b',)]
    """
    common = Counter(a for c in components for a in c.attributes)
    return [float(sum(map(common.__getitem__, c[3]))) for c in candidates]


def check_edges(operators: Iterable[str], edges: Iterable[Edge]) -> None:
    """Refuse edges from or to an operator that does not exist."""
    known = set(operators)
    for source, target in edges:
        if unknown := [name for name in (source, target) if name not in known]:
            raise TopologyError(f"rows go from {source!r} to {target!r}, but there is no operator {unknown[0]!r}")


def check_rates(rates: Mapping[Edge, float]) -> None:
    """Refuse rates that are negative, infinite or NaN: a single NaN would be the best of all scores."""
    for (source, target), rate in rates.items():
        if not 0 <= rate < inf:
            raise TopologyError(f"the rate from {source!r} to {target!r} is {rate}: give rows per second, 0 or more")


def fuse(
    attributes: Mapping[str, Attributes], edges: Iterable[Edge], score: Score = score_by_attributes
) -> list[FusedComponent]:
    """Merge the two ends of the best edge while their attributes still intersect.

    Every operator ends up in exactly one component; components of more than one operator share an attribute.

    >>> ops = {"map": frozenset("ab"), "by_a": frozenset("a"), "by_ab": frozenset("ab"), "all": frozenset()}
    >>> [(c.operators, sorted(c.attributes)) for c in fuse(ops, [("map", o) for o in ("by_a", "by_ab", "all")])]
    [(('map', 'by_a', 'by_ab'), ['a']), (('all',), [])]
    """
    component = _alone(attributes)
    for step in fusion_steps(attributes, edges, score):
        component.update(dict.fromkeys(step.component.operators, step.component))
    return list(dict.fromkeys(component.values()))


def fusion_steps(
    attributes: Mapping[str, Attributes], edges: Iterable[Edge], score: Score = score_by_attributes
) -> Iterator[FusionStep]:
    """The merges of ``fuse``, one after the other. The first of equal scores wins.

    >>> ops = {"a": frozenset("x"), "b": frozenset("x"), "c": frozenset("x")}
    >>> rates = {("a", "b"): 1.0, ("b", "c"): 5.0}
    >>> [(s.edge, s.score) for s in fusion_steps(ops, rates, score_by_rate(rates))]
    [(('b', 'c'), 5.0), (('a', 'b'), 1.0)]
    """
    order = {name: i for i, name in enumerate(attributes)}
    component = _alone(attributes)
    touching: dict[str, list[Edge]] = {name: [] for name in attributes}
    edges = list(dict.fromkeys(edges))
    check_edges(attributes, edges)
    for edge in edges:
        touching[edge[0]].append(edge)
        touching[edge[1]].append(edge)
    possible = {edge: c for edge in edges if (c := _candidate(component, edge))}
    while possible:
        candidates = list(possible.values())
        scores = score(list(dict.fromkeys(component.values())), candidates)
        best = int(np.argmax(scores))  # NaN counts as the largest
        if isnan(scores[best]):
            raise TopologyError(f"the score of {candidates[best][0]} is {scores[best]}: give every edge a number")
        if not scores[best] > 0:
            return
        edge, source, target, _ = candidates[best]
        merged = _merged(source, target, order)
        component.update(dict.fromkeys(merged.operators, merged))
        for changed in [e for o in merged.operators for e in touching[o] if e in possible]:
            if candidate := _candidate(component, changed):
                possible[changed] = candidate
            else:
                possible.pop(changed, None)
        yield FusionStep(edge, scores[best], merged)


def fuse_baseline(
    attributes: Mapping[str, Attributes], edges: Iterable[Edge], rng: np.random.Generator, join: bool = True
) -> list[FusedComponent]:
    """What the paper compares with (section 7.6): grow one component after the other along the stream.

    From the first operator on, fuse with the downstream operator with which most attributes are shared, until there is
    none; then go on with a random operator that is not fused.

    Args:
        join: whether a downstream operator that is already in a component may be fused with, together with that
            component. The paper does not say.

    >>> ops = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("xy"), "d": frozenset("y")}
    >>> found = fuse_baseline(ops, [("a", "b"), ("a", "c"), ("c", "d")], np.random.default_rng(1))
    >>> [c.operators for c in found]  # c shares most with a, then b comes first
    [('a', 'b', 'c'), ('d',)]
    """
    order = {name: i for i, name in enumerate(attributes)}
    read_by: dict[str, list[str]] = {name: [] for name in attributes}
    edges = list(dict.fromkeys(edges))
    check_edges(attributes, edges)
    for source, target in edges:
        read_by[source].append(target)
    component, waiting = _alone(attributes), dict.fromkeys(attributes)
    start = next(iter(waiting), None)
    while start is not None:
        del waiting[start]
        while True:
            here = component[start]
            near = [component[t] for o in here.operators for t in read_by[o] if component[t] is not here]
            near = [c for c in near if here.attributes & c.attributes and (join or len(c.operators) == 1)]
            if not near:
                break
            best = max(near, key=lambda c: len(here.attributes & c.attributes))
            merged = _merged(here, best, order)
            component.update(dict.fromkeys(merged.operators, merged))
            for name in best.operators:
                waiting.pop(name, None)
        start = list(waiting)[int(rng.integers(len(waiting)))] if waiting else None
    return list(dict.fromkeys(component.values()))


def inter_component_traffic(components: Iterable[FusedComponent], rates: Mapping[Edge, float]) -> float:
    """Tuples per second that go from one component to another: what fusion makes small.

    >>> pair = [FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y"))]
    >>> inter_component_traffic(pair, {("a", "b"): 5.0, ("b", "c"): 2.0, ("a", "c"): 1.0})
    3.0
    """
    home = {name: c for c in components for name in c.operators}
    check_edges(home, rates)
    return float(sum(rate for (source, target), rate in rates.items() if home[source] is not home[target]))


def _alone(attributes: Mapping[str, Attributes]) -> dict[str, FusedComponent]:
    return {name: FusedComponent((name,), attributes[name]) for name in attributes}


def _merged(one: FusedComponent, other: FusedComponent, order: Mapping[str, int]) -> FusedComponent:
    names = sorted((*one.operators, *other.operators), key=order.__getitem__)
    return FusedComponent(tuple(names), one.attributes & other.attributes)


def _candidate(component: Mapping[str, FusedComponent], edge: Edge) -> Candidate | None:
    source, target = component[edge[0]], component[edge[1]]
    if source is target:
        return None
    together = source.attributes & target.attributes
    return (edge, source, target, together) if together else None
