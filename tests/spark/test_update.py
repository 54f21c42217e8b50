"""``emit="update"``: after every epoch, the newest value of each open window and key is the true one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import rheostat as rh
from tests.spark.streams import SECOND, T0, Batches, assert_same, expected, windowed

WINDOWS = [*rh.tumbling("1 minute"), *rh.sliding("3 minutes", every="1 minute")]


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 300).map(lambda s: s * SECOND), st.sampled_from("abc"), st.integers(0, 9)),
            max_size=8,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_last_value_of_every_window_is_the_final_one(
    spark: SparkSession, epochs: list[list[tuple[int, str, int]]]
) -> None:
    batches = Batches.of(*epochs)
    with tempfile.TemporaryDirectory() as folder:
        result, _ = windowed(spark, Path(folder), batches, WINDOWS, slack=30 * SECOND, emit="update")
    if all(not rows for rows in epochs):
        assert result.is_empty()
        return
    by = ["window", "window_start", "window_end", "key"]
    last = result.group_by(by, maintain_order=True).last()
    # A row far in the future closes every window that append mode would leave open.
    ended = Batches([*batches.frames, Batches.of([(10**13, "end", 0)]).frames[0]])
    assert_same(last, expected(ended, WINDOWS, slack=30 * SECOND).filter(pl.col("key") != "end"))


def test_only_what_changed_is_refreshed(spark: SparkSession, tmp_path: Path) -> None:
    batches = Batches.of([(0, "a", 1), (1, "b", 1)], [(2, "a", 5)], [(100 * SECOND, "c", 1)])
    result, query = windowed(spark, tmp_path, batches, rh.tumbling("1 minute"), emit="update")
    shown = result.with_columns((pl.col("window_start").dt.timestamp("us") - T0) // SECOND)
    assert sorted(shown.select("window_start", "key", "n", "s").rows()[:2]) == [(0, "a", 1, 1), (0, "b", 1, 1)]
    assert shown.select("window_start", "key", "n", "s").rows()[2:] == [(0, "a", 2, 6), (60, "c", 1, 1)]
    assert [p.results for p in query.progress] == [{"windows": 2}, {"windows": 1}, {"windows": 1}]
