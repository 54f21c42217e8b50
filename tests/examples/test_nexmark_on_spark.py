"""NEXMark's queries on Spark give what DuckDB's SQL gives over all events at once."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from examples.nexmark import QUERIES
from examples.nexmark.events import read_events
from examples.nexmark.stateless import log_files
from rheostat.workloads.nexmark_events import NexmarkEvents
from tests.examples.nexmark_oracle import ORACLE, comparable, expected
from tests.spark.streams import run

SAMPLE = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "nexmark"

GROUPS = {
    "stateless": ["q0", "q1", "q2", "q10", "q13", "q14", "q21", "q22"],
    "windows": ["q5", "q7", "q8", "q11"],
    "joins": ["q3", "q4", "q6", "q9", "q20"],
    "statistics": ["q12", "q15", "q17", "q18", "q19"],
    "statistics by channel": ["q16"],
}
"""Queries that run in one topology."""

LONG = {"statistics by channel"}
"""Groups whose operators others have, too."""


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two minutes of events in two files; auctions last up to half a minute."""
    folder = tmp_path_factory.mktemp("nexmark")
    NexmarkEvents(12_000, rate=100.0).write(folder, files=2)
    return folder


def results(spark: SparkSession, names: list[str], events: Path, checkpoint: Path) -> dict[str, pl.DataFrame]:
    """The final results of queries, which run in one topology."""
    t = rh.Topology("nexmark")
    stream = read_events(spark, events)
    sinks = {name: rh.sinks.memory() for name in names}
    for name, sink in sinks.items():
        QUERIES[name].build(t, stream).sink(sink)
    run(t, checkpoint)
    return {name: QUERIES[name].final(sink.frame()) for name, sink in sinks.items()}


def assert_as_expected(name: str, found: pl.DataFrame, events: Path) -> None:
    if name == "q12":  # which window a bid falls into is up to the clock
        assert found["window_start"].n_unique() >= 1
        found = found.group_by("bidder").agg(pl.col("bids").sum())
    wanted = expected(name, events)
    assert len(wanted) > 0
    columns = wanted.columns
    assert comparable(found, columns).equals(comparable(wanted, columns)), name


def test_every_query_is_tested() -> None:
    assert sorted(QUERIES) == sorted(ORACLE) == sorted(name for names in GROUPS.values() for name in names)


@pytest.mark.parametrize("group", [pytest.param(g, marks=[pytest.mark.papers] if g in LONG else []) for g in GROUPS])
def test_results_are_those_of_duckdb(spark: SparkSession, tmp_path: Path, events: Path, group: str) -> None:
    for name, found in results(spark, GROUPS[group], events, tmp_path / "checkpoint").items():
        assert_as_expected(name, found, events)


def test_a_query_that_only_writes_is_right_alone(spark: SparkSession, tmp_path: Path, events: Path) -> None:
    """Query 14 drops most bids; its rows are written and counted in one pass."""
    found = results(spark, ["q14"], events, tmp_path / "checkpoint")
    assert_as_expected("q14", found["q14"], events)


def test_bids_are_logged_by_minute(spark: SparkSession, tmp_path: Path, events: Path) -> None:
    t = rh.Topology("log")
    QUERIES["q10"].build(t, read_events(spark, events)).sink(log_files(str(tmp_path / "out")))
    run(t, tmp_path / "checkpoint")
    minutes = {folder.name for folder in (tmp_path / "out").glob("epoch=*/dt=2026-01-01/hm=*")}
    assert minutes == {"hm=00%3A00", "hm=00%3A01"}
    columns = "date_time timestamp, auction bigint, bidder bigint, price bigint, extra string"
    found = (
        spark.read.schema(f"{columns}, epoch int, dt string, hm string")
        .csv(str(tmp_path / "out"))
        .drop("epoch")
        .toArrow()
    )
    frame = pl.from_arrow(found)
    assert isinstance(frame, pl.DataFrame)
    assert_as_expected("q10", frame, events)


@pytest.mark.papers
@pytest.mark.skipif(not SAMPLE.is_dir(), reason=f"no recorded sample in {SAMPLE}: set RHEOSTAT_DATA")
def test_a_recorded_sample(spark: SparkSession, tmp_path: Path) -> None:
    """110 events that another implementation made: persons and auctions within 0.1 s, then bids over 25 s."""
    names = ["q3", "q4", "q5", "q6", "q7", "q11"]
    _write_sample(tmp_path / "in")
    for name, found in results(spark, names, tmp_path / "in", tmp_path / "checkpoint").items():
        assert_as_expected(name, found, tmp_path / "in")


def _write_sample(folder: Path) -> None:
    """The sample in the columns of the generator, all events in the order of their time."""
    schema = NexmarkEvents(1).table().schema
    rows = []
    for event_type, kind in enumerate(("person", "auction", "bid")):
        frame = pl.read_csv(SAMPLE / f"rw_{kind}.csv", infer_schema_length=None)
        times = [c for c in ("date_time", "expires") if c in frame.columns]
        parsed = frame.with_columns(
            pl.col(times).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", time_zone="UTC")
        )
        if kind == "person":  # the sample has states in small letters
            parsed = parsed.with_columns(pl.col("state").str.to_uppercase())
        for row in parsed.to_dicts():
            rows.append({"event_type": event_type, "date_time": row.pop("date_time"), kind: row})
    rows.sort(key=lambda row: row["date_time"])
    folder.mkdir()
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        pq.write_table(pa.Table.from_pylist(part, schema=schema), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_000_000_000 + number,) * 2)
