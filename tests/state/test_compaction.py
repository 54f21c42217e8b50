"""Compaction leaves few segments and rewrites few rows, over a thousand epochs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.state.compaction import FAN_IN, SMALLEST, choose, rank
from rheostat.state.segments import Segment
from tests.state.builders import segment

SIZES = st.integers(1, 10**7)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), SIZES), max_size=60))
def test_only_segments_of_one_size_are_folded_together(made: list[tuple[int, int]]) -> None:
    segments = [segment(str(i), epoch, rows) for i, (epoch, rows) in enumerate(made)]
    chosen = choose(segments)
    assert len({rank(s.rows) for s in chosen}) <= 1
    if chosen:
        assert {s.file for s in chosen} == {s.file for s in segments if rank(s.rows) == rank(chosen[0].rows)}
        assert len({s.epoch for s in chosen}) >= FAN_IN


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), SIZES), max_size=60))
def test_nothing_is_folded_only_if_no_size_has_enough_epochs(made: list[tuple[int, int]]) -> None:
    segments = [segment(str(i), epoch, rows) for i, (epoch, rows) in enumerate(made)]
    epochs: dict[int, set[int]] = {}
    for s in segments:
        epochs.setdefault(rank(s.rows), set()).add(s.epoch)
    crowded = [r for r, of in epochs.items() if len(of) >= FAN_IN]
    assert bool(choose(segments)) == bool(crowded)
    if crowded:
        assert rank(choose(segments)[0].rows) == min(crowded)


@given(SIZES)
@settings(max_examples=100, deadline=None)
def test_a_rank_holds_sizes_that_differ_by_the_fan_in(rows: int) -> None:
    low = 0 if rank(rows) == 0 else SMALLEST * FAN_IN ** (rank(rows) - 1)
    assert low < rows <= SMALLEST * FAN_IN ** rank(rows)


def test_many_slots_of_one_epoch_are_no_reason_to_fold() -> None:
    assert choose([segment(str(i), epoch=3) for i in range(1000)]) == ()


def epochs_of(count: int, slots: int, rows: Callable[[int], int]) -> tuple[int, int, int]:
    """Run epochs that write and fold. Return the most live segments at any time, and the rows written and added."""
    live: list[Segment] = []
    most = written = arrived = 0
    for epoch in range(count):
        folded = choose(live)
        live = [s for s in live if s not in folded]
        total = rows(epoch) * slots + sum(s.rows for s in folded)
        live += [segment(f"{epoch}-{slot}", epoch, max(total // slots, 1)) for slot in range(slots)]
        most, written, arrived = max(most, len(live)), written + total, arrived + rows(epoch) * slots
    return most, written, arrived


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize(
    "rows",
    [lambda _: 10, lambda _: 5_000, lambda e: 10 if e % 7 else 50_000, lambda e: 1 + e * 97 % 40_000],
    ids=["small", "middling", "bursts", "mixed"],
)
def test_a_thousand_epochs_leave_few_segments_and_rewrite_little(slots: int, rows: Callable[[int], int]) -> None:
    most, written, arrived = epochs_of(1000, slots, rows)
    ranks = rank(arrived) + 1
    small = 1000 // (FAN_IN - 1) * SMALLEST * slots  # segments that count as equally small are folded again and again
    assert most <= slots * (FAN_IN + 1) * ranks
    assert written <= arrived * (ranks + 1) * 2 + small
