"""Hash functions: 2-universal, and the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.posg.compiled_hash import column
from rheostat.elastic.posg.hashing import items_of, multipliers
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=60)

ITEMS = st.integers(-(2**63), 2**63 - 1)


def test_multipliers_follow_from_the_seed_by_a_published_sequence() -> None:
    # The first outputs of SplitMix64 for seed 0, as its reference implementation prints them.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(v) for v in multipliers(0, 1)[0]] == expected


def test_columns_stay_where_stored_sketches_have_them() -> None:
    numbers = multipliers(7, 4)
    found = [[int(column(numbers, row, item, 54)) for row in range(4)] for item in (0, 1, -1, 2**40)]
    assert found == [[int(n) for n in line] for line in _by_hand(7, [0, 1, -1, 2**40])]


def _by_hand(seed: int, items: list[int]) -> list[list[int]]:
    """The same with Python integers, which never overflow."""
    lines = []
    for item in items:
        bits = item % 2**64
        sums = [(int(a) * (bits % 2**32) + int(b) * (bits >> 32) + int(c)) % 2**64 for a, b, c in multipliers(seed, 4)]
        lines.append([((s >> 32) * 54) >> 32 for s in sums])
    return lines


@QUICK
@given(ITEMS, st.integers(1, 5_000), st.integers(0, 2**64 - 1))
def test_every_item_has_a_column(item: int, columns: int, seed: int) -> None:
    assert 0 <= column(multipliers(seed, 2), 1, item, columns) < columns


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (5, 5 + 2**32), (-1, 1), (2**62, 2**62 + 2**33), (12, 12 * 54)])
def test_two_items_collide_as_rarely_as_by_chance(pair: tuple[int, int]) -> None:
    columns, trials = 54, 4_000
    numbers = [multipliers(seed, 1) for seed in range(trials)]
    hits = sum(column(n, 0, pair[0], columns) == column(n, 0, pair[1], columns) for n in numbers)
    # 1 / columns expected; more than five standard deviations above it would not be chance.
    expected = trials / columns
    assert hits <= expected + 5 * np.sqrt(expected)


@pytest.mark.parametrize("bad", [[0.5], ["a"], [[1]], 3])
def test_items_are_whole_numbers_in_one_dimension(bad: object) -> None:
    with pytest.raises(ConfigurationError, match="whole numbers"):
        items_of(bad)  # type: ignore[arg-type]


def test_a_seed_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="seed"):
        multipliers(-1, 2)
