"""Window arithmetic against definitions that count through time."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.windows.window import Window, sliding, tumbling
from tests.windows.builders import aligned, containing, windows

TIMES = st.integers(-200, 200)
MINUTE = 60_000_000


@settings(max_examples=150, deadline=None)
@given(windows(20), TIMES)
def test_containing_is_every_instance_around_a_time(window: Window, time: int) -> None:
    assert list(window.containing(time)) == containing(window, time)


@settings(max_examples=150, deadline=None)
@given(windows(20), TIMES)
def test_latest_start_is_the_last_at_or_before(window: Window, time: int) -> None:
    assert window.latest_start(time) == aligned(window, time - window.slide + 1, time)[-1]


@settings(max_examples=150, deadline=None)
@given(windows(20), TIMES)
def test_earliest_start_is_the_first_that_ends_after(window: Window, time: int) -> None:
    starts = aligned(window, time - window.size - window.slide, time + window.slide)
    assert window.earliest_start(time) == next(s for s in starts if s + window.size > time)


@settings(max_examples=150, deadline=None)
@given(windows(20), TIMES, st.integers(0, 100))
def test_closing_is_every_end_on_the_way(window: Window, before: int, distance: int) -> None:
    after = before + distance
    ends = [s for s in aligned(window, before - window.size, after) if before < s + window.size <= after]
    assert list(window.closing(before, after)) == ends


@settings(max_examples=100, deadline=None)
@given(windows(20), TIMES, st.lists(st.integers(0, 40), max_size=5))
def test_every_instance_closes_once(window: Window, before: int, steps: list[int]) -> None:
    marks = [before]
    for step in steps:
        marks.append(marks[-1] + step)
    closed = [s for a, b in pairwise(marks) for s in window.closing(a, b)]
    assert closed == list(window.closing(marks[0], marks[-1]))


@settings(max_examples=100, deadline=None)
@given(windows(20), st.integers(-3, 3), TIMES)
def test_offsets_matter_only_within_a_slide(window: Window, turns: int, time: int) -> None:
    turned = Window(window.size, window.slide, window.offset + turns * window.slide)
    assert list(turned.containing(time)) == list(window.containing(time))
    assert turned.label == window.label


def test_overlap_is_how_many_instances_a_row_falls_into() -> None:
    window = Window(60, 20)
    assert window.overlap == sum(len(containing(window, t)) for t in range(60)) / 60
    assert Window(10, 40).overlap == 0.25


def test_tumbling_gives_a_kind_per_size() -> None:
    assert tumbling("1 minute", timedelta(minutes=5), offset="30 seconds") == (
        Window(MINUTE, MINUTE, MINUTE // 2),
        Window(5 * MINUTE, 5 * MINUTE, MINUTE // 2),
    )


def test_sliding_may_overlap_follow_on_or_leave_gaps() -> None:
    assert sliding("1 minute", every="5 minutes", offset="1 second") == (Window(MINUTE, 5 * MINUTE, 1_000_000),)
    assert sliding("5 minutes", every="1 minute") == (Window(5 * MINUTE, MINUTE),)
    assert sliding("5 minutes", every="5 minutes") == tumbling("5 minutes")


def test_labels_tell_size_slide_and_offset() -> None:
    assert Window(MINUTE, MINUTE).label == "1 minute"
    assert Window(MINUTE, 5 * MINUTE, -MINUTE).label == "1 minute every 5 minutes from 4 minutes"


@pytest.mark.parametrize(("size", "slide"), [(0, 1), (1, 0), (-1, 1), (1, -1)])
def test_sizes_and_slides_are_positive(size: int, slide: int) -> None:
    with pytest.raises(TopologyError, match=f"positive size and slide, not {size} and {slide} us"):
        Window(size, slide)


def test_tumbling_needs_a_size() -> None:
    with pytest.raises(TopologyError, match=r"tumbling\(\) needs at least one size"):
        tumbling()


def test_a_window_of_no_time_is_refused() -> None:
    with pytest.raises(TopologyError, match="positive size and slide"):
        sliding("0 seconds", every="1 second")
