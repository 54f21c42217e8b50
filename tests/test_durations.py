"""Durations: what people may write, and that labels say exactly what was meant."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheostat.durations import label, micros
from rheostat.errors import TopologyError

UNITS = {
    "microseconds": 1,
    "us": 1,
    "milliseconds": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "minutes": 60_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
    "days": 86_400_000_000,
    "d": 86_400_000_000,
    "weeks": 604_800_000_000,
    "w": 604_800_000_000,
}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(sorted(UNITS))), min_size=1, max_size=3))
def test_whole_amounts_add_up(parts: list[tuple[int, str]]) -> None:
    expected = sum(amount * UNITS[unit] for amount, unit in parts)
    assert micros(" ".join(f"{amount} {unit}" for amount, unit in parts)) == expected
    assert micros("".join(f"{amount}{unit}" for amount, unit in parts).upper()) == expected


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 99), st.text("0123456789", min_size=1, max_size=3), st.sampled_from(["s", "ms", "min", "h"]))
@example(2, "01", "s")
def test_fractions_are_exact(whole: int, digits: str, unit: str) -> None:
    amount = Fraction(f"{whole}.{digits}") * UNITS[unit]
    assert amount.denominator == 1
    assert micros(f"{whole}.{digits} {unit}") == amount


@given(st.integers(1, 10**15))
@settings(max_examples=200, deadline=None)
def test_a_label_says_exactly_what_it_stands_for(duration: int) -> None:
    assert micros(label(duration)) == duration


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 seconds"),
        (1, "1 microsecond"),
        (60_000_000, "1 minute"),
        (90_000_000, "90 seconds"),
        (1500, "1500 micro"),
    ],
)
def test_labels_use_the_largest_unit_that_fits(duration: int, text: str) -> None:
    assert label(duration).startswith(text)


@given(st.timedeltas(timedelta(0), timedelta(days=10_000)))
@settings(max_examples=50, deadline=None)
def test_timedeltas_are_exact(duration: timedelta) -> None:
    assert timedelta(microseconds=micros(duration)) == duration


@pytest.mark.parametrize(
    "text", ["", "  ", "10", "minutes", "1 month", "2 years", "-1 second", "1 hour and a half", "1,5 s"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(TopologyError, match="is not a"):
        micros(text)


def test_less_than_a_microsecond_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"'0.5 us' is not a whole number of microseconds"):
        micros("0.5 us")


@pytest.mark.parametrize("value", [10, 1.5, None])
def test_numbers_are_no_durations(value: Any) -> None:
    with pytest.raises(TypeError, match=r"a duration is a text such as '10 minutes' or a datetime\.timedelta, not"):
        micros(value)
