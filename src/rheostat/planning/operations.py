"""Adaptation operations: Migrate, RePartition, and what is composed of them (Enorm sections 4.5 and 5.1).

A deployment is a value: operations give a new one and never change the old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.elastic.balancing import Loads, slot_loads
from rheostat.elastic.flux import Flux
from rheostat.elastic.migration import Strategy
from rheostat.errors import TopologyError
from rheostat.planning.attributes import Attributes, Kind, Operator, shared
from rheostat.planning.components import Dataflow, strategies
from rheostat.planning.fusion import FusedComponent


@dataclass(frozen=True)
class Migrate:
    """An operator goes from one component to another; to a new one if nobody has that name yet."""

    operator: str
    source: str
    target: str


@dataclass(frozen=True)
class RePartition:
    """A component's shards are spread over these nodes: the same ones, more or fewer.

    Attributes:
        loads: of every shard; without them, all count the same.
    """

    component: str
    nodes: tuple[str, ...]
    loads: tuple[float, ...] | None = None


Operation = Migrate | RePartition


@dataclass(frozen=True)
class Deployment:
    """Which operators run together, and on which node every shard of each component is.

    Attributes:
        members: names of the operators of every component.
        placed: for every component, the node of each of its shards.
    """

    flow: Dataflow
    members: Mapping[str, tuple[str, ...]] = field(hash=False)
    placed: Mapping[str, tuple[str, ...]] = field(hash=False)

    def operators(self, component: str) -> tuple[Operator, ...]:
        """The operators of a component."""
        if component not in self.members:
            raise TopologyError(f"there is no component {component!r}: choose one of {', '.join(self.members)}")
        return tuple(self.flow.by_name[name] for name in self.members[component])

    def attributes(self, component: str) -> Attributes:
        """By what a component is partitioned."""
        return shared(self.operators(component))

    def strategies(self, component: str) -> tuple[Strategy, ...]:
        """How its instances may be moved, the quickest way first."""
        return strategies(self.flow, self.members[component])

    def home(self, operator: str) -> str:
        """The component that an operator belongs to."""
        return next(name for name, members in self.members.items() if operator in members)


def deploy(flow: Dataflow, components: Iterable[FusedComponent], nodes: Sequence[str], shards: int) -> Deployment:
    """Fused components as C1, C2 and so on, the shards of each spread evenly over all nodes.

    >>> from rheostat.planning.fusion import fuse
    >>> a, b = (Operator(name, Kind.MAP, frozenset("x")) for name in "ab")
    >>> flow = Dataflow((a, b), {("a", "b"): 1.0})
    >>> deploy(flow, fuse(flow.attributes, flow.rates), ["n1", "n2"], shards=4)
    Deployment(..., members={'C1': ('a', 'b')}, placed={'C1': ('n1', 'n1', 'n2', 'n2')})
    """
    if not nodes or shards < len(nodes):
        raise TopologyError(f"{shards} shards on {len(nodes)} nodes: there is at least one node, and a shard for each")
    members = {f"C{i}": c.operators for i, c in enumerate(components, start=1)}
    even = tuple(nodes[shard * len(nodes) // shards] for shard in range(shards))
    return Deployment(flow, members, dict.fromkeys(members, even))


def apply(deployment: Deployment, *operations: Operation) -> Deployment:
    """The deployment after these operations, one after the other: a composite operation."""
    for operation in operations:
        deployment = (
            _migrate(deployment, operation) if isinstance(operation, Migrate) else _repartition(deployment, operation)
        )
    return deployment


def scale_out(deployment: Deployment, component: str, node: str, loads: Sequence[float] | None = None) -> Deployment:
    """One more node for a component (the paper's composite example).

    Operators that would have to be moved with their state are first migrated out of it, if that makes it flexible:
    the split. Then its shards are spread over one more node.
    """
    first = split(deployment, component) if Strategy.INSTANT not in deployment.strategies(component) else ()
    nodes = tuple(dict.fromkeys((*deployment.placed[component], node)))
    return apply(deployment, *first, RePartition(component, nodes, None if loads is None else tuple(loads)))


def split(deployment: Deployment, component: str) -> tuple[Migrate, ...]:
    """The operations that make a rigid stateful component flexible: its consolidates go downstream (section 5.1).

    They go to the component that reads them, if there is exactly one and its attributes agree; otherwise to a new one.
    Nothing is to be done for other components. Can be carried out instantly.
    """
    consolidates = [o for o in deployment.operators(component) if o.kind is Kind.CONSOLIDATE]
    if not consolidates or not any(o.kind.stateful for o in deployment.operators(component)):
        return ()
    readers = {deployment.home(r) for o in consolidates for r in deployment.flow.downstream(o.name)} - {component}
    target = f"{component} consolidate"
    if len(readers) == 1:
        (reader,) = readers
        if shared([*deployment.operators(reader), *consolidates]):
            target = reader
    return tuple(Migrate(o.name, component, target) for o in consolidates)


def combine(deployment: Deployment, component: str) -> tuple[Migrate, ...]:
    """The opposite of ``split``: consolidates that read only this component come back into it.

    Cannot be carried out instantly: smooth if all is windowed, else disruptive.
    """
    mine = set(deployment.members[component])
    found = []
    for operator in deployment.flow.operators:
        upstream = set(deployment.flow.upstream(operator.name))
        if operator.kind is Kind.CONSOLIDATE and operator.name not in mine and upstream and upstream <= mine:
            found.append(Migrate(operator.name, deployment.home(operator.name), component))
    return tuple(found)


def _migrate(deployment: Deployment, operation: Migrate) -> Deployment:
    name, source, target = operation.operator, operation.source, operation.target
    deployment.operators(source)
    if name not in deployment.members[source]:
        raise TopologyError(f"operator {name!r} is not in component {source!r} but in {deployment.home(name)!r}")
    if source == target:
        return deployment
    members = dict(deployment.members)
    together = (*members.get(target, ()), name)
    operators = [o for o in deployment.flow.operators if o.name in together]
    if len(operators) > 1 and not shared(operators):
        by = ", ".join(sorted(deployment.flow.by_name[name].partitioned_by)) or "nothing"
        raise TopologyError(
            f"operator {name!r}, partitioned by {by}, shares no attribute with component {target!r}: "
            "name another component, or a new one"
        )
    members[target] = tuple(o.name for o in operators)
    members[source] = tuple(m for m in members[source] if m != name)
    placed = {**deployment.placed, target: deployment.placed.get(target, deployment.placed[source])}
    if not members[source]:
        del members[source], placed[source]
    return replace(deployment, members=members, placed=placed)


def _repartition(deployment: Deployment, operation: RePartition) -> Deployment:
    """Shards of nodes that go are given to the least loaded, largest first; Flux evens out the rest."""
    deployment.operators(operation.component)
    before, nodes = deployment.placed[operation.component], list(dict.fromkeys(operation.nodes))
    if not 1 <= len(nodes) <= len(before):
        raise TopologyError(
            f"{len(before)} shards on {len(nodes)} nodes: there is at least one node, and a shard for each"
        )
    loads: Loads = np.array(operation.loads if operation.loads is not None else [1.0] * len(before))
    if len(loads) != len(before):
        raise TopologyError(
            f"component {operation.component!r} has {len(before)} shards, but {len(loads)} loads are given"
        )
    where = np.array([nodes.index(n) if n in nodes else -1 for n in before])
    staying = where >= 0
    totals = slot_loads(where[staying], loads[staying], len(nodes))
    for shard in sorted(np.flatnonzero(~staying).tolist(), key=lambda s: -loads[s]):
        where[shard] = int(totals.argmin())
        totals[where[shard]] += loads[shard]
    spread = Flux(pick="closest").balance(where.tolist(), loads, len(nodes)).routing
    placed = {**deployment.placed, operation.component: tuple(nodes[n] for n in spread)}
    return replace(deployment, placed=placed)
