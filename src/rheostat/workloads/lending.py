"""Loan applications: the stream of Enorm's motivating example (section 2), made up from a row counter.

The schema is the paper's: user, area, date, approval, amount, return, lendingTime, income. Every value follows from the
counter alone, so the stream can be replayed. It is SQL text, so that Spark's ``rate`` source can feed it.
"""

from __future__ import annotations

from rheostat.durations import Duration, micros

AREAS = 50
USERS = 100_000
JITTER = "8 seconds"
"""Rows are out of order by up to this much event time."""

_START = 1_767_225_600_000_000  # 2026-01-01 00:00 UTC


def columns(rows_per_second: int, speed: float = 1.0, jitter: Duration = JITTER) -> list[str]:
    """SELECT expressions over ``value`` (a counter) and ``timestamp`` (when the row was made).

    Args:
        rows_per_second: how fast the counter runs.
        speed: seconds of event time per second of real time.

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
        # Squared: the first areas have several times the loans of the last.
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
    """A number in [0, 1) that follows from the counter."""
    return f"(pmod(xxhash64(value, {salt}), 1000000) / 1e6)"
