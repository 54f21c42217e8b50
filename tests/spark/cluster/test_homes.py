"""On a cluster of three hosts with caches of their own, state stays where it is, and results are exact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rheostat.spark.cluster.local_cluster import LocalCluster
from rheostat.state.inspection import inspect
from tests.spark.cluster.homes_job import RUNS
from tests.spark.processors import expected_running
from tests.spark.streams import Batches

pytestmark = pytest.mark.papers  # a cluster and three runs

EPOCHS = (6, 2, 2)
"""Epochs of each run."""

HOSTS = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]


def batches() -> Batches:
    rows = [[(e * 1_000 + i, f"key {(i * 7 + e) % 300}", i % 50) for i in range(200)] for e in range(sum(EPOCHS))]
    return Batches.of(*rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a job that has ended well."""
    folder = tmp_path_factory.mktemp("homes")
    (folder / "in").mkdir()
    frames = batches().frames
    for run in range(RUNS):
        first = sum(EPOCHS[:run])
        Batches(frames[first : first + EPOCHS[run]]).write(folder / f"in{run}", first)
    with LocalCluster.start(workers=3, folder=folder / "cluster") as cluster:
        command = [sys.executable, "-m", "tests.spark.cluster.homes_job", str(folder), str(cluster.folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[list[dict[str, Any]]]:
    seen: list[list[dict[str, Any]]] = json.loads((folder / "seen.json").read_text())
    assert [len(epochs) for epochs in seen] == list(EPOCHS)
    return seen


def test_every_task_ran_at_its_home(runs: list[list[dict[str, Any]]]) -> None:
    assert sorted(runs[0][0]["homes"]["by key"]) == HOSTS
    assert [e["away"] for epochs in runs[:2] for e in epochs] == [0] * (EPOCHS[0] + EPOCHS[1])
    assert runs[1][-1]["hosts"] == runs[1][-1]["homes"]["by key"]


def test_only_a_moved_shard_is_fetched_and_only_once(runs: list[list[dict[str, Any]]]) -> None:
    with_moves = [e["epoch"] for e in runs[0] if e["moved"]]
    assert len(with_moves) == 1
    fetched = {e["epoch"]: (e["fetched_bytes"], e["migrated_bytes"]) for e in runs[0]}
    bytes_moved = fetched.pop(with_moves[0])
    assert bytes_moved[0] == bytes_moved[1] > 0
    assert set(fetched.values()) == {(0, 0)}


def test_homes_and_copies_survive_a_restart(runs: list[list[dict[str, Any]]]) -> None:
    assert runs[1][0]["homes"] == runs[0][-1]["homes"]
    assert [e["fetched_bytes"] for e in runs[1]] == [0, 0]


def test_slots_of_a_lost_host_get_new_homes(runs: list[list[dict[str, Any]]], folder: Path) -> None:
    before, after = (runs[n][-1]["homes"]["by key"] for n in (1, 2))
    assert set(after) == set(HOSTS[:2])
    assert [new for old, new in zip(before, after, strict=True) if old != HOSTS[2]] == [
        h for h in before if h != HOSTS[2]
    ]
    assert runs[2][0]["fetched_bytes"] > 0, "state that only the lost host had"
    assert runs[2][1]["fetched_bytes"] == 0
    noted = [e["values"]["what"] for e in inspect(str(folder / "checkpoint"))["events"] if "homes" in e["kind"]]
    assert any(f"{HOSTS[2]} is gone" in what for what in noted), noted


def test_results_are_exact(runs: list[list[dict[str, Any]]], folder: Path) -> None:
    assert runs
    parts = [pl.read_parquet(f, hive_partitioning=False) for f in sorted((folder / "out").glob("epoch=*/*.parquet"))]
    found = pl.concat(parts).select("key", "n", "s", "last")
    assert sorted(found.rows()) == sorted(expected_running(batches()).rows())
