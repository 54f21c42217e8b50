"""The arrival time that some sources give by themselves, where the user names none.

Only a column that a source of a known kind fills, and that reaches the table unchanged, is taken. A column with the
right name but another origin may be an event time, and the latency measured with it would be wrong.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

_KINDS = frozenset({"kafka", "rate", "socket"})
"""Sources whose column ``timestamp`` says when a row came into being or was received."""

_COLUMN = "timestamp"


def natural_arrival(frame: DataFrame) -> str | None:
    """The column of a streaming DataFrame with the arrival time that its source filled in; None if there is none.

    Args:
        frame: the DataFrame, with all maps applied.

    >>> natural_arrival(spark.readStream.format("rate").load().select("timestamp"))
    'timestamp'
    >>> natural_arrival(loans) is None
    True
    """
    plan = frame._jdf.queryExecution().analyzed()
    leaves = plan.collectLeaves()
    if leaves.size() != 1 or leaves.apply(0).nodeName() != "StreamingRelationV2":
        return None
    if leaves.apply(0).sourceName() not in _KINDS:
        return None
    given = _column_ids(leaves.apply(0)).get(_COLUMN)
    return _COLUMN if given is not None and _column_ids(plan).get(_COLUMN) == given else None


def _column_ids(plan: object) -> dict[str, str]:
    """By column, Spark's id of it, which changes when the column is computed again."""
    output = plan.output()  # type: ignore[attr-defined]
    columns = [output.apply(i) for i in range(output.size())]
    return {column.name(): str(column.exprId()) for column in columns}
