"""Numbers with their units, as the reasons of decisions print them."""

from __future__ import annotations

from math import inf


def rows_per_second(rate: float) -> str:
    """Return a rate as text, with three or four significant digits.

    >>> [rows_per_second(rate) for rate in (0.5, 1500.0, 12_345.0, 193_700.0, 2.5e7)]
    ['0.5 rows/s', '1500 rows/s', '12.3 k rows/s', '194 k rows/s', '25.0 M rows/s']
    """
    if not 1e4 <= rate < inf:
        return f"{rate:.4g} rows/s"
    number, unit = (rate / 1e6, "M") if rate >= 1e7 else (rate / 1e3, "k")
    return f"{number:,.0f} {unit} rows/s" if number >= 100 else f"{number:.1f} {unit} rows/s"
