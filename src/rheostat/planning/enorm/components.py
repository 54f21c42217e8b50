"""How operators that run together may be moved (Enorm sections 4.4 and 5).

A component is stateless or flexible only if all of its operators are, and these two traits decide by which strategies
its instances may move.
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
    """Operators, and how many rows per second go from one to the other.

    Attributes:
        operators: in the order of the stream.
        rates: rows per second by sender and receiver.

    >>> a, b = (PartitionedOperator(name, Kind.MAP, frozenset("x")) for name in "ab")
    >>> flow = OperatorGraph((a, b), {("a", "b"): 9.0})
    >>> flow.downstream("a"), flow.downstream("b")
    (('b',), ())
    """

    operators: tuple[PartitionedOperator, ...]
    rates: Mapping[Edge, float] = field(hash=False)

    def __post_init__(self) -> None:
        names = [o.name for o in self.operators]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise TopologyError(f"more than one operator is called {', '.join(twice)}: give each its own name")
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
        """The operators by their names."""
        return {o.name: o for o in self.operators}

    @property
    def attributes(self) -> dict[str, Attributes]:
        """By which attributes each operator is partitioned: what fusion needs to know."""
        return {o.name: o.partitioned_by for o in self.operators}

    def downstream(self, operator: str) -> tuple[str, ...]:
        """Who reads what an operator gives."""
        return tuple(target for source, target in self.rates if source == operator)

    def upstream(self, operator: str) -> tuple[str, ...]:
        """Whose rows an operator reads."""
        return tuple(source for source, target in self.rates if target == operator)


@dataclass(frozen=True)
class Traits:
    """What decides how a component may be moved.

    Attributes:
        stateful: True if some operator keeps state.
        flexible: True if rows of all operators may be partitioned differently at any time.
    """

    stateful: bool
    flexible: bool

    @property
    def label(self) -> str:
        """As the paper calls it."""
        return f"{'flexible' if self.flexible else 'rigid'} {'stateful' if self.stateful else 'stateless'}"


def traits(operators: Iterable[PartitionedOperator]) -> Traits:
    """The traits of operators that run together: stateless, and flexible, only if all of them are.

    >>> kinds = {"sum": Kind.COMPUTE, "windows": Kind.CONSOLIDATE}
    >>> window = [PartitionedOperator(name, kind, frozenset("x")) for name, kind in kinds.items()]
    >>> traits(window).label, traits(window[:1]).label, traits(window[1:]).label
    ('rigid stateful', 'flexible stateful', 'rigid stateless')
    """
    kinds = {o.kind for o in operators}
    return Traits(any(k.stateful for k in kinds), all(k.flexible for k in kinds))


def strategies(flow: OperatorGraph, members: Iterable[str]) -> tuple[Strategy, ...]:
    """How instances of a component may be moved, the quickest way first (Enorm section 5).

    Without state nothing has to be moved. With state, instant migration leaves partials behind, which somebody must
    merge: it needs a component without consolidate operators, whose computes are read by consolidates only (the
    paper's configurations 5.1 and 5.2). Smooth migration waits for the end of a window, so it needs windows.

    >>> sums = PartitionedOperator("sum", Kind.COMPUTE, frozenset("x"), windowed=True)
    >>> windows = PartitionedOperator("w", Kind.CONSOLIDATE, frozenset("x"))
    >>> flow = OperatorGraph((sums, windows), {("sum", "w"): 1.0})
    >>> [s.value for s in strategies(flow, ["sum"])], [s.value for s in strategies(flow, ["sum", "w"])]
    (['instant', 'smooth', 'disruptive'], ['smooth', 'disruptive'])
    """
    operators = [flow.by_name[m] for m in members]
    found = traits(operators)
    if not found.stateful:
        return (Strategy.INSTANT,)
    computes = [o for o in operators if o.kind.stateful]
    merged = all(_only_consolidated(flow, o.name) for o in computes)
    instant = (Strategy.INSTANT,) if found.flexible and merged else ()
    smooth = (Strategy.SMOOTH,) if all(o.windowed for o in computes) else ()
    return (*instant, *smooth, Strategy.DISRUPTIVE)


def _only_consolidated(flow: OperatorGraph, compute: str) -> bool:
    readers = flow.downstream(compute)
    return bool(readers) and all(flow.by_name[r].kind is Kind.CONSOLIDATE for r in readers)
