"""Covers: the cheapest way to compose an interval of smaller windows, end to end (Enorm section 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from rheostat.windows.window import Window

Weight = Callable[[int, int], float]
"""The cost of merging an instance, such as its number of keys, given the number of its source and its start."""


@dataclass(frozen=True)
class Piece:
    """One merged partial result that a window is composed of.

    Attributes:
        source: number of the granule it is an instance of.
        start: start of the instance, in microseconds.
        sign: 1 if it is added, -1 if it is subtracted.
    """

    source: int
    start: int
    sign: int = 1


def one_each(source: int, start: int) -> float:  # noqa: ARG001 - the signature of a Weight
    """The paper's weight: every piece costs one merge."""
    return 1.0


def cheapest_cover(start: int, end: int, sources: Mapping[int, Window], weight: Weight = one_each) -> tuple[Piece, ...]:
    """The cheapest sequence of source instances that covers ``[start, end)`` exactly, without overlap.

    It is a shortest path over time: nodes are points in time, edges are source instances.

    Args:
        start: start of the interval.
        end: end of the interval.
        sources: the windows whose instances may be used, by their numbers.
        weight: the cost of an instance.

    Raises:
        ValueError: the sources cannot tile the interval.

    >>> minutes = {0: Window(1, 1), 1: Window(5, 5), 2: Window(10, 10)}
    >>> [(p.source, p.start) for p in cheapest_cover(0, 15, minutes)]
    [(2, 0), (1, 10)]
    """
    best = {start: 0.0}
    reached_by: dict[int, Piece] = {}
    for here, source, there in _edges(start, end, sources):
        cost = best[here] + weight(source, here)
        if cost < best.get(there, inf):
            best[there] = cost
            reached_by[there] = Piece(source, here)
    return tuple(reversed(list(_trace(start, end, reached_by))))


def cheapest_sources(start: int, end: int, sources: Mapping[int, Window]) -> tuple[int, frozenset[int]]:
    """The smallest number of pieces that cover ``[start, end)``, and all sources that some cover of that size uses.

    Twenty minutes are two windows of 10 minutes, or one of 5 and one of 15. Which is cheaper depends on the number of
    keys, which is known only at run time, so all of these sources are returned.

    >>> minutes = {0: Window(1, 1), 1: Window(5, 5), 2: Window(10, 10), 3: Window(15, 15)}
    >>> cheapest_sources(0, 20, minutes)
    (2, frozenset({1, 2, 3}))
    """
    best = {start: 0}
    reached_by: dict[int, list[Piece]] = {}
    for here, source, there in _edges(start, end, sources):
        cost = best[here] + 1
        if there not in best or cost < best[there]:
            best[there] = cost
            reached_by[there] = [Piece(source, here)]
        elif cost == best[there]:
            reached_by[there].append(Piece(source, here))
    if end not in best:
        raise ValueError(f"the sources cannot tile [{start}, {end})")
    used: set[int] = set()
    pending, seen = [end], {end}
    while pending:
        for piece in reached_by.get(pending.pop(), ()):
            used.add(piece.source)
            if piece.start not in seen:
                seen.add(piece.start)
                pending.append(piece.start)
    return best[end], frozenset(used)


def _edges(start: int, end: int, sources: Mapping[int, Window]) -> Iterator[tuple[int, int, int]]:
    """Every edge ``(from, source, to)`` that can be reached from ``start``, ordered by ``from``."""
    pending, seen = [start], {start}
    while pending:
        here = heappop(pending)
        for source, window in sources.items():
            there = here + window.size
            if there > end or (here - window.offset) % window.slide:
                continue
            yield here, source, there
            if there not in seen:
                seen.add(there)
                heappush(pending, there)


def _trace(start: int, end: int, reached_by: Mapping[int, Piece]) -> Iterator[Piece]:
    """The pieces of the shortest path, from the last to the first."""
    here = end
    while here != start:
        if here not in reached_by:
            raise ValueError(f"the sources cannot tile [{start}, {end})")
        piece = reached_by[here]
        yield piece
        here = piece.start
