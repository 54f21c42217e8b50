"""Convert durations between text ("10 minutes") and whole microseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from rheostat.errors import TopologyError

_EXPECTED = "a text such as '10 minutes' or a datetime.timedelta"

_UNITS: dict[str, int] = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_ABBREVIATIONS = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")

Duration = str | timedelta


def micros(duration: Duration) -> int:
    """Return a duration in microseconds.

    >>> micros("10 minutes"), micros("1 hour 30 min"), micros("250ms")
    (600000000, 5400000000, 250000)

    Months and years have no fixed length, so they are an error. So is a fraction of a microsecond.

    >>> micros("1 month")
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: '1 month' is not a duration: use weeks, days, hours, minutes, seconds, ...
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if not isinstance(duration, str):
        raise TypeError(f"a duration is {_EXPECTED}, not {duration!r}")
    total, position = Fraction(0), 0
    while position < len(duration):
        match = _PART.match(duration, position)
        unit = _unit(match[2]) if match else None
        if match is None or unit is None:
            raise TopologyError(
                f"{duration!r} is not a duration: use weeks, days, hours, minutes, seconds, "
                "milliseconds or microseconds, as in '1 hour 30 minutes'"
            )
        total += Fraction(match[1]) * _UNITS[unit]
        position = match.end()
    if position == 0 or total.denominator != 1:
        raise TopologyError(f"{duration!r} is not a whole number of microseconds")
    return int(total)


def label(duration: int) -> str:
    """Return the duration as text, in the largest unit that gives a whole number.

    Args:
        duration: microseconds, 0 or more.

    >>> label(600_000_000), label(5_400_000_000), label(86_400_000_000), label(0)
    ('10 minutes', '90 minutes', '1 day', '0 seconds')
    """
    if duration == 0:
        return "0 seconds"
    for unit in reversed(_UNITS):
        amount, remainder = divmod(duration, _UNITS[unit])
        if remainder == 0 and amount:
            return f"{amount} {unit}{'s' if amount != 1 else ''}"
    raise AssertionError("unreachable: every integer is a whole number of microseconds")


def _unit(text: str) -> str | None:
    """Return the unit that a user wrote as a key of ``_UNITS``, or None if it is unknown."""
    name = text.lower()
    name = _ABBREVIATIONS.get(name, name)
    singular = name[:-1] if name.endswith("s") else name
    return next((unit for unit in (name, singular) if unit in _UNITS), None)
