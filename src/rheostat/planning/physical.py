"""Makes the physical plan of a topology: which operators share a table, and which tables share a component.

``rheostat.planning.routes`` fuses compute operators into components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rheostat.keyed.keyed_layout import layout_of
from rheostat.planning.routes import Figures, Route, plan_routes
from rheostat.planning.tables import Applied, Component, KeyedTable, PhysicalPlan, Pin, WindowOutput, WindowTable
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Apply, Compute, Consolidate, Process
from rheostat.windows.consolidation import ConsolidationPlan, plan_consolidation
from rheostat.windows.panes import pane_of
from rheostat.windows.partials import ROW_COUNT, Column, Partial, quoted
from rheostat.windows.window import Window
from rheostat.windows.window_layout import WindowLayout

MOST_PANES = 24
"""Panes that a window may have because its operator shares a table: a table of its own would keep fewer partials."""


def plan_physical(graph: Graph, pins: Mapping[str, Pin] | None = None, figures: Figures | None = None) -> PhysicalPlan:
    """Plan a topology.

    Args:
        graph: the topology.
        pins: by operator, what a checkpoint fixes: its table, routing and windows.
        figures: what epochs have measured, by level; None if nothing was.

    Raises:
        TopologyError: an operator cannot be fused with the one that it names.
    """
    computes = [n for n in graph.nodes.values() if isinstance(n, Compute)]
    recorded = pins or {}
    pins = {c.name: recorded[c.name] for c in computes if c.name in recorded and _fits(graph, c, recorded[c.name])}
    planned = plan_routes(graph, computes, pins, figures)
    groups: dict[tuple[object, ...], list[Compute]] = {}
    for compute in computes:
        pinned = (pins[compute.name].table,) if compute.name in pins else None
        groups.setdefault(pinned or (compute.upstream, compute.keys, planned.routes[compute.name]), []).append(compute)
    shared = [s for group in groups.values() for s in ([group] if group[0].name in pins else _sharing(graph, group))]
    tables = [_table(graph, members, planned.routes[members[0].name], pins) for members in shared]
    tables = [_with_finer(t, tables) for t in tables]
    keyed = [_keyed_table(graph, n) for n in graph.nodes.values() if isinstance(n, Process)]
    applied = {n.name: Applied(n, graph.level_of(n.name)) for n in graph.nodes.values() if isinstance(n, Apply)}
    components = _components([*tables, *keyed])
    return PhysicalPlan({t.name: t for t in tables}, components, {t.name: t for t in keyed}, applied, planned.notes)


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


def _sharing(graph: Graph, computes: Sequence[Compute]) -> list[list[Compute]]:
    """The operators that share a table, among those with the same rows, keys and route.

    Operators with the same windows do. Others do if the finest panes serve all of them: then rows are aggregated once,
    and the partials of a table that is alone on its level are written without an exchange.
    """
    groups: list[list[Compute]] = []
    for compute in computes:
        windows = set(_windows(graph, compute))
        same = next((g for g in groups if windows == set(_windows(graph, g[0]))), None)
        if same is not None:
            same.append(compute)
        else:
            groups.append([compute])
    shared: list[list[Compute]] = []
    for group in groups:
        fitting = next((s for s in shared if _panes_serve(graph, s, group)), None)
        if fitting is not None:
            fitting += group
        else:
            shared.append(list(group))
    return shared


def _panes_serve(graph: Graph, one: Sequence[Compute], other: Sequence[Compute]) -> bool:
    """True if the panes of one of two groups of operators can be kept for the windows of both."""
    # Sketches have no form for a single row. They are large, so fewer, longer panes are better for them.
    if not all(p.rollup_sql and p.row_sql for c in (*one, *other) for a in c.aggregates for p in a.partials):
        return False
    if any(c.emit == "update" for m in (*one, *other) for c in graph.consolidates_of(m.name)):
        return False
    each = [[w for m in group for w in _windows(graph, m)] for group in (one, other)]
    if not all(each):
        return False
    fine, coarse = sorted(each, key=lambda windows: pane_of(windows).size)
    pane, wanted = pane_of(fine), pane_of(coarse)
    kept = max(MOST_PANES * pane.size, *(w.size for w in fine))
    return _divides(pane, wanted) and all(w.size <= kept for w in coarse)


def _divides(pane: Window, other: Window) -> bool:
    """True if instances of a pane make up those of another one."""
    return other.size % pane.size == 0 and (other.offset - pane.offset) % pane.size == 0


def _table(graph: Graph, members: Sequence[Compute], route: Route, pins: Mapping[str, Pin]) -> WindowTable:
    first = members[0]
    layout = _layout(members)
    if first.name in pins:
        plan = pins[first.name].plan
    else:
        updating = any(c.emit == "update" for m in members for c in graph.consolidates_of(m.name))
        windows = list(dict.fromkeys(w for m in members for w in _windows(graph, m)))
        plan = plan_consolidation(windows, subtractable=layout.subtractable, panes_only=updating)
    return WindowTable(
        name=pins[first.name].table if first.name in pins else "+".join(m.name for m in members),
        operators=tuple(m.name for m in members),
        upstream=first.upstream,
        clock=graph.clock_of(first.upstream),
        level=graph.level_of(first.name),
        keys=first.keys,
        route_by=route.attributes,
        apart=route.apart,
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
    if table.apart or not all(p.rollup_sql for p in table.layout.partials):
        return table
    pane = table.plan.pane
    finer = [
        t
        for t in tables
        if t is not table
        and not t.apart
        and t.upstream == table.upstream
        and set(table.keys) <= set(t.keys)
        and (set(table.keys) != set(t.keys) or pane.size > t.plan.pane.size)
        and _divides(t.plan.pane, pane)
    ]
    if not finer:
        return table
    coarsest = min(finer, key=lambda t: (len(t.keys), -t.plan.pane.size))
    return replace(table, finer=coarsest.name)


def _components(tables: Sequence[WindowTable | KeyedTable]) -> tuple[Component, ...]:
    """Tables of a level with the same routing attributes form a component, except for those that are kept apart."""
    routed: dict[tuple[int, tuple[str, ...], str], list[WindowTable | KeyedTable]] = {}
    for table in tables:
        apart = table.apart if isinstance(table, WindowTable) else ""
        routed.setdefault((table.level, table.route_by, apart), []).append(table)
    return tuple(
        Component(
            name=_component_name(level, attributes, apart),
            level=level,
            attributes=attributes,
            tables=tuple(t.name for t in members),
        )
        for (level, attributes, apart), members in sorted(routed.items(), key=lambda r: r[0][0])
    )


def _component_name(level: int, attributes: tuple[str, ...], apart: str) -> str:
    """A name that stays the same as long as the shards of the component hold the same keys."""
    by = ", ".join(a if a.isidentifier() else quoted(a) for a in attributes)
    alone = f"{apart} " if apart else ""
    return alone + (f"by {by}" if by else "global") + (f" @{level}" if level else "")


def _windows(graph: Graph, compute: Compute) -> list[Window]:
    return [w for c in graph.consolidates_of(compute.name) for w in c.windows]


def _fits(graph: Graph, compute: Compute, pin: Pin) -> bool:
    """True if the operator still fits its pin; otherwise ``compatibility.check`` reports what has changed."""
    return set(pin.route_by or ()) <= set(compute.keys) and set(pin.plan.requested) >= set(_windows(graph, compute))
