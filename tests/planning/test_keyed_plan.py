"""Plans with process operators: their levels, clocks and components, what feeds them, how they are shown."""

from __future__ import annotations

from typing import Any

from rheostat.keyed.keyed_layout import KeyedLayout
from rheostat.planning.feed_sql import feeds_sql
from rheostat.planning.feeds import Feed, StreamSql, passes, plan_feeds
from rheostat.planning.physical import plan_physical
from rheostat.planning.tables import PhysicalPlan
from rheostat.planning.view import as_mermaid, as_text
from rheostat.topology import aggregates as rh
from rheostat.topology import sinks
from rheostat.topology.graph import Graph, in_order
from rheostat.topology.keyed_state import keyed_state
from rheostat.topology.processors import KeyProcessor, value
from rheostat.topology.stream import Stream
from rheostat.windows.partials import Column
from rheostat.windows.window import tumbling
from tests.planning.builders import add, view
from tests.topology.builders import LOANS, Frame, loans

OUTPUT = "area string, ts timestamp, n bigint"


def logic(rows: Any, state: Any) -> Any:
    return None, None


class Count(KeyProcessor):
    n = value("bigint", default=0)
    top = value("double")


def process(stream: Stream, name: str, by: Any = "area", **options: Any) -> Stream:
    return stream.process(name, logic, by=by, **{"schema": OUTPUT, "state": keyed_state("n bigint"), **options})


def sources(*names: str) -> list[Stream]:
    graph = Graph("several")
    return [graph.source(Frame(LOANS), event_time="ts", name=n) for n in names]


def levels(graph: Graph) -> dict[str, tuple[int, str]]:
    """Level and clock of every table."""
    plan = plan_physical(graph)
    windows = {t.name: (t.level, t.clock) for t in plan.tables.values()}
    return windows | {t.name: (t.level, t.clock) for t in plan.keyed.values()}


def components(plan: PhysicalPlan) -> dict[str, tuple[str, ...]]:
    return {c.name: c.tables for c in plan.components}


# Levels and clocks.


def test_a_process_operator_over_a_source_is_at_the_first_level() -> None:
    assert levels(process(loans().map("m", lambda f: f), "p").graph) == {"p": (0, "source")}


def test_a_process_operator_comes_after_what_it_reads() -> None:
    stream = loans()
    windows = add(stream, "minutes", "area")
    after_windows = process(windows, "q", schema="area string, window_end timestamp").map("m", lambda f: f)
    process(after_windows, "r")
    add(process(stream, "p"), "counts", "area")
    assert levels(stream.graph) == {
        "minutes": (0, "source"),
        "p": (0, "source"),
        "q": (1, "source"),
        "counts": (1, "source"),
        "r": (2, "source"),
    }
    plan = plan_physical(stream.graph)
    assert plan.levels == 3
    assert [t.name for t in plan.keyed_at(1)] == ["q"]
    assert [t.name for t in plan.tables_at(1)] == ["counts"]


def test_streams_of_different_levels_are_joined_after_the_later_one() -> None:
    stream = loans()
    first = process(stream, "first")
    second = process(first, "second")
    process(stream, "joined", join=[first, second])
    assert levels(stream.graph)["joined"] == (2, "source")


def test_joined_sources_have_a_common_clock() -> None:
    b, a, c = sources("b", "a", "c")
    both = process(b, "both", join=[a])
    process(both, "later")
    process(both, "all", join=[c])
    add(both, "counts", "area")
    process(a, "alone")
    assert levels(b.graph) == {
        "both": (0, "a+b"),
        "later": (1, "a+b"),
        "all": (1, "a+b+c"),
        "counts": (1, "a+b"),
        "alone": (0, "a"),
    }
    assert plan_physical(b.graph).clocks == {"a", "a+b", "a+b+c"}


def test_a_source_that_is_read_twice_is_one_clock() -> None:
    (stream,) = sources("s")
    process(process(stream, "p"), "again", join=[stream.map("m", lambda f: f)])
    assert stream.graph.clock_of("again") == "s"


