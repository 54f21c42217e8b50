"""Changes how much the sources of a running Spark query read per micro-batch.

Options such as ``maxOffsetsPerTrigger`` are fixed when a stream is built. But Spark's micro-batch execution keeps a map
from every source to its read limit, and passes the limit to the source when it plans the next micro-batch. Another
limit in that map counts from then on, without a restart; to put it there takes about a millisecond. Sources that take
no limit cannot be changed. Nor are sources whose kind of limit is not known here: a source may fail if it is given a
kind that it does not expect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

Unit = Literal["rows", "files"]
"""What the limit of a source counts."""

_UNITS: dict[str, Unit] = {"ReadMaxRows": "rows", "ReadMaxFiles": "files"}
"""By the class of the limit that a user set, what it counts."""

_WITHOUT_LIMIT: dict[str, Unit] = {"KafkaMicroBatchStream": "rows", "KafkaSource": "rows", "FileStreamSource": "files"}
"""By the class of a source for which no limit is set, what its limits count."""


@dataclass(frozen=True)
class LimitedSource:
    """A source whose limit can be changed.

    Attributes:
        number: its number among the sources of the query, as in Spark's progress and offset log.
        source: the source, in the JVM.
        unit: what its limit counts.
        most: the limit that the user set, which is never exceeded; None if there is none.
    """

    number: int
    source: Any
    unit: Unit
    most: int | None


class SourceLimits:
    """The limits of the sources of a running query. Spark must have planned its first micro-batch.

    Args:
        query: the Spark query.
        spark: its session.

    Attributes:
        sources: the sources whose limit can be changed.
        fixed: the other sources and why, in words.
        count: the number of all sources.
    """

    def __init__(self, query: StreamingQuery, spark: SparkSession) -> None:
        self._execution = query._jsq.streamingQuery()
        self._streaming: Any = spark._jvm.org.apache.spark.sql.connector.read.streaming  # type: ignore[union-attr]
        self._admission = spark._jvm.java.lang.Class.forName(  # type: ignore[union-attr]
            "org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl"
        )
        self.sources: list[LimitedSource] = []
        self.fixed: list[str] = []
        sources = self._execution.sources()
        self.count = int(sources.size())
        for number in range(self.count):
            self._add(number, sources.apply(number))

    def set(self, limits: Mapping[int, int]) -> None:
        """Set limits for the micro-batches that are not planned yet.

        Args:
            limits: by number of the source, the limit in its own unit; less than 1 counts as 1.
        """
        current = self._execution.uniqueSources()
        for limited in self.sources:
            if limited.number in limits:
                wanted = limits[limited.number]
                allowed = max(wanted if limited.most is None else min(wanted, limited.most), 1)
                make = (
                    self._streaming.ReadLimit.maxRows if limited.unit == "rows" else self._streaming.ReadLimit.maxFiles
                )
                current = current.updated(limited.source, make(allowed))
        getattr(self._execution, "uniqueSources_$eq")(current)

    def _add(self, number: int, source: Any) -> None:
        name, kind = source.toString().split("[")[0], source.getClass().getSimpleName()
        if not self._admission.isInstance(source):
            self.fixed.append(f"{name} takes no limit")
            return
        own = source.getDefaultReadLimit()
        limit = own.getClass().getSimpleName()
        if limit in _UNITS:
            most = own.maxRows() if _UNITS[limit] == "rows" else own.maxFiles()
            self.sources.append(LimitedSource(number, source, _UNITS[limit], int(most)))
        elif limit == "ReadAllAvailable" and kind in _WITHOUT_LIMIT:
            self.sources.append(LimitedSource(number, source, _WITHOUT_LIMIT[kind], None))
        else:
            self.fixed.append(f"the limit of {name} is of another kind ({own.toString()})")
