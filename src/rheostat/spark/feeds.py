"""Feeds: the DataFrames that carry partials, or rows for user-written aggregates, to the slots of a level.

All tables of a level share one exchange. Each feed's columns carry the feed's number as a prefix; the others' are null.
Everything here is Spark SQL without numbers that change from epoch to epoch, so Spark compiles it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rheostat.elastic.routing import shard_sql
from rheostat.planning.physical import Table
from rheostat.windows.custom import Custom
from rheostat.windows.merging import HASH
from rheostat.windows.partials import Partial, quoted
from rheostat.windows.window import Window

FEED, PART = "feed", "part"
START, MAX_TIME, ARRIVAL = "start", "max_time", "arrival"


@dataclass(frozen=True)
class Feed:
    """One kind of rows on the way to a table: partials, or raw rows for user-written aggregates.

    Attributes:
        number: which of the level's feeds it is.
        raw: rows rather than partials.
        counted: whether its rows stand for the rows of the source, so that counts are taken from it.
        columns: what it carries, in order.
    """

    number: int
    table: str
    raw: bool
    counted: bool
    columns: tuple[str, ...]

    @property
    def wire(self) -> tuple[str, ...]:
        """Names of its columns on the way. State columns have dots in their names, which ``mapInArrow`` trips over."""
        return tuple(f"f{self.number}_{i}" for i in range(len(self.columns)))


@dataclass(frozen=True)
class Stream:
    """Rows of an epoch that tables read, and how their arrival time is written in SQL, if it is known."""

    frame: DataFrame
    arrival_sql: str | None


def plan_feeds(tables: Sequence[Table], streams: Mapping[str, Stream]) -> list[Feed]:
    """The feeds of a level, as far as there are rows: partials for every table, rows for user-written aggregates."""
    feeds: list[Feed] = []
    for table in tables:
        if table.upstream not in streams:
            continue
        common = (HASH, *(f"k.{k}" for k in table.keys), START)
        partials = [c.name for p in _partials(table) for c in p.columns]
        counted = table.finer is None
        extra = [MAX_TIME, *([ARRIVAL] if counted and streams[table.upstream].arrival_sql else [])]
        feeds.append(Feed(len(feeds), table.name, False, counted, (*common, *extra, *partials)))
        if custom := _custom(table):
            inputs = dict.fromkeys(f"r.{i}" for c in custom for i in c.inputs)
            feeds.append(Feed(len(feeds), table.name, True, False, (*common, *inputs)))
    return feeds


def passes(tables: Sequence[Table], upstream: str) -> int:
    """How often the rows of a stream are read to feed these tables."""
    reading = [t for t in tables if t.upstream == upstream]
    return sum((t.finer is None) + bool(_custom(t)) for t in reading)


def feed_frame(
    feeds: Sequence[Feed],
    tables: Mapping[str, Table],
    streams: Mapping[str, Stream],
    part_sql: Callable[[Table, str], str],
) -> DataFrame:
    """All feeds of a level as one DataFrame, with the partition each row goes to.

    Args:
        part_sql: from a table and the SQL of a shard to the SQL of the partition.
    """
    partials: dict[str, DataFrame] = {}

    def made(name: str) -> DataFrame:
        if name not in partials:
            table = tables[name]
            if table.finer is None:
                partials[name] = _from_rows(table, _carried(table, tables), streams[table.upstream])
            else:
                partials[name] = _rolled_up(table, _carried(table, tables), made(table.finer))
        return partials[name]

    frames = []
    for feed in feeds:
        table = tables[feed.table]
        frame = _raw_rows(table, streams[table.upstream]) if feed.raw else made(feed.table)
        frames.append(_addressed(feed, table, frame, part_sql))
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)


def pane_sql(time_sql: str, pane: Window) -> str:
    """Start of the pane of a row, exact for any time, before 1970 too."""
    shifted = f"{time_sql} - {pane.offset}L" if pane.offset else time_sql
    return f"{time_sql} - pmod({shifted}, {pane.size}L)"


def _from_rows(table: Table, partials: Sequence[Partial], stream: Stream) -> DataFrame:
    keys = [F.expr(quoted(k)).alias(f"k.{k}") for k in table.keys]
    start = F.expr(pane_sql(table.time_sql, table.plan.pane)).alias(START)
    extra = [F.expr(f"max({table.time_sql})").alias(MAX_TIME)]
    if stream.arrival_sql:
        extra.append(F.expr(f"avg({stream.arrival_sql})").alias(ARRIVAL))
    columns = [
        F.expr(sql).alias(column.name) for p in partials for sql, column in zip(p.sql, p.columns, strict=True)
    ]
    return stream.frame.groupBy(*keys, start).agg(*extra, *columns)


def _rolled_up(table: Table, partials: Sequence[Partial], finer: DataFrame) -> DataFrame:
    keys = [F.expr(quoted(f"k.{k}")).alias(f"k.{k}") for k in table.keys]
    start = F.expr(pane_sql(START, table.plan.pane)).alias(START)
    columns = [
        F.expr(sql).alias(column.name) for p in partials for sql, column in zip(p.rollup_sql, p.columns, strict=True)
    ]
    return finer.groupBy(*keys, start).agg(F.expr(f"max({MAX_TIME})").alias(MAX_TIME), *columns)


def _raw_rows(table: Table, stream: Stream) -> DataFrame:
    inputs = dict.fromkeys(i for custom in _custom(table) for i in custom.inputs)
    return stream.frame.select(
        *(F.expr(quoted(k)).alias(f"k.{k}") for k in table.keys),
        F.expr(pane_sql(table.time_sql, table.plan.pane)).alias(START),
        *(F.expr(quoted(i)).alias(f"r.{i}") for i in inputs),
    ).where(f"{START} IS NOT NULL")


def _addressed(feed: Feed, table: Table, frame: DataFrame, part_sql: Callable[[Table, str], str]) -> DataFrame:
    """The feed's columns under the names they travel by, and the partition they go to."""
    hashed = f"xxhash64({', '.join(quoted(f'k.{k}') for k in table.route_by)})" if table.route_by else "0L"
    return frame.withColumn(HASH, F.expr(hashed)).select(
        F.lit(feed.number).alias(FEED),
        F.expr(part_sql(table, HASH)).alias(PART),
        *(F.expr(quoted(name)).alias(wire) for name, wire in zip(feed.columns, feed.wire, strict=True)),
    )


def slot_sql(hash_sql: str, shards: int, routing: Sequence[int], first_part: int) -> str:
    """Spark SQL for the partition of a hash: its shard's slot, after the slots of the components before it.

    The routing table goes in as JSON that Spark folds into one constant array; written as SQL text it would overflow
    the parser's stack, written as a number it would be compiled anew whenever it changes.
    """
    if len(set(routing)) == 1:
        return f"{first_part + routing[0]}"
    table = ",".join(str(first_part + slot) for slot in routing)
    shard = shard_sql(hash_sql, shards)
    return f"element_at(from_json('[{table}]', 'array<int>'), cast({shard} + 1 as int))"


def _carried(table: Table, tables: Mapping[str, Table]) -> list[Partial]:
    """The partials of a table and of everything that is rolled up from it."""
    carried = dict.fromkeys(_partials(table))
    for coarser in tables.values():
        if coarser.finer == table.name:
            carried.update(dict.fromkeys(_carried(coarser, tables)))
    return list(carried)


def _partials(table: Table) -> list[Partial]:
    return [p for p in table.layout.partials if not isinstance(p, Custom)]


def _custom(table: Table) -> list[Custom]:
    return [p for p in table.layout.partials if isinstance(p, Custom)]
