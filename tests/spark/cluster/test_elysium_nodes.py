"""ELYSIUM on a real cluster: executors follow the load, and results are those of an undisturbed run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rheostat.spark.cluster.local_cluster import LocalCluster

pytestmark = pytest.mark.papers  # a minute of rows, and a cluster


def test_nodes_follow_the_load_out_and_in(tmp_path: Path) -> None:
    with LocalCluster.start(workers=3, memory="512m", port=0, folder=tmp_path / "cluster") as cluster:
        job = [sys.executable, "-m", "tests.spark.cluster.scaling_job", cluster.master, str(tmp_path / "run")]
        done = subprocess.run(job, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["rows"] == found["expected_rows"]
    assert found["sums"] == found["expected_sums"]
    asked = [tuple(d["nodes"]) for d in found["decisions"] if d["nodes"][1]]
    assert any(after > before for before, after in asked), asked  # while rows are many
    assert any(after < before and after == 1 for before, after in asked), asked  # when they are few
    assert {d["policy"] for d in found["decisions"]} == {"elysium"}
    held = found["held"][found["held"].index(1) :]  # from when the query has one executor
    assert max(held) >= 2, held
    assert held[-1] == 1, held
