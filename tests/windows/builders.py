"""Random windows, and definitions of window arithmetic that are slow and obvious."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from rheostat.windows.consolidation import PANE, ConsolidationPlan, plan_consolidation
from rheostat.windows.window import Window


def aligned(window: Window, first: int, last: int) -> list[int]:
    """Every start of an instance in ``[first, last]``."""
    return [s for s in range(first, last + 1) if (s - window.offset) % window.slide == 0]


def containing(window: Window, time: int) -> list[int]:
    """Starts of the instances that contain a time."""
    return [s for s in aligned(window, time - window.size, time) if s <= time < s + window.size]


@st.composite
def windows(draw: st.DrawFn, largest: int = 12) -> Window:
    """Tumbling, overlapping, or with gaps, from any offset."""
    size = draw(st.integers(1, largest))
    slide = draw(st.one_of(st.just(size), st.integers(1, size), st.integers(1, largest)))
    return Window(size, slide, draw(st.one_of(st.just(0), st.integers(-largest, largest))))


@st.composite
def window_sets(draw: st.DrawFn, largest: int = 12, most: int = 4) -> list[Window]:
    """Windows that share a pane which is often larger than one."""
    unit, shift = draw(st.integers(1, 3)), draw(st.integers(-3, 3))
    kinds = draw(st.lists(windows(largest), min_size=1, max_size=most))
    return [Window(w.size * unit, w.slide * unit, w.offset * unit + shift) for w in kinds]


@st.composite
def overlapping(draw: st.DrawFn) -> list[Window]:
    """Windows that overlap so much that helper granules or running totals save merges."""
    largest = Window(draw(st.integers(8, 40)), draw(st.integers(1, 4)), draw(st.integers(-3, 3)))
    return [largest, *draw(st.lists(windows(10), max_size=2))]


@st.composite
def plans(draw: st.DrawFn) -> ConsolidationPlan:
    """Plans of every kind."""
    chosen = draw(st.one_of(window_sets(), overlapping()))
    kind = draw(st.sampled_from(["merged", "subtractable", "panes only"]))
    return plan_consolidation(chosen, subtractable=kind == "subtractable", panes_only=kind == "panes only")


def pane_starts(plan: ConsolidationPlan, first: int, last: int) -> list[int]:
    """Starts of the panes in ``[first, last]``."""
    return aligned(plan.pane, first, last)


def needed_until(plan: ConsolidationPlan, granule: int, start: int) -> int | None:
    """End of the last instance that may be merged from this one; None if there is none."""
    end = start + plan.granules[granule].window.size
    ends: list[int] = [end] if granule == PANE and plan.granules[PANE].requested else []
    for number, consumer in enumerate(plan.granules):
        w = consumer.window
        for s in aligned(w, start - w.size, start + w.slide + w.size):
            covered = granule in consumer.sources and s <= start and end <= s + w.size
            stepped = consumer.running and (granule, start) in _pieces(plan, number, s)
            if covered or stepped:
                ends.append(s + w.size)
    return max(ends, default=None)


def _pieces(plan: ConsolidationPlan, granule: int, start: int) -> Iterable[tuple[int, int]]:
    return [(p.source, p.start) for p in plan.running_step(granule, start)]
