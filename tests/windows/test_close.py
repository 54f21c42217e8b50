"""Whole streams through state in memory: every window once, when it is due, with exactly the rows it should have."""

from __future__ import annotations

import polars as pl
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from rheostat.windows.close import MergedGranule, close
from rheostat.windows.consolidation import PANE, plan_consolidation
from rheostat.windows.partials import ROWS
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, WindowLayout
from tests.windows.builders import overlapping, window_sets
from tests.windows.streams import (
    EXACT,
    MERGED,
    TOTAL,
    Epoch,
    Memory,
    Results,
    Row,
    epochs,
    expected,
    partials,
    results_of,
    watermarks,
)

WINDOWS = st.one_of(window_sets(10, 1), window_sets(10, 3), overlapping())
SLACK = st.one_of(st.just(0), st.integers(0, 12))


def emitted(
    stream: list[Epoch], slack: int, windows: list[Window], layout: WindowLayout, *, panes_only: bool
) -> list[Results]:
    """The results of the stream, epoch by epoch."""
    plan = plan_consolidation(windows, subtractable=layout.subtractable, panes_only=panes_only)
    event(f"running totals: {any(g.running for g in plan.granules)}")
    event(f"helpers: {any(not g.requested for g in plan.granules[1:])}")
    state = Memory(plan, layout)
    results: list[Results] = []
    before: int | None = None
    for rows, after in zip(stream, watermarks(stream, slack), strict=True):
        if rows:
            state.take_in(partials(rows, plan, layout), before)
        results.append({})
        if after is not None and plan.closes_any(before, after):
            results[-1] = results_of(state.close(before, after), plan, layout)
        if after is not None:
            state.expire(after)
        before = after
    return results


@settings(max_examples=150, deadline=None)
@given(WINDOWS, epochs(), SLACK)
@example([Window(6, 6)], [[Row(0, "a", 1)], [Row(4, "a", 1)], [Row(1, "b", 2)], [Row(6, "a", 1)]], 0)
@example([Window(4, 1)], [[Row(0, "a", 1)], [Row(9, "a", 2)], [Row(7, "a", 3), Row(5, "b", 1)], [Row(20, "a", 1)]], 0)
@example([Window(12, 1), Window(24, 12)], [[Row(0, "a", 1)], [Row(15, "a", 2), Row(1, "a", 1)], [Row(40, "b", 1)]], 2)
def test_windows_of_totals_are_exact(windows: list[Window], stream: list[Epoch], slack: int) -> None:
    assert emitted(stream, slack, windows, EXACT, panes_only=False) == expected(stream, slack, windows, EXACT)


@settings(max_examples=150, deadline=None)
@given(WINDOWS, epochs(), SLACK)
def test_windows_of_partials_that_cannot_be_subtracted_are_exact(
    windows: list[Window], stream: list[Epoch], slack: int
) -> None:
    assert emitted(stream, slack, windows, MERGED, panes_only=False) == expected(stream, slack, windows, MERGED)


@settings(max_examples=40, deadline=None)
@given(WINDOWS, epochs(), SLACK)
def test_windows_made_from_panes_only_are_exact(windows: list[Window], stream: list[Epoch], slack: int) -> None:
    assert emitted(stream, slack, windows, EXACT, panes_only=True) == expected(stream, slack, windows, EXACT)


def frame(key: str, rows: int, total: int) -> pl.DataFrame:
    return pl.DataFrame({HASH: [1], "k.area": [key], ROWS: [rows], TOTAL.columns[0].name: [total]})


def test_sources_come_before_their_consumers() -> None:
    plan = plan_consolidation([Window(1, 1), Window(2, 2), Window(4, 4)])
    state = Memory(plan, EXACT, {(PANE, t): [frame("a", 1, t)] for t in range(4)})
    closed = [(c.granule, c.start) for c in close(state, EXACT, plan, None, 4)]
    assert closed == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 2), (2, 0)]


def test_the_cover_with_the_fewest_rows_is_taken() -> None:
    """Twenty is a five and a fifteen, or two tens; which is cheaper depends on their numbers of rows."""
    plan = plan_consolidation([Window(n, n) for n in (1, 5, 10, 15, 20)])
    number = {g.window.size: i for i, g in enumerate(plan.granules)}
    read: list[tuple[int, int]] = []

    class Watched(Memory):
        def rows(self, granule: int, start: int) -> list[pl.DataFrame]:
            read.append((granule, start))
            return super().rows(granule, start)

        def count(self, granule: int, _: int) -> int:
            return 1 if granule in (number[5], number[15]) else 100

    held = {(number[n], s): [frame("a", 1, n)] for n, s in ((5, 0), (5, 5), (10, 0), (15, 0))}
    held[PANE, 15] = [frame("a", 1, 1)]
    closed = list(close(Watched(plan, EXACT, held), EXACT, plan, 15, 20))
    assert (number[15], 0) in read
    assert (number[10], 0) not in read
    assert {c.start for c in closed if c.granule == number[20]} == {0}


def test_a_gap_of_a_year_costs_nothing() -> None:
    plan = plan_consolidation([Window(60, 1)], subtractable=True)
    state = Memory(plan, EXACT, {(PANE, 0): [frame("a", 1, 1)], (PANE, 10**15): [frame("a", 1, 1)]})
    closed = list(close(state, EXACT, plan, None, 10**15 + 1))
    assert [c.start for c in closed] == [*range(-59, 1), 10**15 - 59]


def test_a_key_that_has_left_a_running_total_is_gone() -> None:
    plan = plan_consolidation([Window(10, 1)], subtractable=True)
    state = Memory(plan, EXACT, {(PANE, 0): [frame("a", 1, 5)], (PANE, 9): [frame("b", 1, 7)]})
    closed: dict[int, MergedGranule] = {c.start: c for c in close(state, EXACT, plan, None, 30)}
    assert sorted(closed[0].frame["k.area"]) == ["a", "b"]
    assert closed[1].frame["k.area"].to_list() == ["b"]
    assert max(closed) == 9
