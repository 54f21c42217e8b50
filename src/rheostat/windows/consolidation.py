"""The consolidation plan: which parts each requested window is merged from, and how long the parts are kept.

Enorm section 6.1 builds a DAG of all ways to compose complete windows of partial ones. Its nodes are called *granules*
here: kinds of intervals that partials are merged for. Granule 0 is the pane. The others are the requested windows and,
where windows overlap a lot, helper granules that were not requested but save merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from math import lcm
from typing import Any

from rheostat.windows.covers import Piece, Weight, cheapest_cover, cheapest_sources, one_each
from rheostat.windows.panes import pane_of
from rheostat.windows.window import Window

PANE = 0
"""Number of the pane among a plan's granules."""

_HELPER_BASES = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Helpers are as long as the powers of one of these numbers, in panes."""

_HELPER_OVERLAP = 4
"""Helpers are considered only for windows with at least this many instances per row."""

_HELPERS_MUST_SAVE = 0.25
"""The share of the cost that helpers must save to be worth the state they need."""

_STORED_COST = 3
"""The cost of storing a helper instance, in merges: its rows are sorted and written."""

_PHASES_SAMPLED = 48
"""How many alignments of a window with its sources are looked at, at most."""

_GOLDEN_SECTION = 0.6180339887


@dataclass(frozen=True)
class Granule:
    """A kind of interval that partials are merged for.

    Attributes:
        window: the intervals.
        requested: True if its merged partials become results.
        sources: numbers of the granules it may be merged from; empty for the pane.
        running: True if an instance is computed from the previous one: add new panes, subtract expired ones.
        stored: True if its merged partials are kept in state, because later ones are merged from them.
    """

    window: Window
    _: KW_ONLY
    requested: bool
    sources: tuple[int, ...] = ()
    running: bool = False
    stored: bool = False


@dataclass(frozen=True)
class ConsolidationPlan:
    """Which parts every requested window is merged from.

    Attributes:
        granules: the pane first, then requested windows and helpers, sorted by size.

    >>> from rheostat.windows.window import tumbling
    >>> plan = plan_consolidation(tumbling("5 minutes", "10 minutes", "15 minutes", "20 minutes", "1 minute"))
    >>> hour = 3_600_000_000
    >>> plan.merges(hour) - 60, plan.naive_merges(hour) - 60  # without the 60 one-minute windows themselves
    (86, 240)
    """

    granules: tuple[Granule, ...]

    @property
    def pane(self) -> Window:
        """The pane, as a tumbling window."""
        return self.granules[PANE].window

    @cached_property
    def requested(self) -> tuple[Window, ...]:
        """The requested windows."""
        return tuple(g.window for g in self.granules if g.requested)

    @property
    def panes_only(self) -> bool:
        """True if every window is merged from panes only, which are then kept while it is open."""
        return all(g.sources in ((), (PANE,)) and not g.running for g in self.granules)

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """For every granule, the numbers of the granules that may be merged from it."""
        return tuple(
            tuple(i for i, g in enumerate(self.granules) if source in g.sources) for source in range(len(self.granules))
        )

    def cover(self, granule: int, start: int, weight: Weight = one_each) -> tuple[Piece, ...]:
        """The cheapest pieces that an instance can be merged from; larger pieces win ties.

        Args:
            granule: number of the granule.
            start: start of the instance.
            weight: the cost of a piece.
        """
        g = self.granules[granule]
        sources = {s: self.granules[s].window for s in sorted(g.sources, reverse=True)}
        return cheapest_cover(start, start + g.window.size, sources, weight)

    def running_step(self, granule: int, start: int) -> tuple[Piece, ...]:
        """The pieces that turn the previous instance of a running granule into this one."""
        w, pane = self.granules[granule].window, self.pane.size
        new = range(start + w.size - w.slide, start + w.size, pane)
        expired = range(start - w.slide, start, pane)
        return (
            Piece(granule, start - w.slide),
            *(Piece(PANE, t) for t in new),
            *(Piece(PANE, t, sign=-1) for t in expired),
        )

    def expiry(self, granule: int, start: int) -> int:
        """The watermark at which no window needs this instance any longer; for stored ones, it grows with ``start``."""
        g = self.granules[granule]
        end = start + g.window.size
        latest = end if granule == PANE and g.requested else start
        if g.running:
            latest = end + g.window.slide
        for c in self.consumers[granule]:
            consumer = self.granules[c]
            consumed = consumer.window.latest_start(start) + consumer.window.size
            if consumed >= end:
                # A running consumer reads the pane once more, to subtract it.
                latest = max(latest, consumed + (consumer.window.slide if consumer.running else 0))
        return latest

    def keeps(self, granule: int, start: int, watermark: int) -> bool:
        """True if a merged instance must be stored because some window still needs it.

        False for panes, which are stored as they arrive.
        """
        return granule != PANE and self.granules[granule].stored and self.expiry(granule, start) > watermark

    def closes_any(self, before: int | None, after: int) -> bool:
        """True if some granule instance ends in ``(before, after]``."""
        return before is None or any(g.window.closing(before, after) for g in self.granules)

    def merge_rate(self, span: int, *, naive: bool = False) -> float:
        """The mean number of partial results merged per ``span`` microseconds of an endless stream.

        Args:
            span: length of the period, in microseconds.
            naive: True counts as if every requested window were merged from its panes.
        """
        rate = 0.0
        for i, g in enumerate(self.granules):
            if naive or i == PANE:
                pieces = float(g.window.size // self.pane.size) if g.requested else 0.0
            elif g.running:
                pieces = len(self.running_step(i, g.window.offset))
            else:
                pieces, _ = _average_cover(g.window, {s: self.granules[s].window for s in g.sources})
            rate += pieces * span / g.window.slide
        return rate

    def merges(self, span: int) -> int:
        """The number of partial results merged in the first ``span`` microseconds; all slides must divide it."""
        merges = 0
        for i, granule in enumerate(self.granules):
            starts = _starts(granule.window, span)
            if i == PANE:
                merges += len(starts) if granule.requested else 0
            elif granule.running:
                merges += sum(len(self.running_step(i, start)) for start in starts)
            else:
                merges += sum(len(self.cover(i, start)) for start in starts)
        return merges

    def naive_merges(self, span: int) -> int:
        """``merges`` if every requested window were merged from its panes."""
        return sum(g.window.size // self.pane.size * len(_starts(g.window, span)) for g in self.granules if g.requested)


def to_json(plan: ConsolidationPlan) -> list[list[object]]:
    """The plan as plain values for JSON. Checkpoints keep the plan that their state was written with."""
    return [
        [g.window.size, g.window.slide, g.window.offset, g.requested, list(g.sources), g.running, g.stored]
        for g in plan.granules
    ]


def from_json(value: Iterable[Sequence[Any]]) -> ConsolidationPlan:
    """The plan for the output of ``to_json``.

    >>> plan = plan_consolidation([Window(10, 10), Window(30, 30)])
    >>> from_json(to_json(plan)) == plan
    True
    """
    return ConsolidationPlan(
        tuple(
            Granule(
                Window(size, slide, offset),
                requested=requested,
                sources=tuple(sources),
                running=running,
                stored=stored,
            )
            for size, slide, offset, requested, sources, running, stored in value
        )
    )


def plan_consolidation(
    windows: Iterable[Window], *, subtractable: bool = False, panes_only: bool = False
) -> ConsolidationPlan:
    """The plan with the fewest merges, and with helper granules only if they save enough of them.

    Args:
        windows: the requested windows, in any order.
        subtractable: True if partials can be subtracted exactly (counts, integer and decimal sums). An instance of an
            overlapping window may then be computed from the previous one: add new panes, subtract expired ones.
        panes_only: True keeps the panes of every open window and merges all windows from them, which
            ``emit="update"`` needs.

    >>> from rheostat.windows.window import sliding
    >>> by_minute = sliding("1 hour", every="1 minute")
    >>> [g.window.label for g in plan_consolidation(by_minute).granules if not g.requested]
    ['1 minute', '3 minutes', '9 minutes', '27 minutes']
    >>> plan_consolidation(by_minute, subtractable=True).granules[1].running
    True
    """
    requested = sorted(set(windows))
    pane = pane_of(requested)
    if panes_only:
        return _panes_only(requested, pane)
    candidates = [_assemble(requested, helpers, pane, subtractable) for helpers in _helper_chains(requested, pane)]
    without_helpers, *with_helpers = candidates
    plan, cost = without_helpers
    worthwhile = cost * (1 - _HELPERS_MUST_SAVE)
    for candidate, candidate_cost in with_helpers:
        if candidate_cost < min(cost, worthwhile):
            plan, cost = candidate, candidate_cost
    return plan


def _panes_only(requested: list[Window], pane: Window) -> ConsolidationPlan:
    others = sorted(set(requested) - {pane})
    return ConsolidationPlan(
        (
            Granule(pane, requested=pane in requested, stored=True),
            *(Granule(w, requested=True, sources=(PANE,)) for w in others),
        )
    )


def _assemble(
    requested: list[Window], helpers: list[Window], pane: Window, subtractable: bool
) -> tuple[ConsolidationPlan, float]:
    """A plan that may use these helpers, and its cost: merges and stored helper instances per microsecond of stream."""
    wanted = set(requested)
    granules = [Granule(pane, requested=pane in wanted)]
    costs = [1 / pane.slide if pane in wanted else 0.0]
    for window in sorted({*requested, *helpers} - {pane}):
        smaller = {i: g.window for i, g in enumerate(granules) if g.window.size < window.size or i == PANE}
        pieces, sources = _average_cover(window, smaller)
        step = 1 + 2 * window.slide // pane.size
        running = subtractable and window.slide < window.size and window in wanted and step < pieces
        granules.append(
            Granule(
                window,
                requested=window in wanted,
                sources=(PANE,) if running else tuple(sorted(sources)),
                running=running,
                stored=running,
            )
        )
        costs.append(((step if running else pieces) + (0 if window in wanted else _STORED_COST)) / window.slide)
    used = _reachable(granules)
    return _renumber(granules, used), sum(costs[i] for i in used)


def _average_cover(window: Window, smaller: dict[int, Window]) -> tuple[float, frozenset[int]]:
    """The mean number of pieces of an instance over all alignments with its sources, and the sources that are used."""
    period = lcm(window.slide, *(w.slide for w in smaller.values()))
    phases = period // window.slide
    sampled = min(phases, _PHASES_SAMPLED)
    pieces, sources = 0, frozenset[int]()
    for i in range(sampled):
        # Golden-section steps sample the alignments evenly, whatever their common divisors.
        phase = i if sampled == phases else int((i + 1) * phases * _GOLDEN_SECTION) % phases
        start = window.offset + phase * window.slide
        count, used = cheapest_sources(start, start + window.size, smaller)
        pieces += count
        sources |= used
    if sampled < phases:
        sources |= {PANE}  # an alignment that was not sampled may need single panes
    return pieces / sampled, sources


def _helper_chains(requested: list[Window], pane: Window) -> Iterator[list[Window]]:
    """Candidates for helper granules: first none, then for every base the windows as long as its powers, in panes."""
    yield []
    largest = max((w.size for w in requested if w.overlap >= _HELPER_OVERLAP), default=0)
    for base in _HELPER_BASES:
        sizes = []
        size = pane.size * base
        while size < largest:
            sizes.append(size)
            size *= base
        if sizes:
            yield [Window(s, s, pane.offset % s) for s in sizes]


def _reachable(granules: list[Granule]) -> list[int]:
    """The numbers of the granules that a requested window needs, in order."""
    needed = {i for i, g in enumerate(granules) if g.requested} | {PANE}
    for i in range(len(granules) - 1, -1, -1):
        if i in needed:
            needed.update(granules[i].sources)
    return sorted(needed)


def _renumber(granules: list[Granule], kept: list[int]) -> ConsolidationPlan:
    """The plan of the kept granules only, numbered anew."""
    number = {old: new for new, old in enumerate(kept)}
    used_as_source = {s for old in kept for s in granules[old].sources}
    return ConsolidationPlan(
        tuple(
            replace(
                granules[old],
                sources=tuple(number[s] for s in granules[old].sources),
                stored=granules[old].stored or old in used_as_source,
            )
            for old in kept
        )
    )


def _starts(window: Window, span: int) -> range:
    return range(window.offset, window.offset + span, window.slide)
