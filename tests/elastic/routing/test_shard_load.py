"""Loads of shards: the first epoch counts in full, older ones fade, a checkpoint remembers them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.model.smoothing import LOAD_HALF_LIFE as HALF_LIFE
from rheostat.elastic.routing.shard_load import ShardLoads, dense

EPOCHS = st.lists(st.dictionaries(st.integers(0, 7), st.floats(0, 1e6)), max_size=12)


def after(epochs: list[dict[int, float]], shards: int = 8) -> ShardLoads:
    loads = ShardLoads.none(shards)
    for measured in epochs:
        loads = loads.with_epoch(dense(measured, shards))
    return loads


def test_the_first_epoch_counts_in_full() -> None:
    assert after([{2: 5.0}]).seconds.tolist() == [0, 0, 5, 0, 0, 0, 0, 0]


def test_a_measurement_counts_half_after_its_half_life() -> None:
    loads = after([{0: 8.0}])
    for _ in range(int(HALF_LIFE)):
        loads = loads.with_epoch(np.zeros(8))
    assert loads.seconds[0] == pytest.approx(4)
    for _ in range(int(HALF_LIFE) * 10):
        loads = loads.with_epoch(np.zeros(8))
    assert loads.seconds[0] == pytest.approx(4 / 2**10)


@settings(max_examples=100, deadline=None)
@given(EPOCHS, st.floats(0.001, 100))
def test_a_steady_load_is_what_is_measured_in_the_end(epochs: list[dict[int, float]], load: float) -> None:
    loads = after([*epochs, *[{3: load}] * 100])
    assert loads.seconds[3] == pytest.approx(load, rel=1e-6)
    assert loads.seconds.sum() == pytest.approx(load, rel=1e-4)


@settings(max_examples=100, deadline=None)
@given(EPOCHS)
def test_loads_stay_between_the_extremes_that_were_measured(epochs: list[dict[int, float]]) -> None:
    loads = after(epochs)
    for shard in range(8):
        seen = [e.get(shard, 0.0) for e in epochs] or [0.0]
        assert min(seen) * (1 - 1e-9) <= loads.seconds[shard] <= max(seen) * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(EPOCHS)
def test_a_checkpoint_remembers_loads(epochs: list[dict[int, float]]) -> None:
    loads = after(epochs)
    again = ShardLoads.of_text(8, loads.to_text())
    assert np.allclose(again.seconds, loads.seconds, rtol=1e-6, atol=1e-19)
    assert again.to_text() == loads.to_text()
    assert again.epochs == int(again.seconds.any())


@pytest.mark.parametrize(("shards", "expected"), [(2, [0.0, 2.0]), (3, [0.0, 2.0, 5.0]), (4, [0.0, 2.0, 5.0, 0.0])])
def test_remembered_loads_of_another_number_of_shards(shards: int, expected: list[float]) -> None:
    assert ShardLoads.of_text(shards, ShardLoads.of(3, [(1, 2.0), (2, 5.0)]).to_text()).seconds.tolist() == expected


def test_remembered_loads_fade_like_measured_ones() -> None:
    again = ShardLoads.of(4, [(1, 2.0)])
    assert again.with_epoch(np.zeros(4)).seconds[1] == pytest.approx(after([{1: 2.0}, {}], 4).seconds[1])
    assert ShardLoads.of(4, []).with_epoch(dense({0: 3.0}, 4)).seconds[0] == 3.0


def test_rows_cost_what_was_measured_although_a_checkpoint_remembers_seconds_without_rows() -> None:
    """Both shards cost 0.1 s a row; only one of them had any load before the restart."""
    rows = np.array([10.0, 10.0])
    again = ShardLoads.of(2, [(0, 1.0)]).with_epoch(np.ones(2), rows)
    assert again.expected(rows).tolist() == pytest.approx([1.0, 1.0])


def test_rows_are_not_forgotten_in_an_epoch_that_does_not_count_them() -> None:
    counted = ShardLoads.none(2).with_epoch(np.ones(2), np.array([10.0, 5.0]))
    later = counted.with_epoch(np.ones(2))
    assert later.expected(np.array([10.0, 10.0])).tolist() == pytest.approx([1.0, 2.0])
    assert ShardLoads.none(2).with_epoch(np.ones(2)).rows is None


def test_loads_are_values() -> None:
    loads = after([{0: 1.0}])
    loads.with_epoch(dense({0: 99.0}, 8))
    assert loads.seconds[0] == 1.0
