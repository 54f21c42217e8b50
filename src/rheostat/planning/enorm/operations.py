"""Adaptation operations: Migrate, RePartition, and what is composed of them (Enorm sections 4.5 and 5.1).

A deployment is a value: operations give a new one and never change the old.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from rheostat.arrays import Floats
from rheostat.elastic.routing.balance import slot_loads
from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Kind, shared
from rheostat.planning.enorm.deployment import Deployment
from rheostat.planning.enorm.flux import Flux
from rheostat.planning.enorm.migration import Strategy


@dataclass(frozen=True)
class Migrate:
    """An operator goes from one component to another.

    Attributes:
        operator: its name.
        source: the component that it leaves.
        target: the component that it joins; a new one if none has that name.

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
    """A component's shards are spread over these nodes: the same ones, more or fewer, but not more than its partitions.

    Attributes:
        component: its name.
        nodes: those that it is spread over.
        loads: of every shard; None if all count the same.

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


def apply(deployment: Deployment, *operations: Operation) -> Deployment:
    """The deployment after these operations, one after the other: a composite operation.

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
    """One more node for a component (the paper's composite example).

    Operators that would have to be moved with their state are first migrated out of it, if that makes it flexible:
    the split. Then its shards are spread over one more node.

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
    first = split(deployment, component) if Strategy.INSTANT not in deployment.strategies(component) else ()
    nodes = tuple(dict.fromkeys((*deployment.placed[component], node)))
    return apply(deployment, *first, RePartition(component, nodes, None if loads is None else tuple(loads)))


def split(deployment: Deployment, component: str) -> tuple[Migrate, ...]:
    """The operations that make a rigid stateful component flexible: its consolidates go downstream (section 5.1).

    With them go the operators of the component that are downstream of them: if these stayed, rows would leave the
    component and come back, and neither side could be ready before the other.

    All go to the component that reads them, if there is exactly one and its attributes agree; otherwise to a new one.
    Nothing is to be done for other components, nor if nothing would stay. Can be carried out instantly.

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
    going = _downstream(deployment, consolidates, component)
    if not consolidates or not any(o.kind.stateful for o in operators) or len(going) == len(operators):
        return ()
    readers = {deployment.home(r) for name in going for r in deployment.flow.downstream(name)} - {component}
    target = next(name for name in _split_off(component) if name not in deployment.members)
    if len(readers) == 1:
        (reader,) = readers
        if shared([*deployment.operators(reader), *(o for o in operators if o.name in going)]):
            target = reader
    return tuple(Migrate(o.name, component, target) for o in operators if o.name in going)


def combine(deployment: Deployment, component: str) -> tuple[Migrate, ...]:
    """The opposite of ``split``: consolidates that read only this component, and agree with it, come back into it.

    Out of a component that a split made, what is downstream of them there comes back with them, unless rows would
    then go in a circle. Cannot be carried out instantly: smooth if all is windowed, else disruptive.

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
    flow, mine = deployment.flow, {o.name for o in deployment.operators(component)}
    coming = set[str]()
    for operator in flow.operators:
        upstream = set(flow.upstream(operator.name))
        if operator.kind is Kind.CONSOLIDATE and operator.name not in mine and upstream and upstream <= mine:
            coming |= {operator.name} if _agree(deployment, {*mine, *coming, operator.name}) else set()
    made = {name for name, _ in zip(_split_off(component), deployment.members, strict=False)}
    more = coming.union(*(_downstream(deployment, coming, home) for home in made & deployment.members.keys()))
    found, whole = (
        tuple(Migrate(o.name, deployment.home(o.name), component) for o in flow.operators if o.name in names)
        for names in (coming, more)
    )
    return whole if _agree(deployment, mine | more) and not apply(deployment, *whole).circular else found


def _agree(deployment: Deployment, names: set[str]) -> bool:
    return bool(shared(deployment.flow.by_name[name] for name in names))


def _split_off(component: str) -> Iterator[str]:
    """The names of components that splits of this one make, one after the other."""
    yield f"{component} consolidate"
    yield from (f"{component} consolidate {number}" for number in count(2))


def _downstream(deployment: Deployment, names: Iterable[str], component: str) -> set[str]:
    """Those of the operators that are in this component, and all that is downstream of them in it."""
    inside = set(deployment.members[component])
    found, pending = set[str](), [name for name in names if name in inside]
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending += [reader for reader in deployment.flow.downstream(name) if reader in inside]
    return found


def _migrate(deployment: Deployment, operation: Migrate) -> Deployment:
    """Where the newcomer leaves a component fewer partitions than it has nodes, it draws back to so many nodes."""
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
    after = replace(deployment, members=members, placed=placed)
    nodes, most = after.nodes(target), after.most_nodes(target)
    return after if len(nodes) <= most else _repartition(after, RePartition(target, nodes[: int(most)]))


def _repartition(deployment: Deployment, operation: RePartition) -> Deployment:
    """Shards of nodes that go are given to the least loaded, largest first; Flux evens out the rest."""
    deployment.operators(operation.component)
    before, nodes = deployment.placed[operation.component], list(dict.fromkeys(operation.nodes))
    if not 1 <= len(nodes) <= len(before):
        raise TopologyError(
            f"{len(before)} shards on {len(nodes)} nodes: there is at least one node, and a shard for each"
        )
    if len(nodes) > (most := deployment.most_nodes(operation.component)):
        by = ", ".join(sorted(deployment.attributes(operation.component))) or "nothing"
        raise TopologyError(
            f"component {operation.component!r}, partitioned by {by}, has {most:.0f} partitions at most and cannot use "
            f"{len(nodes)} nodes: name no more nodes than that, or migrate operators with fewer attributes out of it"
        )
    loads: Floats = np.array(operation.loads if operation.loads is not None else [1.0] * len(before))
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
