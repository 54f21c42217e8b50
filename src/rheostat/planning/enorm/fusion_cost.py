"""What fusion is worth on Spark, from what epochs have measured (Enorm sections 4.4 and 4.4.1).

Operators of a level share a stage. Fused, they also share the partials of their rows and one task per slot; the price
is that all of them are partitioned by the attributes they have in common. If these have few values, or one value has
much of the work, a slot becomes the bottleneck: ``by=("country", "user")`` fused with ``by="country"`` cannot use more
slots than there are countries. The score is the paper's ``COMM``, partials per epoch, and 0 for a fusion that costs
more than it saves. ``rheostat.planning.routes`` plans with it as soon as something has been measured.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.planning.enorm.fusion import Attributes, Candidate, FusedComponent, Score

TASKS = 0.03
"""Seconds per epoch that the tasks of a component cost, which a fusion saves: an estimate from the cost of one task."""

_UNKNOWN = 1e-9
"""The score of a fusion whose rate is not known: any known one comes first."""


@dataclass(frozen=True)
class FusionFigures:
    """What epochs have measured of the operators of one level.

    Attributes:
        slots: number of slots of a component.
        partials: by operator, partials per epoch.
        seconds: by operator, useful seconds per epoch.
        busiest: by the attributes of a component, the share of its work that its busiest shard has.

    >>> figures = FusionFigures(8, {}, {"users": 1.6, "countries": 0.4}, {frozenset({"country"}): 0.5})
    >>> figures.lost(frozenset({"country"}), ["users", "countries"])
    0.75
    """

    slots: int
    partials: Mapping[str, float] = field(default_factory=dict, hash=False)
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    busiest: Mapping[Attributes, float] = field(default_factory=dict, hash=False)

    def work(self, operators: Collection[str]) -> float:
        """Useful seconds per epoch of some operators."""
        return sum(self.seconds.get(name, 0.0) for name in operators)

    def longest(self, attributes: Attributes, operators: Collection[str]) -> float:
        """Useful seconds per epoch of the busiest slot, if operators are partitioned by these attributes.

        Attributes that were never measured count as evenly spread.
        """
        return self.work(operators) * max(self.busiest.get(attributes, 0.0), 1 / self.slots)

    def lost(self, attributes: Attributes, operators: Collection[str]) -> float:
        """Seconds per epoch that the busiest slot needs longer than slots that share the work evenly."""
        return self.longest(attributes, operators) - self.work(operators) / self.slots


def score_by_cost(figures: FusionFigures, attributes: Mapping[str, Attributes]) -> Score:
    """``COMM`` with the price of fusing too much.

    Args:
        figures: what was measured.
        attributes: the attributes of the operators with state; others, such as a source, have no work of their own.

    >>> from rheostat.planning.enorm.fusion import fuse
    >>> keys = {"users": frozenset({"country", "user"}), "countries": frozenset({"country"})}
    >>> flow = {"source": frozenset({"country", "user"}), **keys}
    >>> for busiest in (0.02, 0.5):
    ...     seen = FusionFigures(8, {"users": 9.0, "countries": 1.0}, {"users": 2.0}, {frozenset({"country"}): busiest})
    ...     score = score_by_cost(seen, keys)
    ...     print([c.operators for c in fuse(flow, [("source", "users"), ("source", "countries")], score)])
    [('source', 'users', 'countries')]
    [('source', 'users'), ('countries',)]
    """

    def score(components: Sequence[FusedComponent], candidates: Sequence[Candidate]) -> list[float]:  # noqa: ARG001
        return [
            0.0 if price(figures, attributes, shared, (*a.operators, *b.operators)) > TASKS else rate(edge[1])
            for edge, a, b, shared in candidates
        ]

    def rate(operator: str) -> float:
        return max(figures.partials.get(operator, 0.0), _UNKNOWN)

    return score


def price(
    figures: FusionFigures, attributes: Mapping[str, Attributes], shared: Attributes, operators: Collection[str]
) -> float:
    """Seconds per epoch that it costs to partition operators by the attributes they share.

    It costs nothing if none of them has more attributes than that.

    Args:
        figures: what was measured.
        attributes: the attributes of the operators with state.
        shared: the attributes that all operators have.
        operators: names of operators.
    """
    stateful = [name for name in operators if name in attributes]
    if all(attributes[name] == shared for name in stateful):
        return 0.0
    return figures.lost(shared, stateful)
