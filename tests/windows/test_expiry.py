"""How long granules are kept: as long as a window may still read them, and no longer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.windows.consolidation import PANE, ConsolidationPlan, plan_consolidation
from rheostat.windows.window import Window
from tests.windows.builders import aligned, needed_until, plans


@settings(max_examples=60, deadline=None)
@given(plans(), st.integers(-50, 50))
def test_an_instance_is_kept_exactly_until_its_last_reader_closes(plan: ConsolidationPlan, origin: int) -> None:
    for number, granule in enumerate(plan.granules):
        for start in aligned(granule.window, origin, origin + 2 * granule.window.slide):
            needed = needed_until(plan, number, start)
            assert plan.expiry(number, start) == (start if needed is None else needed)


@settings(max_examples=60, deadline=None)
@given(plans(), st.integers(-50, 50))
def test_expiry_grows_with_start_among_stored_instances(plan: ConsolidationPlan, origin: int) -> None:
    """A segment is dropped by the expiry of its last instance, so that must be the latest of all of them."""
    for number, granule in enumerate(plan.granules):
        starts = aligned(granule.window, origin, origin + 20 + 4 * granule.window.slide)
        worth = [
            plan.expiry(number, s) for s in starts if number == PANE or plan.keeps(number, s, s + granule.window.size)
        ]
        assert worth == sorted(worth)


@settings(max_examples=60, deadline=None)
@given(plans(), st.integers(-50, 50), st.integers(0, 40))
def test_kept_is_what_is_stored_and_still_needed(plan: ConsolidationPlan, origin: int, ahead: int) -> None:
    for number, granule in enumerate(plan.granules):
        start = granule.window.latest_start(origin)
        watermark = start + granule.window.size + ahead  # it has been put together
        needed = needed_until(plan, number, start)
        assert plan.keeps(number, start, watermark) == (
            number != PANE and granule.stored and needed is not None and needed > watermark
        )


@settings(max_examples=60, deadline=None)
@given(plans(), st.integers(-50, 50), st.integers(0, 30))
def test_closes_any_says_whether_an_instance_ends(plan: ConsolidationPlan, before: int, distance: int) -> None:
    after = before + distance
    ends = [
        s + g.window.size
        for g in plan.granules
        for s in aligned(g.window, before - g.window.size, after)
        if before < s + g.window.size <= after
    ]
    assert plan.closes_any(before, after) == bool(ends)
    assert plan.closes_any(None, after)


def test_a_running_total_keeps_expired_panes_for_one_more_step() -> None:
    plan = plan_consolidation([Window(10, 1)], subtractable=True)
    assert plan.granules[1].running
    assert plan.expiry(PANE, 0) == 11
    assert plan.expiry(1, 0) == 11
