"""Feeds: what carries partials, or rows for user-written functions, to the slots of a level, as Spark SQL.

All tables of a level share one exchange, so all feeds are one SELECT. It holds no numbers that change from epoch to
epoch, so Spark compiles it once, and it is one text, so that the driver need not build it call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.physical import KeyedTable, PhysicalPlan, WindowTable
from rheostat.windows.custom import Custom
from rheostat.windows.partials import Partial, quoted
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, START

FEED, PART = "feed", "part"
SEQUENCE = "sequence"
"""Column that numbers the rows of a keyed feed in the order in which they arrived."""
MAX_TIME, ARRIVAL = "max_time", "arrival"


@dataclass(frozen=True)
class StreamSql:
    """A stream of an epoch as SQL sees it.

    Attributes:
        view: name of the view with its rows.
        arrival_sql: arrival time in microseconds; None if it is not known.
    """

    view: str
    arrival_sql: str | None = None


@dataclass(frozen=True)
class Feed:
    """One kind of rows on the way to a table: partials, raw rows for user-written aggregates, or rows for a processor.

    Attributes:
        number: which of the level's feeds it is.
        stream: whose rows it carries.
        raw: rows rather than partials.
        counted: whether its rows stand for the rows of the source, so that counts are taken from it.
        columns: what it carries, in order.
    """

    number: int
    table: str
    stream: str
    raw: bool
    counted: bool
    columns: tuple[str, ...]

    @property
    def wire(self) -> tuple[str, ...]:
        """Names of its columns on the way. State columns have dots in their names, which ``mapInArrow`` trips over."""
        return tuple(f"f{self.number}_{i}" for i in range(len(self.columns)))


def plan_feeds(plan: PhysicalPlan, level: int, streams: Mapping[str, StreamSql]) -> list[Feed]:
    """The feeds of a level, as far as there are rows: partials for every table, rows for user-written functions."""
    feeds: list[Feed] = []
    for table in plan.tables_at(level):
        if table.upstream not in streams:
            continue
        common = (HASH, *(f"k.{k}" for k in table.keys), START)
        partials = [c.name for p in _partials(table) for c in p.columns]
        counted = table.finer is None
        extra = [MAX_TIME, *([ARRIVAL] if counted and streams[table.upstream].arrival_sql else [])]
        feeds.append(Feed(len(feeds), table.name, table.upstream, False, counted, (*common, *extra, *partials)))
        if custom := _custom(table):
            inputs = dict.fromkeys(f"r.{i}" for c in custom for i in c.inputs)
            feeds.append(Feed(len(feeds), table.name, table.upstream, True, False, (*common, *inputs)))
    for owner in plan.keyed_at(level):
        process = owner.process
        for stream, columns in zip(process.upstreams, process.inputs, strict=True):
            if stream not in streams:
                continue
            extra = [SEQUENCE] if process.ordered else []
            extra += [MAX_TIME] if process.clock == "event" and process.ttl else []
            extra += [ARRIVAL] if streams[stream].arrival_sql else []
            carried = (HASH, *extra, *(f"r.{c.name}" for c in columns))
            feeds.append(Feed(len(feeds), owner.name, stream, True, False, carried))
    return feeds


def passes(plan: PhysicalPlan, level: int) -> int:
    """How often the rows of a source are read to feed the tables of a level."""
    keyed = sum(len(t.process.upstreams) for t in plan.keyed_at(level))
    return keyed + sum((t.finer is None) + bool(_custom(t)) for t in plan.tables_at(level))


def feeds_sql(
    feeds: Sequence[Feed], plan: PhysicalPlan, streams: Mapping[str, StreamSql], part_of: Callable[[str], str]
) -> str:
    """One SELECT with all feeds and the partition each row goes to.

    Args:
        part_of: SQL of the partition for a table, by its name, out of the column ``hash``.
    """
    partials: dict[str, str] = {}
    for feed in feeds:
        if not feed.raw:
            _define(plan.tables[feed.table], plan.tables, streams, partials)
    selects = []
    for feed in feeds:
        if feed.table in plan.keyed:
            owner = plan.keyed[feed.table]
            rows, route_by = f"({_keyed_rows(owner, feed, streams[feed.stream])})", [f"r.{k}" for k in owner.route_by]
        else:
            table = plan.tables[feed.table]
            rows = f"({_raw_rows(table, streams[feed.stream])})" if feed.raw else _name(table)
            route_by = [f"k.{k}" for k in table.route_by]
        selects.append(_addressed(feed, feeds, rows, route_by, part_of(feed.table)))
    definitions = ",\n".join(f"{name} AS ({sql})" for name, sql in partials.items())
    return (f"WITH {definitions}\n" if definitions else "") + "\nUNION ALL\n".join(selects)


def pane_sql(time_sql: str, pane: Window) -> str:
    """Start of the pane of a row, exact for any time, before 1970 too.

    >>> pane_sql("t", Window(60, 60))
    't - pmod(t, 60L)'
    """
    shifted = f"{time_sql} - {pane.offset}L" if pane.offset else time_sql
    return f"{time_sql} - pmod({shifted}, {pane.size}L)"


def part_sql(shards: int, parts: Sequence[int]) -> str:
    """The partition of column ``hash``, given the partition of every shard.

    The table goes in as JSON that Spark folds into one constant array; written as an SQL array it would overflow the
    parser's stack, written as numbers it would be compiled anew whenever it changes.

    >>> part_sql(4, (3, 3, 3, 3))
    '3'
    """
    if len(set(parts)) == 1:
        return f"{parts[0]}"
    table = ",".join(str(part) for part in parts)
    return f"element_at(from_json('[{table}]', 'array<int>'), cast({shard_sql(HASH, shards)} + 1 as int))"


def _define(
    table: WindowTable, tables: Mapping[str, WindowTable], streams: Mapping[str, StreamSql], into: dict[str, str]
) -> None:
    """Add the SELECT of a table's partials, after the one it is rolled up from."""
    if _name(table) in into:
        return
    carried = _carried(table, tables)
    if table.finer is None:
        into[_name(table)] = _from_rows(table, carried, streams[table.upstream])
    else:
        _define(tables[table.finer], tables, streams, into)
        into[_name(table)] = _rolled_up(table, carried, _name(tables[table.finer]))


