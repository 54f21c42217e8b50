"""Fusion that follows the traffic: better components by small changes, and when such a change is due.

Enorm names this as future work (section 8): communication changes while a job runs, and operators have to be fused and
taken apart again, which moves state. So here a plan is improved from what it is, operator by operator, rather
than made anew, and it is changed only if the gain is large enough, lasts, and pays for the state that moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from rheostat.errors import TopologyError
from rheostat.planning.enorm.attributes import Attributes
from rheostat.planning.enorm.fusion import Edge, FusedComponent, check_edges, check_rates, inter_component_traffic

Rates = Mapping[Edge, float]


def refine(
    components: Iterable[FusedComponent], attributes: Mapping[str, Attributes], rates: Rates, least: float = 0.0
) -> list[FusedComponent]:
    """Improve components by moving single operators and merging whole components while that saves traffic.

    Every change takes away more than ``least`` rows per second between components, so it ends. What no longer hangs
    together after a move is taken apart, which costs nothing and leaves more attributes to partition by.

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
    least += 1e-12 * sum(rates.values())  # what rounding may feign
    while True:
        home = {name: number for number, group in enumerate(groups) for name in group}
        found = max(
            (*_merges(groups, home, attributes, rates), *_moves(groups, home, attributes, rates)),
            key=lambda change: change[0],
            default=None,
        )
        if found is None or not found[0] > least:
            break
        _, moving, target = found
        groups = [(g | moving) if i == target else (g - moving) for i, g in enumerate(groups)]
        groups = [part for g in groups for part in _connected(g, rates)]
    members = sorted((sorted(g, key=order.__getitem__) for g in groups), key=lambda m: order[m[0]])
    return [FusedComponent(tuple(m), _shared(m, attributes)) for m in members]


def moved_operators(before: Iterable[FusedComponent], after: Iterable[FusedComponent]) -> frozenset[str]:
    """The operators that have to move: all but those that each new component shares with the old one most like it.

    >>> def parts(*names: str) -> list[FusedComponent]:
    ...     return [FusedComponent(tuple(n), frozenset()) for n in names]
    >>> sorted(moved_operators(parts("ab", "c", "d"), parts("bc", "a", "d")))
    ['b']
    """
    old, new = ([frozenset(c.operators) for c in side] for side in (before, after))
    alike = sorted(((len(o & n), i, j) for i, o in enumerate(old) for j, n in enumerate(new) if o & n), reverse=True)
    taken: tuple[set[int], set[int]] = (set(), set())
    kept: set[str] = set()
    for _, i, j in alike:
        if i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            kept |= old[i] & new[j]
    return frozenset().union(*new) - kept


