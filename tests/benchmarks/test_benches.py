"""Rheostat's sides of the state benchmarks, on little data: right totals, moves that move, and honest bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyspark.sql import SparkSession

from benchmarks import bench_rescale, bench_skew, rheostat_totals
from benchmarks.skewed_files import SkewedFiles


def truth(folder: Path) -> pl.DataFrame:
    """Totals after every file, for the keys in it."""
    seen: dict[int, tuple[int, int]] = {}
    rows = []
    for epoch, file in enumerate(sorted(folder.glob("*.parquet"))):
        touched = set()
        for key, value in pl.read_parquet(file).select("key", "value").rows():
            n, s = seen.get(key, (0, 0))
            seen[key] = (n + 1, s + value)
            touched.add(key)
        rows += [(epoch, key, *seen[key]) for key in touched]
    return pl.DataFrame(rows, ["epoch", "key", "n", "s"], orient="row").sort("epoch", "key")


def test_running_totals(spark: SparkSession, tmp_path: Path) -> None:
    SkewedFiles(3_000, 3, keys=50, minutes=60).write(tmp_path / "in")
    _, progress = rheostat_totals.timed(spark, tmp_path / "in", tmp_path)
    assert [p.rows for p in progress] == [1_000] * 3
    found = rheostat_totals.results(tmp_path / "out")
    assert found.rows() == truth(tmp_path / "in").rows()


def test_slots_change_and_half_of_the_shards_move(spark: SparkSession, tmp_path: Path) -> None:
    bench_rescale._write(tmp_path / "in", 200, 50, 14)
    found = bench_rescale._rheostat(spark, tmp_path / "in", tmp_path / "run", 3)
    assert found["moved"] > 20
    assert found["fetched_bytes"] == 0
    assert found["longest"] - found["median"] == pytest.approx(found["pause"])
    expected = truth(tmp_path / "in").group_by("key").agg(pl.col("n").max(), pl.col("s").max()).sort("key")
    assert bench_rescale._final(tmp_path / "run" / "out").equals(expected)
    half = bench_rescale._moving_half(spark, tmp_path / "in", tmp_path / "half")
    assert half["epochs"] >= 3
    assert half["bytes_copied"] == half["bytes_migrated"] == 0
    assert half["state_bytes_that_changed_slots"] > 0
    assert bench_rescale._final(tmp_path / "half" / "out").equals(expected)


def test_pauses_are_measured_after_the_first_epochs() -> None:
    times = np.cumsum([0.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0])
    assert bench_rescale._gaps(times.tolist()) == {"pause": 2.0, "median": 1.0, "longest": 3.0}


def test_the_bound_is_an_even_share_or_the_heaviest_key(tmp_path: Path) -> None:
    rows, files = bench_skew._write(tmp_path / "in", 1.0, bound=0.05, periods=2, period=0.4)
    assert files >= 4
    file = tmp_path / "in" / "00000.parquet"
    counts = pl.read_parquet(file).group_by("key").len()["len"]
    assert int(counts.sum()) == rows
    heaviest = counts.max()
    assert isinstance(heaviest, int)
    assert heaviest > rows / bench_skew.SLOTS, "at Zipf 1.0 one key is more than a sixteenth of the rows"
    assert bench_skew._longest(file) == heaviest
    popular = [pl.read_parquet(f)["key"].mode().first() for f in sorted((tmp_path / "in").glob("*.parquet"))]
    assert len(set(popular[: files // 2 - 1])) == 1, "the same key is the most popular for a period"
    assert popular[0] != popular[-1], "and another one in the next"
