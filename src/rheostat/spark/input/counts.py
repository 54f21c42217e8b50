"""Counting the rows of sources: for free from the partials where possible, by observing them where not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.physical import PhysicalPlan
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.spark.input.lineage import keeps_rows
from rheostat.spark.stage.specs import PartReport
from rheostat.topology.graph import Graph
from rheostat.topology.nodes import Source
from rheostat.types import micros_sql
from rheostat.windows.partials import quoted

Observed = dict[str, int | None]
"""Rows, nulls and newest time of a source, as Spark counted them."""

_PREFIX = "rheostat rows of "


@dataclass(frozen=True)
class Counts:
    """What an epoch brought from one source. ``late`` rows missed a window, ``dropped`` ones every window."""

    rows: int = 0
    nulls: int = 0
    max_time: int | None = None
    late: int = 0
    dropped: int = 0


class SourceCounter:
    """Counts one source. Decides once, from the topology, where its rows can be counted."""

    def __init__(self, graph: Graph, plan: PhysicalPlan, source: Source, template: DataFrame) -> None:
        self._source = source
        self._time_sql = micros_sql(quoted(source.event_time), source.event_time_type)
        self._tables = [t for t in plan.tables.values() if t.source == source.name and t.level == 0]
        self._counting: str | None = None
        for table in self._tables:
            mapped = template
            for step in graph.path_to(table.upstream):
                mapped = step.function(mapped)
            if table.finer is None and keeps_rows(template, mapped, source.event_time):
                self._counting = table.name
                break

    @property
    def must_observe(self) -> bool:
        """Whether rows have to be counted where they enter."""
        return self._counting is None

    def observe(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted as they pass. They must pass exactly once; ``observed_in`` has the counts then."""
        return rows.observe(_PREFIX + self._source.name, *self._expressions())

    def count(self, rows: DataFrame) -> Observed:
        """Counted in a pass of their own."""
        return rows.agg(*self._expressions()).collect()[0].asDict()

    def counts(self, reports: Iterable[PartReport], observed: Observed | None) -> Counts:
        """The counts of an epoch, from what slots reported and what was observed."""
        reports = list(reports)
        if self.must_observe:
            counts = _of_observed(observed) if observed is not None else Counts()
        else:
            counts = self._seen(reports)
        late, dropped = [], []
        for table in self._tables:
            done = [r.tables[table.name] for r in reports if table.name in r.tables]
            late.append(sum(d.late for d in done))
            dropped.append(sum(d.dropped for d in done))
        # What is late is a matter of time alone: the table that lost most lost what all others lost.
        return replace(counts, late=max(late, default=0), dropped=min(dropped, default=0))

    def _seen(self, reports: Sequence[PartReport]) -> Counts:
        done = [r.tables[self._counting] for r in reports if self._counting in r.tables]
        newest = [d.max_time for d in done if d.max_time is not None]
        return Counts(sum(d.rows for d in done), sum(d.nulls for d in done), max(newest, default=None))

    def _expressions(self) -> list[Column]:
        time = self._time_sql
        return [
            F.expr("count(*)").alias("rows"),
            F.expr(f"count_if({time} IS NULL)").alias("nulls"),
            F.expr(f"max({time})").alias("max_time"),
        ]


def observed_in(done: DataFrame) -> dict[str, Observed]:
    """What was observed while a DataFrame was computed, by source; read off its plan, so there is no waiting."""
    metrics = done._jdf.queryExecution().observedMetrics()
    names = metrics.keySet().toSeq()
    observed = {}
    for i in range(names.size()):
        name, row = names.apply(i), metrics.apply(names.apply(i))
        fields = row.schema().fieldNames()
        observed[name.removeprefix(_PREFIX)] = {field: row.get(j) for j, field in enumerate(fields)}
    return observed


def rows_by_shard(plan: PhysicalPlan, shards: int, rows: EpochStreams) -> dict[str, dict[int, int]]:
    """Per component of the first level, how many rows of the epoch each shard has: a look ahead, for balancing."""
    counted: dict[str, dict[int, int]] = {}
    for component in plan.components_at(0):
        if not component.attributes:
            continue
        streams = [plan.tables[t].upstream for t in component.tables if t in plan.tables]
        streams += [u for t in component.tables if t in plan.keyed for u in plan.keyed[t].process.upstreams]
        hashed = f"xxhash64({', '.join(quoted(a) for a in component.attributes)})"
        selects = [
            f"SELECT {shard_sql(hashed, shards)} AS shard FROM {rows.view(stream)}" for stream in dict.fromkeys(streams)
        ]
        counts = rows.spark.sql(f"SELECT shard, count(*) FROM ({' UNION ALL '.join(selects)}) GROUP BY shard")
        counted[component.name] = {int(shard): int(count) for shard, count in counts.collect()}
    return counted


def _of_observed(observed: Observed) -> Counts:
    return Counts(observed["rows"] or 0, observed["nulls"] or 0, observed["max_time"])
