"""Covers against an enumeration of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.windows.covers import Piece, cheapest_cover, cheapest_sources, one_each
from rheostat.windows.window import Window
from tests.windows.builders import windows

SOURCES = st.one_of(
    st.lists(windows(5), min_size=1, max_size=3),
    st.lists(st.builds(Window, st.integers(2, 4), st.integers(1, 2)), min_size=1, max_size=2).map(
        lambda larger: [Window(1, 1), *larger]
    ),
).map(lambda kinds: dict(enumerate(kinds)))
STARTS = st.integers(-20, 20)
LENGTHS = st.integers(1, 8)


def every_cover(start: int, end: int, sources: Mapping[int, Window]) -> Iterator[tuple[Piece, ...]]:
    """All sequences of source instances that lay ``[start, end)`` end to end."""
    if start == end:
        yield ()
    for number, window in sources.items():
        if (start - window.offset) % window.slide == 0 and start + window.size <= end:
            for rest in every_cover(start + window.size, end, sources):
                yield (Piece(number, start), *rest)


@settings(max_examples=200, deadline=None)
@given(SOURCES, STARTS, LENGTHS, st.lists(st.integers(1, 9), min_size=7, max_size=17))
@example({0: Window(1, 1), 1: Window(2, 2)}, 0, 4, [1, 1, 1, 1, 1, 9, 1])  # two small pieces beat a dear large one
def test_the_cover_is_the_cheapest_by_any_weight(
    sources: dict[int, Window], start: int, length: int, weights: list[int]
) -> None:
    def weight(source: int, begin: int) -> float:
        return float(weights[(source * 5 + begin) % len(weights)])

    covers = list(every_cover(start, start + length, sources))
    if not covers:
        with pytest.raises(ValueError, match="cannot tile"):
            cheapest_cover(start, start + length, sources, weight)
        return
    found = cheapest_cover(start, start + length, sources, weight)
    assert found in covers
    assert sum(weight(p.source, p.start) for p in found) == min(
        sum(weight(p.source, p.start) for p in cover) for cover in covers
    )


@settings(max_examples=200, deadline=None)
@given(SOURCES, STARTS, LENGTHS)
def test_sources_are_all_that_appear_in_a_shortest_cover(sources: dict[int, Window], start: int, length: int) -> None:
    covers = list(every_cover(start, start + length, sources))
    if not covers:
        with pytest.raises(ValueError, match="cannot tile"):
            cheapest_sources(start, start + length, sources)
        return
    fewest = min(map(len, covers))
    used = {p.source for cover in covers if len(cover) == fewest for p in cover}
    assert cheapest_sources(start, start + length, sources) == (fewest, frozenset(used))


@settings(max_examples=100, deadline=None)
@given(SOURCES, STARTS, LENGTHS)
def test_a_shortest_cover_has_as_many_pieces_as_the_sources_say(
    sources: dict[int, Window], start: int, length: int
) -> None:
    whole = {**sources, 9: Window(1, 1)}
    assert len(cheapest_cover(start, start + length, whole)) == cheapest_sources(start, start + length, whole)[0]


def test_a_tie_goes_to_the_source_offered_first() -> None:
    fives, tens = Window(5, 5), Window(10, 10)
    assert cheapest_cover(0, 15, {2: tens, 1: fives}) == (Piece(2, 0), Piece(1, 10))
    assert cheapest_cover(0, 10, {0: Window(10, 10), 1: Window(10, 5)}) == (Piece(0, 0),)
    assert cheapest_cover(0, 10, {1: Window(10, 5), 0: Window(10, 10)}) == (Piece(1, 0),)


@pytest.mark.parametrize("sources", [{}, {0: Window(3, 3)}, {0: Window(1, 2)}, {0: Window(2, 2, 1)}])
def test_an_interval_that_cannot_be_tiled_is_an_error(sources: dict[int, Window]) -> None:
    with pytest.raises(ValueError, match=r"the sources cannot tile \[0, 4\)"):
        cheapest_cover(0, 4, sources)
    with pytest.raises(ValueError, match=r"the sources cannot tile \[0, 4\)"):
        cheapest_sources(0, 4, sources)


def test_every_piece_costs_one_by_default() -> None:
    assert one_each(3, 5) == 1.0
