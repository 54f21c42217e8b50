"""Panes: every window begins and ends where a pane does, and no larger pane would do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.windows.panes import MAX_PANES_PER_WINDOW, pane_of
from rheostat.windows.window import Window, sliding, tumbling
from tests.windows.builders import aligned, window_sets


def boundaries(windows: list[Window], first: int, last: int) -> set[int]:
    """Every instant in ``[first, last]`` at which some instance begins or ends."""
    starts = {s for w in windows for s in aligned(w, first, last)}
    ends = {s + w.size for w in windows for s in aligned(w, first - w.size, last - w.size)}
    return starts | ends


@settings(max_examples=100, deadline=None)
@given(window_sets())
def test_every_window_boundary_is_a_pane_boundary(windows: list[Window]) -> None:
    pane = pane_of(windows)
    assert pane.slide == pane.size
    assert 0 <= pane.offset < pane.size
    assert all((b - pane.offset) % pane.size == 0 for b in boundaries(windows, -60, 60))


@settings(max_examples=100, deadline=None)
@given(window_sets(), st.integers(2, 5))
def test_no_larger_pane_would_do(windows: list[Window], factor: int) -> None:
    pane = pane_of(windows)
    larger = pane.size * factor
    far = max(w.slide for w in windows) * 2 + max(w.size for w in windows) * 2
    assert len({b % larger for b in boundaries(windows, -far, far)}) > 1


@settings(max_examples=50, deadline=None)
@given(window_sets())
def test_the_order_of_windows_does_not_matter(windows: list[Window]) -> None:
    assert pane_of(windows) == pane_of(reversed(windows))


def test_a_window_set_needs_a_window() -> None:
    with pytest.raises(TopologyError, match="at least one window"):
        pane_of([])


def test_too_many_panes_are_refused() -> None:
    at_most = Window(MAX_PANES_PER_WINDOW * 7, 7)
    assert pane_of([at_most]).size == 7
    with pytest.raises(TopologyError) as refused:
        pane_of([Window(at_most.size + 7, 7)])
    assert "needs 50001 panes of 7 microseconds (at most 50000)" in str(refused.value)


def test_the_error_names_the_window_and_says_what_to_do() -> None:
    with pytest.raises(
        TopologyError, match=r"window '1 day every 1001 milliseconds'.*larger common divisor.*their own"
    ):
        pane_of([*sliding("1 day", every="1001 milliseconds"), *tumbling("1 hour")])


def test_an_offset_alone_can_make_panes_small() -> None:
    assert pane_of([*tumbling("10 minutes"), *tumbling("10 minutes", offset="1 minute")]).label == "1 minute"
