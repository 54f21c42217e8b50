"""Whether a map keeps every row, read off Spark's own plan.

Watermarks and row counts belong to the source. If the maps in between only project, both can be had from the partials
for free; otherwise rows have to be observed where they enter, at a small cost per row.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

_PROJECTIONS = frozenset({"Project", "SubqueryAlias", "View"})


def keeps_rows(source: DataFrame, mapped: DataFrame, event_time: str) -> bool:
    """Whether ``mapped`` has the rows of ``source``, one for one, with the event time untouched."""
    given, plan = source._jdf.queryExecution().analyzed(), mapped._jdf.queryExecution().analyzed()
    while not plan.sameResult(given):
        if plan.nodeName() not in _PROJECTIONS or plan.children().size() != 1:
            return False
        plan = plan.children().apply(0)
    return bool(_identity(source, event_time) == _identity(mapped, event_time))


def _identity(frame: DataFrame, column: str) -> Any:
    """Spark's identity of an attribute: a column that is computed anew gets a new one."""
    output = frame._jdf.queryExecution().analyzed().output()
    attributes = [output.apply(i) for i in range(output.size())]
    return next((str(a.exprId()) for a in attributes if a.name() == column), None)
