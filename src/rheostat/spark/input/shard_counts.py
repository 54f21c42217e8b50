"""The number of rows of each shard in an epoch, counted before routing, for policies that look ahead."""

from __future__ import annotations

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.tables import Component, PhysicalPlan
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.windows.partials import quoted

_EXCHANGE = "spark.sql.shuffle.partitions"


def rows_by_shard(plan: PhysicalPlan, shards: int, streams: EpochStreams) -> dict[str, dict[int, int]]:
    """By component with keys of the first level, the number of rows of each shard; shards without rows are left out.

    Args:
        plan: the plan of the topology.
        shards: the number of shards.
        streams: the rows of the epoch.
    """
    keyed = [c for c in plan.components_at(0) if c.attributes]
    return {c.name: _count(plan, c, shards, streams) for c in keyed}


def _count(plan: PhysicalPlan, component: Component, shards: int, streams: EpochStreams) -> dict[int, int]:
    upstreams = [plan.tables[t].upstream for t in component.tables if t in plan.tables]
    upstreams += [u for t in component.tables if t in plan.keyed for u in plan.keyed[t].process.upstreams]
    hashed = f"xxhash64({', '.join(quoted(a) for a in component.attributes)})"
    shard = shard_sql(hashed, shards)
    selects = [f"SELECT {shard} AS shard FROM {streams.view(stream)}" for stream in dict.fromkeys(upstreams)]
    query = f"SELECT shard, count(*) FROM ({' UNION ALL '.join(selects)}) GROUP BY shard"
    conf = streams.spark.conf
    usual = str(conf.get(_EXCHANGE))
    # Every task that reads has counted its rows before the exchange: one task is enough to add the counts up.
    conf.set(_EXCHANGE, "1")
    try:
        counts = streams.spark.sql(query).collect()
    finally:
        conf.set(_EXCHANGE, usual)
    return {int(row[0]): int(row[1]) for row in counts}
