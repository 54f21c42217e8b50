"""When user logic is called, and what a call gives."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from rheostat.arrays import Floats, Ints


@dataclass(frozen=True)
class CallMoment:
    """When user logic is called.

    Attributes:
        epoch: number of the epoch.
        watermark: the watermark in microseconds; None before the first epoch is committed.
        now: the time that time to live is measured by, in microseconds; None if nothing expires.
    """

    epoch: int
    watermark: int | None
    now: int | None = None


@dataclass(frozen=True)
class CallResult:
    """What a call of user logic gives.

    Attributes:
        output: rows with the declared columns and types; None if there are none.
        state: state rows to keep, in the columns of the layout.
        wakes: keys with new timers: hash, key columns and ``start``; None if there are none.
        costs: routing hashes and the seconds spent on each; None if time was not measured key by key.
    """

    output: pa.Table | None
    state: pl.DataFrame
    wakes: pl.DataFrame | None = None
    costs: tuple[Ints, Floats] | None = None
