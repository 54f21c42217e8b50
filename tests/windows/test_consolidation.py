"""Consolidation plans: the golden figure, and what must hold of every plan."""

from __future__ import annotations

import json
from collections import Counter
from math import lcm
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import TopologyError
from rheostat.windows import consolidation
from rheostat.windows.consolidation import PANE, ConsolidationPlan, from_json, plan_consolidation, to_json
from rheostat.windows.window import Window, sliding, tumbling
from tests.windows.builders import aligned, overlapping, plans, window_sets

HOUR = 3_600_000_000
LENDING = ("5 minutes", "10 minutes", "15 minutes", "20 minutes")


def test_the_papers_windows_take_86_merges_an_hour_instead_of_240() -> None:
    plan = plan_consolidation(tumbling("1 minute", *LENDING))
    assert plan.pane.label == "1 minute"
    one_minute_windows = 60
    assert plan.merges(HOUR) - one_minute_windows == 86
    assert plan.naive_merges(HOUR) - one_minute_windows == 240


def test_the_papers_windows_alone_have_panes_of_five_minutes() -> None:
    plan = plan_consolidation(tumbling(*LENDING))
    assert plan.pane.label == "5 minutes"
    # 12 windows of 5 minutes are panes; 6 tens, 4 fifteens and 3 twenties take two pieces each.
    assert plan.merges(HOUR) == 12 + 2 * (6 + 4 + 3)
    assert plan.naive_merges(HOUR) == 12 + 12 + 12 + 12


def test_a_total_of_sixty_panes_runs_with_three_merges_a_step() -> None:
    plan = plan_consolidation(sliding("1 hour", every="1 minute"), subtractable=True)
    assert plan.merges(HOUR) == 60 * 3
    assert plan.naive_merges(HOUR) == 60 * 60


def test_helpers_save_most_merges_of_windows_that_cannot_be_subtracted() -> None:
    plan = plan_consolidation(sliding("1 hour", every="1 minute"))
    assert any(not g.requested for g in plan.granules[1:])
    assert plan.merges(27 * HOUR) < 0.2 * plan.naive_merges(27 * HOUR)


@settings(max_examples=60, deadline=None)
@given(plans())
def test_granules_are_the_pane_and_every_requested_window(plan: ConsolidationPlan) -> None:
    sizes = [g.window.size for g in plan.granules]
    assert sizes == sorted(sizes)
    assert plan.granules[PANE].sources == ()
    assert all(g.sources and max(g.sources) < i for i, g in enumerate(plan.granules) if i != PANE)
    assert all(plan.granules[s].stored for g in plan.granules for s in g.sources)
    assert all(g.stored for g in plan.granules if g.running)


@settings(max_examples=50, deadline=None)
@given(window_sets(), st.booleans(), st.booleans())
def test_exactly_the_requested_windows_are_results(windows: list[Window], subtractable: bool, panes_only: bool) -> None:
    plan = plan_consolidation(windows, subtractable=subtractable, panes_only=panes_only)
    assert Counter(g.window for g in plan.granules if g.requested) == Counter(set(windows))


def test_the_same_window_asked_for_twice_is_one_result() -> None:
    plan = plan_consolidation([*tumbling("10 minutes"), *tumbling("10 minutes", offset="10 minutes")])
    assert [g.window.label for g in plan.granules if g.requested] == ["10 minutes"]


@settings(max_examples=60, deadline=None)
@given(plans(), st.integers(-50, 50), st.lists(st.integers(1, 9), min_size=1, max_size=7))
def test_every_cover_tiles_its_window_with_sources_of_its_own(
    plan: ConsolidationPlan, origin: int, weights: list[int]
) -> None:
    def weight(source: int, start: int) -> float:
        return float(weights[(source + start) % len(weights)])

    for number, granule in enumerate(plan.granules[1:], start=1):
        for start in aligned(granule.window, origin, origin + 3 * granule.window.slide):
            here = start
            for piece in plan.cover(number, start, weight):
                source = plan.granules[piece.source].window
                assert piece.source in granule.sources
                assert piece.sign == 1
                assert piece.start == here
                assert (piece.start - source.offset) % source.slide == 0
                here += source.size
            assert here == start + granule.window.size


