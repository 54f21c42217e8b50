"""The slots' part of the protocol: when a slot reports, and that it reports every execution once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg import CostSketch, Instance, Learning, SketchReport, SyncReply, SyncRequest
from rheostat.elastic.posg.instance import relative_error
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)

EXECUTIONS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9).map(float)), max_size=60)


def slot(window: int = 4, tolerance: float = 0.05, columns: int = 5) -> Instance:
    return Instance(1, CostSketch.empty(rows=2, columns=columns, seed=4), window, tolerance)


def execute(state: Instance, executions: list[tuple[int, float]]) -> tuple[Instance, tuple[SketchReport, ...]]:
    return state.executed(np.array([i for i, _ in executions], dtype=np.int64), [c for _, c in executions])


def test_the_machine_step_by_step() -> None:
    """Figure 2: A after the first window, B while the sketch still changes, C once it does not."""
    state = slot(window=2)
    assert state.learning is Learning.START
    state, reports = execute(state, [(1, 4.0), (1, 4.0)])
    assert (state.learning, reports, state.reports) == (Learning.STABILIZING, (), 0)
    state, reports = execute(state, [(1, 8.0), (1, 8.0)])  # the mean went from 4 to 6
    assert (state.learning, reports) == (Learning.STABILIZING, ())
    state, reports = execute(state, [(1, 6.0), (1, 6.0)])  # and stayed
    assert state.learning is Learning.START
    assert [(r.slot, r.number, r.sketch.executions, r.sketch.seconds) for r in reports] == [(1, 1, 6, 36.0)]
    assert (state.sketch.executions, state.seconds, state.left) == (0, 36.0, 2)


def test_a_new_cell_counts_from_the_next_check_or_at_once() -> None:
    seen, new = [(1, 4.0), (1, 4.0)], [(1, 4.0), (2, 4.0)]
    for count_new, needed in ((False, [0, 1]), (True, [0, 0, 1])):
        state = Instance(1, CostSketch.empty(rows=1, columns=97, seed=4), window=2, count_new=count_new)
        reported = []
        for executions in (seen, new, new)[: len(needed)]:
            state, reports = execute(state, executions)
            reported.append(len(reports))
        assert reported == needed


@QUICK
@given(st.integers(0, 53))
def test_a_change_in_any_single_column_is_seen(which: int) -> None:
    """Not only in the first few: one item's cost changes, wherever its cells are."""
    width = 54
    marks: dict[int, int] = {}
    for item in range(2_000):
        cells = CostSketch.empty(rows=1, columns=width, seed=4).updated([item], [1.0]).frequencies[0]
        marks.setdefault(int(cells.argmax()), item)
        if len(marks) == width:
            break
    items = [marks[column] for column in range(width)]
    state = Instance(0, CostSketch.empty(rows=1, columns=width, seed=4), window=width, tolerance=0.05)
    state, _ = execute(state, [(item, 1.0) for item in items])
    # The mean of one of 54 cells doubles and more: 7.9 / 54 is more than 5 %.
    changed, reports = execute(state, [(item, 16.8 if column == which else 1.0) for column, item in enumerate(items)])
    assert (changed.learning, reports) == (Learning.STABILIZING, ())
    # A change of 2 % in the sum of all is not.
    _, reports = execute(state, [(item, 3.0 if column == which else 1.0) for column, item in enumerate(items)])
    assert len(reports) == 1


@QUICK
@given(EXECUTIONS, st.lists(st.integers(0, 60), max_size=5), st.sampled_from([0.0, 0.05, 0.5, 10.0]))
def test_it_does_not_matter_how_executions_are_batched(
    executions: list[tuple[int, float]], cuts: list[int], tolerance: float
) -> None:
    whole, at_once = execute(slot(tolerance=tolerance), executions)
    state, reports = slot(tolerance=tolerance), list[SketchReport]()
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(executions)], strict=True):
        state, found = execute(state, executions[begin:end])
        reports += found
    assert [(r.number, r.sketch.executions) for r in reports] == [(r.number, r.sketch.executions) for r in at_once]
    assert (state.learning, state.looked, state.seconds) == (whole.learning, whole.looked, whole.seconds)
    assert (state.sketch.times == whole.sketch.times).all()


@QUICK
@given(EXECUTIONS, st.sampled_from([0.05, 0.5, 10.0]))
def test_every_execution_is_in_one_report_or_still_in_the_sketch(
    executions: list[tuple[int, float]], tolerance: float
) -> None:
    state, reports = execute(slot(tolerance=tolerance), executions)
    everything = state.sketch.merged(r.sketch for r in reports)
    expected, _ = execute(slot(window=1_000), executions)
    assert (everything.frequencies == expected.sketch.frequencies).all()
    assert (everything.times == expected.sketch.times).all()
    assert [r.number for r in reports] == list(range(1, len(reports) + 1))
    assert all(r.sketch.executions >= 2 * state.window for r in reports)
    assert state.seconds == sum(cost for _, cost in executions)


@QUICK
@given(st.lists(st.tuples(st.floats(0, 100) | st.just(np.nan), st.floats(0, 100)), min_size=1, max_size=20))
def test_the_relative_error_is_equation_1(cells: list[tuple[float, float]]) -> None:
    known = [(s, r) for s, r in cells if not np.isnan(s)]
    before, change = sum(s for s, _ in known), sum(abs(s - r) for s, r in known)
    found = relative_error(np.array([[s for s, _ in cells]]), np.array([[r for _, r in cells]]))
    if before > 0:
        assert found == pytest.approx(change / before)
    else:
        assert found == (np.inf if change else 0.0)


def test_a_reply_is_the_difference_to_what_was_worked() -> None:
    state, _ = execute(slot(), [(1, 2.0), (2, 3.0)])
    request = SyncRequest(slot=1, epoch=7, estimate=4.0)
    assert state.asked(request) == SyncReply(slot=1, epoch=7, difference=1.0)
    assert state.asked(request, now=9.0) == SyncReply(slot=1, epoch=7, difference=5.0)  # 4 seconds idle
    with pytest.raises(ConfigurationError, match="slot 1 received a request for slot 0"):
        state.asked(SyncRequest(slot=0, epoch=7, estimate=4.0))


@pytest.mark.parametrize(("window", "tolerance"), [(0, 0.05), (4, -0.1), (4, float("nan"))])
def test_invalid_arguments_are_refused(window: int, tolerance: float) -> None:
    with pytest.raises(ConfigurationError, match="window"):
        slot(window, tolerance)
