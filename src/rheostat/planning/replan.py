"""Plans a topology anew when it continues from a checkpoint, by what its epochs have measured.

``rheostat.spark.resume`` calls ``plan_again``. The routing attributes in the checkpoint stay as they are unless others
are clearly cheaper, or the user asks for them with ``fuse=``: tables that are routed by other attributes have to be
sharded again (``rheostat.spark.reshard``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.planning.enorm.fusion_cost import TASKS, FusionFigures
from rheostat.planning.physical import plan_physical
from rheostat.planning.routes import Figures
from rheostat.planning.tables import PhysicalPlan, Pin
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Compute
from rheostat.topology.window_nodes import PARTIALS

Traffic = Mapping[str, Mapping[str, float]]
"""By table, its ``partials`` and useful ``seconds`` per epoch, smoothed."""

_SMOOTHING = 0.2
"""Weight of the newest epoch: what changed for good counts fully after about ten epochs."""

_WORTH = 0.25
"""Share of the seconds per epoch that other components must save."""

_LEAST = 0.05
"""Seconds per epoch that they must save."""


@dataclass(frozen=True)
class Replan:
    """The plan to continue with.

    Attributes:
        plan: the plan.
        rerouted: the window tables that are routed by other attributes than in the checkpoint.
        reason: why, in words and numbers; empty if nothing is rerouted.
    """

    plan: PhysicalPlan
    rerouted: tuple[str, ...] = ()
    reason: str = ""


def after_epoch(traffic: Traffic, seen: Traffic) -> dict[str, dict[str, float]]:
    """The traffic after one more epoch.

    Args:
        traffic: what was known before.
        seen: what the epoch measured.

    >>> after_epoch({"t": {"partials": 10.0, "seconds": 1.0}}, {"t": {"partials": 20.0, "seconds": 1.0}})
    {'t': {'partials': 12.0, 'seconds': 1.0}}
    """
    smoothed = {table: dict(values) for table, values in traffic.items()}
    for table, values in seen.items():
        before = traffic.get(table, values)
        smoothed[table] = {
            name: float(f"{before.get(name, value) + _SMOOTHING * (value - before.get(name, value)):.4g}")
            for name, value in values.items()
        }
    return smoothed


def figures_of(
    plan: PhysicalPlan, traffic: Traffic, loads: Mapping[str, ShardLoads], slots: Mapping[str, int]
) -> Figures:
    """What epochs have measured, by level; levels of which nothing is known are left out.

    Args:
        plan: the plan that they ran with.
        traffic: by table, its traffic.
        loads: by component, the loads of its shards.
        slots: by component, its number of slots.
    """
    figures = {}
    for level in range(plan.levels):
        tables = [t for t in plan.tables_at(level) if t.name in traffic]
        busiest = {}
        for component in plan.components_at(level):
            if component.attributes and component.name in loads and loads[component.name].seconds.any():
                seconds = loads[component.name].seconds
                busiest[frozenset(component.attributes)] = float(seconds.max() / seconds.sum())
        if tables:
            shares = {o: (t, len(t.operators)) for t in tables for o in t.operators}
            figures[level] = FusionFigures(
                slots=max((slots.get(c.name, 1) for c in plan.components_at(level)), default=1),
                partials={o: traffic[t.name]["partials"] / n for o, (t, n) in shares.items()},
                seconds={o: traffic[t.name]["seconds"] / n for o, (t, n) in shares.items()},
                busiest=busiest,
            )
    return figures


def plan_again(graph: Graph, pins: Mapping[str, Pin], pinned: PhysicalPlan, figures: Figures) -> Replan:
    """The plan to continue with: that of the checkpoint, unless another one is worth sharding tables again.

    Args:
        graph: the topology.
        pins: by operator, what the checkpoint fixes.
        pinned: the plan with all of that.
        figures: what epochs have measured, by level.
    """
    if not pins:
        return Replan(pinned)
    wanted = plan_physical(graph, {n: replace(pin, route_by=None) for n, pin in pins.items()}, figures or None)
    kept = {pin.table for pin in pins.values()}
    rerouted = tuple(
        name
        for name, table in wanted.tables.items()
        if name in kept and name in pinned.tables and table.route_by != pinned.tables[name].route_by
    )
    if not rerouted:
        return Replan(pinned)
    if any(_asked(graph, o) for t in rerouted for o in wanted.tables[t].operators):
        return Replan(wanted, rerouted, "as asked with fuse=")
    before, after = (seconds_of(plan, figures) for plan in (pinned, wanted))
    if before - after > max(_WORTH * before, _LEAST):
        return Replan(wanted, rerouted, f"{after:.3g} s per epoch instead of {before:.3g} s")
    return Replan(pinned)


def seconds_of(plan: PhysicalPlan, figures: Figures) -> float:
    """Seconds per epoch of the busiest slots of all components, and of their tasks.

    Args:
        plan: a plan.
        figures: what epochs have measured, by level.
    """
    seconds = 0.0
    for component in plan.components:
        operators = [o for t in component.tables if t in plan.tables for o in plan.tables[t].operators]
        if operators and component.level in figures:
            seconds += figures[component.level].longest(frozenset(component.attributes), operators) + TASKS
    return seconds


def _asked(graph: Graph, operator: str) -> bool:
    """True if the user said what an operator is fused with, or another operator names it."""
    computes = [n for n in graph.nodes.values() if isinstance(n, Compute)]
    return any(c.fuse is not True and operator in (c.name, c.fuse, f"{c.fuse}{PARTIALS}") for c in computes)
