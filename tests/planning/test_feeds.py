"""Feeds: one SQL text for all tables of a level, the same in every epoch."""

from __future__ import annotations

import re

from rheostat.elastic.routing.table import even_routing
from rheostat.planning.feed_sql import feeds_sql, pane_sql, part_sql
from rheostat.planning.feeds import Feed, StreamSql, passes, plan_feeds
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.topology import aggregates as rh
from rheostat.windows.window import Window, tumbling
from tests.planning.builders import add, lending
from tests.topology.builders import loans

ROUTING = even_routing(4, 2)


def sql_of(plan: PhysicalPlan, streams: dict[str, StreamSql]) -> str:
    def part(table: str) -> str:
        routed = plan.tables[table].route_by
        return part_sql(4, ROUTING if routed else (2,) * 4)

    return feeds_sql(plan_feeds(plan, 0, streams), plan, streams, part)


def test_the_text_of_two_tables() -> None:
    stream = loans()
    add(stream, "by_area", "area", tumbling("1 minute"), {"x": rh.sum("cents")})
    add(stream, "overall", (), tumbling("1 hour", offset="30 minutes"))
    text = sql_of(plan_physical(stream.graph), {"source": StreamSql("rows", "arrived_sql")})
    assert text.split("\n") == [
        "WITH `partials of by_area` AS (SELECT `area` AS `k.area`, "
        "unix_micros(`ts`) - pmod(unix_micros(`ts`), 60000000L) AS start, max(unix_micros(`ts`)) AS max_time, "
        "avg(arrived_sql) AS arrival, count(*) AS `p.count(*)`, "
        "coalesce(cast(sum(`cents`) as bigint), cast(0 as bigint)) AS `p.sum(cents)`, "
        "count(`cents`) AS `p.count(cents)` FROM rows GROUP BY 1, 2),",
        "`partials of overall` AS (SELECT start - pmod(start - 1800000000L, 3600000000L) AS start, "
        "max(max_time) AS max_time, cast(sum(`p.count(*)`) as bigint) AS `p.count(*)` "
        "FROM `partials of by_area` GROUP BY 1)",
        "SELECT 0 AS feed, element_at(from_json('[0,0,1,1]', 'array<int>'), "
        "cast(shiftright(shiftrightunsigned(hash, 32) * 4L, 32) + 1 as int)) AS part, "
        "`hash` AS f0_0, `k.area` AS f0_1, `start` AS f0_2, `max_time` AS f0_3, `arrival` AS f0_4, "
        "`p.count(*)` AS f0_5, `p.sum(cents)` AS f0_6, `p.count(cents)` AS f0_7, "
        "NULL AS f1_0, NULL AS f1_1, NULL AS f1_2, NULL AS f1_3 "
        "FROM (SELECT *, xxhash64(`k.area`) AS hash FROM `partials of by_area`)",
        "UNION ALL",
        "SELECT 1 AS feed, 2 AS part, NULL AS f0_0, NULL AS f0_1, NULL AS f0_2, NULL AS f0_3, NULL AS f0_4, "
        "NULL AS f0_5, NULL AS f0_6, NULL AS f0_7, "
        "`hash` AS f1_0, `start` AS f1_1, `max_time` AS f1_2, `p.count(*)` AS f1_3 "
        "FROM (SELECT *, 0L AS hash FROM `partials of overall`)",
    ]


def test_the_text_is_the_same_every_time() -> None:
    streams = {"op1": StreamSql("rows")}
    texts = {sql_of(plan_physical(lending()), streams) for _ in range(3)}
    assert len(texts) == 1


def test_the_only_numbers_are_those_of_the_plan() -> None:
    """A number that changed from epoch to epoch would make Spark compile the query anew."""
    plan = plan_physical(lending())
    text = sql_of(plan, {"op1": StreamSql("rows")})
    panes = {str(t.plan.pane.size) for t in plan.tables.values()}
    assert set(re.findall(r"(\d+)L\b", text)) == panes | {"4", "0"}
    assert set(re.findall(r"\b(\d{3,})\b", text)) == set()


