"""Rows kept aside: late ones, and those without event time. Looked for only in epochs that have some."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rheostat.planning.physical import WindowTable
from rheostat.windows.window import Window

REASON = "reason"


def rows_aside(
    rows: DataFrame, time_sql: str, tables: Iterable[WindowTable], watermark: int | None, *, late: bool, nulls: bool
) -> DataFrame:
    """The rows of a source that are to be kept aside, with the reason."""
    windows = {g.window for t in tables for g in t.plan.granules if g.requested}
    missed = " OR ".join(_missed(time_sql, w, watermark) for w in sorted(windows)) if watermark is not None else "false"
    reasons = []
    if nulls:
        reasons.append(f"WHEN {time_sql} IS NULL THEN 'null'")
    if late:
        reasons.append(f"WHEN {missed} THEN 'late'")
    return rows.withColumn(REASON, F.expr(f"CASE {' '.join(reasons)} END")).where(f"{REASON} IS NOT NULL")


def _missed(time_sql: str, window: Window, watermark: int | None) -> str:
    """Whether the first instance that contains a row ended at or before the watermark."""
    size, slide = window.size, window.slide
    first = f"({time_sql} - {size}L - pmod({time_sql} - {size}L - {window.offset}L, {slide}L) + {slide}L)"
    return f"({first} <= {time_sql} AND {first} + {size}L <= {watermark}L)"
