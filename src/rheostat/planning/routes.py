"""Decides by which attributes every compute operator is routed, and with which others it shares a component.

Operators are fused by Enorm's Algorithm 1 (``rheostat.planning.enorm.fusion``): by the attributes they share as long as
nothing is known about their traffic (``PA``), and by measured rates and work once there are figures (``COMM``). What a
user asks for with ``fuse=`` comes first, then what a checkpoint fixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rheostat.errors import TopologyError
from rheostat.planning.enorm.fusion import Attributes, Edge, fuse, score_by_attributes
from rheostat.planning.enorm.fusion_cost import TASKS, FusionFigures, price, score_by_cost
from rheostat.planning.tables import Pin
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Compute
from rheostat.topology.window_nodes import PARTIALS

Figures = Mapping[int, FusionFigures]
"""By level, what epochs have measured."""


@dataclass(frozen=True)
class Route:
    """How an operator is routed.

    Attributes:
        attributes: the attributes whose hash determines the shard, sorted: all operators of a component must hash the
            same attributes in the same order.
        apart: the operator's name if it shares its component with no other; empty otherwise.
    """

    attributes: tuple[str, ...]
    apart: str = ""


@dataclass(frozen=True)
class RoutePlan:
    """The routes of all compute operators.

    Attributes:
        routes: by operator, its route.
        notes: what was fused, what was not and why, in words and numbers.
    """

    routes: Mapping[str, Route]
    notes: tuple[str, ...]


def plan_routes(
    graph: Graph, computes: Sequence[Compute], pins: Mapping[str, Pin], figures: Figures | None = None
) -> RoutePlan:
    """Route compute operators.

    Args:
        graph: the topology.
        computes: its compute operators.
        pins: by operator, what a checkpoint fixes.
        figures: what epochs have measured, by level; None if nothing was.

    Raises:
        TopologyError: an operator cannot be fused with the one that it names.
    """
    fixed = {name: pin.route_by for name, pin in pins.items() if pin.route_by is not None}
    routes: dict[str, Route] = {}
    notes: list[str] = []
    for level in sorted({graph.level_of(c.name) for c in computes}):
        members = [c for c in computes if graph.level_of(c.name) == level]
        groups = _asked(members, computes)
        known = {c.name: tuple(sorted(fixed[c.name])) for c in members if c.name in fixed}
        free, kept = [c for c in members if c.name not in known and c.fuse is not False], tuple(known.values())
        for compute in free:
            # A new operator joins a component of the checkpoint only if that leaves the component as it is.
            for route in kept:
                if route and set(route) <= set(compute.keys):
                    known[compute.name] = route
        seen = (figures or {}).get(level)
        known |= _fused(graph, [c for c in free if c.name not in known], groups, seen)
        known |= {c.name: tuple(sorted(c.keys)) for c in members if c.name not in known}
        found = {c.name: Route(known[c.name], c.name if c.fuse is False else "") for c in members}
        routes |= found
        notes += _notes(members, found, groups, fixed, seen)
    return RoutePlan(routes, tuple(notes))


def _asked(members: Sequence[Compute], computes: Iterable[Compute]) -> list[list[str]]:
    """The groups of operators of a level that users want fused."""
    names, everywhere = {c.name: c for c in members}, {c.name for c in computes}
    groups: dict[str, list[str]] = {c.name: [c.name] for c in members}
    for compute in members:
        if isinstance(compute.fuse, bool):
            continue
        other = next((n for n in (compute.fuse, compute.fuse + PARTIALS) if n in everywhere), None)
        if other is None or other == compute.name:
            raise TopologyError(
                f"operator {compute.name!r}: fuse={compute.fuse!r} is no other operator that aggregates; "
                f"there are {', '.join(sorted(everywhere - {compute.name})) or 'none'}"
            )
        if other not in names or names[other].fuse is False:
            why = "is kept apart by fuse=False" if other in names else "does not read the same rows"
            raise TopologyError(f"operator {compute.name!r}: fuse={compute.fuse!r}, but {other!r} {why}")
        joined = [*groups[compute.name], *(n for n in groups[other] if n not in groups[compute.name])]
        if not frozenset.intersection(*(frozenset(names[n].keys) for n in joined)):
            raise TopologyError(
                f"operator {compute.name!r}: fuse={compute.fuse!r}, but {', '.join(joined)} have no key attribute in "
                "common: add one to their by=, or leave fuse= out"
            )
        groups.update(dict.fromkeys(joined, joined))
    return list({id(g): g for g in groups.values()}.values())


def _fused(
    graph: Graph, computes: Sequence[Compute], groups: Sequence[Sequence[str]], figures: FusionFigures | None
) -> dict[str, tuple[str, ...]]:
    """The attributes of the components that compute operators of one level are fused into."""
    # Fusion needs edges. Computes that read the same rows are fused through the operator they read, which can be
    # partitioned by any attribute. Its name begins with a slash, which names of operators cannot contain.
    by_name = {c.name: c for c in computes}
    first = {n: next(m for m in group if m in by_name) for group in groups for n in group if n in by_name}
    together = {f: [n for n in by_name if first[n] == f] for f in dict.fromkeys(first.values())}
    keys: dict[str, Attributes] = {
        f: frozenset.intersection(*(frozenset(by_name[n].keys) for n in names)) for f, names in together.items()
    }
    origins = {c.name: f"/{graph.origin_of(c.upstream).name}" for c in computes}
    every = frozenset(k for c in computes for k in c.keys)
    edges: list[Edge] = [(origins[n], first[n]) for n in by_name]
    score = score_by_attributes if figures is None else score_by_cost(figures, keys)
    routes = {}
    for component in fuse(dict.fromkeys(origins.values(), every) | keys, edges, score):
        for name in (n for f in component.operators for n in together.get(f, ())):
            routes[name] = tuple(sorted(component.attributes & frozenset(by_name[name].keys)))
    return routes


def _notes(
    members: Sequence[Compute],
    routes: Mapping[str, Route],
    groups: Sequence[Sequence[str]],
    fixed: Mapping[str, tuple[str, ...]],
    figures: FusionFigures | None,
) -> list[str]:
    """What is fused and what is not, although it has attributes in common, and why."""
    keys = {c.name: frozenset(c.keys) for c in members}
    components: dict[Route, list[str]] = {}
    for name, route in routes.items():
        components.setdefault(route, []).append(name)
    notes = []
    for route, names in components.items():
        if len(names) > 1 and route.attributes:
            why = _why_fused(names, groups, fixed, figures)
            notes.append(f"{', '.join(names)}: fused by {', '.join(route.attributes)}; {why}")
    for (one, some), (other, more) in combinations(components.items(), 2):
        shared = frozenset.intersection(*(keys[n] for n in (*some, *more)))
        if shared:
            what = f"{', '.join(some)} and {', '.join(more)}: not fused by {', '.join(sorted(shared))}; "
            notes.append(what + _why_apart((one, other), shared, (*some, *more), keys, fixed, figures))
    return notes


def _why_fused(
    names: Sequence[str],
    groups: Sequence[Sequence[str]],
    fixed: Mapping[str, tuple[str, ...]],
    figures: FusionFigures | None,
) -> str:
    if figures is None:
        measured = "nothing is measured yet"
    else:
        partials = sum(figures.partials.get(name, 0.0) for name in names)
        measured = f"{partials:,.0f} partials and {figures.work(names):.3g} s of work per epoch"
    if any(set(names) <= set(group) for group in groups):
        return f"as asked; {measured}"
    if figures is not None:
        return measured
    kept = all(name in fixed for name in names)
    return f"as in the checkpoint; {measured}" if kept else f"they share attributes; {measured}"


def _why_apart(
    pair: tuple[Route, Route],
    shared: Attributes,
    names: Sequence[str],
    keys: Mapping[str, Attributes],
    fixed: Mapping[str, tuple[str, ...]],
    figures: FusionFigures | None,
) -> str:
    if any(route.apart for route in pair):
        return "as asked"
    if figures is not None and price(figures, keys, shared, names) > TASKS:
        even = figures.work(names) / figures.slots
        return (
            f"the busiest shard would have {figures.busiest[shared]:.0%} of the work: "
            f"{figures.longest(shared, names):.3g} s per epoch, where {figures.slots} slots need {even:.3g} s"
        )
    if any(name in fixed for name in names):
        return "as in the checkpoint" if figures is None else "as before; fusing them would save too little"
    return "each shares attributes with others that are fused already"
