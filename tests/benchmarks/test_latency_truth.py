"""Success and slot-seconds from single rows and epochs, compared with the definition written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.latency_truth import INTERVAL, CommittedRows, slot_seconds, success_rate
from rheostat.elastic.model.promise import Latency

PROMISE = Latency("1 second", over="1 second")
TENTHS = st.integers(1, 60)
ROWS = st.lists(st.tuples(TENTHS, st.integers(0, 30), st.integers(0, 2)), min_size=1, max_size=60)
"""Arrival and latency in tenths of a second, and the shard."""


def brute(rows: list[tuple[int, int, int]], begin: int, end: int) -> float:
    """The definition, one window after the other; all times in tenths of a second."""
    shares = []
    for shard in sorted({s for _, _, s in rows}):
        own = [(a, a + w) for a, w, s in rows if s == shard]
        if all(a > end for a, _ in own):
            continue
        last, idle, kept = True, 0, 0
        for now in range(begin + 1, end + 1):
            first = max(begin, now - 10)
            done = [c - a for a, c in own if first < c <= now]
            waits = any(a <= now < c for a, c in own)
            completed_now = any(c == now for _, c in own)
            idle = idle + 1 if waits and not completed_now else 0
            last = sum(done) <= 10 * len(done) if done else (last or not waits) and idle <= 10
            kept += last
        shares.append(kept / (end - begin))
    return float(np.mean(shares)) if shares else float("nan")


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(0, 20), st.integers(1, 40))
def test_success_is_that_of_the_definition(rows: list[tuple[int, int, int]], begin: int, length: int) -> None:
    arrived, waited, shard = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    begins, ends = arrived.astype(np.float64) * INTERVAL, (arrived + waited).astype(np.float64) * INTERVAL
    found = success_rate(
        CommittedRows(begins, ends, shard),
        PROMISE,
        shards=3,
        begin=begin * INTERVAL,
        end=(begin + length) * INTERVAL,
    )
    assert found == pytest.approx(brute(rows, begin, begin + length), nan_ok=True)


def test_rows_that_were_left_over_fail() -> None:
    arrived = np.linspace(0.1, 9.9, 99)
    rows = CommittedRows(arrived, np.full(99, np.inf), np.zeros(99, dtype=np.int64))
    assert success_rate(rows, PROMISE, shards=1, begin=0.0, end=10.0) < 0.15


@given(st.lists(st.tuples(st.floats(0.1, 5.0), st.integers(1, 16)), min_size=1, max_size=20), st.floats(0.0, 20.0))
def test_slot_seconds_add_up(epochs: list[tuple[float, int]], cut: float) -> None:
    commits = np.cumsum([seconds for seconds, _ in epochs])
    slots = np.array([n for _, n in epochs])
    whole = slot_seconds(commits, slots, 0.0, 60.0)
    parts = slot_seconds(commits, slots, 0.0, cut) + slot_seconds(commits, slots, cut, 60.0)
    assert whole == pytest.approx(parts)
    assert whole == pytest.approx(sum(s * n for s, n in epochs) + (60.0 - commits[-1]) * slots[-1], abs=1e-6) or (
        commits[-1] > 60.0
    )
