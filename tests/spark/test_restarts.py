"""Stopping, starting again with other settings, and changed topologies against an old checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.streams import MINUTE, SECOND, Batches, assert_same, expected, read_stream, run

WINDOWS = [*rh.tumbling("1 minute", "5 minutes"), *rh.sliding("2 minutes", every="1 minute")]
BATCHES = Batches.of(
    *([((e * 50 + i % 61) * SECOND, f"k{i % 9}", i) for i in range(80)] for e in range(6)), [(30 * MINUTE, "end", 0)]
)
SLACK = 30 * SECOND

Build = Callable[[rh.Stream], rh.Stream]


def counted(rows: rh.Stream) -> rh.Stream:
    return rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value")).consolidate(
        "windows", WINDOWS
    )


def topology(spark: SparkSession, folder: Path, build: Build = counted) -> rh.Topology:
    t = rh.Topology("restarts")
    rows = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="30 seconds")
    build(rows).sink(rh.sinks.parquet(str(folder / "out")))
    return t


def result(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "out" / "*" / "*.parquet", hive_partitioning=False)


def test_a_run_in_pieces_gives_what_one_run_gives_whatever_the_slots(spark: SparkSession, tmp_path: Path) -> None:
    for i, frame in enumerate(BATCHES.frames):
        Batches([frame]).write(tmp_path / "in", first=i)
        query = run(topology(spark, tmp_path), tmp_path / "checkpoint", slots=1 + i % 4, shards=16)
        assert [p.epoch for p in query.progress] == [i]
        assert query.status.state == "stopped"
    assert_same(result(tmp_path), expected(BATCHES, WINDOWS, slack=SLACK))


def test_slots_and_shards_must_fit(spark: SparkSession, tmp_path: Path) -> None:
    BATCHES.write(tmp_path / "in")
    with pytest.raises(rh.ConfigurationError, match="slots=17: a component has between 1 and 16 slots"):
        run(topology(spark, tmp_path), tmp_path / "checkpoint", slots=17, shards=16)
    with pytest.raises(rh.ConfigurationError, match="shards=0"):
        run(topology(spark, tmp_path), tmp_path / "other", shards=0)
    # What failed to start holds nothing.
    run(topology(spark, tmp_path), tmp_path / "checkpoint", slots=16, shards=16)


@pytest.fixture
def half_way(spark: SparkSession, tmp_path: Path) -> Path:
    """A checkpoint with open windows."""
    Batches(BATCHES.frames[:3]).write(tmp_path / "in")
    run(topology(spark, tmp_path), tmp_path / "checkpoint")
    Batches(BATCHES.frames[3:]).write(tmp_path / "in", first=3)
    return tmp_path


def test_a_new_operator_begins_now_and_the_old_one_goes_on(spark: SparkSession, half_way: Path) -> None:
    extra = rh.sinks.memory()

    def build(rows: rh.Stream) -> rh.Stream:
        rows.compute("also", by="key", n=rh.count()).consolidate("also_windows", WINDOWS).sink(extra)
        return counted(rows)

    run(topology(spark, half_way, build), half_way / "checkpoint")
    assert_same(result(half_way), expected(BATCHES, WINDOWS, slack=SLACK))
    late = expected(Batches(BATCHES.frames[3:]), WINDOWS, slack=SLACK, select="count(*) AS n")
    last = late.filter(pl.col("window_start") >= 4 * MINUTE)
    shown = extra.frame().filter(
        pl.col("window_start") >= pl.lit("2026-01-01 00:04:00").str.to_datetime(time_zone="UTC")
    )
    assert_same(shown, last)


def test_fewer_aggregates_and_another_map_are_fine(spark: SparkSession, half_way: Path) -> None:
    def build(rows: rh.Stream) -> rh.Stream:
        same = rows.map("same", lambda df: df.selectExpr("*", "value + 0 as other"))
        return same.compute("by_key", by="key", n=rh.count(), s=rh.sum("value")).consolidate("windows", WINDOWS)

    run(topology(spark, half_way, build), half_way / "checkpoint")
    frames = [pl.read_parquet(f) for f in (half_way / "out").glob("*/*.parquet")]
    columns = ["window", "window_start", "window_end", "key", "n", "s"]
    both = pl.concat([f.select(columns) for f in frames])
    assert_same(both, expected(BATCHES, WINDOWS, slack=SLACK, select="count(*) AS n, sum(value)::BIGINT AS s"))


REFUSED: list[tuple[str, Build, str]] = [
    (
        "keys",
        lambda r: r.compute("by_key", by=["key", "value"], n=rh.count()).consolidate("windows", WINDOWS),
        r"operator 'by_key': the checkpoint was written with keys \[\['key', 'string'\]\]",
    ),
    (
        "windows",
        lambda r: r.compute("by_key", by="key", n=rh.count()).consolidate("windows", rh.tumbling("3 minutes")),
        "operator 'by_key': the checkpoint was written with windows",
    ),
    (
        "a new aggregate",
        lambda r: r.compute("by_key", by="key", n=rh.count(), low=rh.min("value")).consolidate("windows", WINDOWS),
        r"operator 'by_key' now needs p.min\(value\), which its open windows do not have",
    ),
    (
        "a lost operator",
        lambda r: r.compute("other", by="key", n=rh.count()).consolidate("windows", WINDOWS),
        r"operator 'by_key' is in the checkpoint but not in the topology.*drop=\['by_key'\]",
    ),
    (
        "emit",
        lambda r: r.compute("by_key", by="key", n=rh.count()).consolidate("windows", WINDOWS, emit="update"),
        "operator 'by_key': emit='update' needs panes that the checkpoint does not have",
    ),
]


@pytest.mark.parametrize(("build", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_incompatible_changes_are_refused_and_harm_nothing(
    spark: SparkSession, half_way: Path, build: Build, message: str
) -> None:
    with pytest.raises(rh.CheckpointError, match=message):
        topology(spark, half_way, build).start(str(half_way / "checkpoint"))
    run(topology(spark, half_way), half_way / "checkpoint")
    assert_same(result(half_way), expected(BATCHES, WINDOWS, slack=SLACK))


def test_an_operator_can_be_dropped_on_purpose(spark: SparkSession, half_way: Path) -> None:
    def build(rows: rh.Stream) -> rh.Stream:
        return rows.compute("other", by="key", n=rh.count()).consolidate("windows", WINDOWS)

    run(topology(spark, half_way, build), half_way / "checkpoint", drop=["by_key"])
    manifest = sorted((half_way / "checkpoint" / "epochs").iterdir())[-1].read_text().split("\n", 1)[1]
    assert list(json.loads(manifest)["topology"]) == ["other"]


def test_an_operator_can_begin_afresh_under_its_old_name(spark: SparkSession, half_way: Path) -> None:
    extra = rh.sinks.memory()

    def build(rows: rh.Stream) -> rh.Stream:
        stream = rows.compute("by_key", by="key", n=rh.count()).consolidate("windows", rh.tumbling("30 seconds"))
        return stream.sink(extra)

    run(topology(spark, half_way, build), half_way / "checkpoint", drop=["by_key"])
    fresh = Batches(BATCHES.frames[3:])
    oracle = expected(fresh, rh.tumbling("30 seconds"), slack=SLACK, select="count(*) AS n")
    settled = pl.lit("2026-01-01 00:03:30").str.to_datetime(time_zone="UTC")
    assert_same(
        extra.frame().filter(pl.col("window_start") >= settled), oracle.filter(pl.col("window_start") >= 210 * SECOND)
    )


def test_a_trigger_that_is_no_duration_is_refused(spark: SparkSession, half_way: Path) -> None:
    with pytest.raises(rh.TopologyError, match="'soon' is not a duration"):
        topology(spark, half_way).start(str(half_way / "checkpoint"), trigger="soon")


def test_spark_progress_and_manifests_of_different_times_are_refused(spark: SparkSession, half_way: Path) -> None:
    newest = sorted((half_way / "checkpoint" / "epochs").iterdir())[-1]
    newest.unlink()
    query = topology(spark, half_way).start(str(half_way / "checkpoint"), trigger=rh.AVAILABLE_NOW)
    with pytest.raises(rh.CheckpointError, match="Spark is at epoch 3, but the newest manifest .* is for epoch 1"):
        query.await_termination(60)


def test_a_lost_commit_of_sparks_repeats_nothing(spark: SparkSession, half_way: Path) -> None:
    """Killed between our commit and Spark's: Spark runs the epoch again, and finds it done."""
    newest = max((half_way / "checkpoint" / "spark" / "commits").glob("[0-9]*"), key=lambda p: int(p.name))
    newest.unlink()
    query = run(topology(spark, half_way), half_way / "checkpoint")
    assert [p.epoch for p in query.progress] == [3, 4, 5, 6]
    assert_same(result(half_way), expected(BATCHES, WINDOWS, slack=SLACK))


def test_the_newest_manifest_can_be_given_up_together_with_sparks_commit(spark: SparkSession, half_way: Path) -> None:
    """The way out that the message about a damaged manifest names."""
    checkpoint = half_way / "checkpoint"
    newest = sorted((checkpoint / "epochs").iterdir())[-1]
    newest.write_bytes(newest.read_bytes()[:-10])
    with pytest.raises(rh.CheckpointError, match="delete it together with spark/commits/2: epoch 2 is then repeated"):
        topology(spark, half_way).start(str(checkpoint))
    newest.unlink()
    (checkpoint / "spark" / "commits" / "2").unlink()
    run(topology(spark, half_way), checkpoint)
    assert_same(result(half_way), expected(BATCHES, WINDOWS, slack=SLACK))
