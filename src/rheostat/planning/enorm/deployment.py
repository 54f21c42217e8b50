"""A deployment: the components of a job, and the nodes of their shards (Enorm sections 4.4 and 4.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import inf

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Attributes, PartitionedOperator, joint_cardinality, shared_attributes
from rheostat.planning.enorm.components import OperatorGraph, strategies
from rheostat.planning.enorm.fusion import FusedComponent
from rheostat.planning.enorm.migration import Strategy


@dataclass(frozen=True)
class Deployment:
    """The components of a job, and the node of every shard of each component.

    Attributes:
        flow: the operators and the rates between them.
        members: names of the operators, by component.
        placed: the node of every shard, by component.
        distinct: the number of distinct values by attribute; attributes may be missing.

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
            raise TopologyError(f"distinct has {', '.join(wrong)}: the number of values must be at least 1")

    def operators(self, component: str) -> tuple[PartitionedOperator, ...]:
        """The operators of a component."""
        if component not in self.members:
            raise TopologyError(f"there is no component {component!r}: choose one of {', '.join(self.members)}")
        return tuple(self.flow.by_name[name] for name in self.members[component])

    def attributes(self, component: str) -> Attributes:
        """The attributes that a component is partitioned by."""
        return shared_attributes(self.operators(component))

    def most_nodes(self, component: str) -> float:
        """The largest number of nodes that a component can use (section 4.4); infinite if cardinalities are unknown."""
        if self.attributes(component) - self.distinct.keys():
            return inf
        return joint_cardinality(self.operators(component), self.distinct)

    def nodes(self, component: str) -> tuple[str, ...]:
        """The nodes that a component runs on."""
        self.operators(component)
        return tuple(dict.fromkeys(self.placed[component]))

    def strategies(self, component: str) -> tuple[Strategy, ...]:
        """The strategies by which instances of a component may be moved, the fastest first."""
        return strategies(self.flow, [o.name for o in self.operators(component)])

    def home(self, operator: str) -> str:
        """The component that an operator belongs to."""
        for name, members in self.members.items():
            if operator in members:
                return name
        raise TopologyError(f"there is no operator {operator!r}: choose one of {', '.join(self.flow.by_name)}")

    @property
    def circular(self) -> bool:
        """True if rows that leave a component can return to it through others."""
        reads: dict[str, set[str]] = {name: set() for name in self.members}
        for source, target in self.flow.rates:
            reads[self.home(target)] |= {self.home(source)} - {self.home(target)}
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
    """The initial deployment of fused components, named C1, C2 and so on. Shards are spread evenly over the nodes.

    A component with fewer partitions than nodes uses only as many nodes as it has partitions. Such components start at
    different nodes, so that not all of them are on the first.

    Args:
        flow: the operators and the rates between them.
        components: the fused components.
        nodes: names of the nodes.
        shards: the number of shards of each component, at least the number of nodes.
        distinct: the number of distinct values by attribute. A component with an attribute that is missing here is
            assumed to have enough partitions for all nodes; one without attributes has one partition.

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
        raise TopologyError(f"{shards} shards on {len(nodes)} nodes: pass at least one node, and a shard for each")
    members = {f"C{i}": c.operators for i, c in enumerate(components, start=1)}
    unplaced = Deployment(flow, members, {}, dict(distinct or {}))
    placed, next_node = {}, 0
    for name in members:
        count = int(min(len(nodes), unplaced.most_nodes(name)))
        first = 0
        if count < len(nodes):
            first, next_node = next_node, next_node + count
        placed[name] = tuple(nodes[(first + shard * count // shards) % len(nodes)] for shard in range(shards))
    return Deployment(flow, members, placed, unplaced.distinct)
