"""The time of a call of the user's function, and its result."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from rheostat.arrays import Floats, Ints


@dataclass(frozen=True)
class CallMoment:
    """The time of a call of the user's function.

    Attributes:
        epoch: number of the epoch.
        watermark: the watermark in microseconds; None until an epoch with rows is committed.
        now: the time by which state expires, in microseconds; None if nothing expires.
    """

    epoch: int
    watermark: int | None
    now: int | None = None


@dataclass(frozen=True)
class CallResult:
    """The result of a call of the user's function.

    Attributes:
        output: output rows in the declared columns and types; None if there are none.
        state: the state rows of changed and removed keys, in the columns of the layout.
        wakes: keys with new timers: hash, key columns, and the time as ``start``; None if there are none.
        costs: routing hashes, and the seconds spent on each; None if time was not measured by key.
    """

    output: pa.Table | None
    state: pl.DataFrame
    wakes: pl.DataFrame | None = None
    costs: tuple[Ints, Floats] | None = None
