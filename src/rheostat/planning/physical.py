"""Makes the physical plan of a topology: which operators share a table, and which tables share a component.

Compute operators are fused into components by Enorm's Algorithm 1 (``rheostat.planning.enorm.fusion``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rheostat.keyed.keyed_layout import layout_of
from rheostat.planning.enorm.fusion import fuse
from rheostat.planning.tables import Applied, Component, KeyedTable, PhysicalPlan, Pin, WindowOutput, WindowTable
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Apply, Compute, Consolidate, Process
from rheostat.windows.consolidation import ConsolidationPlan, plan_consolidation
from rheostat.windows.partials import ROW_COUNT, Column, Partial, quoted
from rheostat.windows.window import Window
from rheostat.windows.window_layout import WindowLayout


def plan_physical(graph: Graph, pins: Mapping[str, Pin] | None = None) -> PhysicalPlan:
    """Plan a topology.

    Args:
        graph: the topology.
        pins: by operator, what a checkpoint fixes: its table, routing and windows.
    """
    computes = [n for n in graph.nodes.values() if isinstance(n, Compute)]
    recorded = pins or {}
    pins = {c.name: recorded[c.name] for c in computes if c.name in recorded and _fits(graph, c, recorded[c.name])}
    routes = _routes(graph, computes, pins)
    groups: dict[tuple[object, ...], list[Compute]] = {}
    for compute in computes:
        pinned = pins[compute.name].table if compute.name in pins else None
        shared = (compute.upstream, compute.keys, frozenset(_windows(graph, compute)), pinned)
        groups.setdefault(shared, []).append(compute)
    tables = [_table(graph, members, routes[members[0].name], pins) for members in groups.values()]
    tables = [_with_finer(t, tables) for t in tables]
    keyed = [_keyed_table(graph, n) for n in graph.nodes.values() if isinstance(n, Process)]
    applied = {n.name: Applied(n, graph.level_of(n.name)) for n in graph.nodes.values() if isinstance(n, Apply)}
    components = _components([*tables, *keyed])
    return PhysicalPlan({t.name: t for t in tables}, components, {t.name: t for t in keyed}, applied)


def _keyed_table(graph: Graph, process: Process) -> KeyedTable:
    # Routed by all of its keys: a state row is found by its routing hash.
    route_by = tuple(sorted(process.keys))
    clock, level = graph.clock_of(process.name), graph.level_of(process.name)
    return KeyedTable(
        name=process.name,
        process=process,
        clock=clock,
        level=level,
        route_by=route_by,
        layout=layout_of(process),
    )


def _routes(graph: Graph, computes: Sequence[Compute], pins: Mapping[str, Pin]) -> dict[str, tuple[str, ...]]:
    """The routing attributes of every compute operator: those that its component has in common."""
    routes = {name: pin.route_by for name, pin in pins.items()}
    for level in {graph.level_of(c.name) for c in computes}:
        pinned_routes = [pin.route_by for name, pin in pins.items() if graph.level_of(name) == level]
        unpinned = [c for c in computes if graph.level_of(c.name) == level and c.name not in pins]
        for compute in unpinned:
            # A new operator joins a component of the checkpoint only if that leaves the component as it is.
            for route in pinned_routes:
                if route and set(route) <= set(compute.keys):
                    routes[compute.name] = route
        routes |= _fused_routes(graph, [c for c in unpinned if c.name not in routes])
    # All operators of a component must hash the same attributes in the same order.
    return {name: tuple(sorted(route)) for name, route in routes.items()}


def _fused_routes(graph: Graph, computes: Sequence[Compute]) -> dict[str, tuple[str, ...]]:
    """The attributes of the components that compute operators of one level are fused into."""
    # Fusion needs edges. Computes that read the same rows are fused through the operator they read, which can be
    # partitioned by any attribute. Its name begins with a slash, which names of operators cannot contain.
    origins = {c.name: f"/{graph.origin_of(c.upstream).name}" for c in computes}
    all_keys = frozenset(k for c in computes for k in c.keys)
    attributes = dict.fromkeys(origins.values(), all_keys) | {c.name: frozenset(c.keys) for c in computes}
    edges = [(origins[c.name], c.name) for c in computes]
    routes = {}
    for component in fuse(attributes, edges):
        for compute in computes:
            if compute.name in component.operators:
                routes[compute.name] = tuple(k for k in compute.keys if k in component.attributes)
    return routes


def _table(graph: Graph, members: Sequence[Compute], route_by: tuple[str, ...], pins: Mapping[str, Pin]) -> WindowTable:
    first = members[0]
    layout = _layout(members)
    if first.name in pins:
        plan = pins[first.name].plan
    else:
        updating = any(c.emit == "update" for m in members for c in graph.consolidates_of(m.name))
        plan = plan_consolidation(_windows(graph, first), subtractable=layout.subtractable, panes_only=updating)
    return WindowTable(
        name=pins[first.name].table if first.name in pins else "+".join(m.name for m in members),
        operators=tuple(m.name for m in members),
        upstream=first.upstream,
        clock=graph.clock_of(first.upstream),
        level=graph.level_of(first.name),
        keys=first.keys,
        route_by=route_by,
        layout=layout,
        plan=plan,
        time_sql=first.time_sql,
        outputs=tuple(_output(plan, m, c) for m in members for c in graph.consolidates_of(m.name)),
    )


def _layout(members: Sequence[Compute]) -> WindowLayout:
    """The columns for all aggregates of the operators, each partial once."""
    keys = tuple(Column(f"k.{c.name}", c.type) for c in members[0].key_columns)
    partials: dict[Partial, None] = {ROW_COUNT: None}
    partials.update((p, None) for m in members for a in m.aggregates for p in a.partials)
    return WindowLayout(keys, tuple(partials))


def _output(plan: ConsolidationPlan, compute: Compute, consolidate: Consolidate) -> WindowOutput:
    return WindowOutput(
        operator=consolidate.name,
        emit=consolidate.emit,
        windows={i: g.window for i, g in enumerate(plan.granules) if g.window in consolidate.windows},
        keys=compute.keys,
        aggregates=compute.aggregates,
        schema=compute.result_columns,
    )


def _with_finer(table: WindowTable, tables: Sequence[WindowTable]) -> WindowTable:
    """The table, to be rolled up from a finer one if there is one, so that rows are aggregated only once."""
    if not all(p.rollup_sql for p in table.layout.partials):
        return table
    pane = table.plan.pane
    finer = [
        t
        for t in tables
        if t is not table
        and t.upstream == table.upstream
        and set(table.keys) <= set(t.keys)
        and (set(table.keys) != set(t.keys) or pane.size > t.plan.pane.size)
        and pane.size % t.plan.pane.size == 0
        and (pane.offset - t.plan.pane.offset) % t.plan.pane.size == 0
    ]
    if not finer:
        return table
    coarsest = min(finer, key=lambda t: (len(t.keys), -t.plan.pane.size))
    return replace(table, finer=coarsest.name)


def _components(tables: Sequence[WindowTable | KeyedTable]) -> tuple[Component, ...]:
    """Tables of a level with the same routing attributes form a component."""
    routed: dict[tuple[int, tuple[str, ...]], list[WindowTable | KeyedTable]] = {}
    for table in tables:
        routed.setdefault((table.level, table.route_by), []).append(table)
    return tuple(
        Component(
            name=_component_name(level, attributes),
            level=level,
            attributes=attributes,
            tables=tuple(t.name for t in members),
        )
        for (level, attributes), members in sorted(routed.items(), key=lambda r: r[0][0])
    )


def _component_name(level: int, attributes: tuple[str, ...]) -> str:
    """A name that stays the same as long as the shards of the component hold the same keys."""
    by = ", ".join(a if a.isidentifier() else quoted(a) for a in attributes)
    return (f"by {by}" if by else "global") + (f" @{level}" if level else "")


def _windows(graph: Graph, compute: Compute) -> list[Window]:
    return [w for c in graph.consolidates_of(compute.name) for w in c.windows]


def _fits(graph: Graph, compute: Compute, pin: Pin) -> bool:
    """True if the operator still fits its pin; otherwise ``compatibility.check`` reports what has changed."""
    return set(pin.route_by) <= set(compute.keys) and set(pin.plan.requested) == set(_windows(graph, compute))
