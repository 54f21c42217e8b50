"""Feeds: what travels to the tables of a level, partials for window tables and rows for user-written functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.planning.tables import KeyedTable, PhysicalPlan, WindowTable
from rheostat.windows.custom import Custom
from rheostat.windows.partials import Partial
from rheostat.windows.window_layout import HASH, START

FEED, PART = "feed", "part"
"""Columns with the number of a row's feed, and with the number of the partition the row goes to."""

SEQUENCE = "sequence"
"""Column that numbers the rows of a keyed feed in the order in which they arrived."""

MAX_TIME, ARRIVAL = "max_time", "arrival"
"""Columns with the newest event time of the rows in a partial, and with their mean arrival time, in microseconds."""


@dataclass(frozen=True)
class StreamSql:
    """A stream of an epoch as SQL sees it.

    Attributes:
        view: name of the view with its rows.
        arrival_sql: Spark SQL for the arrival time in microseconds; None if it is not known.
    """

    view: str
    arrival_sql: str | None = None


@dataclass(frozen=True, kw_only=True)
class Feed:
    """One kind of rows on the way to a table: partials, rows for user-written aggregates, or rows for a processor.

    Attributes:
        number: which of the level's feeds it is.
        table: the table it goes to.
        stream: the stream whose rows it carries.
        raw: True if it carries rows, False if it carries partials.
        counted: True if the rows of the source are counted from it.
        columns: the columns it carries, in order.
    """

    number: int
    table: str
    stream: str
    raw: bool
    counted: bool
    columns: tuple[str, ...]

    @property
    def wire(self) -> tuple[str, ...]:
        """Names of its columns on the way. State columns have dots in theirs, which ``mapInArrow`` cannot handle."""
        return tuple(f"f{self.number}_{i}" for i in range(len(self.columns)))


def plan_feeds(plan: PhysicalPlan, level: int, streams: Mapping[str, StreamSql]) -> list[Feed]:
    """The feeds of a level.

    Args:
        plan: the plan of the topology.
        level: which level.
        streams: the streams that have rows in this epoch; the others feed nothing.
    """
    feeds: list[Feed] = []
    for table in plan.tables_at(level):
        if table.upstream in streams:
            feeds += _window_feeds(len(feeds), table, streams[table.upstream])
    for owner in plan.keyed_at(level):
        for stream in owner.process.upstreams:
            if stream in streams:
                feeds.append(_keyed_feed(len(feeds), owner, stream, streams[stream]))
    return feeds


def passes(plan: PhysicalPlan, level: int) -> int:
    """How often the rows of a source are read to feed the tables of a level."""
    keyed = sum(len(t.process.upstreams) for t in plan.keyed_at(level))
    return keyed + sum((t.finer is None) + bool(custom_partials(t)) for t in plan.tables_at(level))


def _window_feeds(number: int, table: WindowTable, stream: StreamSql) -> list[Feed]:
    """Partials made in the JVM, and the rows for user-written aggregates if there are any."""
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
    """The rows of one stream for a processor."""
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
    """The table's partials that Spark makes in the JVM."""
    return [p for p in table.layout.partials if not isinstance(p, Custom)]


def custom_partials(table: WindowTable) -> list[Custom]:
    """The table's user-written partials, which are made in Python out of rows."""
    return [p for p in table.layout.partials if isinstance(p, Custom)]