def test_only_streams_with_rows_are_fed() -> None:
    plan = plan_physical(lending())
    assert plan_feeds(plan, 0, {}) == []
    assert [f.table for f in plan_feeds(plan, 0, {"op1": StreamSql("rows")})] == ["op2+op3", "op4+op5"]


def test_rows_are_counted_where_they_are_read_not_where_they_are_rolled_up() -> None:
    plan = plan_physical(lending())
    feeds = plan_feeds(plan, 0, {"op1": StreamSql("rows", "arrived")})
    assert {f.table: f.counted for f in feeds} == {"op2+op3": True, "op4+op5": False}
    assert {f.table: "arrival" in f.columns for f in feeds} == {"op2+op3": True, "op4+op5": False}
    assert passes(plan, 0) == 1


def test_a_finer_table_carries_what_coarser_ones_need_but_does_not_keep_it() -> None:
    stream = loans()
    add(stream, "fine", ["area", "grade"])
    add(stream, "coarse", "area", aggregates={"top": rh.max("amount")})
    plan = plan_physical(stream.graph)
    text = sql_of(plan, {"source": StreamSql("rows")})
    assert "max(`amount`) AS `p.max(amount)`" in text
    assert "max(`p.max(amount)`) AS `p.max(amount)` FROM `partials of fine`" in text
    fine, coarse = plan_feeds(plan, 0, {"source": StreamSql("rows")})
    assert "p.max(amount)" not in fine.columns
    assert "p.max(amount)" in coarse.columns


def user_written(name: str) -> dict[str, rh.Aggregate]:
    made = rh.own_aggregate(
        inputs=["cents", "grade"], partial=len, partials={"n": "bigint"}, merge=len, finish=len, result="bigint"
    )
    return {name: made, "n": rh.count()}


def test_user_written_aggregates_are_fed_with_rows() -> None:
    stream = loans()
    add(stream, "a", "area", aggregates=user_written("v"))
    plan = plan_physical(stream.graph)
    feeds = plan_feeds(plan, 0, {"source": StreamSql("rows")})
    assert feeds == [
        Feed(
            number=0,
            table="a",
            stream="source",
            raw=False,
            counted=True,
            columns=("hash", "k.area", "start", "max_time", "p.count(*)"),
        ),
        Feed(
            number=1,
            table="a",
            stream="source",
            raw=True,
            counted=False,
            columns=("hash", "k.area", "start", "r.cents", "r.grade"),
        ),
    ]
    assert passes(plan, 0) == 2
    text = sql_of(plan, {"source": StreamSql("rows")})
    assert "`cents` AS `r.cents`, `grade` AS `r.grade` FROM rows WHERE unix_micros(`ts`) IS NOT NULL" in text


def test_columns_are_shuffled_under_plain_names() -> None:
    assert Feed(
        number=3, table="a", stream="source", raw=False, counted=True, columns=("hash", "k.odd name", "p.sum(x)")
    ).wire == ("f3_0", "f3_1", "f3_2")


def test_odd_column_names_are_quoted() -> None:
    stream = loans(**{"odd `name`": "string", "select": "bigint"})
    add(stream, "a", "odd `name`", aggregates={"s": rh.sum("select")})
    text = sql_of(plan_physical(stream.graph), {"source": StreamSql("rows")})
    assert "`odd ``name``` AS `k.odd ``name```" in text
    assert "sum(`select`)" in text


def test_panes_are_cut_exactly_from_any_offset() -> None:
    assert pane_sql("t", Window(60, 60)) == "t - pmod(t, 60L)"
    assert pane_sql("t", Window(60, 60, 7)) == "t - pmod(t - 7L, 60L)"


def test_slots_follow_the_routing_table() -> None:
    assert part_sql(4, (3, 3, 3, 3)) == "3"
    assert "from_json('[5,6,5,7]', 'array<int>')" in part_sql(4, (5, 6, 5, 7))
