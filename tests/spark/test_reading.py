"""Partials are written by the tasks that read rows, with a plan that Spark makes once: any rows, any tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import rheostat as rh
from rheostat.spark.epoch.epoch_state import EpochState
from rheostat.spark.input.lineage import is_fixed
from rheostat.spark.stage.planned_stages import PlannedStages
from rheostat.spark.stage.task_reports import NO_SLOT, PartReport
from rheostat.state.segments import Segment
from tests.spark.streams import MINUTE, SECOND, Batches, assert_same, expected, read_stream, run, windowed

WINDOWS = [*rh.tumbling("1 minute"), *rh.sliding("3 minutes", every="1 minute")]


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[list[PartReport]]:
    """The reports of every stage that a test runs."""
    seen: list[list[PartReport]] = []
    add = EpochState.add

    def note(state: EpochState, stage: list[PartReport], folded: dict[str, tuple[Segment, ...]]) -> None:
        seen.append(list(stage))
        add(state, stage, folded)

    monkeypatch.setattr(EpochState, "add", note)
    return seen


def many_epochs(count: int) -> Batches:
    rows = [[(i * 20 * SECOND + j * SECOND, "abc"[j % 3], i + j) for j in range(9)] for i in range(count)]
    rows[7].append((0, "a", 1_000))  # late: its windows were emitted long ago
    return Batches.of(*rows)


def test_segments_of_many_epochs_are_folded(
    spark: SparkSession, tmp_path: Path, reports: list[list[PartReport]]
) -> None:
    batches = many_epochs(30)
    result, query = windowed(spark, tmp_path, batches, WINDOWS, slack=30 * SECOND)
    assert_same(result, expected(batches, WINDOWS, slack=30 * SECOND))
    ingests = [stage for stage in reports if any(r.slot == NO_SLOT for r in stage)]
    assert len(ingests) == 30
    assert query.status.late > 0
    (live,) = query._checkpoint.manifest.tables.values()
    assert len(live) < 20, "one segment per epoch would be 30"


@pytest.mark.parametrize("files", [1, 2, 7])
def test_a_hot_key_is_spread_by_itself(
    spark: SparkSession, tmp_path: Path, reports: list[list[PartReport]], files: int
) -> None:
    """All rows have one key. Every task that reads has about as many rows as the others, and writes one partial."""
    batches = Batches.of(*([(i * SECOND, "hot", 1) for i in range(50)] for _ in range(files)))
    batches.write(tmp_path / "in")
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    t = rh.Topology("hot")
    source = t.source(spark.readStream.schema(schema).parquet(str(tmp_path / "in")), event_time="ts")
    out = rh.sinks.memory()
    source.aggregate("hot", by="key", windows=rh.tumbling("1 minute"), n=rh.count()).sink(out)
    run(t, tmp_path / "checkpoint", slots=2)
    (tasks,) = [stage for stage in reports if any(r.slot == NO_SLOT for r in stage)]
    cores = spark.sparkContext.defaultParallelism
    assert len(tasks) == min(files, max(2, cores)), "many small partitions are joined"
    received = [sum(t.rows for t in r.tables.values()) for r in tasks]
    assert sum(received) == 50 * files
    assert max(received) <= 50 * -(-files // len(tasks))
    segments = [t.segment for r in tasks for t in r.tables.values()]
    assert [s.rows for s in segments if s is not None] == [1] * len(tasks)
    assert sum(int(r.shards["rows"].sum()) for r in tasks) == 50 * files, "rows count by shard"


def arrow_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pc.greater(batch["value"], 2))


@pytest.mark.parametrize(
    ("build", "keep"),
    [
        (lambda s: s.map("large", lambda df: df.where("value > 2")), lambda f: f.filter(pl.col("value") > 2)),
        (
            lambda s: s.map("large", arrow_rows, schema="ts timestamp, key string, value bigint"),
            lambda f: f.filter(pl.col("value") > 2),
        ),
        (
            lambda s: s.map("upper", lambda df: df.withColumn("key", F.upper("key"))),
            lambda f: f.with_columns(pl.col("key").str.to_uppercase()),
        ),
    ],
    ids=["filter", "arrow", "project"],
)
def test_maps_before_the_partials(
    spark: SparkSession,
    tmp_path: Path,
    build: Callable[[rh.Stream], rh.Stream],
    keep: Callable[[pl.DataFrame], pl.DataFrame],
) -> None:
    batches = many_epochs(9)
    result, query = windowed(spark, tmp_path, batches, WINDOWS, slack=MINUTE, build=build)
    assert_same(result, expected(Batches([keep(f) for f in batches.frames]), WINDOWS, slack=MINUTE))
    assert query.status.rows == sum(len(f) for f in batches.frames), "rows are counted before the map"


def test_plans_are_kept_only_if_rows_alone_decide(spark: SparkSession, tmp_path: Path) -> None:
    batches = many_epochs(8)
    batches.write(tmp_path / "in")
    source = read_stream(spark, tmp_path / "in")
    other = spark.createDataFrame([("a", 1)], "key string, weight int")
    maps: dict[str, tuple[Callable[[DataFrame], DataFrame], bool]] = {
        "nothing": (lambda df: df, True),
        "filter": (lambda df: df.where("value > 1").select("ts", "key"), True),
        "clock": (lambda df: df.withColumn("now", F.current_timestamp()), False),
        "random": (lambda df: df.withColumn("r", F.rand()), False),
        "join": (lambda df: df.join(other, "key"), False),
    }
    found = {name: is_fixed(source, function(source)) for name, (function, _) in maps.items()}
    assert found == {name: fixed for name, (_, fixed) in maps.items()}
    timed = source.withColumn("now", F.current_timestamp())
    assert is_fixed(timed, timed), "what a source computes is done when its rows arrive"


def test_slots_change_while_the_plan_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Windows close in other slots than before; the tasks that read rows do not care."""
    batches = many_epochs(12)
    asked = iter((3, 1, 4, 2))
    queries: list[rh.Query] = []

    def rescale(progress: rh.Progress) -> None:
        if progress.epoch % 3 == 1 and queries:
            queries[0].rescale(slots=next(asked))

    t = rh.Topology("changing")
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts", slack="1 minute")
    out = rh.sinks.memory()
    wanted = {"n": rh.count(), "s": rh.sum("value"), "m": rh.max("value")}
    source.aggregate("w", by="key", windows=WINDOWS, aggregates=wanted).sink(out)
    queries.append(t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=rescale))
    assert queries[0].await_termination(timeout=120)
    assert_same(out.frame(), expected(batches, WINDOWS, slack=MINUTE))


