"""Fusion that follows the traffic: how to improve components while a job runs, and when.

This is future work in Enorm (section 8): traffic changes while a job runs, so operators have to be fused and separated
again, which moves state. Here the current components are improved operator by operator instead of being planned anew,
and only if the gain is large enough, lasts, and is worth the state that moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from rheostat.errors import TopologyError
from rheostat.planning.enorm.fusion import (
    Attributes,
    Edge,
    FusedComponent,
    check_edges,
    check_rates,
    inter_component_traffic,
)

Rates = Mapping[Edge, float]
"""Rows per second between operators, by edge."""

_ROUNDING = 1e-12
"""The share of all traffic below which a saving may be a rounding error."""


def refine(
    components: Iterable[FusedComponent], attributes: Mapping[str, Attributes], rates: Rates, least: float = 0.0
) -> list[FusedComponent]:
    """Improve components by moving single operators and merging whole components, as long as that saves traffic.

    Every change saves more than ``least`` rows per second between components, so this ends. A component that is no
    longer connected after a move is separated, which costs no traffic and leaves more attributes to partition by.

    Args:
        components: the current components.
        attributes: the attributes that each operator is partitioned by.
        rates: rows per second between operators.
        least: the rows per second that a change must save.

    >>> attributes = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y")}
    >>> rates = {("a", "b"): 1.0, ("a", "c"): 8.0}
    >>> before = [FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y"))]
    >>> [c.operators for c in refine(before, attributes, rates)]
    [('a', 'c'), ('b',)]
    """
    components = list(components)
    _check(components, attributes, rates)
    order = {name: i for i, name in enumerate(attributes)}
    groups = [frozenset(c.operators) for c in components]
    least += _ROUNDING * sum(rates.values())
    while True:
        home = {name: number for number, group in enumerate(groups) for name in group}
        best = max(
            (*_merges(groups, home, attributes, rates), *_moves(groups, home, attributes, rates)),
            key=lambda change: change[0],
            default=None,
        )
        if best is None or not best[0] > least:
            break
        _, moving, target = best
        groups = [(g | moving) if i == target else (g - moving) for i, g in enumerate(groups)]
        groups = [part for g in groups for part in _connected(g, rates)]
    members = sorted((sorted(g, key=order.__getitem__) for g in groups), key=lambda m: order[m[0]])
    return [FusedComponent(tuple(m), _shared(m, attributes)) for m in members]


def moved_operators(before: Iterable[FusedComponent], after: Iterable[FusedComponent]) -> frozenset[str]:
    """The operators that have to move if each new component takes the place of the old one that it overlaps most.

    Args:
        before: the old components.
        after: the new components.

    >>> def parts(*names: str) -> list[FusedComponent]:
    ...     return [FusedComponent(tuple(n), frozenset()) for n in names]
    >>> sorted(moved_operators(parts("ab", "c", "d"), parts("bc", "a", "d")))
    ['b']
    """
    old, new = ([frozenset(c.operators) for c in side] for side in (before, after))
    overlaps = sorted(((len(o & n), i, j) for i, o in enumerate(old) for j, n in enumerate(new) if o & n), reverse=True)
    matched_old, matched_new = set[int](), set[int]()
    staying = set[str]()
    for _, i, j in overlaps:
        if i not in matched_old and j not in matched_new:
            matched_old.add(i)
            matched_new.add(j)
            staying |= old[i] & new[j]
    return frozenset().union(*new) - staying


@dataclass(frozen=True)
class Patience:
    """When a change of components is worth it.

    Attributes:
        least: a change must make more than this share of all traffic local, from 0 to below 1.
        times: the number of consecutive observations for which that must hold.
        rest: the number of observations after a change during which no other change is made.
        smoothing: the weight of the newest observation in the smoothed rates, above 0 up to 1.
        horizon: the number of observations that a plan is expected to last; the rows that it saves in that time must
            exceed the rows of state that move.

    >>> attributes = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y")}
    >>> watch = Watch((FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y"))))
    >>> for patience in (Patience(times=3), Patience(times=1)):
    ...     print(observe(watch, attributes, {("a", "b"): 1.0, ("a", "c"): 8.0}, patience).reason)
    no change yet: 78% of the traffic could become local if this lasts
    78% of the traffic becomes local, 1 operator moves
    """

    least: float = 0.05
    times: int = 3
    rest: int = 5
    smoothing: float = 0.5
    horizon: float = 60.0

    def __post_init__(self) -> None:
        if not (0 <= self.least < 1 and self.times >= 1 and self.rest >= 0 and 0 < self.smoothing <= 1):
            raise TopologyError(
                f"{self}: least must be from 0 to below 1, smoothing above 0 up to 1, times at least 1, rest at least 0"
            )


@dataclass(frozen=True)
class Watch:
    """The current components, and what has been observed since they were chosen.

    Attributes:
        components: the current components.
        rates: smoothed rates between operators.
        better: the number of consecutive observations for which other components were better by enough.
        resting: the number of observations until another change may be made.
        reason: what the last observation led to and why, as text.

    >>> apart = Watch((FusedComponent(("a",), frozenset("x")), FusedComponent(("b",), frozenset("x"))))
    >>> seen = observe(apart, {"a": frozenset("x"), "b": frozenset("x")}, {("a", "b"): 8.0})
    >>> seen.better, seen.reason
    (1, 'no change yet: 100% of the traffic could become local if this lasts')
    """

    components: tuple[FusedComponent, ...]
    rates: Rates = field(default_factory=dict, hash=False)
    better: int = 0
    resting: int = 0
    reason: str = ""


def observe(
    watch: Watch,
    attributes: Mapping[str, Attributes],
    rates: Rates,
    patience: Patience | None = None,
    state: Mapping[str, float] | None = None,
) -> Watch:
    """The components to run after another observation of the traffic; they change only if ``patience`` allows it.

    Args:
        watch: the result of the last observation.
        attributes: the attributes that each operator is partitioned by.
        rates: rows between operators since the last observation.
        patience: when a change is worth it; None for the defaults.
        state: rows of state by operator, which would have to move with it; None if moving costs nothing.

    >>> attributes = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y")}
    >>> watch = Watch((FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y"))))
    >>> for number in range(3):
    ...     watch = observe(watch, attributes, {("a", "b"): 1.0, ("a", "c"): 8.0})
    >>> [c.operators for c in watch.components], watch.reason
    ([('a', 'c'), ('b',)], '78% of the traffic becomes local, 1 operator moves')
    """
    _check(watch.components, attributes, rates)
    patience = patience or Patience()
    keep = 1 - patience.smoothing if watch.rates else 0.0
    smoothed = {e: keep * watch.rates.get(e, 0.0) + (1 - keep) * rates.get(e, 0.0) for e in {**watch.rates, **rates}}
    watch = replace(watch, rates=smoothed)
    if watch.resting:
        return replace(watch, resting=watch.resting - 1, better=0, reason="resting after a change")
    proposed = refine(watch.components, attributes, smoothed)
    saved = inter_component_traffic(watch.components, smoothed) - inter_component_traffic(proposed, smoothed)
    share = saved / total if (total := sum(smoothed.values())) > 0 else 0.0
    if share <= patience.least:
        reason = f"no change: other components would make only {share:.0%} of the traffic local"
        return replace(watch, better=0, reason=reason)
    moving = moved_operators(watch.components, proposed)
    price = sum((state or {}).get(name, 0.0) for name in moving)
    if saved * patience.horizon <= price:
        reason = f"no change: moving {price:.0f} rows of state costs more than it saves"
        return replace(watch, better=0, reason=reason)
    if watch.better + 1 < patience.times:
        reason = f"no change yet: {share:.0%} of the traffic could become local if this lasts"
        return replace(watch, better=watch.better + 1, reason=reason)
    what = f"{len(moving)} operator moves" if len(moving) == 1 else f"{len(moving)} operators move"
    reason = f"{share:.0%} of the traffic becomes local, {what}"
    return Watch(tuple(proposed), smoothed, 0, patience.rest, reason)


def _check(components: Iterable[FusedComponent], attributes: Mapping[str, Attributes], rates: Rates) -> None:
    """Raise ``TopologyError`` for invalid rates, and unless every operator is in exactly one component."""
    check_edges(attributes, rates)
    check_rates(rates)
    placed = [name for c in components for name in c.operators]
    if sorted(placed) != sorted(attributes):
        wrong = sorted({name for name in (*placed, *attributes) if placed.count(name) != 1 or name not in attributes})
        raise TopologyError(f"each operator must be in exactly one component: check {', '.join(wrong)}")


Groups = Sequence[frozenset[str]]
"""The operators of every component."""

Change = tuple[float, frozenset[str], int]
"""Rows per second saved, the operators that move, and the number of the group they move to."""


def _merges(
    groups: Groups, home: Mapping[str, int], attributes: Mapping[str, Attributes], rates: Rates
) -> list[Change]:
    """All changes that merge two groups."""
    between: dict[tuple[int, int], float] = defaultdict(float)
    for (source, target), rate in rates.items():
        a, b = sorted((home[source], home[target]))
        if a != b:
            between[a, b] += rate
    common = [_shared(g, attributes) for g in groups]
    return [(rate, groups[b], a) for (a, b), rate in between.items() if common[a] & common[b]]


def _moves(groups: Groups, home: Mapping[str, int], attributes: Mapping[str, Attributes], rates: Rates) -> list[Change]:
    """All changes that move a single operator to another group."""
    traffic: dict[tuple[str, int], float] = defaultdict(float)
    for (source, target), rate in rates.items():
        traffic[source, home[target]] += rate
        traffic[target, home[source]] += rate
    common = [_shared(g, attributes) for g in groups]
    return [
        (rate - traffic.get((name, home[name]), 0.0), frozenset({name}), group)
        for (name, group), rate in traffic.items()
        if group != home[name] and len(groups[home[name]]) > 1 and common[group] & attributes[name]
    ]


def _connected(group: frozenset[str], rates: Rates) -> list[frozenset[str]]:
    """The connected parts of a group."""
    neighbours: dict[str, set[str]] = {name: set() for name in group}
    for source, target in rates:
        if source in group and target in group:
            neighbours[source].add(target)
            neighbours[target].add(source)
    parts, left = [], set(group)
    while left:
        part, pending = set[str](), [min(left)]
        while pending:
            if (name := pending.pop()) not in part:
                part.add(name)
                pending += neighbours[name] - part
        parts.append(frozenset(part))
        left -= part
    return parts


def _shared(names: Iterable[str], attributes: Mapping[str, Attributes]) -> Attributes:
    return reduce(frozenset.intersection, (attributes[n] for n in names))
