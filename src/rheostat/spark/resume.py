"""How a topology goes on from its checkpoint: the plan, the routing, and what the checkpoint remembers.

``Topology.start`` calls ``resume`` once, before the first epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rheostat.elastic.routing.balance import rescale
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import even_routing
from rheostat.planning import compatibility
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.state.checkpoint import Checkpoint
from rheostat.topology.graph import Graph

Routing = dict[str, tuple[int, ...]]
"""Per component, the slot of every shard."""


@dataclass(frozen=True, kw_only=True)
class Resumption:
    """What a query begins with.

    Attributes:
        plan: the physical plan, which keeps what the checkpoint has.
        routing: per component, the slot of every shard.
        loads: per component, what is known of its shards' loads.
        recorded: what the checkpoint is to remember of every operator with state.
    """

    plan: PhysicalPlan
    routing: Routing
    loads: dict[str, ShardLoads]
    recorded: Mapping[str, Mapping[str, Any]]


def resume(graph: Graph, owned: Checkpoint, *, slots: int | None, cores: int, drop: Collection[str]) -> Resumption:
    """Plan a topology so that it goes on from what a checkpoint holds, and make its state folders.

    1. Check that every operator of the checkpoint is still what it was, and forget those that may be lost.
    2. Plan with the tables and shards that the checkpoint has.
    3. Route as in the last epoch, with few moves if another number of slots is wanted.

    Args:
        graph: the topology.
        owned: the checkpoint.
        slots: how many slots a component is to have; None for as many as it had.
        cores: how many slots a component has that is new, unless ``slots`` says otherwise.
        drop: operators of the checkpoint whose state may be lost.
    """
    kept = {n: e for n, e in owned.manifest.topology.items() if n not in drop}
    plan = plan_physical(graph, compatibility.pins(kept, graph))
    compatibility.check(kept, graph, plan)
    owned.forget_tables(except_for=compatibility.kept_tables(kept, graph))
    for table in (*plan.tables, *plan.keyed):
        owned.table_folder(table).create()
    loads = {c.name: ShardLoads.of(owned.shards, owned.manifest.loads.get(c.name, ())) for c in plan.components}
    usual = min(cores, owned.shards)
    routing = first_routing(plan, owned.shards, slots, usual, kept=owned.manifest.routing, loads=loads)
    return Resumption(plan=plan, routing=routing, loads=loads, recorded=compatibility.record(graph, plan, kept))


def first_routing(
    plan: PhysicalPlan,
    shards: int,
    slots: int | None,
    usual: int,
    *,
    kept: Mapping[str, tuple[int, ...]] | None = None,
    loads: Mapping[str, ShardLoads] | None = None,
) -> Routing:
    """The routing of a query's first epoch.

    Args:
        plan: the physical plan.
        shards: how many shards there are.
        slots: how many slots a component is to have; None for as many as it had.
        usual: how many slots a component has that is new, unless ``slots`` says otherwise.
        kept: the routing of the last epoch, by component.
        loads: what is known of the shards' loads, by component.
    """
    routing = {}
    for component in plan.components:
        before = (kept or {}).get(component.name)
        if not component.attributes or before is None:
            routing[component.name] = even_routing(shards, (slots or usual) if component.attributes else 1)
        elif slots is None or max(before) + 1 == slots:
            routing[component.name] = before
        else:
            known = (loads or {}).get(component.name, ShardLoads.none(shards))
            routing[component.name] = rescale(before, known.seconds, slots).routing
    return routing
