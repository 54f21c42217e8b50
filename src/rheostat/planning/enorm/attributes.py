"""Operators as Enorm's planner sees them: their kind, and the attributes that partition them (section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from math import inf, prod

from rheostat.errors import TopologyError

Attributes = frozenset[str]
"""Names of attributes, that is, of columns."""


class Kind(StrEnum):
    """The three kinds of operators and their traits (Enorm's Table 1).

    >>> [(k.value, k.stateful, k.flexible) for k in Kind]
    [('map', False, True), ('compute', True, True), ('consolidate', False, False)]
    """

    MAP = "map"
    COMPUTE = "compute"
    CONSOLIDATE = "consolidate"

    @property
    def stateful(self) -> bool:
        """True if it keeps state between rows. A consolidate does not: upstreams can resend the rows it buffers."""
        return self is Kind.COMPUTE

    @property
    def flexible(self) -> bool:
        """True if its rows may be repartitioned at any time; otherwise it is rigid."""
        return self is not Kind.CONSOLIDATE


@dataclass(frozen=True)
class PartitionedOperator:
    """One operator of a dataflow.

    Attributes:
        name: unique in its graph.
        kind: map, compute or consolidate.
        partitioned_by: the attributes whose values determine the instance that gets a row; the paper's PA.
        reads: all attributes of its input; the paper's IS. None stands for ``partitioned_by``.
        gives: all attributes of its output; the paper's OS.
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


def shared_attributes(operators: Iterable[PartitionedOperator]) -> Attributes:
    """The attributes that all operators are partitioned by; the paper's PA of a component.

    >>> both = [PartitionedOperator(n, Kind.MAP, frozenset(a)) for n, a in (("one", "xy"), ("two", "yz"))]
    >>> sorted(shared_attributes(both))
    ['y']
    """
    sets = [o.partitioned_by for o in operators]
    return reduce(frozenset.intersection, sets) if sets else frozenset()


def cardinality(partitioned_by: Attributes, schema: Attributes, distinct: Mapping[str, int]) -> float:
    """The largest number of partitions that attributes can divide rows into.

    It is 1 without attributes, otherwise the number of combinations of values. For the whole schema, the paper says
    that there is no limit, since every row is then its own partition (section 4.3), but also that counting words, where
    a row is a word, has as many partitions as there are words (example 1a). Here the whole schema has no limit only if
    some numbers of values are unknown.

    Args:
        partitioned_by: the attributes that rows are partitioned by.
        schema: all attributes of the rows.
        distinct: the number of distinct values by attribute.

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
            f"missing cardinality for {', '.join(unknown)}: pass distinct= with the number of values of each"
        )
    return float(prod(distinct[a] for a in partitioned_by))


def joint_cardinality(operators: Iterable[PartitionedOperator], distinct: Mapping[str, int]) -> float:
    """The largest number of nodes that a component of these operators can use (Enorm section 4.4).

    Args:
        operators: the operators of the component.
        distinct: the number of distinct values by attribute.

    >>> count = PartitionedOperator("count", Kind.COMPUTE, frozenset({"word"}), reads=frozenset({"word"}))
    >>> both = frozenset({"word", "language"})
    >>> letters = PartitionedOperator("letters", Kind.COMPUTE, frozenset({"word"}), reads=both)
    >>> joint_cardinality([count], {}), joint_cardinality([count, letters], {"word": 5000})
    (inf, 5000.0)
    """
    operators = list(operators)
    common = shared_attributes(operators)
    return min((cardinality(common, o.schema, distinct) for o in operators), default=1.0)
