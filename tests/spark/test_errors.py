"""What goes wrong names the operator, column or file, and says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.streams import MINUTE, Batches, read_stream, run

BATCHES = Batches.of([(0, "a", 1)], [(2 * MINUTE, "a", 1)], [(4 * MINUTE, "a", 1)])


def source(spark: SparkSession, folder: Path, **options: Any) -> tuple[rh.Topology, rh.Stream]:
    BATCHES.write(folder / "in")
    t = rh.Topology("errors")
    return t, t.source(read_stream(spark, folder / "in"), event_time="ts", **options)


def windows(rows: rh.Stream, **aggregates: Any) -> rh.Stream:
    given = aggregates or {"n": rh.count()}
    return rows.compute("by_key", by="key", aggregates=given).consolidate("windows", rh.tumbling("1 minute"))


def boom(*_: Any) -> Any:
    raise ZeroDivisionError("deep inside the user's code")


def failing(step: str) -> Any:
    def ok(frame: Any) -> Any:
        return frame.group_by("group").agg(x=frame["value"].sum() if "value" in frame.columns else 0)

    return rh.own_aggregate(
        inputs=["value"],
        partial=boom if step == "partial" else ok,
        partials={"x": "bigint"},
        merge=lambda f: f.group_by("group").first(),
        finish=boom if step == "finish" else lambda f: f["x"],
        result="bigint",
    )


@pytest.mark.parametrize("step", ["partial", "finish"])
def test_a_failing_aggregate_names_its_operator_and_keeps_the_traceback(
    spark: SparkSession, tmp_path: Path, step: str
) -> None:
    t, rows = source(spark, tmp_path)
    windows(rows, mine=failing(step)).sink(rh.sinks.memory())
    with pytest.raises(rh.OperatorError, match=rf"operator 'by_key' failed: {step} of aggregate 'mine'") as caught:
        run(t, tmp_path / "checkpoint")
    assert caught.value.operator == "by_key"
    assert "in boom" in str(caught.value)
    assert "ZeroDivisionError: deep inside the user's code" in str(caught.value)


def test_an_aggregate_that_returns_too_few_rows_is_told_so(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)
    mine = rh.own_aggregate(
        inputs=["value"],
        partial=lambda f: f.head(0).rename({"value": "x"}),
        partials={"x": "bigint"},
        merge=lambda f: f,
        finish=lambda f: f["x"],
        result="bigint",
    )
    windows(rows, mine=mine).sink(rh.sinks.memory())
    with pytest.raises(rh.OperatorError, match="must return exactly one row per group: it got 1 groups and returned 0"):
        run(t, tmp_path / "checkpoint")


def test_a_failing_python_map_names_its_operator(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)
    broken = rows.map("broken", boom, schema="ts timestamp, key string, value bigint")
    windows(broken).sink(rh.sinks.memory())
    with pytest.raises(rh.OperatorError, match="operator 'broken' failed: ZeroDivisionError") as caught:
        run(t, tmp_path / "checkpoint")
    assert "in boom" in str(caught.value)


def test_a_python_map_that_returns_nonsense_is_told_so(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)
    windows(rows.map("odd", lambda b: "text", schema="ts timestamp, key string, value bigint")).sink(rh.sinks.memory())
    with pytest.raises(rh.OperatorError, match="operator 'odd' failed: the function returned str, not an Arrow batch"):
        run(t, tmp_path / "checkpoint")


def test_a_failing_foreach_sink_names_its_stream(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)
    windows(rows).sink(rh.sinks.foreach(boom))
    with pytest.raises(rh.OperatorError, match="operator 'windows' failed: its foreach sink: ZeroDivisionError"):
        run(t, tmp_path / "checkpoint")


def test_spark_expressions_are_checked_where_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    _, rows = source(spark, tmp_path)
    with pytest.raises(rh.OperatorError, match="operator 'typo' failed: AnalysisException.*vlaue"):
        rows.map("typo", lambda df: df.where("vlaue > 1"))


def test_a_map_that_aggregates_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    _, rows = source(spark, tmp_path)
    with pytest.raises(rh.TopologyError, match="operator 'grouped' is a map, and maps work row by row.*aggregate"):
        rows.map("grouped", lambda df: df.groupBy("key", "ts").count())


def test_a_map_that_changes_the_event_time_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    _, rows = source(spark, tmp_path)
    with pytest.raises(rh.TopologyError, match="operator 'shift' changes the event-time column 'ts'"):
        rows.map("shift", lambda df: df.selectExpr("ts + interval 1 hour as ts", "key", "value"))


def test_a_damaged_segment_is_named(spark: SparkSession, tmp_path: Path) -> None:
    Batches(BATCHES.frames[:1]).write(tmp_path / "in")
    t = rh.Topology("errors")
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts", slack="1 minute")
    windows(rows).sink(rh.sinks.memory())
    run(t, tmp_path / "checkpoint")
    (segment,) = (tmp_path / "checkpoint" / "state" / "by_key").iterdir()
    segment.write_bytes(segment.read_bytes()[:100])
    BATCHES.write(tmp_path / "in")
    with pytest.raises(rh.CheckpointError, match=rf"segment .*{segment.name} has 100 bytes, not the .*restore it"):
        run(t, tmp_path / "checkpoint")


def test_a_second_query_on_a_checkpoint_is_refused_and_the_first_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)
    windows(rows).sink(rh.sinks.memory())
    first = t.start(str(tmp_path / "checkpoint"))
    try:
        with pytest.raises(rh.CheckpointInUseError, match="belongs to a running query .process .*: stop that query"):
            t.start(str(tmp_path / "checkpoint"))
        assert first.await_epoch(2)
        assert first.is_active
    finally:
        first.stop()
    run(t, tmp_path / "checkpoint")


def test_a_checkpoint_of_a_newer_format_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)
    windows(rows).sink(rh.sinks.memory())
    run(t, tmp_path / "checkpoint")
    (tmp_path / "checkpoint" / "rheostat.json").write_text(json.dumps({"format": 99, "shards": 256}))
    with pytest.raises(rh.CheckpointError, match=r"rheostat.json has format 99.*use the version that wrote"):
        t.start(str(tmp_path / "checkpoint"))


def test_a_batch_dataframe_is_not_a_source(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    with pytest.raises(rh.TopologyError, match=r"source 'source' is not a streaming DataFrame.*spark.readStream"):
        rh.Topology("errors").source(spark.read.parquet(str(tmp_path / "in")), event_time="ts")


def test_arrow_is_what_python_maps_see(spark: SparkSession, tmp_path: Path) -> None:
    t, rows = source(spark, tmp_path)

    def check(batch: Any) -> Any:
        assert isinstance(batch, pa.RecordBatch)
        return pa.Table.from_batches([batch])

    sink = rh.sinks.memory()
    windows(rows.map("check", check, schema="ts timestamp, key string, value bigint")).sink(sink)
    run(t, tmp_path / "checkpoint")
    assert sink.frame()["n"].to_list() == [1, 1]


def test_a_sum_that_does_not_fit_is_an_error_not_a_wrong_number(spark: SparkSession, tmp_path: Path) -> None:
    big = 2**62
    Batches.of([(0, "a", big)], [(1, "a", big)], [(2 * MINUTE, "a", 0)]).write(tmp_path / "in")
    t = rh.Topology("errors")
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
    windows(rows, s=rh.sum("value")).sink(rh.sinks.memory())
    with pytest.raises(rh.OperatorError, match="operator 'by_key' failed: a sum does not fit into a bigint"):
        run(t, tmp_path / "checkpoint")
