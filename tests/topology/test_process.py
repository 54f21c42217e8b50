"""The errors of ``process`` and ``process_keys``, and their defaults."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import SetupError, TopologyError
from rheostat.topology import aggregates as rh
from rheostat.topology import processors, sinks
from rheostat.topology.graph import Graph
from rheostat.topology.keyed_state import keyed_state
from rheostat.topology.nodes import Process
from rheostat.topology.processors import Context, KeyProcessor, from_micros, list_of, ordered_map, to_micros, value
from rheostat.topology.stream import Stream
from rheostat.windows.partials import Column
from rheostat.windows.window import tumbling
from tests.topology.builders import LOANS, Frame, loans, without


def logic(rows: Any, state: Any) -> Any:
    return None, None


def refused(message: str) -> Any:
    return pytest.raises(TopologyError, match=message)


def process(stream: Stream | None = None, function: Any = logic, **given: Any) -> Stream:
    """A process operator ``p`` over loans by area, with one option changed."""
    options = {"by": "area", "schema": "area string, ts timestamp, n bigint", "state": keyed_state("n bigint"), **given}
    return (stream or loans()).process("p", function, **options)


def process_keys(processor: Any, **given: Any) -> Stream:
    """The same, key by key."""
    options = {"by": "area", "schema": "area string, ts timestamp, n bigint", **given}
    return loans().process_keys("p", processor, **options)


def node(stream: Stream) -> Process:
    found = stream.graph.nodes[stream.name]
    assert isinstance(found, Process)
    return found


class Latest(KeyProcessor):
    last = value("double")
    seen = list_of("string")
    book = ordered_map("bigint", "decimal(10,2)")


def other(graph: Graph, name: str = "other", **types: str) -> Stream:
    return graph.source(Frame({**LOANS, **types}), event_time="ts", name=name)


def test_what_was_written_is_in_the_node() -> None:
    state = keyed_state("n bigint", ttl="1 hour", clock="event")
    made = node(process(by=["grade", "area"], order="cents", state=state, over="arrow", time_limit="90 seconds"))
    assert made.upstreams == (made.upstream,) == ("source",)
    assert made.inputs == (tuple(Column(n, t) for n, t in LOANS.items()),)
    assert (made.keys, made.key_types) == (("grade", "area"), ("int", "string"))
    assert made.state == (Column("n", "bigint"),)
    assert made.schema == (Column("area", "string"), Column("ts", "timestamp"), Column("n", "bigint"))
    assert (made.order, made.ttl, made.clock, made.over) == (("cents",), 3_600_000_000, "event", "arrow")
    assert (made.time_limit, made.per_key, made.has_timers) == (90.0, False, False)
    assert made.time_sql == ("unix_micros(`ts`)",)


def test_defaults() -> None:
    made = node(process())
    assert (made.order, made.ttl, made.clock, made.over, made.time_limit) == ((), None, "processing", "polars", 600.0)
    assert made.on_timer is None


def test_a_function_over_frames_needs_no_state() -> None:
    assert node(process(state=None)).state == ()


def test_a_key_processor_declares_its_own_state() -> None:
    made = node(process_keys(Latest))
    assert made.state == (
        Column("last", "double"),
        Column("seen", "array<string>"),
        Column("book", "array<struct<key:bigint,value:decimal(10,2)>>"),
    )
    assert (made.per_key, made.has_timers) == (True, True)

    class Nothing(KeyProcessor):
        pass

    assert node(process_keys(Nothing)).state == ()


def test_a_key_processors_state_may_expire() -> None:
    made = node(process_keys(Latest, state=keyed_state(ttl="1 hour", clock="event")))
    assert (made.ttl, made.clock) == (3_600_000_000, "event")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"processor": 5},
            r"operator 'p': 5 is not a KeyProcessor class; use process\(...\) for a function over frames",
        ),
        ({"processor": Latest()}, "operator 'p': .* is not a KeyProcessor class"),
        ({"processor": logic}, "operator 'p': .* is not a KeyProcessor class"),
        ({"state": keyed_state("n int")}, r"Latest declares its own state: call rh.keyed_state\(\) without columns"),
        ({"state": keyed_state(ttl="-1 hours")}, "'-1 hours' is not a duration"),
        ({"state": keyed_state(clock="wall")}, "operator 'p': clock='wall' is not one of"),  # type: ignore[arg-type]
        ({"order": "when"}, "operator 'p' needs column 'when', which stream 'source' does not have"),
    ],
)
def test_what_cannot_run_key_by_key_is_refused(given: dict[str, Any], message: str) -> None:
    with refused(message):
        process_keys(**{"processor": Latest, **given})


def test_an_order_is_that_of_arrival_or_of_columns_or_none() -> None:
    def order(**given: Any) -> tuple[tuple[str, ...], bool]:
        made = node(process(loans(arrival="int"), **given))
        return made.order, made.ordered

    assert order() == order(order="arrival") == ((), True)
    assert order(order="cents") == order(order=["cents"]) == (("cents",), True)
    assert order(order=["arrival"]) == (("arrival",), True)
    assert order(order=None) == ((), False)


def test_only_columns_that_are_read_are_shuffled() -> None:
    made = node(process(reads="cents", order="grade"))
    assert [c.name for c in made.inputs[0]] == ["area", "grade", "cents"]
    with refused("operator 'p': reads='zip' is in none of its streams"):
        process(reads=["cents", "zip"])


def test_a_missing_package_fails_where_the_field_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    processors._sorted_dict.cache_clear()
    monkeypatch.setitem(sys.modules, "sortedcontainers", None)
    with pytest.raises(SetupError, match=r"rh.ordered_map needs the package sortedcontainers: .*rheostat\[maps\]"):
        ordered_map("bigint", "bigint")
    assert list_of("int").loaded(None) == []


def test_a_topology_loads_neither_spark_nor_packages_of_extras() -> None:
    code = "import rheostat.topology.graph, rheostat.keyed.key_calls, sys; print([m for m in %r if m in sys.modules])"
    packages = ("pyspark", "sortedcontainers", "numba")
    done = subprocess.run(
        [sys.executable, "-c", code % (packages,)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_timer_of_a_function_over_frames() -> None:
    assert node(process(on_timer=logic)).has_timers


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": ()}, "operator 'p' needs a key: pass by='column'"),
        ({"by": "zip"}, "operator 'p' needs column 'zip', which stream 'source' does not have; it has ts, arrived"),
        ({"by": ["area", "zip"]}, "operator 'p' needs column 'zip'"),
        ({"by": "tags"}, "operator 'p' cannot be keyed by column 'tags' of type array<string>"),
        ({"order": "when"}, "operator 'p' needs column 'when', which stream 'source' does not have"),
        ({"order": ["ts", "when"]}, "operator 'p' needs column 'when'"),
        ({"over": "pandas"}, "operator 'p': over='pandas' is not one of 'polars', 'arrow'"),
        (
            {"state": keyed_state(clock="wall")},  # type: ignore[arg-type]
            "operator 'p': clock='wall' is not one of 'processing', 'event'",
        ),
        ({"state": keyed_state(ttl="0 seconds")}, "operator 'p': ttl='0 seconds' is not a positive duration"),
        (
            {"state": keyed_state(ttl=timedelta(seconds=-1))},
            "operator 'p': ttl=datetime.timedelta.* is not a positive duration",
        ),
        ({"state": keyed_state(ttl="a while")}, "'a while' is not a duration"),
        ({"state": "n bigint"}, r"operator 'p': write state=rh.keyed_state\(...\) instead of state='n bigint'"),
        ({"time_limit": "0 seconds"}, "operator 'p': time_limit='0 seconds' is not a positive duration"),
        (
            {"state": keyed_state("area string")},
            "operator 'p': state field 'area' has the name of a key or timer; rename it",
        ),
        (
            {"state": keyed_state("timer bigint"), "on_timer": logic},
            "operator 'p': state field 'timer' has the name of a key or timer; rename it",
        ),
        (
            {"state": keyed_state("m map<string,int>")},
            "operator 'p': column 'm': columns of type map<string,int> cannot be kept",
        ),
        ({"schema": "m map<string,int>"}, "operator 'p': column 'm': columns of type map<string,int> cannot be kept"),
        ({"state": keyed_state("number")}, "operator 'p': state='number' is not Spark DDL"),
        ({"schema": "area"}, "operator 'p': schema='area' is not Spark DDL"),
        ({"event_time": "when"}, r"operator 'p': event_time='when' is not in its output \(area, ts, n\)"),
        ({"event_time": "n"}, "operator 'p': event_time='n' is bigint, not a timestamp"),
        ({"function": 5}, "operator 'p': 5 is not a function; pass one from"),
        ({"function": None}, "operator 'p': None is not a function; pass one from"),
        ({"function": Latest}, r"operator 'p': Latest is a KeyProcessor; use process_keys\(...\) for it"),
    ],
)
def test_what_cannot_run_is_refused_and_leaves_no_trace(given: dict[str, Any], message: str) -> None:
    stream = loans()
    with refused(message):
        process(stream, **given)
    assert list(stream.graph.nodes) == ["source"]


def test_a_timer_column_is_only_taken_if_there_are_timers() -> None:
    assert node(process(state=keyed_state("timer bigint"))).state == (Column("timer", "bigint"),)


def test_a_name_is_an_operators_own() -> None:
    stream = process()
    with refused("two operators are named 'p'"):
        process(stream.graph.source(Frame(LOANS), event_time="ts", name="again"))
    with refused("an operator needs a name without '/' and '\\+', not 'a\\+b'"):
        loans().process("a+b", logic, by="area", schema="n bigint")


def test_a_key_is_given_once() -> None:
    with refused("area"):
        process(by=["area", "area"])


def test_a_key_is_not_named_like_the_timer() -> None:
    with refused("timer"):
        process(loans(timer="string"), by="timer", on_timer=logic)


def test_several_streams_meet_by_key() -> None:
    stream = loans()
    calls = other(stream.graph, "calls", who="string")
    made = node(process(stream, join=[calls]))
    assert made.upstreams == ("source", "calls")
    assert made.inputs[1] == tuple(Column(n, t) for n, t in calls.schema.items())
    assert made.time_sql == ("unix_micros(`ts`)", "unix_micros(`ts`)")


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"area": "int"}, "operator 'p': key column 'area' is int in one stream and string in another; cast them"),
        ({"area": "map<int,int>"}, "key column 'area' is map<int,int> in one stream and string in another"),
    ],
)
def test_keys_of_several_streams_have_one_type(types: dict[str, str], message: str) -> None:
    stream = loans()
    with refused(message):
        process(stream, join=[other(stream.graph, "calls", **types)])


def test_every_stream_has_the_keys_and_the_order() -> None:
    stream = loans()
    windows = stream.compute("c", by="user", n=rh.count()).consolidate("w", tumbling("1 minute"))
    with refused("operator 'p' needs column 'area', which stream 'w' does not have; it has window, window_start"):
        process(stream, join=[windows])
    with refused("operator 'p' needs column 'cents', which stream 'w' does not have"):
        process(stream, by="user", order="cents", join=[windows])


def test_a_stream_is_read_once() -> None:
    stream = loans()
    with refused("operator 'p' reads a stream twice: source, source"):
        process(stream, join=[stream])


def test_event_time_is_the_column_called_as_in_the_input() -> None:
    time = process().time
    assert time is not None
    assert (time.sql, time.type, time.columns) == ("unix_micros(`ts`)", "timestamp", ("ts",))
    assert process(schema="area string, at timestamp").time is None
    assert process(schema="area string, ts bigint").time is None


def test_event_time_may_be_any_timestamp_of_the_output() -> None:
    time = process(schema="ts timestamp, `at noon` timestamp_ntz", event_time="at noon").time
    assert time is not None
    assert (time.type, time.columns) == ("timestamp_ntz", ("at noon",))
    assert time.sql == "timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', `at noon`)"


def minutes() -> Stream:
    return loans().compute("c", by="area", n=rh.count()).consolidate("w", tumbling("1 minute"))


def test_event_time_of_windows_is_inherited_by_name() -> None:
    stream = process(minutes(), schema="area string, window_end timestamp")
    assert stream.time is not None
    assert stream.time.columns == ("window_end",)
    assert node(stream).time_sql == ("unix_micros(window_end) - 1",)


def test_inherited_event_time_keeps_its_definition() -> None:
    windows = minutes()
    assert windows.time is not None
    stream = process(windows, schema="area string, window_end timestamp")
    assert stream.time is not None
    assert stream.time.sql.replace("`", "") == windows.time.sql


def test_event_time_may_be_that_of_a_joined_stream() -> None:
    stream = loans().process("first", logic, by="area", schema="area string")
    assert stream.time is None
    joined = process(stream, join=[other(stream.graph)], state=None)
    assert joined.time is not None
    assert node(joined).time_sql == (None, "unix_micros(`ts`)")


def test_windows_over_a_process_operator_need_event_time() -> None:
    timeless = process(schema="area string, n bigint")
    with refused(
        "operator 'c' needs event time, and the output of 'p' has none: pass event_time='column' to the process"
    ):
        timeless.compute("c", by="area", n=rh.count())
    process().compute("c", by="area", n=rh.count())


def test_maps_and_sinks_may_follow() -> None:
    stream = process(schema="area string, n bigint").map("m", without("n")).sink(sinks.memory())
    assert stream.schema == {"area": "string"}
    stream.graph.validate()
    with refused("operator 'm' drops the event-time column 'ts'"):
        process().map("m", without("ts"))


def test_only_sources_keep_rows_aside() -> None:
    with refused("'p' is not a source"):
        _ = process().aside


# What a processor sees.


def test_a_context_keeps_timers_until_they_are_cancelled() -> None:
    context = Context(3, 5_000_000)
    assert context.watermark == datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    context.set_timer(7)
    context.set_timer(datetime(1970, 1, 1, 0, 0, 1))
    context.set_timer(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    assert context.timers == {7, 1_000_000, 0}
    context.cancel_timer(7)
    context.cancel_timer(8)
    assert context.timers == {1_000_000, 0}
    context.remove()
    assert (context.removed, context.timers) == (True, set())
    assert Context(0, None).watermark is None


@settings(max_examples=100, deadline=None)
@given(st.datetimes(), st.integers(-(10**16), 10**16))
def test_microseconds_and_times_are_the_same(at: datetime, micros: int) -> None:
    assert from_micros(to_micros(at)) == at.replace(tzinfo=UTC)
    assert to_micros(from_micros(micros)) == micros


def test_fields_load_what_they_stored() -> None:
    count, seen, book = value("int", default=3), list_of("int"), ordered_map("string", "int")
    assert (count.loaded(None), count.loaded(5), value("int").loaded(None)) == (3, 5, None)
    assert (seen.loaded(None), seen.loaded((1, 2)), seen.stored([1])) == ([], [1, 2], [1])
    stored = book.stored({"b": 2, "a": 1})
    assert stored == [{"key": "b", "value": 2}, {"key": "a", "value": 1}]
    assert list(book.loaded(stored).items()) == [("a", 1), ("b", 2)]
    assert list(book.loaded(None)) == []