@settings(max_examples=60, deadline=None)
@given(overlapping(), st.integers(-50, 50))
def test_a_running_step_adds_up_to_the_window(windows: list[Window], origin: int) -> None:
    plan = plan_consolidation(windows, subtractable=True)
    for number, granule in enumerate(plan.granules):
        if not granule.running:
            continue
        start = granule.window.latest_start(origin)
        instants: Counter[int] = Counter()
        for piece in plan.running_step(number, start):
            size = plan.granules[piece.source].window.size
            for t in range(piece.start, piece.start + size):
                instants[t] += piece.sign
        assert {t: n for t, n in instants.items() if n} == dict.fromkeys(range(start, start + granule.window.size), 1)


@settings(max_examples=50, deadline=None)
@given(st.one_of(window_sets(), overlapping()))
def test_only_subtractable_overlapping_windows_run(windows: list[Window]) -> None:
    assert not any(g.running for g in plan_consolidation(windows).granules)
    for g in plan_consolidation(windows, subtractable=True).granules:
        assert not g.running or (g.window.slide < g.window.size and g.requested)


@settings(max_examples=50, deadline=None)
@given(st.one_of(window_sets(), overlapping()), st.booleans())
def test_plans_never_merge_more_than_panes_would(windows: list[Window], subtractable: bool) -> None:
    plan = plan_consolidation(windows, subtractable=subtractable)
    span = lcm(*(g.window.slide for g in plan.granules))
    assert plan.merges(span) <= plan.naive_merges(span)


@settings(max_examples=40, deadline=None)
@given(overlapping(), st.booleans())
def test_helpers_never_make_merges_worse(windows: list[Window], subtractable: bool) -> None:
    plan = plan_consolidation(windows, subtractable=subtractable)
    with patch.object(consolidation, "_HELPER_BASES", ()):
        plain = plan_consolidation(windows, subtractable=subtractable)
    assert all(g.requested for g in plain.granules[1:])
    span = lcm(*(g.window.slide for g in plan.granules))
    assert plan.merges(span) <= plain.merges(span)


def test_helpers_pay_for_every_alignment_of_windows() -> None:
    windows = [Window(26, 1), Window(8, 2), Window(2, 192)]
    plan = plan_consolidation(windows)
    with patch.object(consolidation, "_HELPER_BASES", ()):
        plain = plan_consolidation(windows)
    span = lcm(*(g.window.slide for g in plan.granules))
    assert plan.merges(span) <= plain.merges(span)


def test_helpers_that_save_little_are_not_worth_their_state() -> None:
    assert [g.window.size for g in plan_consolidation([Window(8, 1)]).granules] == [1, 8]
    with patch.object(consolidation, "_HELPERS_MUST_SAVE", 0.0):
        assert [g.window.size for g in plan_consolidation([Window(8, 1)]).granules] == [1, 3, 8]


def test_alignments_that_were_not_sampled_can_be_covered_too() -> None:
    """The large window meets the pairs at 96 alignments; every second one needs single panes."""
    plan = plan_consolidation([Window(4, 1), Window(2, 2), Window(1, 96)])
    for start in range(192):
        assert sum(plan.granules[p.source].window.size for p in plan.cover(3, start)) == 4


@settings(max_examples=50, deadline=None)
@given(st.one_of(window_sets(), overlapping()), st.booleans())
def test_panes_only_derives_everything_from_panes(windows: list[Window], subtractable: bool) -> None:
    plan = plan_consolidation(windows, subtractable=subtractable, panes_only=True)
    assert plan.panes_only
    assert plan.granules[PANE].stored
    assert {g.sources for g in plan.granules[1:]} <= {(PANE,)}
    assert not any(g.running or g.stored for g in plan.granules[1:])


def test_plans_with_larger_sources_or_running_totals_are_not_panes_only() -> None:
    assert not plan_consolidation([Window(1, 1), Window(2, 2), Window(4, 4)]).panes_only
    assert not plan_consolidation([Window(9, 1)], subtractable=True).panes_only


@settings(max_examples=50, deadline=None)
@given(plans())
def test_a_plan_survives_json(plan: ConsolidationPlan) -> None:
    assert from_json(json.loads(json.dumps(to_json(plan)))) == plan


@settings(max_examples=50, deadline=None)
@given(plans())
def test_the_order_of_requests_does_not_matter(plan: ConsolidationPlan) -> None:
    windows = [g.window for g in plan.granules if g.requested]
    assert plan_consolidation(windows) == plan_consolidation([*reversed(windows), windows[0]])


def test_a_plan_needs_a_window() -> None:
    with pytest.raises(TopologyError, match="at least one window"):
        plan_consolidation([])
