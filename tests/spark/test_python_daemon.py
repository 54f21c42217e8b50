"""Python workers: they start with everything loaded, and end without a traceback when their task is killed."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rheostat.spark import python_daemon

STOP_INSIDE_AN_EPOCH = """
import sys, time
import rheostat as rh

def slow(rows, state):
    time.sleep(1.0)
    return rows, None

spark = rh.session("stopped", "local[4]")
rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
t = rh.Topology("slow")
source = t.source(rows, event_time="timestamp")
source.process("slow", slow, by="value", schema="value bigint, timestamp timestamp").sink(rh.sinks.parquet(sys.argv[2]))
query = t.start(sys.argv[1], slots=4)
assert query.await_epoch(1, timeout=90)
time.sleep(1.5)  # inside a later epoch, which takes longer than that
query.stop()
time.sleep(1.5)  # the workers of its tasks wake up
spark.stop()
print("stopped")
"""


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError])
def test_a_closed_connection_ends_the_worker(monkeypatch: pytest.MonkeyPatch, error: type[OSError]) -> None:
    def closed(sock: socket.socket, authenticated: bool) -> int:
        raise error

    monkeypatch.setattr(python_daemon, "_worker", closed)
    with socket.socket() as sock:
        assert python_daemon.quiet_worker(sock, True) == 1


def test_other_errors_still_show(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(sock: socket.socket, authenticated: bool) -> int:
        raise ValueError("a bug")

    monkeypatch.setattr(python_daemon, "_worker", broken)
    with socket.socket() as sock, pytest.raises(ValueError, match="a bug"):
        python_daemon.quiet_worker(sock, True)


@pytest.mark.slow
def test_a_query_that_is_stopped_inside_an_epoch_prints_nothing(tmp_path: Path) -> None:
    folders = [str(tmp_path / name) for name in ("checkpoint", "out")]
    done = subprocess.run(
        [sys.executable, "-c", STOP_INSIDE_AN_EPOCH, *folders],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "stopped"
    assert "Traceback" not in done.stderr, done.stderr


def test_workers_are_forked_with_everything_loaded_and_can_use_it(spark: SparkSession) -> None:
    def use(_: object) -> Iterator[tuple[Any, ...]]:
        loaded = {"polars", "pyarrow", "numpy"} <= set(sys.modules)  # this function has imported none of them yet
        import polars as pl
        import pyarrow as pa
        import pyarrow.compute as pc

        frame = pl.DataFrame({"key": [1, 2, 3] * 1000, "value": range(3000)}).group_by("key").agg(pl.col("value").sum())
        table = pa.table({"value": pa.array(range(3000))})
        yield loaded, frame["value"].sum(), pc.sum(table["value"]).as_py()

    found = spark.sparkContext.parallelize(range(8), 8).mapPartitions(use).collect()
    assert found == [(True, 4498500, 4498500)] * 8
