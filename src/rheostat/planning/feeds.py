"""Feeds: what carries partials, or rows for user-written aggregates, to the slots of a level, as Spark SQL.

All tables of a level share one exchange, so all feeds are one SELECT. It holds no numbers that change from epoch to
epoch, so Spark compiles it once, and it is one text, so that the driver need not build it call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rheostat.elastic.routing import shard_sql
from rheostat.planning.physical import Table
from rheostat.windows.custom import Custom
from rheostat.windows.merging import HASH
from rheostat.windows.partials import Partial, quoted
from rheostat.windows.window import Window

FEED, PART = "feed", "part"
START, MAX_TIME, ARRIVAL = "start", "max_time", "arrival"


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


def plan_feeds(tables: Sequence[Table], streams: Mapping[str, StreamSql]) -> list[Feed]:
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


def passes(tables: Sequence[Table]) -> int:
    """How often the rows of a source are read to feed these tables."""
    return sum((t.finer is None) + bool(_custom(t)) for t in tables)


def feeds_sql(
    feeds: Sequence[Feed],
    tables: Mapping[str, Table],
    streams: Mapping[str, StreamSql],
    part_sql: Callable[[Table], str],
) -> str:
    """One SELECT with all feeds and the partition each row goes to.

    Args:
        part_sql: SQL of the partition for a table, out of the column ``hash``.
    """
    partials: dict[str, str] = {}
    for feed in feeds:
        if not feed.raw:
            _define(tables[feed.table], tables, streams, partials)
    selects = []
    for feed in feeds:
        table = tables[feed.table]
        rows = f"({_raw_rows(table, streams[table.upstream])})" if feed.raw else _name(table)
        selects.append(_addressed(feed, feeds, table, rows, part_sql(table)))
    definitions = ",\n".join(f"{name} AS ({sql})" for name, sql in partials.items())
    return (f"WITH {definitions}\n" if definitions else "") + "\nUNION ALL\n".join(selects)


def pane_sql(time_sql: str, pane: Window) -> str:
    """Start of the pane of a row, exact for any time, before 1970 too.

    >>> pane_sql("t", Window(60, 60))
    't - pmod(t, 60L)'
    """
    shifted = f"{time_sql} - {pane.offset}L" if pane.offset else time_sql
    return f"{time_sql} - pmod({shifted}, {pane.size}L)"


def slot_sql(shards: int, routing: Sequence[int], first_part: int) -> str:
    """The partition of column ``hash``: its shard's slot, after the slots of the components before it.

    The routing table goes in as JSON that Spark folds into one constant array; written as an SQL array it would
    overflow the parser's stack, written as numbers it would be compiled anew whenever it changes.
    """
    if len(set(routing)) == 1:
        return f"{first_part + routing[0]}"
    table = ",".join(str(first_part + slot) for slot in routing)
    return f"element_at(from_json('[{table}]', 'array<int>'), cast({shard_sql(HASH, shards)} + 1 as int))"


def _define(table: Table, tables: Mapping[str, Table], streams: Mapping[str, StreamSql], into: dict[str, str]) -> None:
    """Add the SELECT of a table's partials, after the one it is rolled up from."""
    if _name(table) in into:
        return
    carried = _carried(table, tables)
    if table.finer is None:
        into[_name(table)] = _from_rows(table, carried, streams[table.upstream])
    else:
        _define(tables[table.finer], tables, streams, into)
        into[_name(table)] = _rolled_up(table, carried, _name(tables[table.finer]))


def _from_rows(table: Table, partials: Sequence[Partial], stream: StreamSql) -> str:
    selected = [f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys]
    selected.append(f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}")
    groups = len(selected)
    selected.append(f"max({table.time_sql}) AS {MAX_TIME}")
    if stream.arrival_sql:
        selected.append(f"avg({stream.arrival_sql}) AS {ARRIVAL}")
    selected += [f"{sql} AS {quoted(c.name)}" for p in partials for sql, c in zip(p.sql, p.columns, strict=True)]
    return _grouped(selected, stream.view, groups)


def _rolled_up(table: Table, partials: Sequence[Partial], finer: str) -> str:
    selected = [quoted(f"k.{k}") for k in table.keys]
    selected.append(f"{pane_sql(START, table.plan.pane)} AS {START}")
    groups = len(selected)
    selected.append(f"max({MAX_TIME}) AS {MAX_TIME}")
    selected += [f"{sql} AS {quoted(c.name)}" for p in partials for sql, c in zip(p.rollup_sql, p.columns, strict=True)]
    return _grouped(selected, finer, groups)


def _grouped(selected: Sequence[str], rows: str, groups: int) -> str:
    return f"SELECT {', '.join(selected)} FROM {rows} GROUP BY {', '.join(str(i + 1) for i in range(groups))}"


def _raw_rows(table: Table, stream: StreamSql) -> str:
    inputs = dict.fromkeys(i for custom in _custom(table) for i in custom.inputs)
    selected = [
        *(f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys),
        f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}",
        *(f"{quoted(i)} AS {quoted(f'r.{i}')}" for i in inputs),
    ]
    return f"SELECT {', '.join(selected)} FROM {stream.view} WHERE {table.time_sql} IS NOT NULL"


def _addressed(feed: Feed, feeds: Sequence[Feed], table: Table, rows: str, part: str) -> str:
    """A feed's columns under the names they travel by, nulls for the others', and the partition."""
    hashed = f"xxhash64({', '.join(quoted(f'k.{k}') for k in table.route_by)})" if table.route_by else "0L"
    selected = [f"{feed.number} AS {FEED}", f"{part} AS {PART}"]
    for other in feeds:
        carried = other is feed
        selected += [
            f"{quoted(name) if carried else 'NULL'} AS {wire}"
            for name, wire in zip(other.columns, other.wire, strict=True)
        ]
    return f"SELECT {', '.join(selected)} FROM (SELECT *, {hashed} AS {HASH} FROM {rows})"


def _name(table: Table) -> str:
    return quoted(f"partials of {table.name}")


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
