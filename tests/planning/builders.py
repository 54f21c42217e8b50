"""Topologies to plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rheostat.choices import Emit
from rheostat.elastic.routing.table import even_routing
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.planning.view import View, view_of
from rheostat.topology import aggregates as rh
from rheostat.topology import sinks
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.graph import Graph
from rheostat.topology.stream import Stream
from rheostat.windows.window import Window, tumbling
from tests.topology.builders import Frame, loans, with_column

MINUTE = tumbling("1 minute")
COUNT = {"n": rh.count()}


def add(
    stream: Stream,
    name: str,
    by: str | Iterable[str] = (),
    windows: Iterable[Window] = MINUTE,
    aggregates: Mapping[str, Aggregate] | None = None,
    emit: Emit = "append",
) -> Stream:
    """A compute operator and its windows, ``NAME_windows``, with a sink."""
    computed = stream.compute(name, by=by, aggregates=COUNT if aggregates is None else aggregates)
    return computed.consolidate(f"{name}_windows", windows, emit=emit).sink(sinks.memory())


def lending() -> Graph:
    """The paper's job: a rate per loan, two results by area, two over everything."""
    stream = loans(source="loans")
    rates = stream.map("op1", with_column("rate", "double"))
    windows = tumbling("10 minutes", "30 minutes", "1 hour")
    add(rates, "op2", "area", windows, {"rate": rh.mean("rate"), "largest": rh.max("amount")})
    add(rates, "op3", "area", windows, {"approved": rh.count("paid")})
    add(rates, "op4", (), tumbling("1 hour"), {"rate": rh.mean("rate")})
    add(rates, "op5", (), tumbling("1 hour"), {"approved": rh.count("paid"), "n": rh.count()})
    stream.graph.validate()
    return stream.graph


def with_keys(keys: Mapping[str, tuple[str, ...]]) -> Graph:
    """Operators over one source by the keys of each, all with the same windows."""
    columns = {k: "string" for by in keys.values() for k in by}
    stream = Graph("keys").source(Frame({"ts": "timestamp", **columns}), event_time="ts")
    for name, by in keys.items():
        add(stream, name, by)
    return stream.graph


def view(graph: Graph, slots: int = 2) -> View:
    """The view of a topology as it would be planned today."""
    plan = plan_physical(graph)
    return view_of(graph, plan, {c.name: even_routing(16, slots if c.attributes else 1) for c in plan.components})


def components(plan: PhysicalPlan) -> dict[str, set[str]]:
    """Component names and the compute operators in them."""
    return {c.name: {o for t in c.tables for o in plan.tables[t].operators} for c in plan.components}
