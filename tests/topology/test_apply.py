"""``Stream.apply`` in a topology: its columns, its place, and the errors of wrong arguments."""

from __future__ import annotations

from typing import Any

import pytest

import rheostat as rh
from rheostat.errors import TopologyError
from rheostat.planning.apply_sql import apply_sql
from rheostat.planning.physical import plan_physical
from rheostat.planning.view import view_of
from rheostat.topology.nodes import Apply
from tests.topology.builders import loans

SCHEMA = "ts timestamp, area string, score double"


def test_the_node_has_what_was_asked_for() -> None:
    stream = loans().apply(
        "score", len, schema=SCHEMA, cost_by=("area", "grade"), grouping="posg", slots=3, reads="amount", order=True
    )
    node = stream.graph.nodes["score"]
    assert isinstance(node, Apply)
    assert (node.cost_by, node.grouping, node.slots, node.ordered) == (("area", "grade"), "posg", 3, True)
    assert [c.name for c in node.inputs] == ["amount"]
    assert list(stream.schema) == ["ts", "area", "score"]
    assert stream.time is not None, "the event time has the name of the input's"


def test_without_costs_rows_are_dealt_in_turn() -> None:
    for options in ({}, {"cost_by": "area", "grouping": "round_robin"}):
        graph = loans().apply("score", len, schema=SCHEMA, **options).graph  # type: ignore[arg-type]
        node = graph.nodes["score"]
        assert isinstance(node, Apply)
        assert not node.learns
        assert "xxhash64" not in apply_sql(node, "v", {}, slots=4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost_by": "entity"}, "operator 'score': cost_by='entity' is not a column of its stream, which has ts, "),
        ({"cost_by": "tags"}, r"costs cannot be learned by 'tags' of type array<string>; cast it with map"),
        ({"cost_by": ("area", "area")}, "cost_by names a column twice: area, area"),
        ({"grouping": "random"}, "grouping='random' is not one of 'lpt', 'posg', 'round_robin'"),
        ({"over": "pandas"}, "over='pandas' is not one of 'rows', 'polars', 'arrow'"),
        ({"reads": "entity"}, "reads='entity' is not a column of its stream"),
        ({"slots": 0}, "slots=0 must be from 1 to 4096"),
        ({"schema": "m map<string,int>"}, "its output cannot have column 'm' of type map<string,int>"),
        ({"event_time": "at"}, "operator 'score': event_time='at' is not in its output"),
        ({"time_limit": "0 seconds"}, "time_limit='0 seconds' is not a positive duration"),
        ({"function": 7}, "operator 'score': pass a function, not 7"),
    ],
)
def test_wrong_arguments(changes: dict[str, Any], message: str) -> None:
    options = {"function": len, "schema": SCHEMA, **changes}
    with pytest.raises(TopologyError, match=message):
        loans().apply("score", options.pop("function"), **options)


def test_what_reads_its_results_comes_one_level_later() -> None:
    source = loans()
    scored = source.apply("score", len, schema=SCHEMA, cost_by="area")
    hours = scored.aggregate("hours", by="area", windows=rh.tumbling("1 hour"), best=rh.max("score"))
    again = hours.apply("again", len, schema="area string")
    again.sink(rh.sinks.memory())
    plan = plan_physical(source.graph)
    assert {name: applied.level for name, applied in plan.applied.items()} == {"score": 0, "again": 2}
    assert [c.level for c in plan.components] == [1]
    assert plan.levels == 3
    assert plan.streams_read == ["score", "source", "hours"]
    assert [c.name for c in plan.result_schema("score")] == ["ts", "area", "score"]


def test_explain_says_how_rows_are_dealt() -> None:
    source = loans()
    source.apply("score", len, schema=SCHEMA, cost_by="area", slots=4).sink(rh.sinks.memory())
    source.apply("plain", len, schema=SCHEMA, over="polars", order=True).sink(rh.sinks.memory())
    plan = plan_physical(source.graph)
    text = view_of(source.graph, plan, {}, {"score": "now in turn: costs hardly differ"}).render("text")
    assert "row by row, costs by area: dealt by LPT to 4 slots; now in turn: costs hardly differ" in text
    assert "over polars frames, all rows cost the same: dealt in turn to as many slots as cores, in order" in text
    assert "shuffles per epoch: 2" in text


def test_updates_stay_updates() -> None:
    hours = loans().aggregate("hours", by="area", windows=rh.tumbling("1 hour"), emit="update", n=rh.count())
    assert hours.apply("seen", len, schema="area string, window_end timestamp").updating
