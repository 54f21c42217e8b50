"""A deployment: which operators run together, and where (Enorm sections 4.4 and 4.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import inf

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Attributes, PartitionedOperator, joint_cardinality, shared
from rheostat.planning.enorm.components import OperatorGraph, strategies
from rheostat.planning.enorm.fusion import FusedComponent
from rheostat.planning.enorm.migration import Strategy


@dataclass(frozen=True)
class Deployment:
    """Which operators run together, and on which node every shard of each component is.

    Attributes:
        flow: the operators and the rows between them.
        members: names of the operators of every component.
        placed: for every component, the node of each of its shards.
        distinct: how many different values an attribute has, as far as that is known.

    >>> from rheostat.planning.enorm import Kind
    >>> flow = OperatorGraph((PartitionedOperator("sum", Kind.COMPUTE, frozenset({"area"})),), {})
    >>> now = Deployment(flow, members={"C1": ("sum",)}, placed={"C1": ("n1", "n1", "n2")}, distinct={"area": 20})
    >>> now.home("sum"), now.nodes("C1"), now.most_nodes("C1")
    ('C1', ('n1', 'n2'), 20.0)
    """

    flow: OperatorGraph
    members: Mapping[str, tuple[str, ...]] = field(hash=False)
    placed: Mapping[str, tuple[str, ...]] = field(hash=False)
    distinct: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if wrong := [f"{name}={count}" for name, count in self.distinct.items() if count < 1]:
            raise TopologyError(f"distinct has {', '.join(wrong)}: an attribute has one value or more")

    def operators(self, component: str) -> tuple[PartitionedOperator, ...]:
        """The operators of a component."""
        if component not in self.members:
            raise TopologyError(f"there is no component {component!r}: choose one of {', '.join(self.members)}")
        return tuple(self.flow.by_name[name] for name in self.members[component])

    def attributes(self, component: str) -> Attributes:
        """By what a component is partitioned."""
        return shared(self.operators(component))

    def most_nodes(self, component: str) -> float:
        """Onto how many nodes a component can be spread (section 4.4); no limit where ``distinct`` does not say."""
        if self.attributes(component) - self.distinct.keys():
            return inf
        return joint_cardinality(self.operators(component), self.distinct)

    def nodes(self, component: str) -> tuple[str, ...]:
        """The nodes that a component is on."""
        self.operators(component)
        return tuple(dict.fromkeys(self.placed[component]))

    def strategies(self, component: str) -> tuple[Strategy, ...]:
        """How its instances may be moved, the quickest way first."""
        return strategies(self.flow, [o.name for o in self.operators(component)])

    def home(self, operator: str) -> str:
        """The component that an operator belongs to."""
        for name, members in self.members.items():
            if operator in members:
                return name
        raise TopologyError(f"there is no operator {operator!r}: choose one of {', '.join(self.flow.by_name)}")

    @property
    def circular(self) -> bool:
        """True if rows that leave some component can come back to it."""
        homes = [(self.home(source), self.home(target)) for source, target in self.flow.rates]
        reads: dict[str, set[str]] = {name: set() for name in self.members}
        for source, target in homes:
            reads[target] |= {source} - {target}
        try:
            TopologicalSorter(reads).prepare()
        except CycleError:
            return True
        return False


def deploy(
    flow: OperatorGraph,
    components: Iterable[FusedComponent],
    nodes: Sequence[str],
    shards: int,
    distinct: Mapping[str, int] | None = None,
) -> Deployment:
    """Fused components as C1, C2 and so on, the shards of each spread evenly over all nodes that it can use.

    A component that has fewer partitions than there are nodes is on as many nodes as it has partitions; several such
    components take turns, so that they are not all on the first node.

    Args:
        distinct: how many different values an attribute has. A component by attributes of which this is not known
            is taken to have enough partitions for all nodes; one without attributes has one.

    >>> from rheostat.planning.enorm.attributes import Kind
    >>> from rheostat.planning.enorm.fusion import fuse
    >>> a, b = (PartitionedOperator(name, Kind.MAP, frozenset("x")) for name in "ab")
    >>> flow = OperatorGraph((a, b), {("a", "b"): 1.0})
    >>> deploy(flow, fuse(flow.attributes, flow.rates), ["n1", "n2"], shards=4)
    Deployment(..., members={'C1': ('a', 'b')}, placed={'C1': ('n1', 'n1', 'n2', 'n2')}, distinct={})
    >>> deploy(flow, fuse(flow.attributes, flow.rates), ["n1", "n2"], shards=4, distinct={"x": 1}).nodes("C1")
    ('n1',)
    """
    if not nodes or shards < len(nodes):
        raise TopologyError(f"{shards} shards on {len(nodes)} nodes: there is at least one node, and a shard for each")
    members = {f"C{i}": c.operators for i, c in enumerate(components, start=1)}
    nowhere = Deployment(flow, members, {}, dict(distinct or {}))
    placed, turn = {}, 0
    for name in members:
        count = int(min(len(nodes), nowhere.most_nodes(name)))
        first, turn = (0, turn) if count == len(nodes) else (turn, turn + count)
        placed[name] = tuple(nodes[(first + shard * count // shards) % len(nodes)] for shard in range(shards))
    return Deployment(flow, members, placed, nowhere.distinct)
