"""Late rows are added wherever a window that is still open will read them."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.windows.consolidation import PANE, ConsolidationPlan, plan_consolidation
from rheostat.windows.lateness import PanePlacement, late_before, late_sql, place
from rheostat.windows.window import Window
from tests.windows.builders import aligned, containing, needed_until, plans, window_sets, windows


def expected(plan: ConsolidationPlan, pane: int, watermark: int) -> PanePlacement:
    """The definition: look at every instance around the pane."""
    ends = [s + g.window.size for g in plan.granules if g.requested for s in containing(g.window, pane)]
    late = any(end <= watermark for end in ends)
    dropped = late and not any(end > watermark for end in ends)
    homes = []
    for number, granule in enumerate(plan.granules):
        for start in containing(granule.window, pane):
            needed = needed_until(plan, number, start)
            read = (start if needed is None else needed) > watermark
            put_together = start + granule.window.size <= watermark
            if read and (number == PANE or (granule.stored and put_together)):
                homes.append((number, start))
    return PanePlacement(late, dropped, tuple(homes))


@settings(max_examples=100, deadline=None)
@given(plans(), st.integers(-50, 50), st.integers(-20, 60))
def test_placement_is_what_the_definition_says(plan: ConsolidationPlan, origin: int, ahead: int) -> None:
    for pane in aligned(plan.pane, origin, origin + 3 * plan.pane.size):
        for watermark in (pane + ahead, pane + plan.pane.size, pane + plan.pane.size + 1):
            assert place(plan, pane, watermark) == expected(plan, pane, watermark)


@settings(max_examples=50, deadline=None)
@given(plans(), st.integers(-50, 50))
def test_before_the_first_watermark_nothing_is_late(plan: ConsolidationPlan, origin: int) -> None:
    pane = plan.pane.latest_start(origin)
    assert place(plan, pane, None) == PanePlacement(late=False, dropped=False, homes=((PANE, pane),))


@settings(max_examples=60, deadline=None)
@given(plans(), st.integers(-50, 50), st.integers(-20, 60))
def test_a_row_with_an_open_window_always_has_a_home(plan: ConsolidationPlan, origin: int, ahead: int) -> None:
    pane = plan.pane.latest_start(origin)
    watermark = pane + ahead
    still_open = any(
        s + g.window.size > watermark for g in plan.granules if g.requested for s in containing(g.window, pane)
    )
    placement = place(plan, pane, watermark)
    assert not (still_open and placement.dropped)
    assert bool(placement.homes) or not still_open


def test_a_late_row_is_added_to_its_pane_and_to_stored_granules_that_contain_it() -> None:
    plan = plan_consolidation([Window(1, 1), Window(5, 5), Window(10, 10)])
    fives = next(i for i, g in enumerate(plan.granules) if g.window.size == 5)
    assert (fives, 0) in place(plan, 3, watermark=7).homes
    assert place(plan, 3, watermark=7).late
    assert not place(plan, 3, watermark=7).dropped


def test_a_row_that_is_not_late_is_added_to_a_helper_that_is_already_merged() -> None:
    plan = plan_consolidation([Window(41, 4)])
    helpers = {i: g.window for i, g in enumerate(plan.granules) if i != PANE and not g.requested}
    pane, watermark = 1, 4  # windows end at 1 and at 5
    closed = [(i, s) for i, w in helpers.items() for s in containing(w, pane) if s + w.size <= watermark]
    assert closed
    assert place(plan, pane, watermark) == PanePlacement(late=False, dropped=False, homes=((PANE, pane), *closed))


def test_a_row_between_windows_is_neither_late_nor_dropped() -> None:
    plan = plan_consolidation([Window(1, 5)])
    assert place(plan, 3, watermark=100) == PanePlacement(late=False, dropped=False, homes=())


@settings(max_examples=200, deadline=None)
@given(windows(), st.integers(-60, 60))
def test_everything_before_the_last_closed_instance_is_late(window: Window, watermark: int) -> None:
    closed = [s + window.size for s in aligned(window, -200, 200) if s + window.size <= watermark]
    assert late_before(window, watermark) == max(closed)


def sql_is_true(sql: str, time: int) -> bool:
    """The value of the SQL in Python, whose ``%`` is Spark's ``pmod`` for positive divisors."""
    python = re.sub(r"(\d)L", r"\1", sql).replace("AND", "and").replace("OR", "or").replace("false", "False")
    return bool(eval(python, {"pmod": lambda a, b: a % b, "t": time}))


def missed_in_sql(window: Window, time: int, watermark: int) -> bool:
    """How rows were found before the rule was written once: the first instance that contains a row had ended."""
    size, slide = window.size, window.slide
    first = time - size - (time - size - window.offset) % slide + slide
    return first <= time and first + size <= watermark


@settings(max_examples=300, deadline=None)
@given(window_sets(), st.integers(-60, 60), st.integers(-60, 60))
def test_sql_finds_the_rows_that_missed_a_window(chosen: list[Window], time: int, watermark: int) -> None:
    by_definition = any(s + w.size <= watermark for w in chosen for s in containing(w, time))
    assert sql_is_true(late_sql("t", chosen, watermark), time) == by_definition
    assert any(missed_in_sql(w, time, watermark) for w in chosen) == by_definition


@settings(max_examples=200, deadline=None)
@given(plans(), st.integers(-60, 60), st.integers(-60, 60))
def test_sql_and_placement_agree_on_every_row(plan: ConsolidationPlan, time: int, watermark: int) -> None:
    pane = plan.pane.latest_start(time)
    assert sql_is_true(late_sql("t", plan.requested, watermark), time) == place(plan, pane, watermark).late


def test_one_number_decides_for_all_windows_without_gaps() -> None:
    assert late_sql("t", [Window(10, 10), Window(60, 20), Window(10, 10)], watermark=110) == "t < 110L"
    assert late_sql("t", [], watermark=110) == "false"
