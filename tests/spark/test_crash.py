"""SIGKILL at random moments, while windows close and shards move: the sinks hold what an undisturbed run gives."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import rheostat as rh
from rheostat.state.inspection import inspect
from tests.spark.crashing_job import WINDOWS
from tests.spark.processors import expected_running, same
from tests.spark.streams import SECOND, Batches, assert_same, expected

KILLS = 12
EPOCHS = 60
SLACK = 20 * SECOND


def batches() -> Batches:
    rng = random.Random(5)
    return Batches.of(
        *(
            [((e * 14 + rng.randrange(40)) * SECOND, f"k{rng.randrange(6)}", rng.randrange(100)) for _ in range(25)]
            for e in range(EPOCHS)
        )
    )


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.crashing_job", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )


def begin(process: subprocess.Popen[str]) -> Iterator[str]:
    """Let a driver that is ready run the query; the lines it prints."""
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    return iter(process.stdout.readline, "")


def kill(process: subprocess.Popen[str]) -> None:
    """The driver and everything it started: JVM and Python workers."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_dozen_kills_change_nothing(tmp_path: Path) -> None:
    rng = random.Random(11)
    given = batches()
    given.write(tmp_path / "in")
    killed = 0
    committed: list[int] = []
    following = start(tmp_path)
    while killed < KILLS:
        # The next driver brings its Spark up while this one works, and waits.
        process, following = following, start(tmp_path)
        lines = begin(process)
        # Once the first epochs of this run are through, at any moment of one of the next.
        through = rng.randrange(2)
        timer: threading.Timer | None = None
        finished = False
        for line in lines:
            if line == "done\n":
                finished = True
                break
            committed.append(int(line))
            if through == 0 and timer is None:
                timer = threading.Timer(rng.uniform(0, 0.5), kill, [process])
                timer.start()
            through = max(through - 1, 0)
        if timer is not None:
            timer.join()
        if finished:
            kill(following)
            pytest.fail(f"the job was done after {killed} kills; give it more epochs")
        killed += 1
    assert list(begin(following))[-1] == "done\n"
    assert following.wait(timeout=60) == 0
    result = pl.read_parquet(tmp_path / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert_same(result, expected(given, WINDOWS, slack=SLACK))
    totals = pl.concat([pl.read_ndjson(f) for f in (tmp_path / "totals").glob("*/*.json") if f.stat().st_size])
    times = [pl.col(c).str.to_datetime(time_zone="UTC") for c in ("window_start", "window_end")]
    oracle = expected(given, rh.sliding("5 minutes", every="1 minute"), (), slack=SLACK, select="count(*) AS n")
    assert_same(totals.with_columns(times), oracle)
    running = pl.read_parquet(tmp_path / "running" / "*" / "*.parquet", hive_partitioning=False)
    # A driver killed between two of Spark's own logs may later take two files in one epoch: compare totals, not epochs.
    assert not running.select("key", "n").is_duplicated().any(), "no total is given twice"
    final = running.group_by("key").agg(pl.col("n").max(), pl.col("s").max())
    assert same(final, expected_running(given).group_by("key").agg(pl.col("n").max(), pl.col("s").max()))
    kinds = [(c["kind"], c["epoch"]) for c in inspect(str(tmp_path / "checkpoint"))["changes"]]
    assert len([k for k, _ in kinds if k == "rescale"]) > KILLS, "most epochs had another number of slots"
    aside = pl.read_parquet(tmp_path / "checkpoint" / "aside" / "source" / "*" / "*.parquet", hive_partitioning=False)
    assert len(aside) == _late_rows(given) > 0, "every late row aside exactly once"
    assert len(set(committed)) == len(committed), "no epoch is committed twice"


def _late_rows(given: Batches) -> int:
    late, seen = 0, None
    for frame in given.frames:
        if seen is not None:
            passed = (seen - SLACK) // (60 * SECOND) * 60 * SECOND  # the last minute that was emitted
            late += int((frame["ts"] < passed).sum())
        newest = frame["ts"].max()
        assert isinstance(newest, int)
        seen = newest if seen is None else max(seen, newest)
    return late
