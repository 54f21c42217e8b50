"""The number of rows of each shard in an epoch, counted before routing, for policies that look ahead.

A pass over the rows is on the way of every row, so it costs as little as it can. Tasks that read rows add them up by
shard, and send a few lines of text. Where Spark's plans can be kept, there is no exchange, no planning and no cache:
the source is read once more. Else one task adds up the counts of all. Where the rows are those of a source, the counts
of the source come with them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.tables import Component, PhysicalPlan
from rheostat.spark.input.epoch_streams import EpochStreams, with_few_partitions
from rheostat.spark.stage.planned_stages import PlannedStages
from rheostat.windows.partials import quoted

_EXCHANGE = "spark.sql.shuffle.partitions"

_SHARD, _ROWS, _LINE = "rheostat_shard", "rheostat_rows", "rheostat_line"
"""Columns with the number of a shard, of its rows and of its line, which no source has."""

_SHARDS_PER_LINE = 400
"""So that a line is short enough for one message of Py4J: see ``report_wire``."""

Totals = Mapping[str, int | None]
"""The values of wanted aggregates, by name."""


@dataclass(frozen=True)
class Wanted:
    """An aggregate over the rows of a source.

    Attributes:
        name: its name.
        sql: the aggregate, as Spark SQL over rows.
        total: the name of the aggregate function that makes one value of those of several groups.
    """

    name: str
    sql: str
    total: str


@dataclass
class CountedAhead:
    """The rows of an epoch, counted before they are routed.

    Attributes:
        shards: by component with keys of the first level, the number of rows of each shard that has any.
        sources: by source whose own rows were counted, what was asked for of them, for every group of rows.
    """

    shards: dict[str, dict[int, int]] = field(default_factory=dict)
    sources: dict[str, list[Totals]] = field(default_factory=dict)


@dataclass(frozen=True)
class AheadCounter:
    """Counts the rows of each shard, for the components with keys of the first level.

    Attributes:
        plan: the plan of the topology.
        shards: the number of shards.
        wanted: by source, aggregates over its rows that are needed as well.
    """

    plan: PhysicalPlan
    shards: int
    wanted: Mapping[str, Sequence[Wanted]]

    def count(self, streams: EpochStreams, stages: PlannedStages | None) -> CountedAhead:
        """Count the rows of an epoch.

        Args:
            streams: the rows.
            stages: Spark plans of earlier epochs; None if they cannot be used again.
        """
        counted = CountedAhead()
        leaf = streams.input_rows if stages is not None else None
        for component in self.plan.components_at(0):
            if component.attributes:
                upstreams = self._upstreams(component)
                source = upstreams[0] if len(upstreams) == 1 and upstreams[0] not in counted.sources else ""
                wanted = self.wanted.get(source, ())
                if stages is not None and leaf is not None:
                    lines = self._where_read(streams, stages, leaf, component, upstreams, wanted)
                else:
                    lines = self._in_one_task(streams, component, upstreams, wanted)
                found = [json.loads(line) for line in lines]
                counted.shards[component.name] = _added_up(found)
                if source in self.wanted:
                    counted.sources[source] = [{w.name: line.get(w.name) for w in wanted} for line in found]
        return counted

    def _upstreams(self, component: Component) -> list[str]:
        tables, keyed = self.plan.tables, self.plan.keyed
        upstreams = [tables[t].upstream for t in component.tables if t in tables]
        upstreams += [u for t in component.tables if t in keyed for u in keyed[t].process.upstreams]
        return list(dict.fromkeys(upstreams))

    def _where_read(
        self,
        streams: EpochStreams,
        stages: PlannedStages,
        leaf: Any,
        component: Component,
        upstreams: Sequence[str],
        wanted: Sequence[Wanted],
    ) -> list[str]:
        """The lines of all tasks that read rows: each adds up its own."""
        sql = self._sql(component, [streams.view(u) for u in upstreams], wanted, gather=False)
        rows, _ = with_few_partitions(streams.spark, leaf, 1)

        def build() -> DataFrame:
            streams.within_partitions().create_views()
            return streams.spark.sql(sql)

        return stages.collect(f"count {component.name}", sql, build, spark=streams.spark, rows=rows).lines

    def _in_one_task(
        self, streams: EpochStreams, component: Component, upstreams: Sequence[str], wanted: Sequence[Wanted]
    ) -> list[str]:
        """The lines of one task, which adds up what every task has counted."""
        sql = self._sql(component, [streams.view(u) for u in upstreams], wanted, gather=True)
        streams.create_views()
        conf = streams.spark.conf
        usual = str(conf.get(_EXCHANGE))
        conf.set(_EXCHANGE, "1")
        try:
            return [row[0] for row in streams.spark.sql(sql).collect()]
        finally:
            conf.set(_EXCHANGE, usual)

    def _sql(self, component: Component, views: Sequence[str], wanted: Sequence[Wanted], *, gather: bool) -> str:
        """The counts as lines of JSON, each with some shards."""
        hashed = f"xxhash64({', '.join(quoted(a) for a in component.attributes)})"
        columns = f"{'*, ' if wanted else ''}{shard_sql(hashed, self.shards)} AS {_SHARD}"
        rows = " UNION ALL ".join(f"SELECT {columns} FROM {view}" for view in views)
        counts = ", ".join([_SHARD, f"count(*) AS {_ROWS}", *(f"{w.sql} AS {w.name}" for w in wanted)])
        by_shard = f"SELECT {counts} FROM ({rows}) GROUP BY {_SHARD}"
        numbered = (
            f"SELECT {'/*+ COALESCE(1) */ ' if gather else ''}*, {_SHARD} % {self._lines} AS {_LINE} FROM ({by_shard})"
        )
        listed = [f"collect_list({_SHARD}) AS shards", f"collect_list({_ROWS}) AS counts"]
        fields = ", ".join([*listed, *(f"{w.total}({w.name}) AS {w.name}" for w in wanted)])
        return f"SELECT to_json(struct({fields})) AS line FROM ({numbered}) GROUP BY {_LINE}"

    @property
    def _lines(self) -> int:
        return -(-self.shards // _SHARDS_PER_LINE)


def _added_up(lines: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """The rows of every shard in the lines of all tasks."""
    total: Counter[int] = Counter()
    for line in lines:
        total.update(dict(zip(line["shards"], line["counts"], strict=True)))
    return dict(total)
