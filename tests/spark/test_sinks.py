"""Sinks: what arrives, where, and that repeating an epoch changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh
from rheostat.errors import TopologyError
from rheostat.spark.output.staged_rows import stage_frame
from rheostat.state.files import Folder
from tests.spark.streams import MINUTE, SECOND, T0, Batches, read_stream, run

BATCHES = Batches.of([(0, "a", 1), (30 * SECOND, "b", 2)], [(5 * MINUTE, "a", 3)], [(9 * MINUTE, "c", 4)])
EXPECTED = [("a", 1), ("a", 3), ("b", 2)]


def topology(spark: SparkSession, folder: Path, *sinks: rh.sinks.Sink) -> rh.Topology:
    t = rh.Topology("sinks")
    rows = t.source(BATCHES.stream(spark, folder / "in"), event_time="ts")
    stream = rows.compute("by_key", by="key", s=rh.sum("value")).consolidate("windows", rh.tumbling("1 minute"))
    for sink in sinks:
        stream.sink(sink)
    return t


def test_parquet_has_one_folder_per_epoch_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    run(topology(spark, tmp_path, rh.sinks.parquet(str(tmp_path / "out"))), tmp_path / "checkpoint")
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith("_")) == ["epoch=1", "epoch=2"]
    result = spark.read.parquet(str(tmp_path / "out"))
    assert sorted((r.key, r.s) for r in result.collect()) == EXPECTED
    assert {r.epoch for r in result.collect()} == {1, 2}
    assert not any((tmp_path / "checkpoint" / "results").iterdir())


def test_every_sink_of_a_stream_gets_every_row(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[int, list[tuple[str, int]]] = {}

    def note(df: DataFrame, epoch: int) -> None:
        seen[epoch] = sorted((r.key, r.s) for r in df.collect())

    memory = rh.sinks.memory()
    run(
        topology(
            spark,
            tmp_path,
            rh.sinks.parquet(str(tmp_path / "one")),
            rh.sinks.parquet(str(tmp_path / "two")),
            memory,
            rh.sinks.console(),
            rh.sinks.foreach(note),
            rh.sinks.format("json", str(tmp_path / "json")),
        ),
        tmp_path / "checkpoint",
    )
    assert seen == {1: [("a", 1), ("b", 2)], 2: [("a", 3)]}
    assert sorted(memory.frame().select("key", "s").rows()) == EXPECTED
    assert memory.epochs == [1, 2]
    for name in ("one", "two"):
        assert sorted(pl.read_parquet(tmp_path / name / "*" / "*.parquet").select("key", "s").rows()) == EXPECTED
    assert sorted((r.key, r.s) for r in spark.read.json(str(tmp_path / "json")).collect()) == EXPECTED
    assert "windows, epoch 1: 2 rows" in capsys.readouterr().out


def test_a_repeated_epoch_replaces_what_the_first_attempt_wrote(spark: SparkSession, tmp_path: Path) -> None:
    """The query dies after its sinks were written and before it committed, in every epoch once."""
    died: set[int] = set()
    memory = rh.sinks.memory()
    calls: list[int] = []

    def later(probe: Callable[[str], None]) -> Callable[[str], None]:
        """The probe, from the second epoch of a run on."""
        commits = 0

        def count(step: str) -> None:
            nonlocal commits
            if commits:
                probe(step)
            commits += step == "commit"

        return count

    def build() -> rh.Topology:
        return topology(
            spark,
            tmp_path,
            rh.sinks.parquet(str(tmp_path / "out")),
            rh.sinks.format("csv", str(tmp_path / "csv")),
            rh.sinks.foreach(lambda df, epoch: calls.append(epoch)),
            memory,
        )

    while len(died) < 3:
        begun = len(died)

        def die(step: str, begun: int = begun) -> None:
            if step == "sinks" and len(died) == begun:
                died.add(begun)
                raise RuntimeError("killed")

        with pytest.raises(RuntimeError, match="killed"):
            run(build(), tmp_path / "checkpoint", probe=die if begun == 0 else later(die))
    run(build(), tmp_path / "checkpoint")
    assert died == {0, 1, 2}
    assert calls == [1, 1, 2, 2], "foreach is called again, with the same epoch"
    assert sorted(pl.read_parquet(tmp_path / "out" / "*" / "*.parquet").select("key", "s").rows()) == EXPECTED
    assert sorted(memory.frame().select("key", "s").rows()) == EXPECTED
    assert spark.read.csv(str(tmp_path / "csv")).count() == len(EXPECTED)


@pytest.mark.parametrize("mapped_first", [False, True])
def test_a_stream_and_what_a_map_makes_of_it_both_have_sinks(
    spark: SparkSession, tmp_path: Path, mapped_first: bool
) -> None:
    t = rh.Topology("sinks")
    rows = t.source(BATCHES.stream(spark, tmp_path / "in"), event_time="ts")
    stream = rows.compute("by_key", by="key", s=rh.sum("value")).consolidate("windows", rh.tumbling("1 minute"))
    doubled = stream.map("doubled", lambda df: df.withColumn("s", df["s"] * 2))
    memory = rh.sinks.memory()
    if mapped_first:
        doubled.sink(memory)
    stream.sink(rh.sinks.parquet(str(tmp_path / "out")))
    if not mapped_first:
        doubled.sink(memory)
    run(t, tmp_path / "checkpoint")
    assert sorted(pl.read_parquet(tmp_path / "out" / "*" / "*.parquet").select("key", "s").rows()) == EXPECTED
    assert sorted(memory.frame().select("key", "s").rows()) == [(key, 2 * s) for key, s in EXPECTED]


WITH_NULL = Batches.of([(0, "a", 1), (None, "b", 2)], [(5 * MINUTE, "a", 3), (MINUTE, "c", 4)])


@pytest.mark.parametrize("mapped", [False, True])
def test_rows_that_are_only_written_are_counted_on_the_way(spark: SparkSession, tmp_path: Path, mapped: bool) -> None:
    """Counts and watermark are those of the source, also if a map drops rows."""
    t = rh.Topology("written")
    stream = t.source(WITH_NULL.stream(spark, tmp_path / "in"), event_time="ts", slack="1 minute")
    if mapped:
        stream = stream.map("few", lambda df: df.where("key = 'a'"))
    memory = rh.sinks.memory()
    stream.sink(rh.sinks.parquet(str(tmp_path / "out"))).sink(memory)
    query = run(t, tmp_path / "checkpoint")
    assert [(p.rows, p.nulls) for p in query.progress] == [(2, 1), (2, 0)]
    assert query.progress[-1].watermarks["source"] == T0 + 4 * MINUTE
    expected = [("a", 1), ("a", 3)] if mapped else [("a", 1), ("a", 3), ("b", 2), ("c", 4)]
    assert sorted(memory.frame().select("key", "value").rows()) == expected
    assert sorted(pl.read_parquet(tmp_path / "out" / "*" / "*.parquet").select("key", "value").rows()) == expected
    aside = pl.read_parquet(tmp_path / "checkpoint" / "aside" / "source" / "*" / "*.parquet")
    assert aside.select("key", "reason").rows() == [("b", "null")]


def test_a_format_may_have_folders_by_value(spark: SparkSession, tmp_path: Path) -> None:
    t = rh.Topology("folders")
    rows = t.source(BATCHES.stream(spark, tmp_path / "in"), event_time="ts")
    rows.sink(rh.sinks.format("csv", str(tmp_path / "out"), partition_by=["key"]))
    run(t, tmp_path / "checkpoint")
    files = [file.relative_to(tmp_path / "out").parts[:2] for file in (tmp_path / "out").glob("epoch=*/key=*/*.csv")]
    assert sorted(files) == [("epoch=0", "key=a"), ("epoch=0", "key=b"), ("epoch=1", "key=a"), ("epoch=2", "key=c")]
    assert sorted((r.key, r.epoch) for r in spark.read.csv(str(tmp_path / "out")).collect()) == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
        ("c", 2),
    ]
    with pytest.raises(TopologyError, match=r"partition_by='key' must be a list"):
        rh.sinks.format("csv", "out", partition_by="key")


def test_a_repeated_epoch_replaces_rows_that_are_only_written(spark: SparkSession, tmp_path: Path) -> None:
    """The query dies once after each step of an epoch; both kinds of sink have every row once in the end."""
    BATCHES.write(tmp_path / "in")
    for kind in ("parquet", "json"):
        pending = {"input", "decide", "ingest", "close", "sinks"}
        out = tmp_path / kind

        def die(step: str, pending: set[str] = pending) -> None:
            if step in pending:
                pending.discard(step)
                raise RuntimeError("killed")

        while True:
            t = rh.Topology(kind)
            rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
            rows.sink(rh.sinks.parquet(str(out)) if kind == "parquet" else rh.sinks.format("json", str(out)))
            query = t.start(str(tmp_path / f"{kind} checkpoint"), trigger=rh.AVAILABLE_NOW, probe=die)
            with suppress(RuntimeError):
                query.await_termination(60)
                break
        assert not pending
        found = spark.read.format(kind).load(str(out)).collect()
        assert sorted((r.epoch, r.key, r.value) for r in found) == [(0, "a", 1), (0, "b", 2), (1, "a", 3), (2, "c", 4)]
        assert query.status.rows == 4


def test_columns_with_the_same_name_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="several columns are called 'id'"):
        stage_frame(spark.range(1).selectExpr("id", "id as ID"), Folder.at(tmp_path))
    assert not any(tmp_path.iterdir())
