"""Windows on Spark against DuckDB: random window sets, keys and disorder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.streams import MINUTE, SECOND, Batches, assert_same, expected, windowed

_relaxed = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def window_sets(draw: st.DrawFn) -> list[rh.Window]:
    """One to three kinds of windows: tumbling, sliding, hopping over gaps, with offsets."""
    kinds = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 12)) * 10 * SECOND
        slide = draw(
            st.sampled_from([size, *(d * 10 * SECOND for d in (1, 2, 3, 6) if size % (d * 10) == 0), 2 * size])
        )
        offset = draw(st.sampled_from([0, 0, 10 * SECOND, 50 * SECOND]))
        kinds.append(rh.Window(size, slide, offset % slide))
    return kinds


def batches_of(times: st.SearchStrategy[int]) -> st.SearchStrategy[Batches]:
    key = st.sampled_from(["a", "b", "ü∂", "", None])
    row = st.tuples(times, key, st.one_of(st.none(), st.integers(-5, 5)))
    return st.lists(st.lists(row, max_size=12), min_size=1, max_size=5).map(lambda epochs: Batches.of(*epochs))


@_relaxed
@given(window_sets(), batches_of(st.integers(-200, 400).map(lambda s: s * SECOND)), st.sampled_from([0, 30, 120]))
def test_any_windows_any_order(spark: SparkSession, windows: list[rh.Window], batches: Batches, slack: int) -> None:
    if all(frame.is_empty() for frame in batches.frames):
        return
    with tempfile.TemporaryDirectory() as folder:
        result, _ = windowed(spark, Path(folder), batches, windows, slack=slack * SECOND)
    assert_same(result, expected(batches, windows, slack=slack * SECOND))


@settings(_relaxed, max_examples=6)
@given(st.data())
def test_composite_keys_of_many_types(spark: SparkSession, data: st.DataObject) -> None:
    schema = {"ts": pl.Int64, "i": pl.Int32, "d": pl.Date, "f": pl.Float64, "b": pl.Boolean, "value": pl.Int64}
    day = st.dates().map(lambda d: d.replace(year=2026))
    row = st.tuples(
        st.integers(0, 300).map(lambda s: s * SECOND),
        st.one_of(st.none(), st.integers(0, 1)),
        st.one_of(st.none(), st.sampled_from([data.draw(day), data.draw(day)])),
        st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5])),
        st.one_of(st.none(), st.booleans()),
        st.integers(0, 9),
    )
    batches = Batches.of(
        *data.draw(st.lists(st.lists(row, min_size=3, max_size=10), min_size=2, max_size=3)), schema=schema
    )
    windows = rh.tumbling("1 minute", "2 minutes")
    by = ("i", "d", "f", "b")
    with tempfile.TemporaryDirectory() as folder:
        result, _ = windowed(spark, Path(folder), batches, windows, by)
    assert_same(result, expected(batches, windows, by))


def test_an_epoch_that_spans_many_panes_and_one_that_jumps_a_year(spark: SparkSession, tmp_path: Path) -> None:
    first = [(i * 7 * SECOND, f"k{i % 5}", i) for i in range(2_000)]
    later = [(365 * 24 * 60 * MINUTE + i * SECOND, "k0", i) for i in range(200)]
    batches = Batches.of(first, later)
    windows = [*rh.sliding("30 minutes", every="1 minute"), *rh.tumbling("5 minutes", "1 hour")]
    result, query = windowed(spark, tmp_path, batches, windows)
    assert_same(result, expected(batches, windows))
    assert [p.epoch for p in query.progress] == [0, 1]


def test_running_totals_and_compaction_over_many_epochs(spark: SparkSession, tmp_path: Path) -> None:
    """Counts and integer sums only, so that windows are running totals; enough epochs for segments to be folded."""
    epochs = [[((e * 20 + i % 23) * SECOND, f"k{(e + i) % 7}", i) for i in range(30)] for e in range(14)]
    batches = Batches.of(*epochs)
    windows = rh.sliding("2 minutes", every="10 seconds")
    aggregates = {"n": rh.count(), "s": rh.sum("value"), "c": rh.count("value")}
    result, query = windowed(spark, tmp_path, batches, windows, slack=5 * SECOND, aggregates=aggregates)
    select = "count(*) AS n, sum(value)::BIGINT AS s, count(value) AS c"
    assert_same(result, expected(batches, windows, slack=5 * SECOND, select=select))
    assert "running total" in query.explain()
    live = len(list((tmp_path / "checkpoint" / "state" / "by").iterdir()))
    assert live < 60, "segments are folded and forgotten"
