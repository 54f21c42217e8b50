"""Loan applications: the stream of Enorm's motivating example (section 2), computed from a row counter.

The columns are the paper's: user, area, date, approval, amount, return, lendingTime, income. Each value depends only on
the counter, so the stream can be replayed. The columns are SQL expressions over the rows of Spark's ``rate`` source.
"""

from __future__ import annotations

from rheostat.durations import Duration, micros

AREAS = 50
USERS = 100_000
JITTER = "8 seconds"
"""Event time by which rows may be out of order."""

_START = 1_767_225_600_000_000  # 2026-01-01 00:00 UTC


def columns(rows_per_second: int, speed: float = 1.0, jitter: Duration = JITTER) -> list[str]:
    """Return SELECT expressions over ``value`` (a counter) and ``timestamp`` (when the row was made).

    Args:
        rows_per_second: rate of the counter.
        speed: seconds of event time per second of real time.
        jitter: event time by which rows may be out of order.

    >>> [c.rsplit(" ", 1)[1] for c in columns(1_000)]
    ['user', 'area', 'date', 'approval', 'amount', 'return', 'lendingTime', 'income', 'arrived']
    """
    step = speed * 1_000_000 / rows_per_second
    amount = f"round(500 + {_uniform(4)} * 20000, 2)"
    rate = f"(0.02 + 0.25 * {_uniform(5)} * {_uniform(6)})"
    months = f"cast(6 + {_uniform(7)} * 54 as int)"
    event_time = f"{_START} + cast(value * {step!r} as bigint) + pmod(xxhash64(value, 8), {max(micros(jitter), 1)})"
    return [
        f"concat('u', pmod(xxhash64(value, 1), {USERS})) as user",
        # The square gives the first areas several times the loans of the last.
        f"concat('area-', lpad(cast(floor({AREAS} * {_uniform(2)} * {_uniform(2)}) as string), 2, '0')) as area",
        f"timestamp_micros({event_time}) as date",
        f"{_uniform(3)} < 0.62 as approval",
        f"{amount} as amount",
        f"round({amount} * (1 + {rate} * {months} / 12), 2) as return",
        f"{months} as lendingTime",
        f"round(15000 + {_uniform(9)} * {_uniform(9)} * 150000, 0) as income",
        "timestamp as arrived",
    ]


def _uniform(salt: int) -> str:
    """Return an SQL expression for a number in [0, 1) that depends only on the counter."""
    return f"(pmod(xxhash64(value, {salt}), 1000000) / 1e6)"
