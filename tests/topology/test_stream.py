"""The errors of streams, which say what to do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rheostat.errors import OperatorError, TopologyError
from rheostat.topology import aggregates as rh
from rheostat.topology import sinks
from rheostat.topology.aggregates import Aggregate
from rheostat.topology.maps import arrow_map
from rheostat.topology.nodes import Map
from rheostat.windows.window import Window, sliding, tumbling
from tests.topology.builders import loans, with_column, without

MINUTE = tumbling("1 minute")
HALF = Window(1_800_000_000, 60_000_000)


def refused(message: str) -> Any:
    return pytest.raises(TopologyError, match=message)


def test_a_map_keeps_the_event_time() -> None:
    with refused("operator 'm' drops the event-time column 'ts'; keep it in its result"):
        loans().map("m", without("ts"))
    windows = loans().compute("c", n=rh.count()).consolidate("w", MINUTE)
    with refused("operator 'm' drops the event-time column 'window_end'"):
        windows.map("m", without("window_end"))


def test_a_map_returns_a_frame() -> None:
    with refused(r"operator 'm': the function returned NoneType, not a DataFrame; .* pass schema='\.\.\.'"):
        loans().map("m", lambda _: None)  # type: ignore[arg-type, return-value]


def test_a_map_that_fails_is_named() -> None:
    def fails(frame: Any) -> Any:
        raise KeyError("rate")

    with pytest.raises(OperatorError, match="operator 'm' failed: KeyError: 'rate'") as failed:
        loans().map("m", fails)
    assert failed.value.operator == "m"
    assert isinstance(failed.value.__cause__, KeyError)


def test_rheostat_errors_pass_through_a_map() -> None:
    with refused("'soon' is not a duration"):
        loans().map("m", lambda _: tumbling("soon"))  # type: ignore[arg-type, return-value]


def test_a_refused_operator_leaves_no_trace() -> None:
    stream = loans()
    with refused("drops the event-time column"):
        stream.map("m", without("ts"))
    with refused("which the stream does not have"):
        stream.compute("c", n=rh.sum("rate"))
    assert list(stream.graph.nodes) == ["source"]


def test_a_map_changes_the_columns() -> None:
    mapped = loans().map("rate", with_column("rate", "double"))
    assert mapped.schema["rate"] == "double"
    python = loans().map("python", lambda batch: batch, schema="ts timestamp, rate double")
    assert python.schema == {"ts": "timestamp", "rate": "double"}
    node = python.graph.nodes["python"]
    assert isinstance(node, Map)
    assert node.python


def batches(function: Any) -> list[pa.RecordBatch]:
    """The result of a Python map for one batch."""

    class Rows:
        def mapInArrow(self, over_batches: Any, schema: str) -> Any:  # noqa: N802 - PySpark's name
            assert schema == "n long"
            return over_batches([pa.record_batch({"n": [1, 2]})])

    rows: Any = Rows()
    mapped: Any = arrow_map("m", function, "n long")(rows)
    return list(mapped)


def test_a_python_map_takes_and_returns_arrow() -> None:
    assert batches(lambda batch: batch) == [pa.record_batch({"n": [1, 2]})]
    assert batches(lambda batch: pa.table(batch.to_pydict())) == [pa.record_batch({"n": [1, 2]})]
    with pytest.raises(OperatorError, match="operator 'm' failed: the function returned dict, not an Arrow batch"):
        batches(lambda _: {})
    with pytest.raises(OperatorError, match="operator 'm' failed: ZeroDivisionError: division by zero"):
        batches(lambda _: 1 / 0)


def test_keys_are_columns_of_the_stream() -> None:
    with refused("operator 'c' groups by column 'zip', which stream 'source' does not have; it has ts, arrived, user"):
        loans().compute("c", by=["area", "zip"], n=rh.count())


def test_keys_can_be_compared() -> None:
    with refused("operator 'c' cannot group by column 'tags' of type array<string>"):
        loans().compute("c", by=["area", "tags"], n=rh.count())


@pytest.mark.parametrize(
    ("by", "names", "twice"),
    [
        (["area", "area"], ["n"], "area"),
        (["area"], ["area"], "area"),
        ([], ["window"], "window"),
        (["window_start"], ["n"], "window_start"),
    ],
)
def test_result_columns_have_names_of_their_own(by: list[str], names: list[str], twice: str) -> None:
    stream = loans(window_start="timestamp")
    with refused(f"operator 'c' would have two result columns named '{twice}'; rename one"):
        stream.compute("c", by=by, aggregates={n: rh.count() for n in names})


def test_a_compute_operator_needs_an_aggregate() -> None:
    with refused(r"operator 'c' has no aggregates: pass one, as in rows=rh.count\(\)"):
        loans().compute("c", by="area")


def test_an_aggregate_must_be_an_aggregate() -> None:
    with refused(r"operator 'c': n='count' is not an aggregate like rh.count\(\)"):
        loans().compute("c", n="count")  # type: ignore[arg-type]


def test_updated_results_cannot_be_aggregated() -> None:
    windows = loans().compute("c", n=rh.count()).consolidate("w", MINUTE, emit="update").map("m", lambda f: f)
    with refused("operator 'd' would aggregate every update of 'm' as a new row: use emit='append'"):
        windows.compute("d", n=rh.count())


def test_windows_are_emitted_by_append_or_update() -> None:
    with refused("operator 'w': emit='complete' is not one of 'append', 'update'"):
        loans().compute("c", n=rh.count()).consolidate("w", MINUTE, emit="complete")  # type: ignore[arg-type]


def test_windows_must_be_windows() -> None:
    computed = loans().compute("c", n=rh.count())
    with refused(r"operator 'w': windows='1 minute' is not a window: use rh.tumbling\(\) or rh.sliding\(\)"):
        computed.consolidate("w", "1 minute")  # type: ignore[arg-type]
    with refused("a consolidate operator needs at least one window"):
        computed.consolidate("w")
    with refused("needs 86400000 panes of 1 millisecond"):
        computed.consolidate("w", sliding("1 day", every="1001 milliseconds"))
    assert list(computed.stream.graph.nodes) == ["source", "c"]


def test_window_sets_and_single_windows_mix() -> None:
    stream = loans().compute("c", n=rh.count()).consolidate("w", MINUTE, HALF, tumbling("1 hour", "2 hours"))
    windows = stream.graph.nodes["w"].windows  # type: ignore[union-attr]
    assert windows == (*MINUTE, HALF, *tumbling("1 hour", "2 hours"))


def test_windows_come_in_lists_of_any_depth() -> None:
    nested: Any = [MINUTE, [HALF, tumbling("1 hour", "2 hours")], HALF]
    stream = loans().aggregate("w", windows=nested, n=rh.count())
    assert stream.graph.nodes["w"].windows == (*MINUTE, HALF, *tumbling("1 hour", "2 hours"))  # type: ignore[union-attr]
    assert loans().aggregate("w", windows=HALF, n=rh.count()).graph.nodes["w"].windows == (HALF,)  # type: ignore[union-attr]


def test_aggregate_is_compute_and_consolidate() -> None:
    short = loans().aggregate("w", by="area", windows=MINUTE, emit="update", aggregates={"x y": rh.max("amount")})
    computed = loans().compute("w.partials", by="area", aggregates={"x y": rh.max("amount")})
    long = computed.consolidate("w", MINUTE, emit="update")
    assert short.graph.nodes == long.graph.nodes
    assert list(short.graph.nodes) == ["source", "w.partials", "w"]
    assert (short.schema, short.time, short.updating) == (long.schema, long.time, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "zip"}, "operator 'w' groups by column 'zip', which stream 'source' does not have"),
        ({"n": rh.sum("rate")}, "operator 'w': aggregate 'n' reads column 'rate', which the stream does not have"),
        ({"n": "count"}, r"operator 'w': n='count' is not an aggregate like rh.count\(\)"),
        ({"emit": "complete"}, "operator 'w': emit='complete' is not one of 'append', 'update'"),
        (
            {"windows": "1 minute"},
            r"operator 'w': windows='1 minute' is not a window: use rh.tumbling\(\) or rh.sliding\(\)",
        ),
        ({"windows": [MINUTE, 5]}, r"operator 'w': windows=5 is not a window: use rh.tumbling\(\) or rh.sliding\(\)"),
        ({"windows": []}, "operator 'w': .* needs at least one window"),
        ({"windows": sliding("1 day", every="1001 milliseconds")}, "operator 'w': .* needs 86400000 panes"),
    ],
)
def test_aggregate_names_the_operator_that_was_written(options: dict[str, Any], message: str) -> None:
    stream = loans()
    with refused(message):
        stream.aggregate("w", **{"windows": MINUTE, "n": rh.count(), **options})
    assert list(stream.graph.nodes) == ["source"]


def test_aggregate_needs_both_names() -> None:
    stream = loans().map("w.partials", lambda frame: frame)
    with refused("two operators are named 'w.partials'"):
        stream.aggregate("w", windows=MINUTE, n=rh.count())
    with refused("two operators are named 'source'"):
        stream.aggregate("source", windows=MINUTE, n=rh.count())
    assert list(stream.graph.nodes) == ["source", "w.partials"]


def test_results_have_window_keys_and_aggregates() -> None:
    aggregates: dict[str, Aggregate] = {"mean rate": rh.mean("amount"), "top": rh.top_k("user")}
    stream = loans(ts="timestamp_ntz").compute("c", by=["area", "grade"], aggregates=aggregates, n=rh.count())
    assert stream.consolidate("w", MINUTE).schema == {
        "window": "string",
        "window_start": "timestamp_ntz",
        "window_end": "timestamp_ntz",
        "area": "string",
        "grade": "int",
        "mean rate": "double",
        "top": "array<struct<item:string,count:bigint>>",
        "n": "bigint",
    }


def test_a_sink_must_be_a_sink() -> None:
    with refused(r"stream 'source': 'out' is not a sink; use one of rh.sinks, such as parquet\(\.\.\.\)"):
        loans().sink("out")  # type: ignore[arg-type]
    with refused(r"stream 'source aside': None is not a sink"):
        loans().aside.sink(None)  # type: ignore[arg-type]


def test_only_sources_keep_rows_aside() -> None:
    with refused("'m' is not a source, and only a source keeps rows aside: use source.aside"):
        _ = loans().map("m", lambda frame: frame).aside
    stream = loans()
    stream.aside.sink(sinks.memory())
    assert [(s.upstream, s.aside) for s in stream.graph.sinks] == [("source", True)]
