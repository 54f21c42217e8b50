"""The errors of whole topologies and of sources."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from rheostat.errors import TopologyError
from rheostat.topology import aggregates as rh
from rheostat.topology import sinks
from rheostat.topology.graph import Graph, in_order
from rheostat.topology.nodes import Consolidate, Map
from rheostat.windows.window import tumbling
from tests.topology.builders import LOANS, Frame, loans, unchanged


def refused(message: str) -> Any:
    return pytest.raises(TopologyError, match=message)


@pytest.mark.parametrize("name", ["", "a/b", "/"])
def test_topologies_have_names_without_slashes(name: str) -> None:
    with refused(f"a topology needs a name without slashes, not '{name}'"):
        Graph(name)


@pytest.mark.parametrize("name", ["", "a/b"])
def test_operators_have_names_without_slashes(name: str) -> None:
    with refused(f"an operator needs a name without '/' and '\\+', not '{name}'"):
        loans(source=name)
    with refused(f"an operator needs a name without '/' and '\\+', not '{name}'"):
        loans().map(name, lambda frame: frame)


@pytest.mark.parametrize("name", [".", ".."])
def test_operators_are_not_named_like_parent_folders(name: str) -> None:
    with refused("an operator needs a name"):
        loans().map(name, lambda frame: frame)


def test_two_operators_cannot_share_a_name() -> None:
    stream = loans(source="loans")
    with refused("two operators are named 'loans': give every operator a name of its own"):
        stream.map("loans", lambda frame: frame)
    with refused("two operators are named 'loans'"):
        stream.graph.source(Frame(LOANS), event_time="ts", name="loans")
    computed = stream.compute("by_area", by="area", n=rh.count())
    with refused("two operators are named 'by_area'"):
        computed.consolidate("by_area", tumbling("1 minute"))


@pytest.mark.parametrize("role", ["event_time", "arrival_time"])
def test_times_are_columns_of_the_stream(role: str) -> None:
    columns: dict[str, Any] = {"event_time": "ts", role: "when"}
    with refused(f"source 'source': {role} column 'when' does not exist; the stream has ts, arrived, user, area"):
        Graph("t").source(Frame(LOANS), **columns)


@pytest.mark.parametrize("role", ["event_time", "arrival_time"])
def test_times_are_timestamps(role: str) -> None:
    columns: dict[str, Any] = {"event_time": "ts", role: "area"}
    message = rf"{role} column 'area' is string, not a timestamp; cast it first, as in df.withColumn\('area', F.col"
    with refused(message):
        Graph("t").source(Frame(LOANS), **columns)


@pytest.mark.parametrize(
    ("type_", "sql"),
    [
        ("timestamp", "unix_micros(`ts`)"),
        ("timestamp_ntz", "timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', `ts`)"),
    ],
)
def test_both_kinds_of_timestamp_place_rows_in_time(type_: str, sql: str) -> None:
    time = loans(ts=type_).time
    assert time is not None
    assert time.sql == sql


def test_a_source_is_streaming() -> None:
    with refused(r"source 'source' is not a streaming DataFrame: make it with spark\.readStream"):
        Graph("t").source(Frame(LOANS, streaming=False), event_time="ts")


@pytest.mark.parametrize("option", ["late", "nulls"])
def test_rows_are_dropped_or_kept_aside(option: str) -> None:
    for kept in ("drop", "aside"):
        Graph("t").source(Frame(LOANS), event_time="ts", **{option: kept})  # type: ignore[arg-type]
    with refused(f"source 'source': {option}='keep' is not one of 'drop', 'aside'"):
        Graph("t").source(Frame(LOANS), event_time="ts", **{option: "keep"})  # type: ignore[arg-type]


def test_slack_is_a_duration() -> None:
    with refused("'soon' is not a duration"):
        loans(slack="soon")
    with refused("source 'source': slack=datetime.* must not be negative"):
        loans(slack=timedelta(seconds=-1))


def test_an_engine_may_check_maps() -> None:
    def no_maps(name: str, given: Any, mapped: Any, time_columns: Iterable[str]) -> None:
        raise TopologyError(f"{name} between {list(given.columns)} and {mapped.columns[-1]}; {list(time_columns)}")

    stream = Graph("t", no_maps).source(Frame({"ts": "timestamp"}), event_time="ts")
    with refused(r"m between \['ts'\] and n; \['ts'\]"):
        stream.map("m", lambda _: Frame({"ts": "timestamp", "n": "int"}))
    assert list(stream.graph.nodes) == ["source"]


def test_a_topology_has_a_source_and_a_sink() -> None:
    with refused(r"topology 'empty' has no source: begin with source\(\.\.\.\)"):
        Graph("empty").validate()
    stream = loans()
    with refused(r"topology 'lending' has no sink: end a stream with .sink\(rh.sinks...\)"):
        stream.graph.validate()
    stream.sink(sinks.memory()).graph.validate()


def test_partials_without_windows_are_refused() -> None:
    stream = loans().sink(sinks.memory())
    stream.compute("by_area", by="area", n=rh.count())
    with refused(r"operator 'by_area' has partials that nothing uses: add .consolidate\(\.\.\.\)"):
        stream.graph.validate()
    with refused(r"operator 'by_area' has partials, not rows: add .consolidate\(\.\.\.\)"):
        stream.graph.origin_of("by_area")


def test_the_error_for_a_cycle_names_its_operators() -> None:
    stream = loans().sink(sinks.memory())
    graph = stream.graph
    for name, upstream in (("a", "c"), ("b", "a"), ("c", "b")):
        graph.add(Map(name, upstream, unchanged))
    with refused("operators form a cycle: a -> b -> c -> a"):
        graph.validate()


def test_an_operator_that_reads_itself_is_a_cycle() -> None:
    with refused("operators form a cycle: a -> a"):
        in_order([Map("a", "a", unchanged)])


def test_an_unknown_upstream_is_named() -> None:
    with refused("operator 'b' reads from 'a', which does not exist"):
        in_order([Consolidate("b", "a", (), "append")])


def test_operators_come_after_what_they_read() -> None:
    stream = loans()
    windows = stream.map("m", lambda f: f).compute("c", n=rh.count()).consolidate("w", tumbling("1 minute"))
    nodes = [windows.graph.nodes[n] for n in ("w", "m", "c", "source")]
    assert [n.name for n in in_order(nodes)] == ["source", "m", "c", "w"]


def test_a_stream_knows_where_it_comes_from() -> None:
    stream = loans(source="loans").map("m1", lambda f: f).map("m2", lambda f: f)
    graph = stream.graph
    windows = stream.compute("c", n=rh.count()).consolidate("w", tumbling("1 minute")).map("m3", lambda f: f)
    assert [m.name for m in graph.path_to("m2")] == ["m1", "m2"]
    assert [m.name for m in graph.path_to(windows.name)] == ["m3"]
    assert graph.path_to("loans") == []
    assert graph.origin_of("m2").name == "loans"
    assert graph.origin_of("m3").name == "w"
    assert graph.clock_of("m3") == "loans"