@dataclass(frozen=True)
class Patience:
    """When a change of plan is worth it.

    Attributes:
        least: the share of all traffic that must become local.
        times: for so many observations one after the other.
        rest: observations after a change during which nothing is looked at.
        smoothing: weight of the newest observation in the rates that are looked at.
        horizon: observations for which a plan is expected to last; what it saves meanwhile must exceed the state moved.

    >>> attributes = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y")}
    >>> watch = Watch((FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y"))))
    >>> for patience in (Patience(times=3), Patience(times=1)):
    ...     print(observe(watch, attributes, {("a", "b"): 1.0, ("a", "c"): 8.0}, patience).reason)
    78% could become local: waiting whether it lasts
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
                f"{self}: least is a share below 1, smoothing above 0 up to 1, times from 1, rest from 0"
            )


@dataclass(frozen=True)
class Watch:
    """The plan in force and what has been seen since.

    Attributes:
        components: the plan in force.
        rates: rows between operators, smoothed.
        better: for how many observations in a row another plan has been better by enough.
        resting: observations still to be let pass.
        reason: what the last observation led to, in words.

    >>> apart = Watch((FusedComponent(("a",), frozenset("x")), FusedComponent(("b",), frozenset("x"))))
    >>> seen = observe(apart, {"a": frozenset("x"), "b": frozenset("x")}, {("a", "b"): 8.0})
    >>> seen.better, seen.reason
    (1, '100% could become local: waiting whether it lasts')
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
    """What to run after one more observation of the traffic; a new plan only when patience says so.

    Args:
        rates: rows between operators since the last observation.
        state: rows of state of each operator, which would have to move with it.

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
    seen = {e: keep * watch.rates.get(e, 0.0) + (1 - keep) * rates.get(e, 0.0) for e in {**watch.rates, **rates}}
    watch = replace(watch, rates=seen)
    if watch.resting:
        return replace(watch, resting=watch.resting - 1, better=0, reason="resting after a change")
    proposed = refine(watch.components, attributes, seen)
    saved = inter_component_traffic(watch.components, seen) - inter_component_traffic(proposed, seen)
    share = saved / total if (total := sum(seen.values())) > 0 else 0.0
    if share <= patience.least:
        return replace(
            watch, better=0, reason=f"another plan would make {share:.0%} more of the traffic local: too little"
        )
    moving = moved_operators(watch.components, proposed)
    price = sum((state or {}).get(name, 0.0) for name in moving)
    if saved * patience.horizon <= price:
        return replace(watch, better=0, reason=f"moving {price:.0f} rows of state costs more than it saves")
    if watch.better + 1 < patience.times:
        return replace(
            watch, better=watch.better + 1, reason=f"{share:.0%} could become local: waiting whether it lasts"
        )
    what = f"{len(moving)} operator moves" if len(moving) == 1 else f"{len(moving)} operators move"
    reason = f"{share:.0%} of the traffic becomes local, {what}"
    return Watch(tuple(proposed), seen, 0, patience.rest, reason)


def _check(components: Iterable[FusedComponent], attributes: Mapping[str, Attributes], rates: Rates) -> None:
    """Refuse rates that make no sense, and components that are not of these operators."""
    check_edges(attributes, rates)
    check_rates(rates)
    placed = [name for c in components for name in c.operators]
    if sorted(placed) != sorted(attributes):
        wrong = sorted({name for name in (*placed, *attributes) if placed.count(name) != 1 or name not in attributes})
        raise TopologyError(f"each operator must be in exactly one component, which is not so for {', '.join(wrong)}")


Groups = Sequence[frozenset[str]]
Change = tuple[float, frozenset[str], int]
"""Rows per second saved, the operators that move, and the number of the group they move to."""


def _merges(
    groups: Groups, home: Mapping[str, int], attributes: Mapping[str, Attributes], rates: Rates
) -> list[Change]:
    between: dict[tuple[int, int], float] = defaultdict(float)
    for (source, target), rate in rates.items():
        a, b = sorted((home[source], home[target]))
        if a != b:
            between[a, b] += rate
    agreed = [_shared(g, attributes) for g in groups]
    return [(rate, groups[b], a) for (a, b), rate in between.items() if agreed[a] & agreed[b]]


def _moves(groups: Groups, home: Mapping[str, int], attributes: Mapping[str, Attributes], rates: Rates) -> list[Change]:
    talks: dict[tuple[str, int], float] = defaultdict(float)
    for (source, target), rate in rates.items():
        talks[source, home[target]] += rate
        talks[target, home[source]] += rate
    agreed = [_shared(g, attributes) for g in groups]
    return [
        (rate - talks.get((name, home[name]), 0.0), frozenset({name}), group)
        for (name, group), rate in talks.items()
        if group != home[name] and len(groups[home[name]]) > 1 and agreed[group] & attributes[name]
    ]


def _connected(group: frozenset[str], rates: Rates) -> list[frozenset[str]]:
    near: dict[str, set[str]] = {name: set() for name in group}
    for source, target in rates:
        if source in group and target in group:
            near[source].add(target)
            near[target].add(source)
    parts, left = [], set(group)
    while left:
        part, pending = set[str](), [min(left)]
        while pending:
            if (name := pending.pop()) not in part:
                part.add(name)
                pending += near[name] - part
        parts.append(frozenset(part))
        left -= part
    return parts


def _shared(names: Iterable[str], attributes: Mapping[str, Attributes]) -> Attributes:
    return reduce(frozenset.intersection, (attributes[n] for n in names))