def test_plans_over_results_are_kept(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map, process and apply operators and a sink after windows: each is planned once; slots may change meanwhile."""
    planned: Counter[str] = Counter()
    plan = PlannedStages.plan

    def count(self: PlannedStages, name: str, key: Hashable, build: Callable[[], DataFrame], **options: Any) -> Any:
        def counted() -> DataFrame:
            planned[name] += 1
            return build()

        kept = plan(self, name, key, counted, **options)
        assert kept is not None, f"{name} is planned anew in every epoch"
        return kept

    monkeypatch.setattr(PlannedStages, "plan", count)
    batches = many_epochs(8)
    queries: list[rh.Query] = []
    t = rh.Topology("results")
    source = t.source(batches.stream(spark, tmp_path / "in"), event_time="ts", slack="20 seconds")
    windows = source.aggregate("w", by="key", windows=rh.tumbling("20 seconds"), s=rh.sum("value"))
    doubled = windows.map("doubled", lambda df: df.selectExpr("key", "window_end", "2 * s as s"))
    written, out, read, applied = (rh.sinks.memory() for _ in range(4))
    windows.sink(out)
    doubled.sink(written)
    schema = "key string, window_end timestamp, s bigint"
    doubled.process("p", lambda rows, _: (rows, None), by="key", order=None, schema=schema).sink(read)
    doubled.apply("a", lambda row: (row.key, row.window_end, row.s), schema=schema, slots=2).sink(applied)

    def rescale(progress: rh.Progress) -> None:
        if progress.epoch == 3 and queries:
            queries[0].rescale(slots=3)

    queries.append(t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, on_progress=rescale))
    assert queries[0].await_termination(timeout=120)
    wanted = sorted(out.frame().select("key", "window_end", pl.col("s") * 2).rows())
    assert len(wanted) > 10
    assert sorted(written.frame().select("key", "window_end", "s").rows()) == wanted
    assert sorted(read.frame().select("key", "window_end", "s").rows()) == wanted
    assert sorted(applied.frame().select("key", "window_end", "s").rows()) == wanted
    assert planned["write doubled"] == planned["apply a"] == 1
    assert planned["ingest 1"] == 2, "once for each number of slots"
