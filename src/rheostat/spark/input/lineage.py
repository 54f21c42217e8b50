"""What a map does to rows, read from Spark's own plan.

Watermarks and row counts are those of the source. If the maps between a source and a table only project, the partials
of the table carry both. Otherwise rows are counted as Spark reads them, at a small cost per row. A map that groups or
sorts would do so separately in every epoch, with results that depend on where epochs begin, so such a map is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

_PROJECTIONS = frozenset({"Project", "SubqueryAlias", "View"})
_ROW_BY_ROW = _PROJECTIONS | {"Filter", "MapInArrow", "PythonMapInArrow"}
_STATEFUL = frozenset(
    {
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Distinct",
        "FlatMapGroupsInPandas",
        "FlatMapGroupsInArrow",
        "FlatMapGroupsInPandasWithState",
        "GlobalLimit",
        "LocalLimit",
        "Offset",
        "Sort",
        "Tail",
        "TransformWithStateInPySpark",
        "Window",
    }
)


def keeps_rows(source: DataFrame, mapped: DataFrame, event_time: str) -> bool:
    """True if ``mapped`` has the rows of ``source``, one for one, with the event time unchanged."""
    if any(node.nodeName() not in _PROJECTIONS for node in _steps(source, mapped)):
        return False
    return bool(_identity(source, event_time) == _identity(mapped, event_time))


def is_fixed(source: DataFrame, mapped: DataFrame) -> bool:
    """True if a plan for ``mapped`` can be used for the rows of any epoch: rows alone decide what it gives.

    A plan that reads other tables, the clock or random numbers is made anew in every epoch.
    """
    steps = list(_steps(source, mapped))
    if not steps:
        return True  # whatever the source reads has been read when its rows arrive
    if any(node.nodeName() not in _ROW_BY_ROW for node in steps):
        return False
    jvm, plan = mapped.sparkSession.sparkContext._jvm, _plan(mapped)
    assert jvm is not None
    current = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    return bool(plan.deterministic()) and not plan.containsPattern(current)


def stateful_step(original: DataFrame, mapped: DataFrame) -> str | None:
    """The name of a step of the map that does not work row by row; None if all do."""
    return next((n.nodeName() for n in _steps(original, mapped) if n.nodeName() in _STATEFUL), None)


def rewrites(original: DataFrame, mapped: DataFrame, column: str) -> bool:
    """True if the map computes a new value for the column instead of passing it on."""
    for node in _steps(original, mapped):
        if node.nodeName() != "Project":
            continue
        for expression in _items(node.projectList()):
            if expression.name() == column and expression.nodeName() == "Alias":
                return bool(expression.child().nodeName() != "AttributeReference")
    return False


def _steps(original: DataFrame, mapped: DataFrame) -> Iterator[Any]:
    """The nodes of the plan of ``mapped`` above the plan of ``original``, from the top."""
    origin = _plan(original)
    pending = [_plan(mapped)]
    while pending:
        node = pending.pop()
        if not node.sameResult(origin):
            yield node
            pending += _items(node.children())


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _identity(frame: DataFrame, column: str) -> Any:
    """Spark's id of a column, which changes when the column is computed again; None if there is no such column."""
    return next((str(a.exprId()) for a in _items(_plan(frame).output()) if a.name() == column), None)
