"""Counts of an epoch for every source: rows, nulls, late rows and the newest event time.

If some table sees every row of the source, the task reports have the counts at no extra cost. Otherwise rows are
counted as Spark reads them, at a small cost per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.epoch.ahead_counts import Totals, Wanted
from rheostat.spark.input.lineage import keeps_rows
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.manifest import SourceState
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

Observed = dict[str, int | None]
"""``rows``, ``nulls`` and ``max_time`` of a source, counted by Spark."""

_PREFIX = "rheostat rows of "

_PATIENCE = 60
"""Seconds to wait for the counts of rows that have been written; they come with an event of Spark."""


@dataclass(frozen=True, kw_only=True)
class SourceCounts:
    """The counts of one source in one epoch.

    Attributes:
        rows: rows read, including rows without event time.
        nulls: rows without event time.
        max_time: newest event time, in microseconds; None if no row had one.
        late: rows that missed at least one window.
        dropped: rows that missed every window.
    """

    rows: int = 0
    nulls: int = 0
    max_time: int | None = None
    late: int = 0
    dropped: int = 0

    def add_to(self, old: SourceState) -> SourceState:
        """The state of the source after the epoch, given its state before."""
        return SourceState(
            max_time=max((t for t in (old.max_time, self.max_time) if t is not None), default=None),
            rows=old.rows + self.rows,
            late=old.late + self.late,
            dropped=old.dropped + self.dropped,
            nulls=old.nulls + self.nulls,
        )


class SourceCounter:
    """Counts the rows of one source. The topology decides, once, where they are counted.

    Args:
        graph: the topology.
        plan: its physical plan.
        source: the source to count.
    """

    def __init__(self, graph: Graph, plan: PhysicalPlan, source: Source) -> None:
        self._source = source
        self._tables = [t for t in plan.tables_at(0) if t.clock == source.name]
        self._counting_table: str | None = None
        for table in self._tables:
            mapped = source.frame
            for step in graph.path_to(table.upstream):
                mapped = step.function(mapped)
            if table.finer is None and keeps_rows(source.frame, mapped, source.event_time):
                self._counting_table = table.name
                break

    @property
    def must_observe(self) -> bool:
        """True if no table sees every row, so that rows must be counted as Spark reads them."""
        return self._counting_table is None

    def observe(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted while Spark computes them. ``read_observed`` returns the counts.

        The rows must be computed exactly once.
        """
        return rows.observe(_PREFIX + self._source.name, *self._expressions())

    def observe_write(self) -> CountedWrite:
        """Counts rows while Spark writes them to files, which returns no metrics."""
        return CountedWrite(self._expressions())

    def count(self, rows: DataFrame) -> Observed:
        """The same counts as with ``observe``, from a Spark job of their own."""
        return rows.agg(*self._expressions()).collect()[0].asDict()

    def counts(self, reports: Iterable[PartReport], observed: Observed | None) -> SourceCounts:
        """The counts of an epoch.

        Args:
            reports: the task reports of the first level.
            observed: the counts made as Spark read the rows; None if they were not needed.
        """
        reports = list(reports)
        if self.must_observe:
            counts = _from_observed(observed) if observed is not None else SourceCounts()
        else:
            counts = self._from_reports(reports)
        late, dropped = [], []
        for table in self._tables:
            table_reports = [r.tables[table.name] for r in reports if table.name in r.tables]
            late.append(sum(t.late for t in table_reports))
            dropped.append(sum(t.dropped for t in table_reports))
        # Lateness depends on time alone: the late rows of one table include those of any table with fewer. So the
        # largest number counts rows that were late for some table, and the smallest those that all tables dropped.
        return replace(counts, late=max(late, default=0), dropped=min(dropped, default=0))

    def _from_reports(self, reports: Sequence[PartReport]) -> SourceCounts:
        table_reports = [r.tables[self._counting_table] for r in reports if self._counting_table in r.tables]
        return SourceCounts(
            rows=sum(t.rows for t in table_reports),
            nulls=sum(t.nulls for t in table_reports),
            max_time=max((t.max_time for t in table_reports if t.max_time is not None), default=None),
        )

    @property
    def wanted(self) -> list[Wanted]:
        """The counts as aggregates over the rows of the source."""
        time = self._source.time_sql
        return [
            Wanted("rows", "count(*)", "sum"),
            Wanted("nulls", f"count_if({time} IS NULL)", "sum"),
            Wanted("max_time", f"max({time})", "max"),
        ]

    def total(self, groups: Iterable[Totals]) -> Observed:
        """The counts of all rows, given ``wanted`` for every group of them."""
        every = list(groups)
        return {
            "rows": sum(group["rows"] or 0 for group in every),
            "nulls": sum(group["nulls"] or 0 for group in every),
            "max_time": max((t for group in every if (t := group["max_time"]) is not None), default=None),
        }

    def _expressions(self) -> list[Column]:
        return [F.expr(wanted.sql).alias(wanted.name) for wanted in self.wanted]


class CountedWrite:
    """Counts of rows that Spark writes to files.

    Args:
        expressions: what to count.
    """

    def __init__(self, expressions: Sequence[Column]) -> None:
        self._expressions = expressions
        self._observation = Observation()

    def observe(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted while they are written. They must be written exactly once."""
        return rows.observe(self._observation, *self._expressions)

    def read(self, spark: SparkSession) -> Observed:
        """The counts, once the rows are written."""
        jvm, observation = spark.sparkContext._jvm, self._observation._jo
        assert jvm is not None
        assert observation is not None
        patience = jvm.scala.concurrent.duration.Duration.create(_PATIENCE, "seconds")
        jvm.scala.concurrent.Await.ready(observation.future(), patience)
        return _fields(observation.getRow())


def read_observed(metrics: Any) -> dict[str, Observed]:
    """By source, the counts made while a stage ran.

    Args:
        metrics: Spark's observed metrics of the stage, a Scala map from name to row. They are there at once, where
            ``Observation.get`` would wait for an event.
    """
    names = metrics.keySet().toSeq()
    observed = {}
    for i in range(names.size()):
        name = names.apply(i)
        observed[name.removeprefix(_PREFIX)] = _fields(metrics.apply(name))
    return observed


def _fields(row: Any) -> Observed:
    """The values of a row of the JVM by name."""
    return {field: row.get(i) for i, field in enumerate(row.schema().fieldNames())}


def _from_observed(observed: Observed) -> SourceCounts:
    return SourceCounts(rows=observed["rows"] or 0, nulls=observed["nulls"] or 0, max_time=observed["max_time"])
