"""Closing windows: when the watermark passes the end of a window, its pieces are merged into a result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from rheostat.windows.consolidation import PANE, ConsolidationPlan, Granule
from rheostat.windows.covers import Piece
from rheostat.windows.window_layout import WindowLayout


class Granules(Protocol):
    """Read access to the partials in state."""

    def keys(self) -> Iterable[tuple[int, int]]:
        """The granule instances that have rows, as (number, start)."""

    def count(self, granule: int, start: int) -> int:
        """The approximate number of rows of an instance."""

    def rows(self, granule: int, start: int) -> list[pl.DataFrame]:
        """The rows of an instance, in frames that contain each key at most once."""


@dataclass(frozen=True)
class MergedGranule:
    """A granule instance with its partials merged.

    Attributes:
        granule: number of the granule in the plan.
        start: start of the instance, in microseconds.
        frame: one row of merged partials per key.
    """

    granule: int
    start: int
    frame: pl.DataFrame


def close(
    state: Granules, layout: WindowLayout, plan: ConsolidationPlan, before: int | None, after: int
) -> Iterator[MergedGranule]:
    """Merge every non-empty granule instance that ends in ``(before, after]``, sources before their consumers.

    If a window can be merged in several ways, the one with the fewest rows is taken (Enorm section 6.1).

    Args:
        state: the partials.
        layout: the columns of the table.
        plan: how its windows are derived.
        before: the previous watermark; None if there was none.
        after: the new watermark.
    """
    merged: dict[tuple[int, int], pl.DataFrame] = {}
    starts: dict[int, set[int]] = defaultdict(set)
    for number, start in state.keys():  # noqa: SIM118 - not a dict
        starts[number].add(start)

    def rows(piece: Piece) -> list[pl.DataFrame]:
        key = (piece.source, piece.start)
        frames = [merged[key]] if key in merged else state.rows(*key)
        return frames if piece.sign > 0 else [layout.negate(f) for f in frames]

    def weight(source: int, start: int) -> float:
        frame = merged.get((source, start))
        return 1.0 + (state.count(source, start) if frame is None else len(frame))

    for number, granule in enumerate(plan.granules):
        if number == PANE and not granule.requested:
            continue
        for start in _starts_ending(plan, number, starts, before, after):
            if number == PANE:
                pieces: tuple[Piece, ...] = (Piece(PANE, start),)
            elif granule.running and start - granule.window.slide in starts[number]:
                pieces = plan.running_step(number, start)
            else:
                pieces = plan.cover(number, start, weight)
            frame = _merge(layout, granule, [f for p in pieces for f in rows(p)])
            if frame is None:
                continue
            if number != PANE:
                merged[number, start] = frame
                starts[number].add(start)
            yield MergedGranule(number, start, frame)


def _merge(layout: WindowLayout, granule: Granule, frames: list[pl.DataFrame]) -> pl.DataFrame | None:
    """One row per key; None if there are no rows."""
    if not frames:
        return None
    if len(frames) == 1:
        return frames[0]
    merged = layout.merge(layout.concat(frames))
    if granule.running:
        merged = layout.drop_empty(merged)
    return None if merged.is_empty() else merged


def _starts_ending(
    plan: ConsolidationPlan, number: int, starts: dict[int, set[int]], before: int | None, after: int
) -> Iterable[int]:
    """Starts of the instances that end in ``(before, after]`` and contain rows, in order.

    The search starts from the instances that have rows, not from points in time, so a gap of a year costs nothing.
    """
    window = plan.granules[number].window
    latest = window.latest_start(after - window.size)
    earliest = None if before is None else window.latest_start(before - window.size) + window.slide
    ranges = []
    for source in plan.granules[number].sources or (PANE,):
        size = plan.granules[source].window.size
        for start in starts[source]:
            first = window.earliest_start(start + size - 1)
            ranges.append((first if earliest is None else max(first, earliest), window.latest_start(start)))
    following = None
    for first, last in sorted(ranges):
        begin = first if following is None else max(first, following)
        for instance in range(begin, min(last, latest) + 1, window.slide):
            yield instance
            following = instance + window.slide
