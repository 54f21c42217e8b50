"""The feeds of a level as Spark SQL.

All tables of a level share one exchange, so all feeds are one query. It is written as one SQL text, which is cheaper
than building it with DataFrame calls, and contains no numbers that change between epochs, so Spark compiles it once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from rheostat.elastic.routing.table import shard_sql
from rheostat.planning.feeds import (
    ARRIVAL,
    FEED,
    MAX_TIME,
    PART,
    SEQUENCE,
    Feed,
    StreamSql,
    custom_partials,
    sql_partials,
)
from rheostat.planning.tables import KeyedTable, PhysicalPlan, WindowTable
from rheostat.windows.partials import Partial, quoted
from rheostat.windows.window import Window
from rheostat.windows.window_layout import HASH, START


def feeds_sql(
    feeds: Sequence[Feed], plan: PhysicalPlan, streams: Mapping[str, StreamSql], part_of: Callable[[str], str] | None
) -> str:
    """One query with the rows of all feeds, and the partition that each row goes to.

    Args:
        feeds: the feeds of the level.
        plan: the plan of the topology.
        streams: the streams that the feeds are computed from.
        part_of: from the name of a table to Spark SQL for a row's partition, which reads the column ``hash``;
            None if rows stay where they are.
    """
    partials: dict[str, str] = {}
    singles = {feed.table for feed in feeds if feed.single}
    for feed in feeds:
        if not feed.raw:
            _define(plan.tables[feed.table], plan.tables, streams, singles, partials)
    selects = []
    for feed in feeds:
        if feed.table in plan.keyed:
            owner = plan.keyed[feed.table]
            rows, route_by = f"({_keyed_rows(owner, feed, streams[feed.stream])})", [f"r.{k}" for k in owner.route_by]
        else:
            table = plan.tables[feed.table]
            rows = f"({_raw_rows(table, streams[feed.stream])})" if feed.raw else _name(table)
            route_by = [f"k.{k}" for k in table.route_by]
        selects.append(_feed_select(feed, feeds, rows, route_by, part_of and part_of(feed.table)))
    definitions = ",\n".join(f"{name} AS ({sql})" for name, sql in partials.items())
    return (f"WITH {definitions}\n" if definitions else "") + "\nUNION ALL\n".join(selects)


def pane_sql(time_sql: str, pane: Window) -> str:
    """Spark SQL for the start of a row's pane; exact for all times, also before 1970.

    >>> pane_sql("t", Window(60, 60))
    't - pmod(t, 60L)'
    """
    shifted = f"{time_sql} - {pane.offset}L" if pane.offset else time_sql
    return f"{time_sql} - pmod({shifted}, {pane.size}L)"


def part_sql(shards: int, parts: Sequence[int]) -> str:
    """Spark SQL for the partition of a row, from its column ``hash``.

    The partitions are written as JSON, which Spark folds into one constant array. An SQL array would overflow the
    parser's stack, and plain numbers would make Spark compile the query again whenever they change.

    Args:
        shards: the number of shards.
        parts: the partition of every shard.

    >>> part_sql(4, (3, 3, 3, 3))
    '3'
    """
    if len(set(parts)) == 1:
        return f"{parts[0]}"
    table = ",".join(str(part) for part in parts)
    return f"element_at(from_json('[{table}]', 'array<int>'), cast({shard_sql(HASH, shards)} + 1 as int))"


def _define(
    table: WindowTable,
    tables: Mapping[str, WindowTable],
    streams: Mapping[str, StreamSql],
    singles: Collection[str],
    into: dict[str, str],
) -> None:
    """Add the SELECT of a table's partials to ``into``, after the one it is rolled up from."""
    if _name(table) in into:
        return
    partials = _needed_partials(table, tables)
    if table.finer is None:
        select = _row_by_row if table.name in singles else _from_rows
        into[_name(table)] = select(table, partials, streams[table.upstream])
    else:
        _define(tables[table.finer], tables, streams, singles, into)
        into[_name(table)] = _rolled_up(table, partials, _name(tables[table.finer]))


