"""Both sides of the NEXMark benchmark give the same results, and a difference is noticed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from benchmarks import bench_nexmark, native_nexmark, rheostat_nexmark
from rheostat.workloads.nexmark_events import NexmarkEvents


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    NexmarkEvents(12_000, rate=100.0).write(folder / "data", files=2)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["q5", *(pytest.param(name, marks=pytest.mark.papers) for name in ("q10", "q11", "q12"))]
)
def test_both_sides_agree(spark: SparkSession, home: Path, name: str) -> None:
    for side, run in (("native", native_nexmark.run), ("rheostat", rheostat_nexmark.run)):
        run(spark, name, data=home / "data", scratch=home / side / name / "0", files_per_epoch=1)
    assert bench_nexmark._equal(name, home)
    out = home / "rheostat" / name / "0" / "out"
    file = max(out.glob("epoch=*/**/*.csv" if name == "q10" else "epoch=*/*.parquet"), key=lambda f: f.stat().st_size)
    file.unlink()
    assert not bench_nexmark._equal(name, home)


def test_every_query_runs_on_spark_or_says_why_not() -> None:
    assert {*native_nexmark.NATIVE, *native_nexmark.IMPOSSIBLE} == set(bench_nexmark.NAMES)
    assert not set(native_nexmark.NATIVE) & set(native_nexmark.IMPOSSIBLE)
    assert set(bench_nexmark.WINDOWED) <= set(native_nexmark.NATIVE)


def test_the_last_value_of_a_result_counts(tmp_path: Path) -> None:
    for epoch, bids in ((9, 1), (10, 2)):
        (tmp_path / f"epoch={epoch}").mkdir()
        frame = pl.DataFrame({"bidder": [1], "auction": [1], "price": [bids]})
        frame.write_parquet(tmp_path / f"epoch={epoch}" / "a.parquet")
    assert bench_nexmark.results("q18", tmp_path, None)["price"].to_list() == [2]


def test_a_ratio_compares_runs_of_the_same_round() -> None:
    found = {"rheostat": [10.0, 30.0], "native": [5.0, 10.0]}
    assert bench_nexmark._over_native(found, "rheostat") == [2.0, 3.0]


def test_reading_alone_reads_what_the_query_reads(spark: SparkSession, home: Path) -> None:
    rheostat_nexmark.read(spark, "q8", data=home / "data", scratch=home / "reading", files_per_epoch=1)
    assert len(list((home / "reading" / "checkpoint" / "commits").glob("[0-9]"))) == 2
