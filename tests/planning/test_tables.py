"""What a physical plan answers: result columns, streams and windows, each from one place."""

from __future__ import annotations

from rheostat.planning.physical import plan_physical
from rheostat.topology import aggregates as rh
from rheostat.topology.graph import Graph
from rheostat.windows.partials import Column
from rheostat.windows.window import tumbling
from tests.planning.builders import add
from tests.topology.builders import LOANS, Frame, loans

TIMES = (Column("window_start", "timestamp"), Column("window_end", "timestamp"))


def test_a_stream_of_results_has_the_columns_that_tasks_write() -> None:
    stream = loans()
    results = add(stream, "a", ["area", "grade"], aggregates={"total": rh.sum("cents"), "mean": rh.mean("amount")})
    plan = plan_physical(stream.graph)
    values = (Column("area", "string"), Column("grade", "int"), Column("total", "bigint"), Column("mean", "double"))
    assert plan.result_schema("a_windows") == (Column("window", "string"), *TIMES, *values)
    assert {c.name: c.type for c in plan.result_schema("a_windows")} == results.schema


def test_results_of_a_process_operator_have_its_schema() -> None:
    stream = loans()
    output = stream.process("p", lambda rows, state: (None, None), by="area", schema="area string, n bigint")
    plan = plan_physical(stream.graph)
    assert plan.result_schema("p") == (Column("area", "string"), Column("n", "bigint"))
    assert {c.name: c.type for c in plan.result_schema("p")} == output.schema


def test_a_level_reads_each_stream_once() -> None:
    stream = loans()
    results = add(stream, "a", "area")
    add(stream, "b", "user")
    add(results, "c", "area", tumbling("1 hour"))
    plan = plan_physical(stream.graph)
    assert [plan.streams_at(level) for level in range(plan.levels)] == [["source"], ["a_windows"]]


def test_windows_over_a_source_are_those_of_its_own_rows() -> None:
    graph = Graph("two")
    one, two = (graph.source(Frame(LOANS), event_time="ts", name=n) for n in ("one", "two"))
    over_one = add(one, "a", "area", tumbling("5 minutes", "1 minute"))
    add(one, "b", "user", tumbling("1 minute"))
    add(two, "c", "area", tumbling("1 day"))
    add(over_one, "d", "area", tumbling("1 hour"))
    plan = plan_physical(graph)
    assert [w.label for w in plan.windows_over("one")] == ["1 minute", "5 minutes"]
    assert [w.label for w in plan.windows_over("two")] == ["1 day"]
    assert plan.windows_over("three") == []
