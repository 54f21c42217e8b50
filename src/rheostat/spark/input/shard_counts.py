"""How many rows of an epoch each shard has, counted before the epoch is routed: a look ahead for balancing."""

from __future__ import annotations

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.tables import Component, PhysicalPlan
from rheostat.spark.input.epoch_streams import EpochStreams
from rheostat.windows.partials import quoted


def rows_by_shard(plan: PhysicalPlan, shards: int, streams: EpochStreams) -> dict[str, dict[int, int]]:
    """Per component of the first level that has keys, how many rows of the epoch each shard has.

    Args:
        plan: the plan of the topology.
        shards: the number of shards.
        streams: the rows of the epoch.
    """
    keyed = [c for c in plan.components_at(0) if c.attributes]
    return {c.name: _count(plan, c, shards, streams) for c in keyed}


def _count(plan: PhysicalPlan, component: Component, shards: int, streams: EpochStreams) -> dict[int, int]:
    read = [plan.tables[t].upstream for t in component.tables if t in plan.tables]
    read += [u for t in component.tables if t in plan.keyed for u in plan.keyed[t].process.upstreams]
    hashed = f"xxhash64({', '.join(quoted(a) for a in component.attributes)})"
    selects = [
        f"SELECT {shard_sql(hashed, shards)} AS shard FROM {streams.view(stream)}" for stream in dict.fromkeys(read)
    ]
    counts = streams.spark.sql(f"SELECT shard, count(*) FROM ({' UNION ALL '.join(selects)}) GROUP BY shard")
    return {int(shard): int(count) for shard, count in counts.collect()}
