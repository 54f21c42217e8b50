"""Spark's own sides of the benchmarks give the right results, so that comparing with them means something."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from benchmarks import native_state
from benchmarks.native_rescale import rescale
from benchmarks.native_state import WAYS
from benchmarks.skewed_files import SCHEMA, SkewedFiles
from rheostat.errors import RheostatError

pytestmark = pytest.mark.slow


def totals(files: list[Path]) -> pl.DataFrame:
    rows = pl.concat([pl.read_parquet(f) for f in files])
    return rows.group_by("key").agg(n=pl.len().cast(pl.Int64), s=pl.sum("value")).sort("key")


@pytest.mark.parametrize("how", WAYS)
def test_running_totals_after_every_epoch(spark: SparkSession, tmp_path: Path, how: str) -> None:
    if how.startswith("transform"):
        pytest.importorskip("google.protobuf")
    SkewedFiles(400, 2, keys=40).write(tmp_path / "data")
    result = native_state.run(spark, how, data=tmp_path / "data", scratch=tmp_path / "scratch")
    assert (result["rows"], result["epochs"]) == (400, 2)
    assert all(seconds > 0 for seconds in result["epoch_seconds"])
    files = sorted((tmp_path / "data").iterdir())
    for epoch, file in enumerate(files):
        changed = pl.read_parquet(tmp_path / "scratch" / "out" / f"epoch={epoch}" / "*.parquet").sort("key")
        expected = totals(files[: epoch + 1]).join(pl.read_parquet(file), on="key", how="semi").sort("key")
        assert changed.equals(expected)


@pytest.mark.parametrize(("sizes", "delay"), [((2, 4), 0.0), ((3, 1), 0.1)])
def test_offline_repartition_keeps_every_row(
    spark: SparkSession, tmp_path: Path, sizes: tuple[int, int], delay: float
) -> None:
    """With a delay the stop comes in the middle of a micro-batch."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    SkewedFiles(600, 6, keys=40).write(tmp_path / "data")
    run = rescale(
        spark,
        data=tmp_path / "data",
        schema=SCHEMA,
        scratch=tmp_path / "scratch",
        sizes=sizes,
        batches=2,
        delay=delay,
    )
    assert run.partitions == sizes[1]
    assert [c.partitions for c in run.changes] == [sizes[1]]
    assert list(run.completions) == sorted(run.completions)
    written = pl.read_parquet(run.out / "epoch=*" / "*.parquet", hive_partitioning=False)
    assert written.sort("n").group_by("key").last().sort("key").equals(totals(sorted((tmp_path / "data").iterdir())))
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


def test_too_few_files_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    SkewedFiles(10, 2, keys=2).write(tmp_path / "data")
    with pytest.raises(RheostatError, match="too few files"):
        rescale(
            spark,
            data=tmp_path / "data",
            schema=SCHEMA,
            scratch=tmp_path / "scratch",
            sizes=(2, 4),
            batches=5,
        )
