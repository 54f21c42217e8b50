"""Feeds: what is shuffled to the tables of a level. Partials for window tables, rows for user-written functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rheostat.planning.tables import KeyedTable, PhysicalPlan, WindowTable
from rheostat.types import FLOATS
from rheostat.windows.custom import Custom
from rheostat.windows.partials import Partial
from rheostat.windows.window_layout import HASH, START

FEED, PART = "feed", "part"
"""Columns with the number of a row's feed, and the number of the partition that the row goes to."""

SEQUENCE = "sequence"
"""Column that numbers the rows of a keyed feed in the order of their arrival."""

MAX_TIME, ARRIVAL = "max_time", "arrival"
"""Columns with the newest event time and the mean arrival time of the rows in a partial, in microseconds."""


@dataclass(frozen=True)
class StreamSql:
    """The rows of a stream in one epoch, as SQL reads them.

    Attributes:
        view: name of the view with the rows.
        arrival_sql: Spark SQL for a row's arrival time in microseconds; None if it is unknown.
    """

    view: str
    arrival_sql: str | None = None


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Rows of one kind that go to a table: partials, rows for user-written aggregates, or rows for a process operator.

    Attributes:
        number: its number in the level.
        table: the table that it goes to.
        stream: the stream that it is computed from.
        raw: True if it carries rows, False if it carries partials.
        counted: True if the rows of the source are counted from it.
        columns: its columns, in order.
        single: True if each of its partials is of a single row, so that the task which ingests them has to merge them.
    """

    number: int
    table: str
    stream: str
    raw: bool
    counted: bool
    columns: tuple[str, ...]
    single: bool = False

    @property
    def wire(self) -> tuple[str, ...]:
        """Names of its columns in the shuffle. ``mapInArrow`` cannot handle the dots in names of state columns."""
        return tuple(f"f{self.number}_{i}" for i in range(len(self.columns)))


def plan_feeds(
    plan: PhysicalPlan, level: int, streams: Mapping[str, StreamSql], combined: Collection[str] = ()
) -> list[Feed]:
    """The feeds of a level.

    Args:
        plan: the plan of the topology.
        level: number of the level.
        streams: the streams that have rows in this epoch.
        combined: names of the tables whose rows are aggregated by the tasks that ingest them, and not by Spark.
    """
    feeds: list[Feed] = []
    for table in plan.tables_at(level):
        if table.upstream in streams:
            feeds += _window_feeds(len(feeds), table, streams[table.upstream], single=table.name in combined)
    for owner in plan.keyed_at(level):
        for stream in owner.process.upstreams:
            if stream in streams:
                feeds.append(_keyed_feed(len(feeds), owner, stream, streams[stream]))
    return feeds


def passes(plan: PhysicalPlan, level: int) -> int:
    """How many times rows are read to feed the tables of a level."""
    keyed = sum(len(t.process.upstreams) for t in plan.keyed_at(level))
    return keyed + sum((t.finer is None) + bool(custom_partials(t)) for t in plan.tables_at(level))


def stays_where_read(plan: PhysicalPlan, level: int) -> bool:
    """True if partials of a level need no exchange: one table over a source, of built-in aggregates that windows close.

    Args:
        plan: the plan of the topology.
        level: number of the level.
    """
    tables = plan.tables_at(level)
    if level > 0 or len(tables) != 1 or plan.keyed_at(level):
        return False
    (table,) = tables
    return not (table.refreshes or table.finer or custom_partials(table))


def exchanges(plan: PhysicalPlan, sources: int, combined: Collection[str] = ()) -> int:
    """How many times rows or partials are shuffled in an epoch: to be aggregated by Spark, and to be sent to slots.

    Args:
        plan: the plan of the topology.
        sources: number of sources; partials are written where rows are read only if there is one.
        combined: names of the tables whose rows are aggregated by tasks, and not by Spark.
    """
    count = 0
    for level in range(plan.levels):
        if plan.components_at(level) and (sources > 1 or not stays_where_read(plan, level)):
            count += 1 + sum(t.name not in combined for t in plan.tables_at(level))
    return count


def combinable(plan: PhysicalPlan) -> list[str]:
    """Names of the tables whose rows may be aggregated by the tasks that ingest them, and not by Spark.

    Every partial needs a form for a single row. Tables that others are rolled up from are left to Spark, which would
    otherwise read the rows once for each. Spark takes 0.0 and -0.0 for one key when it aggregates, but not when it
    hashes rows, so keys must not be floating-point numbers.

    Args:
        plan: the plan of the topology.
    """
    finer = {t.finer for t in plan.tables.values()}
    return [
        t.name
        for t in plan.tables.values()
        if t.finer is None
        and t.name not in finer
        and not any(k.type in FLOATS for k in t.layout.keys)
        and all(p.row_sql for p in t.layout.partials)
    ]


def _window_feeds(number: int, table: WindowTable, stream: StreamSql, *, single: bool) -> list[Feed]:
    """A feed of partials and, if there are user-written aggregates, a feed of rows for them."""
    common = (HASH, *(f"k.{k}" for k in table.keys), START)
    counted = table.finer is None
    extra = [MAX_TIME, *([ARRIVAL] if counted and stream.arrival_sql else [])]
    partials = [c.name for p in sql_partials(table) for c in p.columns]
    feeds = [
        Feed(
            number=number,
            table=table.name,
            stream=table.upstream,
            raw=False,
            counted=counted,
            columns=(*common, *extra, *partials),
            single=single,
        )
    ]
    if custom := custom_partials(table):
        inputs = dict.fromkeys(f"r.{i}" for c in custom for i in c.inputs)
        feeds.append(
            Feed(
                number=number + 1,
                table=table.name,
                stream=table.upstream,
                raw=True,
                counted=False,
                columns=(*common, *inputs),
            )
        )
    return feeds


def _keyed_feed(number: int, table: KeyedTable, stream: str, sql: StreamSql) -> Feed:
    """The feed with the rows of one stream for a process operator."""
    process = table.process
    columns = process.inputs[process.upstreams.index(stream)]
    extra = [SEQUENCE] if process.ordered else []
    extra += [MAX_TIME] if process.clock == "event" and process.ttl else []
    extra += [ARRIVAL] if sql.arrival_sql else []
    return Feed(
        number=number,
        table=table.name,
        stream=stream,
        raw=True,
        counted=False,
        columns=(HASH, *extra, *(f"r.{c.name}" for c in columns)),
    )


def sql_partials(table: WindowTable) -> list[Partial]:
    """The table's partials that Spark computes in the JVM."""
    return [p for p in table.layout.partials if not isinstance(p, Custom)]


def custom_partials(table: WindowTable) -> list[Custom]:
    """The table's user-written partials, which are computed from rows in Python."""
    return [p for p in table.layout.partials if isinstance(p, Custom)]
