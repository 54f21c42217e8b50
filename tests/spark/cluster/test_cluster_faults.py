"""Executors that come, go and die on a standalone cluster of three hosts: results stay exact, and events tell why."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rheostat.spark.cluster.local_cluster import LocalCluster
from tests.spark.cluster.cluster_job import WINDOWS
from tests.spark.processors import expected_running, same
from tests.spark.streams import SECOND, Batches, assert_same, expected

Seen = tuple[Path, dict[str, Any]]

FILES = 400
SLACK = 20 * SECOND


def batches() -> Batches:
    rng = random.Random(7)
    return Batches.of(
        *(
            [((e * 14 + rng.randrange(40)) * SECOND, f"k{rng.randrange(6)}", rng.randrange(100)) for _ in range(20)]
            for e in range(FILES)
        )
    )


def drive(what: str, folder: Path, limit: float = 400.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster.cluster_job", what, str(folder)],
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
        cwd=Path(__file__).parents[3],
        start_new_session=True,
    )


def assert_exact(folder: Path, fed: int) -> None:
    """Windows, by DuckDB, and keyed state hold what the rows that were fed give, each once."""
    given = Batches(batches().frames[:fed])
    found = pl.read_parquet(folder / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert_same(found, expected(given, WINDOWS, slack=SLACK))
    running = pl.read_parquet(folder / "running" / "*" / "*.parquet", hive_partitioning=False)
    assert not running.select("key", "n").is_duplicated().any(), "no total is given twice"
    final = running.group_by("key").agg(pl.col("n").max(), pl.col("s").max())
    assert same(final, expected_running(given).group_by("key").agg(pl.col("n").max(), pl.col("s").max()))


def run_on_cluster(what: str, folder: Path) -> Seen:
    """What a job saw on a cluster of its own."""
    batches().write(folder / "files")
    with LocalCluster.start(workers=3, memory="512m", folder=folder / "cluster"):
        done = drive(what, folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder, json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def scaling(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return run_on_cluster("scaling", tmp_path_factory.mktemp("scaling"))


def told(seen: Seen, kind: str) -> list[str]:
    return [what for event, what in seen[1]["events"] if event == kind]


def test_results_are_exact(scaling: Seen) -> None:
    folder, seen = scaling
    assert_exact(folder, seen["fed"])


def test_workers_are_hosts_of_their_own(scaling: Seen) -> None:
    folder, seen = scaling
    cluster = folder / "cluster"
    assert seen["places"] == [[f"127.0.0.{n + 1}", f"{cluster}/worker-{n}/cache"] for n in (1, 2, 3)]


def test_nodes_are_released_and_come_back(scaling: Seen) -> None:
    scale_in, scale_out = scaling[1]["decisions"]
    assert (scale_in[:2], scale_out[:2]) == (["scale in", [3, 1]], ["scale out", [1, 3]])
    assert scale_in[2].startswith("observed after")
    assert scale_out[2].startswith("observed after")
    released = told(scaling, "node released")
    assert len(released) == 2
    assert all("1 wanted, 3 there" in what for what in released)
    assert told(scaling, "nodes asked for") == ["3 executors in all; 1 are there"]


def test_a_killed_executor_is_told_with_the_reason_and_replaced(scaling: Seen) -> None:
    (killed,) = told(scaling, "node lost")
    assert "137" in killed or "remote" in killed.lower(), killed
    assert len(told(scaling, "node came")) >= 3


def test_node_seconds_count_the_executors_that_were_there(scaling: Seen) -> None:
    seen = scaling[1]
    assert seen["seconds"] < seen["node_seconds"] < 3 * seen["seconds"]


@pytest.mark.papers
@pytest.mark.timeout(900)
def test_a_lost_worker_one_that_never_comes_and_a_cluster_that_refuses(tmp_path: Path) -> None:
    seen = run_on_cluster("losses", tmp_path)
    assert_exact(tmp_path, seen[1]["fed"])
    assert told(seen, "nodes late")[0].startswith("3 of 4 executors are there")
    assert "127.0.0.4" in told(seen, "node lost")[0]
    assert sorted(seen[1]["without_worker"]) == ["127.0.0.2", "127.0.0.3"]
    assert seen[1]["with_worker"] == ["127.0.0.2", "127.0.0.3", "127.0.0.5"]
    assert told(seen, "nodes refused")[0].startswith("3 executors: ")
    assert seen[1]["decisions"][-1][:2] == ["scale in", [4, 3]]


@pytest.mark.papers
@pytest.mark.timeout(900)
def test_a_driver_that_dies_while_it_scales_out(tmp_path: Path) -> None:
    batches().write(tmp_path / "files")
    with LocalCluster.start(workers=3, memory="512m", folder=tmp_path / "cluster"):
        assert drive("die", tmp_path).returncode == -signal.SIGKILL
        done = drive("go_on", tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    seen = tmp_path, json.loads(done.stdout.splitlines()[-1])
    assert_exact(tmp_path, seen[1]["fed"])
    assert [kind for kind, _ in seen[1]["events"]].count("proposal resumed") == 1
    assert seen[1]["decisions"][-1][:2] == ["scale out", [1, 2]]
    assert seen[1]["decisions"][-1][2].startswith("observed after")
