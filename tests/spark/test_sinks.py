"""Sinks: what arrives, where, and that repeating an epoch changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import rheostat as rh
from tests.spark.streams import MINUTE, SECOND, Batches, run

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
