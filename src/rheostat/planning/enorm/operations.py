"""Operations on a deployment: Migrate, RePartition, and those composed of them (Enorm sections 4.5 and 5.1).

Deployments are immutable: an operation returns a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import slot_loads
from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Kind, shared_attributes
from rheostat.planning.enorm.deployment import Deployment
from rheostat.planning.enorm.flux import Flux
from rheostat.planning.enorm.migration import Strategy


@dataclass(frozen=True)
class Migrate:
    """Moves an operator from one component to another.

    Attributes:
        operator: name of the operator.
        source: the component that it leaves.
        target: the component that it joins; it is created if it does not exist.

    >>> from rheostat.planning.enorm import OperatorGraph, PartitionedOperator, deploy, fuse
    >>> a, b = (PartitionedOperator(name, Kind.MAP, frozenset({"area"})) for name in "ab")
    >>> flow = OperatorGraph((a, b), {("a", "b"): 1.0})
    >>> now = deploy(flow, fuse(flow.attributes, flow.rates), ["n1"], shards=4)
    >>> now.members, apply(now, Migrate("b", source="C1", target="C2")).members
    ({'C1': ('a', 'b')}, {'C1': ('a',), 'C2': ('b',)})
    """

    operator: str
    source: str
    target: str


@dataclass(frozen=True)
class RePartition:
    """Spreads the shards of a component over some nodes, at most as many as the component has partitions.

    Attributes:
        component: name of the component.
        nodes: the nodes.
        loads: the load of every shard; None if all are equal.

    >>> from rheostat.planning.enorm import OperatorGraph, PartitionedOperator, deploy, fuse
    >>> flow = OperatorGraph((PartitionedOperator("sum", Kind.COMPUTE, frozenset({"area"})),), {})
    >>> now = deploy(flow, fuse(flow.attributes, flow.rates), ["n1"], shards=4)
    >>> apply(now, RePartition("C1", ("n1", "n2"), loads=(9.0, 1.0, 1.0, 1.0))).placed  # the busy shard gets a node
    {'C1': ('n2', 'n1', 'n1', 'n1')}
    """

    component: str
    nodes: tuple[str, ...]
    loads: tuple[float, ...] | None = None


Operation = Migrate | RePartition
"""A change of a deployment."""


def apply(deployment: Deployment, *operations: Operation) -> Deployment:
    """The deployment after these operations, applied one after the other: a composite operation.

    >>> from rheostat.planning.enorm import OperatorGraph, PartitionedOperator, deploy, fuse
    >>> a, b = (PartitionedOperator(name, Kind.MAP, frozenset({"area"})) for name in "ab")
    >>> flow = OperatorGraph((a, b), {("a", "b"): 1.0})
    >>> now = deploy(flow, fuse(flow.attributes, flow.rates), ["n1"], shards=2)
    >>> apply(now, Migrate("b", source="C1", target="C2"), RePartition("C2", ("n2", "n3"))).placed
    {'C1': ('n1', 'n1'), 'C2': ('n2', 'n3')}
    """
    for operation in operations:
        deployment = (
            _migrate(deployment, operation) if isinstance(operation, Migrate) else _repartition(deployment, operation)
        )
    return deployment


def scale_out(deployment: Deployment, component: str, node: str, loads: Sequence[float] | None = None) -> Deployment:
    """The deployment with one more node for a component (the paper's composite example).

    A component that cannot be migrated instantly is first split, if that makes it flexible. Then its shards are spread
    over its nodes and the new one.

    Args:
        deployment: the deployment.
        component: name of the component.
        node: the new node.
        loads: the load of every shard; None if all are equal.

    >>> from rheostat.planning.enorm import OperatorGraph, PartitionedOperator, deploy, fuse
    >>> kinds = {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE}
    >>> operators = tuple(PartitionedOperator(name, kind, frozenset({"area"})) for name, kind in kinds.items())
    >>> flow = OperatorGraph(operators, {("sum", "windows"): 1.0})
    >>> now = deploy(flow, fuse(flow.attributes, flow.rates), ["n1", "n2"], shards=6)
    >>> now.members, now.placed["C1"]
    ({'C1': ('sum', 'windows')}, ('n1', 'n1', 'n1', 'n2', 'n2', 'n2'))
    >>> after = scale_out(now, "C1", "n3")
    >>> after.members, after.placed["C1"]  # split, so that no state moves, then spread
    ({'C1': ('sum',), 'C1 consolidate': ('windows',)}, ('n3', 'n1', 'n1', 'n3', 'n2', 'n2'))
    """
    splitting = split(deployment, component) if Strategy.INSTANT not in deployment.strategies(component) else ()
    nodes = tuple(dict.fromkeys((*deployment.placed[component], node)))
    return apply(deployment, *splitting, RePartition(component, nodes, None if loads is None else tuple(loads)))


def split(deployment: Deployment, component: str) -> tuple[Migrate, ...]:
    """The operations that make a rigid stateful component flexible by moving its consolidates out (section 5.1).

    Operators of the component that are downstream of the consolidates move with them. Otherwise rows would leave the
    component and return, and neither side could finish before the other.

    All of them move to the component that reads them, if there is exactly one and it shares attributes with them;
    otherwise to a new component. The result is empty if the component is not rigid and stateful, or if no operator
    would be left in it. The operations can be carried out instantly.

    >>> from rheostat.planning.enorm import OperatorGraph, PartitionedOperator, deploy, fuse
    >>> kinds = {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE}
    >>> operators = tuple(PartitionedOperator(name, kind, frozenset({"area"})) for name, kind in kinds.items())
    >>> flow = OperatorGraph(operators, {("sum", "windows"): 1.0})
    >>> now = deploy(flow, fuse(flow.attributes, flow.rates), ["n1"], shards=4)
    >>> split(now, "C1")
    (Migrate(operator='windows', source='C1', target='C1 consolidate'),)
    >>> [Strategy.INSTANT in d.strategies("C1") for d in (now, apply(now, *split(now, "C1")))]
    [False, True]
    """
    operators = deployment.operators(component)
    consolidates = [o.name for o in operators if o.kind is Kind.CONSOLIDATE]
    leaving = _downstream(deployment, consolidates, component)
    if not consolidates or not any(o.kind.stateful for o in operators) or len(leaving) == len(operators):
        return ()
    readers = {deployment.home(r) for name in leaving for r in deployment.flow.downstream(name)} - {component}
    target = next(name for name in _split_names(component) if name not in deployment.members)
    if len(readers) == 1:
        (reader,) = readers
        if shared_attributes([*deployment.operators(reader), *(o for o in operators if o.name in leaving)]):
            target = reader
    return tuple(Migrate(o.name, component, target) for o in operators if o.name in leaving)


def combine(deployment: Deployment, component: str) -> tuple[Migrate, ...]:
    """The opposite of ``split``: moves consolidates into a component if they read only it and share attributes with it.

    Operators downstream of them in a component that ``split`` created move with them, unless rows would then leave the
    component and return. The operations cannot be carried out instantly: they are smooth if all operators are windowed,
    otherwise disruptive.

    >>> from rheostat.planning.enorm import OperatorGraph, PartitionedOperator, deploy, fuse
    >>> kinds = {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE}
    >>> operators = tuple(PartitionedOperator(name, kind, frozenset({"area"})) for name, kind in kinds.items())
    >>> flow = OperatorGraph(operators, {("sum", "windows"): 1.0})
    >>> now = deploy(flow, fuse(flow.attributes, flow.rates), ["n1"], shards=4)
    >>> apart = apply(now, *split(now, "C1"))
    >>> combine(apart, "C1")
    (Migrate(operator='windows', source='C1 consolidate', target='C1'),)
    >>> apply(apart, *combine(apart, "C1")) == now
    True
    """
    flow, members = deployment.flow, {o.name for o in deployment.operators(component)}
    joining = set[str]()
    for operator in flow.operators:
        upstream = set(flow.upstream(operator.name))
        reads_only_this = bool(upstream) and upstream <= members
        if operator.kind is Kind.CONSOLIDATE and operator.name not in members and reads_only_this:
            joining |= {operator.name} if _share_attributes(deployment, {*members, *joining, operator.name}) else set()
    split_names = {name for name, _ in zip(_split_names(component), deployment.members, strict=False)}
    split_off = split_names & deployment.members.keys()
    with_downstream = joining.union(*(_downstream(deployment, joining, home) for home in split_off))
    operations = _migrations_to(deployment, component, with_downstream)
    if _share_attributes(deployment, members | with_downstream) and not apply(deployment, *operations).circular:
        return operations
    return _migrations_to(deployment, component, joining)


def _migrations_to(deployment: Deployment, component: str, names: set[str]) -> tuple[Migrate, ...]:
    """The operations that move operators into a component."""
    return tuple(
        Migrate(o.name, deployment.home(o.name), component) for o in deployment.flow.operators if o.name in names
    )


def _share_attributes(deployment: Deployment, names: set[str]) -> bool:
    """True if all of these operators have an attribute in common."""
    return bool(shared_attributes(deployment.flow.by_name[name] for name in names))


def _split_names(component: str) -> Iterator[str]:
    """The names of the components that splits of this one create, in order."""
    yield f"{component} consolidate"
    yield from (f"{component} consolidate {number}" for number in count(2))


def _downstream(deployment: Deployment, names: Iterable[str], component: str) -> set[str]:
    """The operators among ``names`` that are in the component, and all operators of it that are downstream of them."""
    inside = set(deployment.members[component])
    found, pending = set[str](), [name for name in names if name in inside]
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending += [reader for reader in deployment.flow.downstream(name) if reader in inside]
    return found


def _migrate(deployment: Deployment, operation: Migrate) -> Deployment:
    """If the target then has fewer partitions than nodes, it is spread over fewer nodes."""
    name, source, target = operation.operator, operation.source, operation.target
    deployment.operators(source)
    if name not in deployment.members[source]:
        raise TopologyError(f"operator {name!r} is not in component {source!r} but in {deployment.home(name)!r}")
    if source == target:
        return deployment
    members = dict(deployment.members)
    target_members = (*members.get(target, ()), name)
    operators = [o for o in deployment.flow.operators if o.name in target_members]
    if len(operators) > 1 and not shared_attributes(operators):
        by = ", ".join(sorted(deployment.flow.by_name[name].partitioned_by)) or "nothing"
        raise TopologyError(
            f"operator {name!r}, partitioned by {by}, shares no attribute with component {target!r}: "
            "choose another component, or the name of a new one"
        )
    members[target] = tuple(o.name for o in operators)
    members[source] = tuple(m for m in members[source] if m != name)
    placed = {**deployment.placed, target: deployment.placed.get(target, deployment.placed[source])}
    if not members[source]:
        del members[source], placed[source]
    after = replace(deployment, members=members, placed=placed)
    nodes, most = after.nodes(target), after.most_nodes(target)
    return after if len(nodes) <= most else _repartition(after, RePartition(target, nodes[: int(most)]))


def _repartition(deployment: Deployment, operation: RePartition) -> Deployment:
    """Shards of removed nodes go to the least loaded nodes, largest first. Then Flux balances the loads."""
    deployment.operators(operation.component)
    before, nodes = deployment.placed[operation.component], list(dict.fromkeys(operation.nodes))
    if not 1 <= len(nodes) <= len(before):
        raise TopologyError(
            f"component {operation.component!r} has {len(before)} shards on {len(nodes)} nodes: "
            "pass at least one node, and no more nodes than shards"
        )
    if len(nodes) > (most := deployment.most_nodes(operation.component)):
        by = ", ".join(sorted(deployment.attributes(operation.component))) or "nothing"
        raise TopologyError(
            f"component {operation.component!r}, partitioned by {by}, has {most:.0f} partitions at most and cannot use "
            f"{len(nodes)} nodes: pass fewer nodes, or migrate operators with fewer attributes out of it"
        )
    loads: Floats = np.array(operation.loads if operation.loads is not None else [1.0] * len(before))
    if len(loads) != len(before):
        raise TopologyError(
            f"component {operation.component!r} has {len(before)} shards, but {len(loads)} loads: pass one per shard"
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
