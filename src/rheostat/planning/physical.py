"""From a topology to what runs: state tables, the components they belong to, and the levels of the dataflow.

A *table* is the state of one or several compute operators with the same stream, keys and windows. A *component* is the
tables that are routed by the same attributes; each of its slots is one task. A *level* is everything that runs in the
same stage: its components have slots of their own, but share one exchange. A topology has more than one level only if
an operator with state reads what another one gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rheostat.keyed.layout import KeyedLayout, layout_of
from rheostat.planning.enorm.fusion import fuse
from rheostat.topology.aggregates import BoundAggregate
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Compute, Process
from rheostat.windows.consolidation import ConsolidationPlan, plan_consolidation
from rheostat.windows.layout import Layout
from rheostat.windows.partials import ROW_COUNT, Column, Partial, quoted
from rheostat.windows.window import Window


@dataclass(frozen=True)
class Output:
    """Results of one consolidate operator, out of its table.

    Attributes:
        operator: the consolidate operator.
        emit: ``append`` or ``update``.
        windows: granule number and label of every window it gives.
        keys: its key attributes.
        aggregates: how results are finished.
        time_type: Spark SQL type of window_start and window_end.
    """

    operator: str
    emit: str
    windows: tuple[tuple[int, str], ...]
    keys: tuple[str, ...]
    aggregates: tuple[BoundAggregate, ...]
    time_type: str


@dataclass(frozen=True)
class Table:
    """The state of compute operators that share a stream, keys and windows.

    Attributes:
        name: its folder in the checkpoint.
        operators: the compute operators.
        upstream: the stream they read.
        source: the source whose watermark closes its windows, or several, joined as ``Graph.clock_of`` names them.
        level: 0 for tables over a source, 1 for windows over windows, and so on.
        keys: key attributes.
        route_by: the attributes whose hash decides the shard; those of the component.
        time_sql: Spark SQL for a row's event time in microseconds.
        finer: the table whose partials this one's are rolled up from, in the JVM; None if they are made from rows.
    """

    name: str
    operators: tuple[str, ...]
    upstream: str
    source: str
    level: int
    keys: tuple[str, ...]
    route_by: tuple[str, ...]
    layout: Layout
    plan: ConsolidationPlan
    time_sql: str
    outputs: tuple[Output, ...]
    finer: str | None = None


@dataclass(frozen=True)
class KeyedTable:
    """The state of a process operator.

    Attributes:
        name: the operator, and its folder in the checkpoint.
        source: the clock whose watermark makes timers due.
        route_by: the attributes whose hash decides the shard: its keys.
    """

    name: str
    process: Process
    source: str
    level: int
    route_by: tuple[str, ...]
    layout: KeyedLayout


@dataclass(frozen=True)
class Component:
    """Tables that are routed together."""

    name: str
    level: int
    attributes: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Pin:
    """What a checkpoint already holds for a compute operator, which planning must not change."""

    table: str
    route_by: tuple[str, ...]
    plan: ConsolidationPlan


@dataclass(frozen=True)
class PhysicalPlan:
    """Everything the runtime needs to know about a topology."""

    tables: Mapping[str, Table]
    components: tuple[Component, ...]
    keyed: Mapping[str, KeyedTable] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """How many stages with state run one after the other in an epoch."""
        return 1 + max((c.level for c in self.components), default=-1)

    def tables_at(self, level: int) -> list[Table]:
        """The tables of a level."""
        return [t for t in self.tables.values() if t.level == level]

    def keyed_at(self, level: int) -> list[KeyedTable]:
        """The keyed tables of a level."""
        return [t for t in self.keyed.values() if t.level == level]

    @property
    def clocks(self) -> set[str]:
        """The clocks that tables follow."""
        return {t.source for t in self.tables.values()} | {t.source for t in self.keyed.values()}

    def components_at(self, level: int) -> list[Component]:
        """The components of a level."""
        return [c for c in self.components if c.level == level]


def plan_physical(graph: Graph, pins: Mapping[str, Pin] | None = None) -> PhysicalPlan:
    """Plan a topology. ``pins`` keeps operators in the tables and shards a checkpoint has for them."""
    computes = [n for n in graph.nodes.values() if isinstance(n, Compute)]
    given = pins or {}
    pins = {c.name: given[c.name] for c in computes if c.name in given and _fits(graph, c, given[c.name])}
    routes = _routes(graph, computes, pins)
    groups: dict[tuple[object, ...], list[Compute]] = {}
    for compute in computes:
        pinned = pins[compute.name].table if compute.name in pins else None
        same = (compute.upstream, compute.keys, frozenset(_windows(graph, compute)), pinned)
        groups.setdefault(same, []).append(compute)
    tables = [_table(graph, members, routes[members[0].name], pins) for members in groups.values()]
    tables = [_rolled_up(t, tables) for t in tables]
    keyed = [_keyed(graph, n) for n in graph.nodes.values() if isinstance(n, Process)]
    return PhysicalPlan({t.name: t for t in tables}, _components([*tables, *keyed]), {t.name: t for t in keyed})


def _keyed(graph: Graph, process: Process) -> KeyedTable:
    # Routed by its keys and no fewer: a state row is found by the routing hash.
    route_by = tuple(sorted(process.keys))
    clock, level = graph.clock_of(process.name), graph.level_of(process.name)
    return KeyedTable(process.name, process, clock, level, route_by, layout_of(process))


def _routes(graph: Graph, computes: Sequence[Compute], pins: Mapping[str, Pin]) -> dict[str, tuple[str, ...]]:
    """The routing attributes of every compute operator: those its component shares."""
    routes = {name: pin.route_by for name, pin in pins.items()}
    for level in {graph.level_of(c.name) for c in computes}:
        fresh = [c for c in computes if graph.level_of(c.name) == level and c.name not in pins]
        for compute in fresh:
            # An operator that comes to an old checkpoint joins a component only if that need not change.
            for pinned in (p.route_by for n, p in pins.items() if graph.level_of(n) == level):
                if pinned and set(pinned) <= set(compute.keys):
                    routes[compute.name] = pinned
        rest = [c for c in fresh if c.name not in routes]
        # Computes that read the same rows can be fused through what they read, which any attribute partitions.
        everything = frozenset(k for c in rest for k in c.keys)
        attributes = {f"from {graph.origin_of(c.upstream).name}": everything for c in rest}
        attributes |= {c.name: frozenset(c.keys) for c in rest}
        edges = [(f"from {graph.origin_of(c.upstream).name}", c.name) for c in rest]
        for component in fuse(attributes, edges):
            for compute in rest:
                if compute.name in component.operators:
                    routes[compute.name] = tuple(k for k in compute.keys if k in component.attributes)
    # All operators of a component must hash the same attributes in the same order.
    return {name: tuple(sorted(route)) for name, route in routes.items()}


def _table(graph: Graph, members: Sequence[Compute], route_by: tuple[str, ...], pins: Mapping[str, Pin]) -> Table:
    first = members[0]
    keys = tuple(Column(f"k.{k}", t) for k, t in zip(first.keys, first.key_types, strict=True))
    partials: dict[Partial, None] = {ROW_COUNT: None}
    partials.update((p, None) for m in members for a in m.aggregates for p in a.partials)
    layout = Layout(keys, tuple(partials))
    updating = any(c.emit == "update" for m in members for c in graph.consolidates_of(m.name))
    if first.name in pins:
        plan = pins[first.name].plan
    else:
        plan = plan_consolidation(_windows(graph, first), subtractable=layout.subtractable, panes_only=updating)
    outputs = tuple(
        Output(
            c.name,
            c.emit,
            tuple((i, g.window.label) for i, g in enumerate(plan.granules) if g.window in c.windows),
            first.keys,
            m.aggregates,
            m.time_type,
        )
        for m in members
        for c in graph.consolidates_of(m.name)
    )
    names = tuple(m.name for m in members)
    return Table(
        pins[first.name].table if first.name in pins else "+".join(names),
        names,
        first.upstream,
        graph.clock_of(first.upstream),
        graph.level_of(first.name),
        first.keys,
        route_by,
        layout,
        plan,
        first.time_sql,
        outputs,
    )


def _rolled_up(table: Table, tables: Sequence[Table]) -> Table:
    """The table, made from the partials of a finer one where one exists: the rows are then aggregated only once."""
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


def _components(tables: Sequence[Table | KeyedTable]) -> tuple[Component, ...]:
    routed: dict[tuple[int, tuple[str, ...]], list[Table | KeyedTable]] = {}
    for table in tables:
        routed.setdefault((table.level, table.route_by), []).append(table)
    return tuple(
        Component(_name(level, attributes), level, attributes, tuple(t.name for t in members))
        for (level, attributes), members in sorted(routed.items(), key=lambda r: r[0][0])
    )


def _name(level: int, attributes: tuple[str, ...]) -> str:
    """A name that stays the same for as long as the checkpoint's shards mean the same."""
    by = ", ".join(a if a.isidentifier() else quoted(a) for a in attributes)
    return (f"by {by}" if by else "global") + (f" @{level}" if level else "")


def _windows(graph: Graph, compute: Compute) -> list[Window]:
    return [w for c in graph.consolidates_of(compute.name) for w in c.windows]


def _fits(graph: Graph, compute: Compute, pin: Pin) -> bool:
    """Whether an operator still is what the pin was made for; if not, ``compatibility.check`` says what changed."""
    requested = {g.window for g in pin.plan.granules if g.requested}
    return set(pin.route_by) <= set(compute.keys) and requested == set(_windows(graph, compute))
