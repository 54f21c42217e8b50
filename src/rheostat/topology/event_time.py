"""How the rows of a stream are placed in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from rheostat.types import micros_sql
from rheostat.windows.partials import quoted


@dataclass(frozen=True)
class EventTime:
    """How the rows of a stream are placed in time.

    Attributes:
        sql: Spark SQL for the event time in microseconds since 1970.
        type: type of the timestamps it comes from.
        columns: the columns the SQL reads; a map has to keep them.
    """

    sql: str
    type: str
    columns: tuple[str, ...]

    @classmethod
    def of_column(cls, column: str, type_: str) -> Self:
        """Rows are at the time that a column says.

        >>> EventTime.of_column("ts", "timestamp").sql
        'unix_micros(`ts`)'
        """
        return cls(micros_sql(quoted(column), type_), type_, (column,))

    @classmethod
    def of_window_end(cls, column: str, type_: str) -> Self:
        """Results of windows are at the last instant of their window, so windows over windows close with them.

        >>> EventTime.of_window_end("window_end", "timestamp").sql
        'unix_micros(window_end) - 1'
        """
        return cls(f"{micros_sql(column, type_)} - 1", type_, (column,))
