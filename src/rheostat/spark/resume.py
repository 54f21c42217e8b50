"""Continues a topology from its checkpoint: decides the plan, the routing and the loads of the first epoch.

``Topology.start`` calls ``resume`` once, before the first epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from rheostat.elastic.routing.balance import rescale
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.slot_choice import SlotChoice
from rheostat.elastic.routing.table import even_routing
from rheostat.planning import compatibility
from rheostat.planning.physical import plan_physical
from rheostat.planning.replan import Replan, figures_of, plan_again
from rheostat.planning.routes import Figures
from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.reshard import reshard_tables
from rheostat.state.checkpoint import Checkpoint
from rheostat.state.manifest import Manifest
from rheostat.topology.graph import Graph

Routing = dict[str, tuple[int, ...]]
"""By component, the slot of every shard."""


@dataclass(frozen=True, kw_only=True)
class Resumption:
    """What a query begins with.

    Attributes:
        plan: the physical plan, which reuses the tables of the checkpoint.
        routing: by component, the slot of every shard.
        loads: by component, the loads of its shards in the checkpoint.
        recorded: by operator with state, the description that manifests store for the next start.
        replan: which tables are routed by other attributes than before, and why.
    """

    plan: PhysicalPlan
    routing: Routing
    loads: dict[str, ShardLoads]
    recorded: Mapping[str, Mapping[str, Any]]
    replan: Replan


def resume(
    graph: Graph, checkpoint: Checkpoint, *, slots: SlotChoice, drop: Collection[str], spark: SparkSession
) -> Resumption:
    """Plan a topology so that it continues from a checkpoint, and create the folders of its tables.

    1. Plan the topology with the tables of the checkpoint.
    2. Check that the operators of the checkpoint still fit their state, and forget the state of dropped ones.
    3. If other components are clearly cheaper by what epochs measured, or the user asks for them, shard tables again.
    4. Route as in the last epoch; if the number of slots differs, move as few shards as possible.

    Args:
        graph: the topology.
        checkpoint: the checkpoint.
        slots: number of slots per component.
        drop: operators whose state in the checkpoint may be deleted.
        spark: the session in which tables are sharded again.

    Raises:
        CheckpointError: an operator does not fit its state in the checkpoint.
    """
    kept = {n: e for n, e in checkpoint.manifest.topology.items() if n not in drop}
    pins = compatibility.pins(kept, graph)
    pinned = plan_physical(graph, pins)
    compatibility.check(kept, graph, pinned)
    checkpoint.forget_tables(except_for=compatibility.kept_tables(kept, graph))
    replan = plan_again(graph, pins, pinned, figures_in(pinned, checkpoint.manifest))
    plan = replan.plan
    for table in (*plan.tables, *plan.keyed):
        checkpoint.table_folder(table).create()
    reshard_tables(spark, checkpoint, [plan.tables[name] for name in replan.rerouted])
    remembered = checkpoint.manifest.loads
    loads = {c.name: ShardLoads.of_text(checkpoint.shards, remembered.get(c.name, "")) for c in plan.components}
    routing = first_routing(plan, checkpoint.shards, slots, kept=checkpoint.manifest.routing, loads=loads)
    return Resumption(
        plan=plan,
        routing=routing,
        loads=loads,
        recorded=compatibility.record(graph, plan, kept),
        replan=replan,
    )


def figures_in(plan: PhysicalPlan, manifest: Manifest) -> Figures:
    """What the epochs of the checkpoint have measured."""
    slots = {name: max(routing) + 1 for name, routing in manifest.routing.items()}
    shards = {name: len(routing) for name, routing in manifest.routing.items()}
    loads = {name: ShardLoads.of_text(shards[name], text) for name, text in manifest.loads.items() if name in shards}
    return figures_of(plan, manifest.traffic, loads, slots)


def first_routing(
    plan: PhysicalPlan,
    shards: int,
    slots: SlotChoice,
    *,
    kept: Mapping[str, tuple[int, ...]] | None = None,
    loads: Mapping[str, ShardLoads] | None = None,
) -> Routing:
    """The routing of a query's first epoch.

    Args:
        plan: the physical plan.
        shards: number of shards.
        slots: number of slots per component.
        kept: by component, the routing of the last epoch; None if there was none.
        loads: by component, the known loads of its shards.
    """
    routing = {}
    for component in plan.components:
        before = (kept or {}).get(component.name)
        if not component.attributes:
            routing[component.name] = even_routing(shards, 1)
        elif before is None:
            routing[component.name] = even_routing(shards, slots.default)
        elif (wanted := slots.clamp(max(before) + 1)) == max(before) + 1:
            routing[component.name] = before
        else:
            shard_loads = (loads or {}).get(component.name, ShardLoads.none(shards))
            routing[component.name] = rescale(before, shard_loads.seconds, wanted).routing
    return routing
