"""Head starts: the longest task never waits, and no other waits longer than it can afford."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.spark.stage.head_starts import FIRST, TURN, head_starts, share_processors


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=64).map(lambda s: sorted(s, reverse=True)))
def test_a_task_waits_its_turn_but_ends_before_the_longest(expected: list[float]) -> None:
    waits = head_starts(expected)
    assert waits[0] == 0.0
    for i, (wait, own) in enumerate(zip(waits, expected, strict=True)):
        assert 0.0 <= wait <= FIRST + i * TURN + 1e-6
        assert wait + own <= expected[0] + 1e-6


@pytest.mark.parametrize(
    ("tasks", "master", "together"),
    [(16, "local[16]", True), (2, "local[16]", False), (17, "local[16]", False), (16, "spark://host:7077", False)],
)
def test_tasks_wait_only_where_all_begin_at_once_on_fewer_processors(tasks: int, master: str, together: bool) -> None:
    assert share_processors(tasks, master=master, at_once=16, processors=2) == together
