"""Refuses maps that do not work row by row, judged by Spark's own plan of the mapped frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rheostat.errors import TopologyError
from rheostat.spark.input.lineage import rewrites, stateful_step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_map(name: str, original: DataFrame, mapped: DataFrame, time_columns: Iterable[str]) -> None:
    """Refuse a map that groups, sorts or drops duplicates, or that changes the event time of rows.

    Args:
        name: name of the map operator.
        original: the frame before the map.
        mapped: the frame after the map.
        time_columns: the event-time columns.

    Raises:
        TopologyError: the map is refused.
    """
    if (stateful := stateful_step(original, mapped)) is not None:
        raise TopologyError(
            f"operator {name!r} is a map, and maps work row by row, but its plan contains {stateful}: "
            "use aggregate(...) for aggregates, and do the rest before source(...)"
        )
    for column in time_columns:
        if rewrites(original, mapped, column):
            raise TopologyError(
                f"operator {name!r} changes the event-time column {column!r}, on which the watermark depends: "
                "compute it before source(...), or store the new value in another column"
            )
