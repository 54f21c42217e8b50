"""The sides of the planner's benchmarks, on little data: the same results, and figures that mean what they say."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from benchmarks import bench_fusion, bench_layouts, bench_migration
from benchmarks.skewed_files import SkewedFiles


@pytest.mark.parametrize("keys", [5, 0])
def test_layouts_agree(spark: SparkSession, tmp_path: Path, keys: int) -> None:
    bench_layouts.write(tmp_path / "data", 300, 4, keys)
    found = {}
    for layout in bench_layouts.SIDES:
        figures = bench_layouts.one_run(spark, tmp_path / "data", tmp_path / layout, 12, layout)
        assert figures["combined_epochs"] == (4 if layout == "combined" else 0)
        found[layout] = bench_layouts._results(tmp_path / layout / "out")
    assert len(found["split"]) > 0
    assert found["split"].equals(found["combined"])
    assert found["split"].equals(found["auto"])


def test_the_worst_cell_counts() -> None:
    seconds = {"split": [2.0, 2.2, 2.1], "combined": [4.0, 4.0, 4.0], "auto": [2.3, 2.31, 9.0]}
    figures = bench_layouts._figures({"seconds": seconds, "combined_epochs": 0, "results_equal": True})
    assert figures["over_better"] == 1.1
    assert figures["seconds"] == {"split": 2.1, "combined": 4.0, "auto": 2.31}


def test_the_fast_job_gives_the_same_however_many_operators_are_fused(spark: SparkSession, tmp_path: Path) -> None:
    SkewedFiles(2_000, 3, keys=20, minutes=60).write(tmp_path / "data")
    found: list[dict[str, pl.DataFrame]] = []
    shuffles = []
    for fused in bench_fusion.FUSED:
        folder = tmp_path / str(fused)
        query = bench_fusion.fast_job(spark, tmp_path / "data", folder, fused).start(
            str(folder / "checkpoint"), trigger="available now"
        )
        query.await_termination()
        components = query.view.components
        assert len(components) == len(bench_fusion.MINUTES) - max(fused - 1, 0)
        shuffles.append(query.view.shuffles)
        found.append(bench_fusion._results(folder))
    assert shuffles == [5, 4, 3, 0]
    assert all(len(frame) > 0 for frame in found[0].values())
    for results in found[1:]:
        assert all(results[name].equals(found[0][name]) for name in results)


@pytest.mark.papers
def test_strategies_move_half_of_the_shards(spark: SparkSession, tmp_path: Path) -> None:
    bench_migration.write(tmp_path / "data", 200, 20)
    figures, results = {}, []
    for strategy in bench_migration.STRATEGIES:
        figures[strategy] = bench_migration.one_run(spark, tmp_path / "data", tmp_path / strategy, strategy)
        results.append(bench_migration._results(tmp_path / strategy / "out"))
    assert {s: f["moves"] for s, f in figures.items()} == {"instant": 3, "smooth": 2, "disruptive": 3}
    assert figures["disruptive"]["bytes_written"] > 1.5 * figures["instant"]["bytes_written"]
    assert results[0].equals(results[1])
    assert results[0].equals(results[2])
