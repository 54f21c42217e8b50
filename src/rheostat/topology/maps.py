"""Maps in Python: turns a function over Arrow batches into a function over DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from rheostat.errors import OperatorError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FrameMap = Callable[["DataFrame"], "DataFrame"]
"""A map over DataFrames, in Spark expressions."""

BatchMap = Callable[[pa.RecordBatch], pa.RecordBatch | pa.Table]
"""A map over Arrow batches, in Python."""


def arrow_map(name: str, function: BatchMap, schema: str) -> FrameMap:
    """A DataFrame function that runs a Python function over the Arrow batches of every task.

    Args:
        name: the operator's name, for errors.
        function: the user's function.
        schema: the columns it returns, as Spark DDL.
    """

    def over_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                result = function(batch)
            except Exception as error:
                raise OperatorError.caused_by(name, "", error) from error
            if isinstance(result, pa.RecordBatch):
                yield result
            elif isinstance(result, pa.Table):
                yield from result.to_batches()
            else:
                raise OperatorError(name, f"the function returned {type(result).__name__}, not an Arrow batch or table")

    return lambda frame: frame.mapInArrow(over_batches, schema)
