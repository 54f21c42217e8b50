"""On a real cluster, a worker at half speed gets half the work, and results are those of an undisturbed run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rheostat.spark.cluster.local_cluster import LocalCluster
from tests.spark.cluster.speeds_job import SLOW

pytestmark = pytest.mark.papers  # a cluster, and as many epochs as it takes


def test_work_follows_the_speed_of_nodes(tmp_path: Path) -> None:
    with LocalCluster.start(workers=3, memory="512m", port=0, folder=tmp_path / "cluster") as cluster:
        job = [sys.executable, "-m", "tests.spark.cluster.speeds_job", cluster.master, str(tmp_path / "run")]
        done = subprocess.run(job, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["rows"] == found["sent"]
    assert found["shares"][SLOW] == pytest.approx(0.2, rel=0.1), found
    assert any(f"{SLOW} has" in reason and "of the speed of the fastest" in reason for reason in found["reasons"])
