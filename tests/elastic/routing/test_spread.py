"""Shards spread over another number of slots: even, few moves, fast."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.routing.spread import spread


@given(st.integers(1, 12), st.integers(1, 12), st.lists(st.floats(0, 100), min_size=12, max_size=80))
def test_the_busiest_slot_is_within_four_thirds_of_the_best(before: int, after: int, loads: list[float]) -> None:
    work, routing = np.array(loads), np.arange(len(loads)) % before
    found = spread(routing, work, after)
    assert found.min() >= 0
    assert found.max() < after
    heaviest = np.sort(work)[::-1]
    best = max(work.sum() / after, heaviest[0], heaviest[after - 1] + heaviest[after] if len(work) > after else 0.0)
    assert np.bincount(found, weights=work).max() <= 4 / 3 * best * 1.02 + 1e-12


@given(st.integers(2, 16))
def test_slots_that_are_even_stay_as_they_are(slots: int) -> None:
    routing = np.arange(slots * 8) % slots
    assert spread(routing, np.ones(slots * 8), slots).tolist() == routing.tolist()


def test_a_new_slot_takes_only_its_share() -> None:
    routing = np.arange(1024) % 8
    found = spread(routing, np.ones(1024), 9)
    assert (found != routing).sum() <= 1024 / 9 + 9
    assert np.bincount(found).max() <= np.ceil(1024 / 9) + 1


def test_idle_shards_are_spread_too() -> None:
    assert np.bincount(spread(np.zeros(64, dtype=np.int64), np.zeros(64), 4)).tolist() == [16, 16, 16, 16]
