"""Selects the rows to keep aside: late rows and rows without event time. Runs only in epochs that have some."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rheostat.windows.lateness import late_sql
from rheostat.windows.window import Window

REASON = "reason"
"""Name of the column with the reason for which a row is kept aside: ``late`` or ``null``."""


def rows_aside(
    rows: DataFrame, time_sql: str, windows: Iterable[Window], watermark: int | None, *, late: bool, nulls: bool
) -> DataFrame:
    """The rows of a source to keep aside, with the reason.

    Args:
        rows: all rows of the source in this epoch.
        time_sql: Spark SQL for a row's event time in microseconds.
        windows: the requested windows over the source.
        watermark: the watermark up to which windows have been closed; None before the first.
        late: True to keep rows that missed at least one window.
        nulls: True to keep rows without event time.
    """
    reasons = []
    if nulls:
        reasons.append(f"WHEN {time_sql} IS NULL THEN 'null'")
    if late:
        missed = "false" if watermark is None else late_sql(time_sql, windows, watermark)
        reasons.append(f"WHEN {missed} THEN 'late'")
    return rows.withColumn(REASON, F.expr(f"CASE {' '.join(reasons)} END")).where(f"{REASON} IS NOT NULL")
