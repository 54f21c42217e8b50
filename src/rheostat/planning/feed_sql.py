"""The feeds of a level as Spark SQL.

All tables of a level share one exchange, so all feeds are one SELECT. It is one text, so that the driver need not build
it call by call, and it holds no numbers that change from epoch to epoch, so Spark compiles it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
    feeds: Sequence[Feed], plan: PhysicalPlan, streams: Mapping[str, StreamSql], part_of: Callable[[str], str]
) -> str:
    """One SELECT with all feeds and the partition each row goes to.

    Args:
        feeds: the feeds of the level.
        plan: the plan of the topology.
        streams: the streams that the feeds carry.
        part_of: from the name of a table to Spark SQL for a row's partition, out of the column ``hash``.
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
    """Spark SQL for the start of a row's pane; exact for any time, also before 1970.

    >>> pane_sql("t", Window(60, 60))
    't - pmod(t, 60L)'
    """
    shifted = f"{time_sql} - {pane.offset}L" if pane.offset else time_sql
    return f"{time_sql} - pmod({shifted}, {pane.size}L)"


def part_sql(shards: int, parts: Sequence[int]) -> str:
    """Spark SQL for the partition of a row out of its column ``hash``.

    The table goes in as JSON that Spark folds into one constant array. Written as an SQL array it would overflow the
    parser's stack; written as numbers it would be compiled anew whenever it changes.

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
    inputs = dict.fromkeys(i for custom in custom_partials(table) for i in custom.inputs)
    selected = [
        *(f"{quoted(k)} AS {quoted(f'k.{k}')}" for k in table.keys),
        f"{pane_sql(table.time_sql, table.plan.pane)} AS {START}",
        *(f"{quoted(i)} AS {quoted(f'r.{i}')}" for i in inputs),
    ]
    return f"SELECT {', '.join(selected)} FROM {stream.view} WHERE {table.time_sql} IS NOT NULL"


def _keyed_rows(table: KeyedTable, feed: Feed, stream: StreamSql) -> str:
    """Rows for a processor, numbered in the order of arrival, without those that have no event time."""
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
    """A feed's columns under the names they travel by, nulls for the columns of other feeds, and the partition."""
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
    carried = dict.fromkeys(sql_partials(table))
    for coarser in tables.values():
        if coarser.finer == table.name:
            carried.update(dict.fromkeys(_carried(coarser, tables)))
    return list(carried)