def test_operators_come_after_all_that_they_read() -> None:
    b, a = sources("b", "a")
    process(b, "joined", join=[process(a, "p")])
    nodes = [b.graph.nodes[n] for n in ("joined", "p", "a", "b")]
    assert [n.name for n in in_order(nodes)] == ["b", "a", "p", "joined"]


# Components.


def test_operators_with_the_same_keys_share_a_component() -> None:
    stream = loans()
    add(stream, "windows", "area")
    process(stream, "p")
    process(stream, "q", ["grade", "area"])
    process(stream, "r", ["area", "grade"])
    plan = plan_physical(stream.graph)
    assert components(plan) == {"by area": ("windows", "p"), "by area, grade": ("q", "r")}
    assert plan.keyed["q"].route_by == plan.keyed["r"].route_by == ("area", "grade")
    assert plan.keyed["q"].layout == KeyedLayout(
        (Column("k.grade", "int"), Column("k.area", "string")), (Column("s.n", "bigint"),)
    )


def test_a_process_operator_is_routed_by_all_its_keys() -> None:
    """Windows by area and grade may be routed by area alone; state that is found by its hash may not."""
    stream = loans()
    add(stream, "coarse", "area")
    add(stream, "fine", ["area", "grade"])
    process(stream, "p", ["area", "grade"])
    assert components(plan_physical(stream.graph)) == {"by area": ("coarse", "fine"), "by area, grade": ("p",)}


def test_levels_have_components_of_their_own() -> None:
    stream = loans()
    process(process(stream, "p"), "q")
    plan = plan_physical(stream.graph)
    assert components(plan) == {"by area": ("p",), "by area @1": ("q",)}
    assert [c.level for c in plan.components] == [0, 1]


# Feeds.


def sql_of(graph: Graph, streams: dict[str, StreamSql], level: int = 0) -> str:
    plan = plan_physical(graph)
    feeds = plan_feeds(plan, level, streams)
    return feeds_sql(feeds, plan, streams, lambda table: "0")


def small(name: str = "source", graph: Graph | None = None, **types: str) -> Stream:
    columns = {"ts": "timestamp", "area": "string", **types}
    return (graph or Graph("small")).source(Frame(columns), event_time="ts", name=name)


def test_the_text_of_one_process_operator() -> None:
    stream = process(small(), "p")
    assert sql_of(stream.graph, {"source": StreamSql("rows", "arrived_sql")}) == (
        "SELECT 0 AS part, `hash` AS f0_0, `sequence` AS f0_1, `arrival` AS f0_2, `r.ts` AS f0_3, "
        "`r.area` AS f0_4 FROM (SELECT *, xxhash64(`r.area`) AS hash FROM (SELECT monotonically_increasing_id() "
        "AS sequence, arrived_sql AS arrival, `ts` AS `r.ts`, `area` AS `r.area` FROM rows "
        "WHERE unix_micros(`ts`) IS NOT NULL))"
    )


def test_rows_go_to_operators_beside_partials() -> None:
    stream = small()
    add(stream, "windows", "area")
    process(stream, "p", state=keyed_state("n bigint", ttl="1 hour", clock="event"))
    text = sql_of(stream.graph, {"source": StreamSql("rows")}).split("\n")
    assert text[0].startswith("WITH `partials of windows` AS (SELECT `area` AS `k.area`")
    assert text[2:] == [
        "UNION ALL",
        "SELECT 1 AS feed, 0 AS part, NULL AS f0_0, NULL AS f0_1, NULL AS f0_2, NULL AS f0_3, NULL AS f0_4, "
        "`hash` AS f1_0, `sequence` AS f1_1, `max_time` AS f1_2, `r.ts` AS f1_3, `r.area` AS f1_4 "
        "FROM (SELECT *, xxhash64(`r.area`) AS hash FROM (SELECT monotonically_increasing_id() AS sequence, "
        "unix_micros(`ts`) AS max_time, `ts` AS `r.ts`, `area` AS `r.area` FROM rows "
        "WHERE unix_micros(`ts`) IS NOT NULL))",
    ]


