"""What ``start(slots=...)`` means with and without a policy that changes the number of slots."""

from __future__ import annotations

from typing import Any

import pytest

from rheostat.elastic.routing.slot_choice import SlotChoice
from rheostat.errors import ConfigurationError


def choice(slots: Any, *, scales: bool = True, cores: int = 4, shards: int = 16) -> SlotChoice:
    return SlotChoice.of(slots, policy="test", scales=scales, cores=cores, shards=shards)


def test_without_slots_a_policy_may_use_all_cores() -> None:
    assert choice(None) == SlotChoice(None, 4, (1, 4))
    assert choice(None, cores=32) == SlotChoice(None, 16, (1, 16))
    assert choice(None, scales=False) == SlotChoice(None, 4)


def test_a_number_is_where_a_policy_starts() -> None:
    assert choice(2) == SlotChoice(2, 2, (1, 4))
    assert choice(9) == SlotChoice(9, 9, (1, 9))
    assert choice(9, scales=False) == SlotChoice(9, 9)


def test_a_range_is_entered_with_as_many_slots_as_there_are_cores() -> None:
    assert choice((1, 16)) == SlotChoice(None, 4, (1, 16))
    assert choice((6, 8)) == SlotChoice(None, 6, (6, 8))
    assert choice((1, 2)) == SlotChoice(None, 2, (1, 2))


@pytest.mark.parametrize(
    ("slots", "scales", "message"),
    [
        ((1, 4), False, "policy 'test' takes no range of slots: pass one number, or a policy"),
        ((5, 4), True, r"the fewest come first, as in \(4, 5\)"),
        ((0, 4), True, "between 1 and 16 slots"),
        ((1, 17), True, "between 1 and 16 slots"),
        ((1, 2, 3), True, "the fewest and the most"),
        ((1, "4"), True, "must be a whole number"),
        (17, True, "between 1 and 16 slots"),
        (2.5, True, "must be a whole number"),
    ],
)
def test_nonsense_is_refused(slots: Any, scales: bool, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        choice(slots, scales=scales)
