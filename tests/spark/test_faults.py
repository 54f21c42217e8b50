"""Faults as data: an epoch dies after any of its steps, and the results are those of an undisturbed run."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.streams import MINUTE, SECOND, Batches, assert_same, expected, read_stream

WINDOWS = [*rh.tumbling("1 minute"), *rh.sliding("4 minutes", every="1 minute")]
BATCHES = Batches.of(*([((e * 70 + i % 90) * SECOND, f"k{i % 5}", i) for i in range(60)] for e in range(4)))
SLACK = 20 * SECOND


class Killed(RuntimeError):
    """What a fault raises."""


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["decide", "ingest", "close", "sinks", "commit"])),
        min_size=1,
        max_size=6,
        unique=True,
    )
)
def test_any_faults_at_any_steps(spark: SparkSession, faults: list[tuple[int, str]]) -> None:
    pending = set(faults)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        BATCHES.write(folder / "in")
        while True:
            t = rh.Topology("faults")
            rows = t.source(read_stream(spark, folder / "in"), event_time="ts", slack="20 seconds")
            results = rows.compute("by_key", by="key", n=rh.count(), s=rh.sum("value"), m=rh.max("value"))
            results.consolidate("windows", WINDOWS).sink(rh.sinks.parquet(str(folder / "out")))
            state = {"epoch": _committed(folder)}

            def probe(step: str, state: dict[str, int] = state) -> None:
                if (state["epoch"] + 1, step) in pending:
                    pending.discard((state["epoch"] + 1, step))
                    raise Killed
                state["epoch"] += step == "commit"

            query = t.start(str(folder / "checkpoint"), trigger=rh.AVAILABLE_NOW, probe=probe)
            with contextlib.suppress(Killed):
                query.await_termination(60)
                break
        result = pl.read_parquet(folder / "out" / "*" / "*.parquet", hive_partitioning=False)
    assert not pending
    assert_same(result, expected(BATCHES, WINDOWS, slack=SLACK))


def _committed(folder: Path) -> int:
    names = [p.name for p in (folder / "checkpoint" / "epochs").glob("*.json")]
    return max((int(n.removesuffix(".json")) for n in names), default=-1)


def test_an_epoch_that_dies_leaves_the_state_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches.of([(0, "a", 1)], [(MINUTE, "a", 1)])
    batches.write(tmp_path / "in")
    t = rh.Topology("faults")
    rows = t.source(read_stream(spark, tmp_path / "in"), event_time="ts")
    rows.compute("by_key", by="key", n=rh.count()).consolidate("windows", rh.tumbling("1 minute")).sink(
        rh.sinks.parquet(str(tmp_path / "out"))
    )

    def die(step: str) -> None:
        if step == "close":
            raise Killed

    query = t.start(str(tmp_path / "checkpoint"), trigger=rh.AVAILABLE_NOW, probe=die)
    with pytest.raises(Killed):
        query.await_termination(60)
    assert query.status.state == "failed"
    assert query.status.epoch == -1
    assert not list((tmp_path / "out").glob("epoch=*"))
