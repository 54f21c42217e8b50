"""``spark-submit`` of a job to a cluster, with the package shipped as a wheel in ``--py-files``, as the docs say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rheostat.spark.cluster.local_cluster import LocalCluster, spark_home

ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.papers, pytest.mark.timeout(600)]


def run(command: list[str], **environment: str) -> None:
    # The checkout must not be on the path: the wheel has to do.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=ROOT, env={**inherited, **environment}, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_a_wheel_in_py_files_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)])
    (wheel,) = tmp_path.glob("*.whl")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with LocalCluster.start(workers=2, memory="512m", folder=tmp_path / "cluster") as cluster:
        submit = [str(spark_home() / "bin" / "spark-submit"), "--master", cluster.master, "--py-files", str(wheel)]
        job = str(ROOT / "tests" / "spark" / "cluster" / "submitted_job.py")
        run([*submit, job, str(tmp_path)], PYSPARK_PYTHON=sys.executable)
        master, driver, *tasks = (tmp_path / "report").read_text().splitlines()
    assert master == cluster.master
    assert all(f"{wheel.name}/rheostat/__init__.py" in file for file in (driver, *tasks)), (driver, tasks)
    counts = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert counts["n"].sum() == 90  # ten seconds are still open
