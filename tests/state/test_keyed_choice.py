"""Only the newest keyed segments are folded, so that the newest row of a key stays the newest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.state.compaction import FAN_IN, SMALLEST, choose_newest, rank
from rheostat.state.segments import Segment
from tests.state.builders import segment

# Few sizes, so that ranks fill up; one or two slots wrote each epoch.
SIZES = st.lists(st.sampled_from([10, 10, 300, 700, 700, 5_000, 60_000]), min_size=1, max_size=2)
HISTORIES = (
    st.integers(0, 60)
    .flatmap(lambda n: st.lists(SIZES, min_size=n, max_size=n))
    .map(lambda epochs: [segment(f"{e}-{i}", e, n) for e, sizes in enumerate(epochs) for i, n in enumerate(sizes)])
)


@settings(max_examples=200, deadline=None)
@given(HISTORIES)
def test_only_a_run_of_the_newest_is_folded(segments: list[Segment]) -> None:
    chosen = choose_newest(segments)
    assert list(chosen) == segments[len(segments) - len(chosen) :]
    if chosen:
        left = segments[: len(segments) - len(chosen)]
        assert not {s.epoch for s in left} & {s.epoch for s in chosen}
        rows: dict[int, int] = {}
        for s in chosen:
            rows[s.epoch] = rows.get(s.epoch, 0) + s.rows
        ranks = [rank(n) for n in rows.values()]
        before_last = len(ranks) - 1 - ranks[::-1].index(max(ranks))
        assert ranks.count(max(ranks)) >= FAN_IN or before_last >= 2 * FAN_IN


@settings(max_examples=200, deadline=None)
@given(HISTORIES)
def test_nothing_is_folded_only_if_no_rank_is_full(segments: list[Segment]) -> None:
    if choose_newest(segments):
        return
    rows: dict[int, int] = {}
    for s in segments:
        rows[s.epoch] = rows.get(s.epoch, 0) + s.rows
    ranks = [rank(rows[e]) for e in sorted(rows)]
    for highest in set(ranks):
        larger = max((i for i, r in enumerate(ranks) if r > highest), default=-1)
        assert ranks[larger + 1 :].count(highest) < FAN_IN


def test_smaller_segments_among_the_newest_are_folded_along() -> None:
    sizes = [9_999, 700, 10, *[700] * 7, 10]
    segments = [segment(str(e), e, rows) for e, rows in enumerate(sizes)]
    assert choose_newest(segments) == tuple(segments[1:])
    assert choose_newest(segments[:-2]) == ()


def test_many_segments_of_one_epoch_are_no_reason_to_fold() -> None:
    assert choose_newest([segment(str(i), epoch=3) for i in range(1000)]) == ()
    assert choose_newest([]) == ()


def epochs_of(count: int, rows: Callable[[int], int], keys: int | None = None) -> tuple[int, int, int]:
    """Run epochs that write and fold. Return the most generations at any time, the rows written, and the rows added.

    Args:
        keys: how many keys there are, so that many rows are left of what is folded; if None, every row is a new key.
    """
    live: list[Segment] = []
    most = written = arrived = 0
    for epoch in range(count):
        folded = choose_newest(live)
        live = [s for s in live if s not in folded]
        total = rows(epoch) + sum(s.rows for s in folded)
        total = min(total, keys) if keys is not None and folded else total
        live.append(segment(str(epoch), epoch, total))
        most, written, arrived = max(most, len(live)), written + total, arrived + rows(epoch)
    return most, written, arrived


def ruler(epoch: int) -> int:
    """Every eighth epoch is eight times as large, every eighth of those again."""
    size, rest = SMALLEST // FAN_IN, epoch + 1
    while rest % FAN_IN == 0:
        size, rest = size * FAN_IN * 2, rest // FAN_IN
    return size


def spread(epoch: int) -> int:
    """Sizes of every magnitude from one to a million, in no order."""
    return int(10 ** (np.random.default_rng(epoch).random() * 6))


STEADY = {
    "small": lambda _: 10,
    "middling": lambda _: 5_000,
    "mixed": lambda e: 1 + e * 97 % 40_000,
    "growing": lambda e: 1 + e * 10,
    "shrinking": lambda e: max(1, 40_000 - e * 40),
}
UNEVEN = {"bursts": lambda e: 10 if e % 7 else 50_000, "ruler": ruler, "spread": spread}


@pytest.mark.parametrize("keys", [None, 20_000])
@pytest.mark.parametrize("rows", STEADY.values(), ids=STEADY)
def test_hundreds_of_epochs_leave_few_generations(rows: Callable[[int], int], keys: int | None) -> None:
    most, _, arrived = epochs_of(800, rows, keys)
    assert most <= (FAN_IN + 1) * (rank(arrived) + 1)


@pytest.mark.parametrize("rows", UNEVEN.values(), ids=UNEVEN)
def test_sizes_that_vary_leave_few_generations_too(rows: Callable[[int], int]) -> None:
    most, _, arrived = epochs_of(800, rows)
    assert most <= (FAN_IN + 1) * (rank(arrived) + 1)


@pytest.mark.parametrize("keys", [None, 20_000])
@pytest.mark.parametrize("rows", [*STEADY.values(), *UNEVEN.values()], ids=[*STEADY, *UNEVEN])
def test_rows_are_rewritten_about_once_per_rank(rows: Callable[[int], int], keys: int | None) -> None:
    count = 800
    _, written, arrived = epochs_of(count, rows, keys)
    small = count // (FAN_IN - 1) * SMALLEST  # segments that count as equally small are folded again and again
    assert written <= arrived * (rank(arrived) + 2) + small
