"""What an epoch brought from every source: rows, nulls, late rows and the newest event time.

They come for free from the task reports where some table sees every row of the source. Otherwise rows are counted where
they enter, at a small cost per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rheostat.planning.tables import PhysicalPlan
from rheostat.spark.input.lineage import keeps_rows
from rheostat.spark.stage.task_reports import PartReport
from rheostat.state.manifest import SourceState
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source

Observed = dict[str, int | None]
"""``rows``, ``nulls`` and ``max_time`` of a source, as Spark counted them."""

_PREFIX = "rheostat rows of "


@dataclass(frozen=True, kw_only=True)
class SourceCounts:
    """What an epoch brought from one source.

    Attributes:
        rows: rows that came in, including those without event time.
        nulls: rows without event time.
        max_time: newest event time, in microseconds; None if no row had one.
        late: rows that missed a window.
        dropped: late rows that missed every window.
    """

    rows: int = 0
    nulls: int = 0
    max_time: int | None = None
    late: int = 0
    dropped: int = 0

    def add_to(self, old: SourceState) -> SourceState:
        """How far the source has come, given how far it was before the epoch."""
        return SourceState(
            max_time=max((t for t in (old.max_time, self.max_time) if t is not None), default=None),
            rows=old.rows + self.rows,
            late=old.late + self.late,
            dropped=old.dropped + self.dropped,
            nulls=old.nulls + self.nulls,
        )


class SourceCounter:
    """Counts one source. Where its rows are counted is decided once, from the topology.

    Args:
        graph: the topology.
        plan: its plan.
        source: the source to count.
    """

    def __init__(self, graph: Graph, plan: PhysicalPlan, source: Source) -> None:
        self._source = source
        self._tables = [t for t in plan.tables_at(0) if t.clock == source.name]
        self._counting: str | None = None
        for table in self._tables:
            mapped = source.frame
            for step in graph.path_to(table.upstream):
                mapped = step.function(mapped)
            if table.finer is None and keeps_rows(source.frame, mapped, source.event_time):
                self._counting = table.name
                break

    @property
    def must_observe(self) -> bool:
        """True if no table sees every row, so that rows must be counted where they enter."""
        return self._counting is None

    def observe(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted as they pass. They must pass exactly once; ``read_observed`` then has the counts."""
        return rows.observe(_PREFIX + self._source.name, *self._expressions())

    def count(self, rows: DataFrame) -> Observed:
        """The same counts, in a job of their own."""
        return rows.agg(*self._expressions()).collect()[0].asDict()

    def counts(self, reports: Iterable[PartReport], observed: Observed | None) -> SourceCounts:
        """The counts of an epoch.

        Args:
            reports: what the tasks of the first level reported.
            observed: what was counted where rows enter; None if it was not needed.
        """
        reports = list(reports)
        if self.must_observe:
            counts = _from_observed(observed) if observed is not None else SourceCounts()
        else:
            counts = self._from_reports(reports)
        late, dropped = [], []
        for table in self._tables:
            done = [r.tables[table.name] for r in reports if table.name in r.tables]
            late.append(sum(d.late for d in done))
            dropped.append(sum(d.dropped for d in done))
        # Lateness depends on time alone: the table that lost most rows lost those that all others lost.
        return replace(counts, late=max(late, default=0), dropped=min(dropped, default=0))

    def _from_reports(self, reports: Sequence[PartReport]) -> SourceCounts:
        done = [r.tables[self._counting] for r in reports if self._counting in r.tables]
        newest = [d.max_time for d in done if d.max_time is not None]
        return SourceCounts(
            rows=sum(d.rows for d in done), nulls=sum(d.nulls for d in done), max_time=max(newest, default=None)
        )

    def _expressions(self) -> list[Column]:
        time = self._source.time_sql
        return [
            F.expr("count(*)").alias("rows"),
            F.expr(f"count_if({time} IS NULL)").alias("nulls"),
            F.expr(f"max({time})").alias("max_time"),
        ]


def read_observed(done: DataFrame) -> dict[str, Observed]:
    """What was observed while a DataFrame was computed, by source; read off its plan, so nothing waits for it."""
    metrics = done._jdf.queryExecution().observedMetrics()
    names = metrics.keySet().toSeq()
    observed = {}
    for i in range(names.size()):
        name, row = names.apply(i), metrics.apply(names.apply(i))
        fields = row.schema().fieldNames()
        observed[name.removeprefix(_PREFIX)] = {field: row.get(j) for j, field in enumerate(fields)}
    return observed


def _from_observed(observed: Observed) -> SourceCounts:
    return SourceCounts(rows=observed["rows"] or 0, nulls=observed["nulls"] or 0, max_time=observed["max_time"])
