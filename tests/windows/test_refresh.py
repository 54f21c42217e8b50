"""Refreshing open windows: current values of what changed, against a definition that adds everything up."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.windows.consolidation import PANE, ConsolidationPlan, plan_consolidation
from rheostat.windows.lateness import place
from rheostat.windows.partials import ROW_COUNT, ROWS
from rheostat.windows.refresh import refresh
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.windows.builders import containing, window_sets
from tests.windows.streams import (
    MERGED,
    START,
    Epoch,
    Memory,
    Results,
    Row,
    aggregate,
    epochs,
    partials,
    results_of,
    watermarks,
)


def refreshed(stream: list[Epoch], e: int, windows: list[Window], before: int | None) -> Results:
    """What epoch ``e`` should refresh: every open window with new rows, for the keys that have some."""
    results: Results = {}
    for window in set(windows):
        for start in {s for r in stream[e] for s in containing(window, r.time)}:
            end = start + window.size
            if before is not None and end <= before:
                continue
            changed = {r.key for r in stream[e] if start <= r.time < end}
            inside = [r for rows in stream[: e + 1] for r in rows if start <= r.time < end and r.key in changed]
            results[window, start] = aggregate(inside, MERGED)
    return results


def has_home(plan: ConsolidationPlan, new: pl.DataFrame, before: int | None) -> bool:
    return any(place(plan, start, before).homes for start in new[START])


@settings(max_examples=60, deadline=None)
@given(window_sets(10, 3), epochs(), st.integers(0, 12))
def test_refreshed_windows_are_what_has_arrived_so_far(windows: list[Window], stream: list[Epoch], slack: int) -> None:
    plan = plan_consolidation(windows, panes_only=True)
    state = Memory(plan, MERGED)
    before: int | None = None
    for e, after in enumerate(watermarks(stream, slack)):
        new = partials(stream[e], plan, MERGED)
        state.take_in(new, before)
        if has_home(plan, new, before):
            assert results_of(refresh(state, MERGED, plan, new, before), plan, MERGED) == refreshed(
                stream, e, windows, before
            )
        if after is not None:
            state.expire(after)
        before = after


def test_nothing_changed_is_nothing_refreshed() -> None:
    plan = plan_consolidation([Window(2, 2)], panes_only=True)
    state = Memory(plan, MERGED)
    assert list(refresh(state, MERGED, plan, partials([], plan, MERGED), None)) == []


@pytest.mark.parametrize(
    ("windows", "time"), [([Window(2, 2)], 0), ([Window(1, 5)], 3)], ids=["dropped late", "between windows"]
)
def test_an_epoch_of_rows_without_a_window_refreshes_nothing(windows: list[Window], time: int) -> None:
    plan = plan_consolidation(windows, panes_only=True)
    state = Memory(plan, MERGED)
    new = partials([Row(time, "a", 1)], plan, MERGED)
    state.take_in(new, 100)
    assert list(refresh(state, MERGED, plan, new, watermark=100)) == []


def test_only_the_keys_that_changed_are_refreshed() -> None:
    plan = plan_consolidation([Window(4, 4)], panes_only=True)
    state = Memory(plan, MERGED)
    state.take_in(partials([Row(0, "a", 1), Row(1, "b", 1), Row(1, None, 1)], plan, MERGED), None)
    new = partials([Row(2, "a", 4), Row(5, None, 2)], plan, MERGED)
    state.take_in(new, None)
    assert results_of(refresh(state, MERGED, plan, new, None), plan, MERGED) == {
        (Window(4, 4), 0): {"a": (2, 5, 4)},
        (Window(4, 4), 4): {None: (1, 2, 2)},
    }


def test_a_table_without_keys_is_refreshed_as_a_whole() -> None:
    layout = WindowLayout((), (ROW_COUNT,))
    plan = plan_consolidation([Window(2, 2)], panes_only=True)
    new = pl.DataFrame({START: [2], HASH: [0], ROWS: [5]})
    rows = {(PANE, 0): [pl.DataFrame({HASH: [0], ROWS: [3]})], (PANE, 2): [new.drop(START)]}
    (closed,) = refresh(Memory(plan, layout, rows), layout, plan, new, None)
    assert (closed.start, closed.frame.rows()) == (2, [(0, 5)])