def _from_rows(table: WindowTable, partials: Sequence[Partial], stream: StreamSql) -> str:
    selected = [f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys]
    selected.append(f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}")
    groups = len(selected)
    selected.append(f"max({table.time_sql}) AS {MAX_TIME}")
    if stream.arrival_sql:
        selected.append(f"avg({stream.arrival_sql}) AS {ARRIVAL}")
    selected += [f"{sql} AS {quoted(c.name)}" for p in partials for sql, c in zip(p.sql, p.columns, strict=True)]
    return _grouped(selected, stream.view, groups)


def _rolled_up(table: WindowTable, partials: Sequence[Partial], finer: str) -> str:
    selected = [quoted(f"k.{k}") for k in table.keys]
    selected.append(f"{pane_sql(START, table.plan.pane)} AS {START}")
    groups = len(selected)
    selected.append(f"max({MAX_TIME}) AS {MAX_TIME}")
    selected += [f"{sql} AS {quoted(c.name)}" for p in partials for sql, c in zip(p.rollup_sql, p.columns, strict=True)]
    return _grouped(selected, finer, groups)


def _grouped(selected: Sequence[str], rows: str, groups: int) -> str:
    return f"SELECT {', '.join(selected)} FROM {rows} GROUP BY {', '.join(str(i + 1) for i in range(groups))}"


def _raw_rows(table: WindowTable, stream: StreamSql) -> str:
    inputs = dict.fromkeys(i for custom in _custom(table) for i in custom.inputs)
    selected = [
        *(f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys),
        f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}",
        *(f"{quoted(i)} AS {quoted(f'r.{i}')}" for i in inputs),
    ]
    return f"SELECT {', '.join(selected)} FROM {stream.view} WHERE {table.time_sql} IS NOT NULL"


def _keyed_rows(table: KeyedTable, feed: Feed, stream: StreamSql) -> str:
    """Rows for a processor, numbered in the order of arrival; those without event time are kept aside elsewhere."""
    process = table.process
    time_sql = dict(zip(process.upstreams, process.time_sql, strict=True))[feed.stream]
    made = {
        SEQUENCE: "monotonically_increasing_id()",
        ARRIVAL: stream.arrival_sql,
        MAX_TIME: time_sql or "CAST(NULL AS BIGINT)",
    }
    selected = [
        f"{made[c]} AS {c}" if c in made else f"{quoted(c.removeprefix('r.'))} AS {quoted(c)}"
        for c in feed.columns
        if c != HASH
    ]
    where = f" WHERE {time_sql} IS NOT NULL" if time_sql else ""
    return f"SELECT {', '.join(selected)} FROM {stream.view}{where}"


def _addressed(feed: Feed, feeds: Sequence[Feed], rows: str, route_by: Sequence[str], part: str) -> str:
    """A feed's columns under the names they travel by, nulls for the others', and the partition."""
    hashed = f"xxhash64({', '.join(quoted(k) for k in route_by)})" if route_by else "0L"
    selected = [*([f"{feed.number} AS {FEED}"] if len(feeds) > 1 else []), f"{part} AS {PART}"]
    for other in feeds:
        carried = other is feed
        selected += [
            f"{quoted(name) if carried else 'NULL'} AS {wire}"
            for name, wire in zip(other.columns, other.wire, strict=True)
        ]
    return f"SELECT {', '.join(selected)} FROM (SELECT *, {hashed} AS {HASH} FROM {rows})"


def _name(table: WindowTable) -> str:
    return quoted(f"partials of {table.name}")


def _carried(table: WindowTable, tables: Mapping[str, WindowTable]) -> list[Partial]:
    """The partials of a table and of everything that is rolled up from it."""
    carried = dict.fromkeys(_partials(table))
    for coarser in tables.values():
        if coarser.finer == table.name:
            carried.update(dict.fromkeys(_carried(coarser, tables)))
    return list(carried)


def _partials(table: WindowTable) -> list[Partial]:
    return [p for p in table.layout.partials if not isinstance(p, Custom)]


def _custom(table: WindowTable) -> list[Custom]:
    return [p for p in table.layout.partials if isinstance(p, Custom)]