def _from_rows(table: WindowTable, partials: Sequence[Partial], stream: StreamSql) -> str:
    selected = [f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys]
    selected.append(f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}")
    groups = len(selected)
    selected.append(f"max({table.time_sql}) AS {MAX_TIME}")
    if stream.arrival_sql:
        selected.append(f"avg({stream.arrival_sql}) AS {ARRIVAL}")
    selected += [f"{sql} AS {quoted(c.name)}" for p in partials for sql, c in zip(p.sql, p.columns, strict=True)]
    return _grouped(selected, stream.view, groups)


def _row_by_row(table: WindowTable, partials: Sequence[Partial], stream: StreamSql) -> str:
    """The partial of every single row, for a task to merge."""
    selected = [f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys]
    selected.append(f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}")
    selected.append(f"{table.time_sql} AS {MAX_TIME}")
    if stream.arrival_sql:
        selected.append(f"cast({stream.arrival_sql} as double) AS {ARRIVAL}")
    selected += [f"{sql} AS {quoted(c.name)}" for p in partials for sql, c in zip(p.row_sql, p.columns, strict=True)]
    return f"SELECT {', '.join(selected)} FROM {stream.view}"


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
    inputs = dict.fromkeys(i for custom in custom_partials(table) for i in custom.inputs)
    selected = [
        *(f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys),
        f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}",
        *(f"{quoted(i)} AS {quoted(f'r.{i}')}" for i in inputs),
    ]
    return f"SELECT {', '.join(selected)} FROM {stream.view} WHERE {table.time_sql} IS NOT NULL"


def _keyed_rows(table: KeyedTable, feed: Feed, stream: StreamSql) -> str:
    """The rows for a process operator, numbered in the order of arrival; rows without event time are left out."""
    process = table.process
    time_sql = dict(zip(process.upstreams, process.time_sql, strict=True))[feed.stream]
    computed = {
        SEQUENCE: "monotonically_increasing_id()",
        ARRIVAL: stream.arrival_sql,
        MAX_TIME: time_sql or "CAST(NULL AS BIGINT)",
    }
    selected = [
        f"{computed[c]} AS {c}" if c in computed else f"{quoted(c.removeprefix('r.'))} AS {quoted(c)}"
        for c in feed.columns
        if c != HASH
    ]
    where = f" WHERE {time_sql} IS NOT NULL" if time_sql else ""
    return f"SELECT {', '.join(selected)} FROM {stream.view}{where}"


def _feed_select(feed: Feed, feeds: Sequence[Feed], rows: str, route_by: Sequence[str], part: str | None) -> str:
    """The SELECT of one feed: its number, the partition, its columns, and nulls for the columns of other feeds."""
    hashed = f"xxhash64({', '.join(quoted(k) for k in route_by)})" if route_by else "0L"
    selected = [f"{feed.number} AS {FEED}"] if len(feeds) > 1 else []
    selected += [f"{part} AS {PART}"] if part is not None else []
    for other in feeds:
        selected += [
            f"{quoted(name) if other is feed else 'NULL'} AS {wire}"
            for name, wire in zip(other.columns, other.wire, strict=True)
        ]
    return f"SELECT {', '.join(selected)} FROM (SELECT *, {hashed} AS {HASH} FROM {rows})"


def _name(table: WindowTable) -> str:
    return quoted(f"partials of {table.name}")


def _needed_partials(table: WindowTable, tables: Mapping[str, WindowTable]) -> list[Partial]:
    """The partials of a table and of all tables that are rolled up from it."""
    partials = dict.fromkeys(sql_partials(table))
    for coarser in tables.values():
        if coarser.finer == table.name:
            partials.update(dict.fromkeys(_needed_partials(coarser, tables)))
    return list(partials)