def test_every_stream_of_an_operator_is_a_feed() -> None:
    stream = small("one", x="int")
    process(stream, "p", join=[small("two", stream.graph, y="double")])
    plan = plan_physical(stream.graph)
    streams = {"one": StreamSql("rows1"), "two": StreamSql("rows2", "arrived_sql")}
    assert plan_feeds(plan, 0, streams) == [
        Feed(
            number=0,
            table="p",
            stream="one",
            raw=True,
            counted=False,
            columns=("hash", "sequence", "r.ts", "r.area", "r.x"),
        ),
        Feed(
            number=1,
            table="p",
            stream="two",
            raw=True,
            counted=False,
            columns=("hash", "sequence", "arrival", "r.ts", "r.area", "r.y"),
        ),
    ]
    assert [f.stream for f in plan_feeds(plan, 0, {"two": StreamSql("rows2")})] == ["two"]
    assert passes(plan, 0) == 2
    assert passes(plan, 1) == 0


def test_keys_are_hashed_in_one_order_everywhere() -> None:
    stream = small(grade="int")
    process(stream, "p", ["grade", "area"])
    add(stream, "windows", ["grade", "area"])
    text = sql_of(stream.graph, {"source": StreamSql("rows")})
    assert "xxhash64(`r.area`, `r.grade`)" in text
    assert "xxhash64(`k.area`, `k.grade`)" in text


def test_rows_without_event_time_are_taken_as_they_are() -> None:
    stream = process(small(), "p", schema="area string")
    process(stream, "q", schema="area string", state=keyed_state("n bigint", ttl="1 hour", clock="event"))
    text = sql_of(stream.graph, {"p": StreamSql("rows")}, level=1)
    assert "WHERE" not in text
    assert "CAST(NULL AS BIGINT) AS max_time" in text


def test_odd_column_names_are_quoted() -> None:
    stream = Graph("odd").source(Frame({"ts": "timestamp", "odd `name`": "string"}), event_time="ts")
    process(stream, "p", "odd `name`")
    text = sql_of(stream.graph, {"source": StreamSql("rows")})
    assert "`odd ``name``` AS `r.odd ``name```" in text
    assert "xxhash64(`r.odd ``name```)" in text


# Views.

TEXT = """
topology books

operators
  orders   source       by ts, slack 0 seconds
  book     process      by area, key by key; keeps n, top  [by area]
  minutes  compute      by area: n  [by area @1]
  candles  consolidate  1 minute (append)  [by area @1]
  alerts   process      by area, over arrow frames; keeps nothing  [by area @2]
  alerts   sink         memory

components
  by area: 2 slots; book
  by area @1: 2 slots; minutes, candles
  by area @2: 2 slots; alerts

shuffles per epoch: 4 (4 if every stateful operator had its own)

windows of minutes: panes of 1 minute, from rows; keeps count(*)
  1 minute  is the pane
  merges per hour: 60 (60 if every window were merged from its panes)
"""

MERMAID = """
flowchart LR
  o0["orders<br/>source"]
  subgraph c0["by area"]
    o1["book"]
  end
  subgraph c1["by area @1"]
    o2["minutes"]
    o3["candles"]
  end
  subgraph c2["by area @2"]
    o4["alerts"]
  end
  o0 --> o1
  o1 --> o2
  o2 --> o3
  o3 --> o4
  o1 --> o4
  s0[("memory")]
  o4 --> s0
"""


def books() -> Graph:
    """Order books, candles of what they give, and alerts over both."""
    stream = small("orders", Graph("books"))
    book = stream.process_keys("book", Count, by="area", schema=OUTPUT)
    candles = book.compute("minutes", by="area", n=rh.count()).consolidate("candles", tumbling("1 minute"))
    process(candles, "alerts", join=[book], over="arrow", state=None).sink(sinks.memory())
    stream.graph.validate()
    return stream.graph


def test_process_operators_as_text() -> None:
    assert as_text(view(books())) == TEXT.strip()


def test_process_operators_as_mermaid() -> None:
    assert as_mermaid(view(books())) == MERMAID.strip()


def test_an_operator_shows_all_that_it_reads() -> None:
    shown = {o.name: o for o in view(books()).operators}
    assert shown["alerts"].upstreams == ("candles", "book")
    assert shown["book"].kind == "process"
