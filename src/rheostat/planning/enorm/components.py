"""The traits of a component, and how its instances may be moved (Enorm sections 4.4 and 5).

A component is stateless, or flexible, only if all of its operators are. These two traits determine the migration
strategies that are possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Attributes, Kind, PartitionedOperator
from rheostat.planning.enorm.fusion import Edge, check_edges, check_rates
from rheostat.planning.enorm.migration import Strategy


@dataclass(frozen=True)
class OperatorGraph:
    """Operators, and the rates of rows between them.

    Attributes:
        operators: the operators, upstream ones first.
        rates: rows per second from one operator to another, by (sender, receiver).

    >>> a, b = (PartitionedOperator(name, Kind.MAP, frozenset("x")) for name in "ab")
    >>> flow = OperatorGraph((a, b), {("a", "b"): 9.0})
    >>> flow.downstream("a"), flow.downstream("b")
    (('b',), ())
    """

    operators: tuple[PartitionedOperator, ...]
    rates: Mapping[Edge, float] = field(hash=False)

    def __post_init__(self) -> None:
        names = [o.name for o in self.operators]
        if duplicates := sorted({n for n in names if names.count(n) > 1}):
            raise TopologyError(f"more than one operator is called {', '.join(duplicates)}: give each its own name")
        check_edges(names, self.rates)
        check_rates(self.rates)
        try:
            TopologicalSorter({t: [s for s, u in self.rates if u == t] for _, t in self.rates}).prepare()
        except CycleError as error:
            raise TopologyError(
                f"operators form a cycle: {' to '.join(error.args[1])}; remove one of these edges"
            ) from None

    @cached_property
    def by_name(self) -> dict[str, PartitionedOperator]:
        """The operators by name."""
        return {o.name: o for o in self.operators}

    @property
    def attributes(self) -> dict[str, Attributes]:
        """The attributes that each operator is partitioned by, as ``fuse`` takes them."""
        return {o.name: o.partitioned_by for o in self.operators}

    def downstream(self, operator: str) -> tuple[str, ...]:
        """The operators that read the output of an operator."""
        return tuple(target for source, target in self.rates if source == operator)

    def upstream(self, operator: str) -> tuple[str, ...]:
        """The operators whose output an operator reads."""
        return tuple(source for source, target in self.rates if target == operator)


@dataclass(frozen=True)
class Traits:
    """The traits that determine how a component may be moved.

    Attributes:
        stateful: True if some operator keeps state.
        flexible: True if the rows of all operators may be repartitioned at any time.
    """

    stateful: bool
    flexible: bool

    @property
    def label(self) -> str:
        """The name of these traits in the paper, such as ``rigid stateful``."""
        return f"{'flexible' if self.flexible else 'rigid'} {'stateful' if self.stateful else 'stateless'}"


def traits(operators: Iterable[PartitionedOperator]) -> Traits:
    """The traits of a component of these operators.

    >>> kinds = {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE}
    >>> window = [PartitionedOperator(name, kind, frozenset("x")) for name, kind in kinds.items()]
    >>> traits(window).label, traits(window[:1]).label, traits(window[1:]).label
    ('rigid stateful', 'flexible stateful', 'rigid stateless')
    """
    kinds = {o.kind for o in operators}
    return Traits(any(k.stateful for k in kinds), all(k.flexible for k in kinds))


def strategies(flow: OperatorGraph, members: Iterable[str]) -> tuple[Strategy, ...]:
    """The strategies by which instances of a component may be moved, the fastest first (Enorm section 5).

    Without state, migration is always instant. With state, instant migration leaves partials behind that must be
    merged: the component must have no consolidate operators, and its computes must be read by consolidates only (the
    paper's configurations 5.1 and 5.2). Smooth migration waits for the end of a window, so it needs windows.

    Args:
        flow: all operators.
        members: names of the component's operators.

    >>> sums = PartitionedOperator("sum", Kind.COMPUTE, frozenset("x"), windowed=True)
    >>> windows = PartitionedOperator("w", Kind.CONSOLIDATE, frozenset("x"))
    >>> flow = OperatorGraph((sums, windows), {("sum", "w"): 1.0})
    >>> [s.value for s in strategies(flow, ["sum"])], [s.value for s in strategies(flow, ["sum", "w"])]
    (['instant', 'smooth', 'disruptive'], ['smooth', 'disruptive'])
    """
    operators = [flow.by_name[m] for m in members]
    component = traits(operators)
    if not component.stateful:
        return (Strategy.INSTANT,)
    computes = [o for o in operators if o.kind.stateful]
    merged = all(_only_consolidated(flow, o.name) for o in computes)
    instant = (Strategy.INSTANT,) if component.flexible and merged else ()
    smooth = (Strategy.SMOOTH,) if all(o.windowed for o in computes) else ()
    return (*instant, *smooth, Strategy.DISRUPTIVE)


def _only_consolidated(flow: OperatorGraph, compute: str) -> bool:
    """True if all readers of a compute operator are consolidates, and there is at least one."""
    readers = flow.downstream(compute)
    return bool(readers) and all(flow.by_name[r].kind is Kind.CONSOLIDATE for r in readers)
