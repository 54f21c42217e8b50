"""Operators as Enorm's planner sees them: their kind, and the attributes that partition them (section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from math import inf, prod

from rheostat.errors import TopologyError

Attributes = frozenset[str]


class Kind(StrEnum):
    """The three kinds of operators and what follows from each (Enorm's Table 1).

    >>> [(k.value, k.stateful, k.flexible) for k in Kind]
    [('map', False, True), ('compute', True, True), ('consolidate', False, False)]
    """

    MAP = "map"
    COMPUTE = "compute"
    CONSOLIDATE = "consolidate"

    @property
    def stateful(self) -> bool:
        """True if it keeps state between rows. A consolidate has none: what it buffers, upstreams can send again."""
        return self is Kind.COMPUTE

    @property
    def flexible(self) -> bool:
        """True if rows may be partitioned differently at any time; otherwise it is rigid."""
        return self is not Kind.CONSOLIDATE


@dataclass(frozen=True)
class PartitionedOperator:
    """One operator of a dataflow.

    Attributes:
        name: unique in its graph.
        kind: map, compute or consolidate.
        partitioned_by: the attributes whose values decide which instance gets a row: PA.
        reads: all attributes of its input: IS; None for those that it is partitioned by.
        gives: all attributes of its output: OS.
        windowed: True if its state belongs to time windows.

    >>> PartitionedOperator("by_area", Kind.COMPUTE, frozenset({"area"}), reads=frozenset({"user"}))
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: operator 'by_area' is partitioned by area, which it does not read: ...
    """

    name: str
    kind: Kind
    partitioned_by: Attributes
    reads: Attributes | None = None
    gives: Attributes = frozenset()
    windowed: bool = False

    def __post_init__(self) -> None:
        if self.reads is None:
            object.__setattr__(self, "reads", self.partitioned_by)
        if unread := sorted(self.partitioned_by - self.schema):
            raise TopologyError(
                f"operator {self.name!r} is partitioned by {', '.join(unread)}, which it does not read: "
                "name attributes of its input"
            )

    @property
    def schema(self) -> Attributes:
        """All attributes of its input."""
        assert self.reads is not None
        return self.reads


def shared(operators: Iterable[PartitionedOperator]) -> Attributes:
    """The attributes by which all of these operators are partitioned: PA of a component.

    >>> both = [PartitionedOperator(n, Kind.MAP, frozenset(a)) for n, a in (("one", "xy"), ("two", "yz"))]
    >>> sorted(shared(both))
    ['y']
    """
    each = [o.partitioned_by for o in operators]
    return reduce(frozenset.intersection, each) if each else frozenset()


def cardinality(partitioned_by: Attributes, schema: Attributes, distinct: Mapping[str, int]) -> float:
    """Into how many partitions the attributes can divide rows of a schema, at most.

    One if there is no attribute, otherwise as many as there are combinations of values. The paper says both that the
    whole schema has no limit, since every row is then a partition of its own (section 4.3), and that counting words,
    of which a row is one, has as many partitions as there are words (its example 1a). Here the second holds where the
    numbers of values are known, and the first where they are not.

    Args:
        distinct: how many different values each attribute has.

    >>> rows, values = frozenset({"user", "area", "day"}), {"area": 20, "day": 7}
    >>> [cardinality(a, rows, values) for a in (frozenset(), frozenset({"area"}), frozenset({"area", "day"}), rows)]
    [1.0, 20.0, 140.0, inf]
    >>> cardinality(frozenset({"word"}), frozenset({"word"}), {"word": 5000})
    5000.0
    """
    if not partitioned_by:
        return 1.0
    if unknown := sorted(partitioned_by - distinct.keys()):
        if partitioned_by == schema:
            return inf
        raise TopologyError(
            f"missing cardinality for {', '.join(unknown)}: pass distinct= with how many values each has"
        )
    return float(prod(distinct[a] for a in partitioned_by))


def joint_cardinality(operators: Iterable[PartitionedOperator], distinct: Mapping[str, int]) -> float:
    """Onto how many nodes a component of these operators can be spread, at most (Enorm section 4.4).

    >>> count = PartitionedOperator("count", Kind.COMPUTE, frozenset({"word"}), reads=frozenset({"word"}))
    >>> both = frozenset({"word", "language"})
    >>> letters = PartitionedOperator("letters", Kind.COMPUTE, frozenset({"word"}), reads=both)
    >>> joint_cardinality([count], {}), joint_cardinality([count, letters], {"word": 5000})
    (inf, 5000.0)
    """
    operators = list(operators)
    together = shared(operators)
    return min((cardinality(together, o.schema, distinct) for o in operators), default=1.0)
