"""The plan as ``explain`` shows it: a view model of plain values, printed as text or as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rheostat.choices import ExplainFormat, check_choice
from rheostat.durations import label, micros
from rheostat.planning.feeds import exchanges
from rheostat.planning.tables import PhysicalPlan, WindowTable
from rheostat.topology.graph import Graph, in_order
from rheostat.topology.nodes import Apply, Compute, Consolidate, Map, Node, Process, SinkNode, Source, upstreams_of
from rheostat.windows.consolidation import PANE, ConsolidationPlan

_HOUR = micros("1 hour")


@dataclass(frozen=True, kw_only=True)
class OperatorView:
    """An operator as ``explain`` shows it.

    Attributes:
        name: its name.
        kind: ``source``, ``map``, ``apply``, ``compute``, ``consolidate`` or ``process``.
        detail: what it does, as a short text.
        upstreams: the operators it reads.
        component: the component that it runs in; None for sources, maps and apply operators.
    """

    name: str
    kind: str
    detail: str
    upstreams: tuple[str, ...]
    component: str | None


@dataclass(frozen=True, kw_only=True)
class ComponentView:
    """A component as ``explain`` shows it.

    Attributes:
        name: its name.
        attributes: the attributes that it is partitioned by.
        slots: its number of slots.
        operators: the operators fused into it.
    """

    name: str
    attributes: tuple[str, ...]
    slots: int
    operators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DerivationView:
    """How a window is derived.

    Attributes:
        window: its label.
        requested: False for a helper that others are merged from.
        how: what it is merged from, as a short text.
    """

    window: str
    requested: bool
    how: str


@dataclass(frozen=True, kw_only=True)
class TableView:
    """A window table as ``explain`` shows it.

    Attributes:
        name: name of the table.
        pane: label of its pane.
        partials: names of the partials that it keeps per key and pane.
        made_from: where its partials come from, as a short text: from rows, or rolled up from another table.
        windows: how its windows are derived.
        merges_per_hour: partials merged per hour of event time.
        naive_merges_per_hour: partials merged per hour of event time if every window were merged from its panes.
    """

    name: str
    pane: str
    partials: tuple[str, ...]
    made_from: str
    windows: tuple[DerivationView, ...]
    merges_per_hour: float
    naive_merges_per_hour: float


@dataclass(frozen=True, kw_only=True)
class SinkView:
    """A sink as ``explain`` shows it.

    Attributes:
        stream: the stream whose rows it gets.
        aside: True if it gets the rows that the source kept aside instead.
        sink: its kind and path, as text.
    """

    stream: str
    aside: bool
    sink: str

    @property
    def name(self) -> str:
        """The name of the rows that it gets."""
        return f"{self.stream} aside" if self.aside else self.stream


@dataclass(frozen=True, kw_only=True)
class View:
    """All that ``explain`` shows of a topology.

    Attributes:
        topology: name of the topology.
        operators: its operators, each after those it reads.
        components: its components.
        tables: its window tables.
        sinks: its sinks.
        fusion: which operators were fused, which not and why, as texts.
        shuffles: exchanges per epoch, including those of the pre-aggregation.
        unfused_shuffles: exchanges per epoch if every stateful operator had its own.
    """

    topology: str
    operators: tuple[OperatorView, ...]
    components: tuple[ComponentView, ...]
    tables: tuple[TableView, ...]
    sinks: tuple[SinkView, ...]
    fusion: tuple[str, ...]
    shuffles: int
    unfused_shuffles: int

    def render(self, format: ExplainFormat = "text") -> str:
        """The view as ``text``, or as a ``mermaid`` flowchart."""
        check_choice("explain()", "format", format, ExplainFormat)
        return as_text(self) if format == "text" else as_mermaid(self)


def view_of(
    graph: Graph,
    plan: PhysicalPlan,
    routing: Mapping[str, tuple[int, ...]],
    dealing: Mapping[str, str] | None = None,
    combined: Collection[str] = (),
) -> View:
    """The view of a planned topology.

    Args:
        graph: the topology.
        plan: its plan.
        routing: by component, the slot of every shard.
        dealing: by apply operator, how its rows are dealt now, in words.
        combined: names of the tables whose rows are aggregated by tasks, and not by Spark.
    """
    component_of = {t: c.name for c in plan.components for t in c.tables}
    runs_in = {o: component_of[t.name] for t in plan.tables.values() for o in _operators(t)}
    runs_in |= {name: component_of[name] for name in plan.keyed}
    operators = tuple(
        _operator(n, runs_in.get(n.name), (dealing or {}).get(n.name, "")) for n in in_order(graph.nodes.values())
    )
    components = tuple(
        ComponentView(
            name=c.name,
            attributes=c.attributes,
            slots=max(routing[c.name]) + 1,
            operators=tuple(o.name for o in operators if o.component == c.name),
        )
        for c in plan.components
    )
    stateful = [n for n in graph.nodes.values() if isinstance(n, (Compute, Consolidate, Process))]
    sources = sum(isinstance(n, Source) for n in graph.nodes.values())
    return View(
        topology=graph.name,
        operators=operators,
        components=components,
        tables=tuple(_table(t, combined) for t in plan.tables.values()),
        sinks=tuple(SinkView(stream=s.upstream, aside=s.aside, sink=_sink(s)) for s in graph.sinks),
        fusion=plan.notes,
        shuffles=exchanges(plan, sources, combined) + len(plan.applied),
        unfused_shuffles=len(stateful) + len(plan.applied),
    )


def as_text(view: View) -> str:
    """The view as indented text."""
    lines = [f"topology {view.topology}", "", "operators"]
    width = max(len(o.name) for o in view.operators)
    for o in view.operators:
        where = f"  [{o.component}]" if o.component else ""
        lines.append(f"  {o.name:<{width}}  {o.kind:<11}  {o.detail}{where}")
    lines += [f"  {s.name:<{width}}  sink         {s.sink}" for s in view.sinks]
    lines += ["", "components"]
    for c in view.components:
        lines.append(f"  {c.name}: {c.slots} slot{'s' if c.slots != 1 else ''}; {', '.join(c.operators)}")
    if view.fusion:
        lines += ["", "fusion", *(f"  {note}" for note in view.fusion)]
    unfused = f"{view.unfused_shuffles} if every stateful operator had its own"
    lines += ["", f"shuffles per epoch: {view.shuffles} ({unfused})"]
    for t in view.tables:
        lines += ["", f"windows of {t.name}: panes of {t.pane}, {t.made_from}; keeps {', '.join(t.partials)}"]
        name_width = max(len(w.window) for w in t.windows)
        lines += [f"  {w.window:<{name_width}}  {w.how}" for w in t.windows]
        merges, naive = f"{t.merges_per_hour:g}", f"{t.naive_merges_per_hour:g}"
        lines.append(f"  merges per hour: {merges} ({naive} if every window were merged from its panes)")
    return "\n".join(lines)


def as_mermaid(view: View) -> str:
    """The view as a Mermaid flowchart, components as boxes around their operators."""
    ids = {o.name: f"o{i}" for i, o in enumerate(view.operators)}
    lines = ["flowchart LR"]
    for o in view.operators:
        if o.component is None:
            lines.append(f'  {ids[o.name]}["{_safe(o.name)}<br/>{o.kind}"]')
    for i, c in enumerate(view.components):
        lines.append(f'  subgraph c{i}["{_safe(c.name)}"]')
        lines += [f'    {ids[o]}["{_safe(o)}"]' for o in c.operators]
        lines.append("  end")
    lines += [f"  {ids[upstream]} --> {ids[o.name]}" for o in view.operators for upstream in o.upstreams]
    for i, s in enumerate(view.sinks):
        lines.append(f'  s{i}[("{_safe(s.sink)}")]')
        lines.append(f"  {ids[s.stream]} {'-. aside .->' if s.aside else '-->'} s{i}")
    return "\n".join(lines)


def _table(table: WindowTable, combined: Collection[str]) -> TableView:
    plan = table.plan
    rows = "from rows in tasks (combined)" if table.name in combined else "from rows"
    return TableView(
        name=table.name,
        pane=plan.pane.label,
        partials=tuple(dict.fromkeys(c.name.removeprefix("p.") for p in table.layout.partials for c in p.columns)),
        made_from=f"rolled up from {table.finer}" if table.finer else rows,
        windows=tuple(
            DerivationView(window=g.window.label, requested=g.requested, how=_derivation(plan, i))
            for i, g in enumerate(plan.granules)
            if i != PANE or g.requested
        ),
        merges_per_hour=round(plan.merge_rate(_HOUR), 1),
        naive_merges_per_hour=round(plan.merge_rate(_HOUR, naive=True), 1),
    )


def _derivation(plan: ConsolidationPlan, number: int) -> str:
    granule = plan.granules[number]
    helper = "" if granule.requested else " (helper)"
    if number == PANE:
        return "is the pane"
    if granule.running:
        panes = granule.window.slide // plan.pane.size
        return f"running total: add {panes} new and subtract {panes} expired panes of {label(plan.pane.size)}"
    pieces: dict[str, int] = {}
    for piece in plan.cover(number, granule.window.offset):
        name = plan.granules[piece.source].window.label
        pieces[name] = pieces.get(name, 0) + 1
    first = " + ".join(f"{n} x {name}" for name, n in pieces.items())
    other = [plan.granules[s].window.label for s in granule.sources if plan.granules[s].window.label not in pieces]
    return first + (f", or with {', '.join(other)}, whichever has fewer keys" if other else "") + helper


def _operators(table: WindowTable) -> list[str]:
    return [*table.operators, *(o.operator for o in table.outputs)]


def _operator(node: Node, component: str | None, dealing: str) -> OperatorView:
    kind = type(node).__name__.lower()
    detail = _detail(node) + (f"; {dealing}" if dealing else "")
    return OperatorView(name=node.name, kind=kind, detail=detail, upstreams=upstreams_of(node), component=component)


def _detail(node: Node) -> str:
    if isinstance(node, Source):
        return f"by {node.event_time}, slack {label(node.slack)}"
    if isinstance(node, Map):
        return "Python over Arrow batches" if node.python else "Spark expressions"
    if isinstance(node, Apply):
        return _apply_detail(node)
    if isinstance(node, Compute):
        return f"by {', '.join(node.keys) or 'nothing'}: {', '.join(a.name for a in node.aggregates)}"
    if isinstance(node, Process):
        how = "key by key" if node.per_key else f"over {node.over} frames"
        kept = ", ".join(c.name for c in node.state) or "nothing"
        return f"by {', '.join(node.keys)}, {how}; keeps {kept}"
    return f"{', '.join(w.label for w in node.windows)} ({node.emit})"


def _apply_detail(node: Apply) -> str:
    called = "row by row" if node.over == "rows" else f"over {node.over} frames"
    cost = f"costs by {', '.join(node.cost_by)}" if node.cost_by else "all rows cost the same"
    dealt = f"dealt by {node.grouping.upper()}" if node.learns else "dealt in turn"
    slots = "as many slots as cores" if node.slots is None else f"{node.slots} slot{'s' if node.slots != 1 else ''}"
    return f"{called}, {cost}: {dealt} to {slots}{', in order' if node.ordered else ''}"


def _sink(node: SinkNode) -> str:
    path = getattr(node.sink, "path", None)
    kind = type(node.sink).__name__.removesuffix("Sink").lower()
    return f"{kind} {path}" if path else kind


def _safe(text: str) -> str:
    return text.replace('"', "'")
