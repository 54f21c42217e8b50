"""The event time of a stream's rows, as Spark SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from rheostat.types import micros_sql
from rheostat.windows.partials import quoted


@dataclass(frozen=True)
class EventTime:
    """The event time of a stream's rows.

    Attributes:
        sql: Spark SQL for the event time in microseconds since 1970.
        type: Spark SQL type of the timestamp column it is computed from.
        columns: the columns that the SQL reads; maps must keep them.
    """

    sql: str
    type: str
    columns: tuple[str, ...]

    @classmethod
    def of_column(cls, column: str, type_: str) -> Self:
        """The event time is a timestamp column.

        >>> EventTime.of_column("ts", "timestamp").sql
        'unix_micros(`ts`)'
        """
        return cls(micros_sql(quoted(column), type_), type_, (column,))

    @classmethod
    def of_window_end(cls, column: str, type_: str) -> Self:
        """The event time is the last microsecond of a window, so a result falls into the windows that end with its own.

        >>> EventTime.of_window_end("window_end", "timestamp").sql
        'unix_micros(window_end) - 1'
        """
        return cls(f"{micros_sql(column, type_)} - 1", type_, (column,))
