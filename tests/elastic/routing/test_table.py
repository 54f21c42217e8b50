"""Routing: shards follow the order of hashes, slots share shards evenly."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.table import (
    MAX_SHARDS,
    check_shards,
    check_slots,
    even_routing,
    first_hashes,
    owned,
    shard_sql,
    shards_of,
)
from rheostat.errors import ConfigurationError

HASHES = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50)


@settings(max_examples=200, deadline=None)
@given(HASHES, st.integers(1, MAX_SHARDS))
def test_shards_grow_with_the_unsigned_hash(hashes: list[int], shards: int) -> None:
    by_place = sorted(hashes, key=lambda h: h % 2**64)
    found = shards_of(np.array(by_place, dtype=np.int64), shards)
    assert found.tolist() == sorted(found.tolist())
    assert found.tolist() == [((h % 2**64) >> 32) * shards >> 32 for h in by_place]


@pytest.mark.parametrize("shards", [1, 3, 7, 256, 1000, MAX_SHARDS])
def test_the_first_hash_of_a_shard_is_its_smallest(shards: int) -> None:
    first = first_hashes(shards)
    assert shards_of(first.view(np.int64), shards).tolist() == list(range(shards))
    assert shards_of((first[1:] - np.uint64(1)).view(np.int64), shards).tolist() == list(range(shards - 1))


@pytest.mark.parametrize("shards", [1, 7, 256, MAX_SHARDS])
def test_the_extreme_hashes_are_in_the_extreme_shards(shards: int) -> None:
    assert shards_of(np.array([0, 2**63 - 1, -(2**63), -1], dtype=np.int64), shards).tolist() == [
        0,
        (shards - 1) // 2,
        shards // 2,
        shards - 1,
    ]


def test_random_hashes_fill_shards_evenly() -> None:
    hashes = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, size=100_000, dtype=np.int64)
    rows = np.bincount(shards_of(hashes, 100), minlength=100)
    assert rows.min() > 800
    assert rows.max() < 1_200


def test_the_sql_names_hash_and_shards() -> None:
    assert shard_sql("hash", 256) == "shiftright(shiftrightunsigned(hash, 32) * 256L, 32)"


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_even_routing_is_balanced_and_neighbouring(data: st.DataObject) -> None:
    shards = data.draw(st.integers(1, 600))
    slots = data.draw(st.integers(1, shards))
    routing = even_routing(shards, slots)
    sizes = Counter(routing)
    assert len(routing) == shards
    assert sorted(sizes) == list(range(slots))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert list(routing) == sorted(routing)


def test_owned_marks_the_shards_of_a_slot() -> None:
    assert owned((0, 1, 0, 2), 0).tolist() == [True, False, True, False]
    assert owned((0, 1, 0, 2), 2).tolist() == [False, False, False, True]


@pytest.mark.parametrize("shards", [0, -1, MAX_SHARDS + 1])
def test_shard_counts_out_of_range_are_refused(shards: int) -> None:
    with pytest.raises(
        ConfigurationError, match=f"shards={shards}: a checkpoint has between 1 and {MAX_SHARDS} shards"
    ):
        check_shards(shards)


@pytest.mark.parametrize("slots", [0, -1, 9])
def test_slot_counts_out_of_range_are_refused(slots: int) -> None:
    message = f"slots={slots}: a component has between 1 and 8 slots"
    with pytest.raises(ConfigurationError, match=message):
        check_slots(slots, 8)
    with pytest.raises(ConfigurationError, match=message):
        even_routing(8, slots)


@pytest.mark.parametrize("wrong", [2.0, 2.5, float("nan"), "2", None])
def test_counts_that_are_not_whole_numbers_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"slots={wrong!r}: must be a whole number"):
        check_slots(wrong, 8)
    with pytest.raises(ConfigurationError, match=f"shards={wrong!r}: must be a whole number"):
        check_shards(wrong)


def test_the_limits_themselves_are_allowed() -> None:
    check_slots(np.int64(2), 8)  # type: ignore[arg-type]
    check_shards(1)
    check_shards(MAX_SHARDS)
    check_slots(8, 8)
