"""Fusion: operators that share key attributes are fused into one component (Enorm section 4.4.1, Algorithm 1).

``rheostat.planning.physical`` plans every query with it. A merge never adds attributes to a component, so an edge whose
ends cannot be fused now can never be fused later and is dropped: a job of 150 operators takes milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np

from rheostat.errors import TopologyError

Attributes = frozenset[str]
"""Names of attributes, that is, of columns."""

Edge = tuple[str, str]
"""The names of an operator and of one that reads its output."""


@dataclass(frozen=True)
class FusedComponent:
    """Operators that run together.

    Attributes:
        operators: names of the operators, upstream ones first.
        attributes: the attributes that all of them are partitioned by.

    >>> (found,) = fuse({"sum": frozenset({"area", "user"}), "mean": frozenset({"area"})}, [("sum", "mean")])
    >>> found
    FusedComponent(operators=('sum', 'mean'), attributes=frozenset({'area'}))
    """

    operators: tuple[str, ...]
    attributes: Attributes


@dataclass(frozen=True)
class FusionStep:
    """One merge of two components.

    Attributes:
        edge: the edge with the best score.
        score: its score.
        component: the component that its ends were merged into.
    """

    edge: Edge
    score: float
    component: FusedComponent


Candidate = tuple[Edge, FusedComponent, FusedComponent, Attributes]
"""An edge that can be fused: the components at its two ends, and the attributes they share."""

Score = Callable[[Sequence[FusedComponent], Sequence[Candidate]], Sequence[float]]
"""The scores of candidates, given the current components; the best is fused first, and only if above 0."""


def score_by_rate(rates: Mapping[Edge, float]) -> Score:
    """The paper's ``COMM`` score: rows per second between the two operators, which are local once they are fused.

    Args:
        rates: rows per second, by edge.

    >>> score_by_rate({("a", "b"): float("nan")})
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: the rate from 'a' to 'b' is nan: give rows per second, 0 or more
    """
    check_rates(rates)
    return lambda components, candidates: [rates.get(c[0], 0.0) for c in candidates]  # noqa: ARG005


def score_by_component_rate(rates: Mapping[Edge, float]) -> Score:
    """``COMM`` over whole components: rows per second between the two components that would be fused.

    The paper scores single edges. Two components with many edges of low rate between them are then fused late, when
    they may no longer share attributes.

    Args:
        rates: rows per second, by edge.

    >>> ops = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y"), "d": frozenset("y")}
    >>> rates = {("a", "b"): 5.0, ("a", "c"): 4.0, ("a", "d"): 4.0, ("c", "d"): 9.0}
    >>> for score in (score_by_rate(rates), score_by_component_rate(rates)):  # 5 rows/s to b, or 8 to c and d together
    ...     print([c.operators for c in fuse(ops, rates, score)])
    [('a', 'b'), ('c', 'd')]
    [('a', 'c', 'd'), ('b',)]
    """
    check_rates(rates)

    def score(components: Sequence[FusedComponent], candidates: Sequence[Candidate]) -> list[float]:  # noqa: ARG001
        # Either all edges between two components are candidates, or none: it depends only on their attributes.
        pairs = [(min(a, b), max(a, b)) for a, b in ((id(c[1]), id(c[2])) for c in candidates)]
        between: dict[tuple[int, int], float] = defaultdict(float)
        for pair, candidate in zip(pairs, candidates, strict=True):
            between[pair] += rates.get(candidate[0], 0.0)
        return [between[pair] for pair in pairs]

    return score


def score_by_attributes(components: Sequence[FusedComponent], candidates: Sequence[Candidate]) -> list[float]:
    """The paper's ``PA`` score: how many components have the shared attributes, so that more can be fused later.

    It needs no measured rates. A component counts once, however many operators it has.

    >>> ops = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y"), "d": frozenset("y")}
    >>> edges = [("a", "b"), ("a", "c"), ("c", "d")]
    >>> [c.operators for c in fuse(ops, edges, score_by_attributes)]  # more operators have y than x
    [('a', 'c', 'd'), ('b',)]
    """
    counts = Counter(a for c in components for a in c.attributes)
    return [float(sum(counts[a] for a in shared)) for _, _, _, shared in candidates]


def check_edges(operators: Iterable[str], edges: Iterable[Edge]) -> None:
    """Raise ``TopologyError`` for an edge from or to an operator that does not exist."""
    names = set(operators)
    for source, target in edges:
        if unknown := [name for name in (source, target) if name not in names]:
            raise TopologyError(f"rows go from {source!r} to {target!r}, but there is no operator {unknown[0]!r}")


def check_rates(rates: Mapping[Edge, float]) -> None:
    """Raise ``TopologyError`` for rates that are negative, infinite or NaN, which would count as the best score."""
    for (source, target), rate in rates.items():
        if not 0 <= rate < inf:
            raise TopologyError(f"the rate from {source!r} to {target!r} is {rate}: give rows per second, 0 or more")


def fuse(
    attributes: Mapping[str, Attributes], edges: Iterable[Edge], score: Score = score_by_attributes
) -> list[FusedComponent]:
    """Fuse operators: merge the ends of the edge with the best score, until no edge has ends that share attributes.

    Every operator is in exactly one component. The operators of a component share at least one attribute, unless it is
    a single operator.

    Args:
        attributes: the attributes that each operator is partitioned by, upstream operators first.
        edges: which operator reads the output of which.
        score: the scores of edges.

    >>> ops = {"map": frozenset("ab"), "by_a": frozenset("a"), "by_ab": frozenset("ab"), "all": frozenset()}
    >>> [(c.operators, sorted(c.attributes)) for c in fuse(ops, [("map", o) for o in ("by_a", "by_ab", "all")])]
    [(('map', 'by_a', 'by_ab'), ['a']), (('all',), [])]
    """
    component = _single_components(attributes)
    for step in fusion_steps(attributes, edges, score):
        component.update(dict.fromkeys(step.component.operators, step.component))
    return list(dict.fromkeys(component.values()))


def fusion_steps(
    attributes: Mapping[str, Attributes], edges: Iterable[Edge], score: Score = score_by_attributes
) -> Iterator[FusionStep]:
    """The merges that ``fuse`` makes, in order. Of equal scores, the first edge wins.

    >>> ops = {"a": frozenset("x"), "b": frozenset("x"), "c": frozenset("x")}
    >>> rates = {("a", "b"): 1.0, ("b", "c"): 5.0}
    >>> [(s.edge, s.score) for s in fusion_steps(ops, rates, score_by_rate(rates))]
    [(('b', 'c'), 5.0), (('a', 'b'), 1.0)]
    """
    order = {name: i for i, name in enumerate(attributes)}
    component = _single_components(attributes)
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
            raise TopologyError(f"the score of {candidates[best][0]} is {scores[best]}: scores must be numbers")
        if not scores[best] > 0:
            return
        edge, source, target, _ = candidates[best]
        merged = _merge(source, target, order)
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
    """The baseline that the paper compares with (section 7.6): grows one component after the other along the stream.

    Starts at the first operator and fuses it with the downstream operator that shares most attributes, until none
    shares any; then continues with a random operator that is not fused yet.

    Args:
        attributes: the attributes that each operator is partitioned by, upstream operators first.
        edges: which operator reads the output of which.
        rng: chooses the random operators.
        join: True if a downstream operator that is already fused may be joined, together with its component. The paper
            does not specify this.

    >>> ops = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("xy"), "d": frozenset("y")}
    >>> components = fuse_baseline(ops, [("a", "b"), ("a", "c"), ("c", "d")], np.random.default_rng(1))
    >>> [c.operators for c in components]  # a is fused with c, which shares most, then with b, which comes before d
    [('a', 'b', 'c'), ('d',)]
    """
    order = {name: i for i, name in enumerate(attributes)}
    read_by: dict[str, list[str]] = {name: [] for name in attributes}
    edges = list(dict.fromkeys(edges))
    check_edges(attributes, edges)
    for source, target in edges:
        read_by[source].append(target)
    component, waiting = _single_components(attributes), dict.fromkeys(attributes)
    start = next(iter(waiting), None)
    while start is not None:
        del waiting[start]
        while True:
            here = component[start]
            readers = [component[t] for o in here.operators for t in read_by[o] if component[t] is not here]
            fusible = [c for c in readers if here.attributes & c.attributes and (join or len(c.operators) == 1)]
            if not fusible:
                break
            best = max(fusible, key=lambda c: len(here.attributes & c.attributes))
            merged = _merge(here, best, order)
            component.update(dict.fromkeys(merged.operators, merged))
            for name in best.operators:
                waiting.pop(name, None)
        start = list(waiting)[int(rng.integers(len(waiting)))] if waiting else None
    return list(dict.fromkeys(component.values()))


def inter_component_traffic(components: Iterable[FusedComponent], rates: Mapping[Edge, float]) -> float:
    """Rows per second that go from one component to another, which fusion is to minimise.

    Args:
        components: the components.
        rates: rows per second, by edge.

    >>> pair = [FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y"))]
    >>> inter_component_traffic(pair, {("a", "b"): 5.0, ("b", "c"): 2.0, ("a", "c"): 1.0})
    3.0
    """
    home = {name: c for c in components for name in c.operators}
    check_edges(home, rates)
    return float(sum(rate for (source, target), rate in rates.items() if home[source] is not home[target]))


def _single_components(attributes: Mapping[str, Attributes]) -> dict[str, FusedComponent]:
    return {name: FusedComponent((name,), attributes[name]) for name in attributes}


def _merge(one: FusedComponent, other: FusedComponent, order: Mapping[str, int]) -> FusedComponent:
    names = sorted((*one.operators, *other.operators), key=order.__getitem__)
    return FusedComponent(tuple(names), one.attributes & other.attributes)


def _candidate(component: Mapping[str, FusedComponent], edge: Edge) -> Candidate | None:
    """The edge as a candidate; None if its ends are in one component or share no attribute."""
    source, target = component[edge[0]], component[edge[1]]
    if source is target:
        return None
    common = source.attributes & target.attributes
    return (edge, source, target, common) if common else None
