"""How often a latency bound was met, compared with a direct implementation of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.success import Success

BOUND = 1.0
SECONDS = 0.1
"""Of an interval."""

Line = list[tuple[int, float, bool]]
"""Rows completed in an interval, the mean of their latencies, and whether rows wait at its end."""


def brute(lines: Line, intervals: int) -> float:
    """Share of windows that succeed, one window after the other; a window ends with every interval."""
    kept, last = 0, True
    for end in range(1, len(lines) + 1):
        window = lines[max(0, end - intervals) : end]
        rows = sum(count for count, _, _ in window)
        seconds = sum(count * mean for count, mean, _ in window)
        if rows:
            last = seconds <= BOUND * rows + 1e-9
        else:
            age = next((n for n, (count, _, waits) in enumerate(reversed(lines[:end])) if count or not waits), end)
            last = (last or not lines[end - 1][2]) and age * SECONDS <= BOUND
        kept += last
    return kept / len(lines)


LINES = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 2, 7]), st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 8.0]), st.booleans()),
    min_size=1,
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(LINES, st.integers(1, 12))
def test_windows_are_those_of_the_definition(lines: Line, intervals: int) -> None:
    kept = Success(1, BOUND, intervals * SECONDS)
    for count, mean, waits in lines:
        kept.add(np.array([count]), np.array([count * mean]), np.array([waits]))
    assert kept.rates()[0] == pytest.approx(brute(lines, intervals))


@settings(deadline=None)
@given(st.lists(LINES, min_size=3, max_size=3), st.integers(1, 5))
def test_shards_are_judged_one_by_one(shards: list[Line], intervals: int) -> None:
    length = min(map(len, shards))
    kept = Success(3, BOUND, intervals * SECONDS)
    for interval in zip(*(lines[:length] for lines in shards), strict=True):
        counts, means, waits = (np.array(column) for column in zip(*interval, strict=True))
        kept.add(counts, counts * means, waits)
    assert kept.rates() == pytest.approx([brute(lines[:length], intervals) for lines in shards])


def test_many_windows_do_not_drift() -> None:
    """A million seconds of waiting go through the sums; after them, windows at exactly the bound are still kept."""
    kept = Success(1, BOUND, 10 * SECONDS)
    for _ in range(1000):
        kept.add(np.array([3]), np.array([1e6 / 3]), np.array([True]))
    before = float(kept.rates()[0]) * 1000
    for _ in range(1000):
        kept.add(np.array([3]), np.array([3.0]), np.array([True]))
    assert float(kept.rates()[0]) * 2000 - before == pytest.approx(1000 - 9)


def test_before_any_window_nothing_was_kept() -> None:
    assert Success(2, 1.0, 3).rates().tolist() == [0.0, 0.0]


def test_rows_that_wait_for_longer_than_the_bound_break_it() -> None:
    """All is well for a second; then nothing is completed for a minute, though rows wait. The bound is one second."""
    kept = Success(1, BOUND, 10 * SECONDS)
    for _ in range(10):
        kept.add(np.array([5]), np.array([0.5]), np.array([False]))
    for _ in range(600):
        kept.add(np.array([0]), np.array([0.0]), np.array([True]))
    assert kept.rates()[0] < 0.1


@settings(deadline=None)
@given(LINES, st.integers(1, 12), st.floats(0.01, 100))
def test_with_equal_intervals_all_windows_count_the_same(lines: Line, intervals: int, seconds: float) -> None:
    """To the last bit, whatever the length of the intervals."""
    kept = Success(1, BOUND / SECONDS * seconds, intervals * seconds)
    won = 0
    for number, (count, mean, waits) in enumerate(lines):
        kept.add(np.array([count]), np.array([count * mean / SECONDS * seconds]), np.array([waits]), seconds)
        won += bool(kept._last[0])
        assert kept.rates()[0] == won / (number + 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 3), st.floats(0.1, 5)), min_size=1, max_size=30))
def test_a_window_counts_as_much_as_its_interval_is_long(epochs: list[tuple[int, float, float]]) -> None:
    kept, served, good, won = Success(1, BOUND, 0.05), 0.0, 0.0, 0.0
    for count, mean, seconds in epochs:  # each epoch is a window of its own
        kept.add(np.array([count]), np.array([count * mean]), np.array([False]), seconds)
        within = count == 0 or mean <= BOUND + 1e-9
        won += seconds * within
        good, served = good + seconds * (within and count > 0), served + seconds * (count > 0)
    assert kept.rates()[0] == pytest.approx(won / sum(s for _, _, s in epochs))
    of_those, all_of_them = kept.served()
    assert of_those[0] * served == pytest.approx(all_of_them[0] * good)
