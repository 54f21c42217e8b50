"""The number of rows of each shard in an epoch, counted before routing, for policies that look ahead.

A pass over the rows is on the way of every row, so it costs as little as it can: one task adds the counts up, no
exchange if one task reads all rows, and where the rows are those of a source, the counts of the source come with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.tables import Component, PhysicalPlan
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.windows.partials import quoted

_EXCHANGE = "spark.sql.shuffle.partitions"

_SHARD, _ROWS = "rheostat_shard", "rheostat_rows"
"""Columns with the number of a shard and of its rows, which no source has."""


@dataclass
class CountedAhead:
    """The rows of an epoch, counted before they are routed.

    Attributes:
        shards: by component with keys of the first level, the number of rows of each shard that has any.
        sources: by source whose own rows were counted, what was asked for of them, one row per shard.
    """

    shards: dict[str, dict[int, int]] = field(default_factory=dict)
    sources: dict[str, pa.Table] = field(default_factory=dict)


def count_ahead(
    plan: PhysicalPlan, shards: int, streams: EpochStreams, wanted: Mapping[str, Sequence[str]]
) -> CountedAhead:
    """Count the rows of each shard, for the components with keys of the first level.

    Args:
        plan: the plan of the topology.
        shards: the number of shards.
        streams: the rows of the epoch.
        wanted: by source, aggregates over its rows that are needed as well, as Spark SQL.
    """
    counted = CountedAhead()
    for component in plan.components_at(0):
        if component.attributes:
            upstreams = _upstreams(plan, component)
            source = upstreams[0] if len(upstreams) == 1 and upstreams[0] not in counted.sources else ""
            rows = _count(component, shards, streams, upstreams, wanted.get(source, ()))
            counted.shards[component.name] = dict(zip(rows[_SHARD].to_pylist(), rows[_ROWS].to_pylist(), strict=True))
            if source in wanted:
                counted.sources[source] = rows
    return counted


def _upstreams(plan: PhysicalPlan, component: Component) -> list[str]:
    upstreams = [plan.tables[t].upstream for t in component.tables if t in plan.tables]
    upstreams += [u for t in component.tables if t in plan.keyed for u in plan.keyed[t].process.upstreams]
    return list(dict.fromkeys(upstreams))


def _count(
    component: Component, shards: int, streams: EpochStreams, upstreams: Sequence[str], wanted: Sequence[str]
) -> pa.Table:
    """One row per shard: its number, its rows, and other aggregates that are wanted."""
    hashed = f"xxhash64({', '.join(quoted(a) for a in component.attributes)})"
    columns = f"{'*, ' if wanted else ''}{shard_sql(hashed, shards)} AS {_SHARD}"
    counts = ", ".join([_SHARD, f"count(*) AS {_ROWS}", *wanted])
    views = [streams.view(stream) for stream in upstreams]
    streams.create_views()
    if streams.read_by_one_task and len(views) == 1:
        rows = f"SELECT /*+ COALESCE(1) */ {columns} FROM {views[0]}"  # tells Spark to use no exchange
        return streams.spark.sql(f"SELECT {counts} FROM ({rows}) GROUP BY {_SHARD}").toArrow()
    conf = streams.spark.conf
    usual = str(conf.get(_EXCHANGE))
    conf.set(_EXCHANGE, "1")  # every task that reads has counted its rows before the exchange
    try:
        rows = " UNION ALL ".join(f"SELECT {columns} FROM {view}" for view in views)
        return streams.spark.sql(f"SELECT {counts} FROM ({rows}) GROUP BY {_SHARD}").toArrow()
    finally:
        conf.set(_EXCHANGE, usual)
