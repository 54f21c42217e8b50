"""Every aggregate on Spark against DuckDB, over panes that are merged several times."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.choices import Over
from tests.spark.streams import SECOND, Batches, assert_same, expected, windowed

WINDOWS = [*rh.tumbling("1 minute", "3 minutes"), *rh.sliding("4 minutes", every="1 minute")]
SCHEMA = {"ts": pl.Int64, "key": pl.String, "value": pl.Int64, "x": pl.Float64, "word": pl.String}


@pytest.fixture(scope="module")
def batches() -> Batches:
    rng = np.random.default_rng(7)
    epochs = []
    for epoch in range(4):
        epochs.append(
            [
                (
                    int(epoch * 150 + rng.integers(0, 180)) * SECOND,
                    f"k{rng.integers(0, 3)}",
                    None if rng.random() < 0.1 else int(rng.integers(-100, 100)),
                    None if rng.random() < 0.1 else float(1e6 + rng.normal()),
                    None if rng.random() < 0.1 else f"w{int(rng.zipf(1.6)) % 40}",
                )
                for _ in range(400)
            ]
        )
    return Batches.of(*epochs, schema=SCHEMA)


def results(spark: SparkSession, folder: Path, batches: Batches, **aggregates: Any) -> pl.DataFrame:
    frame, _ = windowed(spark, folder, batches, WINDOWS, slack=60 * SECOND, aggregates=aggregates)
    assert not frame.is_empty()
    return frame


def oracle(batches: Batches, select: str) -> pl.DataFrame:
    return expected(batches, WINDOWS, slack=60 * SECOND, select=select)


def test_exact_aggregates(spark: SparkSession, tmp_path: Path, batches: Batches) -> None:
    result = results(
        spark,
        tmp_path,
        batches,
        rows=rh.count(),
        known=rh.count("value"),
        total=rh.sum("value"),
        average=rh.mean("value"),
        low=rh.min("value"),
        high=rh.max("x"),
        least_word=rh.min("word"),
        var=rh.variance("x"),
        var_pop=rh.variance("x", sample=False),
        sd=rh.stddev("x"),
        sum_x=rh.sum("x"),
    )
    assert_same(
        result,
        oracle(
            batches,
            "count(*) AS rows, count(value) AS known, sum(value)::BIGINT AS total, avg(value) AS average, "
            "min(value) AS low, max(x) AS high, min(word) AS least_word, var_samp(x) AS var, var_pop(x) AS var_pop, "
            "stddev_samp(x) AS sd, sum(x) AS sum_x",
        ),
    )


def test_first_and_last_by_event_time(spark: SparkSession, tmp_path: Path, batches: Batches) -> None:
    result = results(spark, tmp_path, batches, f=rh.first("value"), l=rh.last("value"), fw=rh.first("word"))
    ordered = "FILTER (WHERE {c} IS NOT NULL)"
    assert_same(
        result,
        oracle(
            batches,
            f"first(value ORDER BY ts, value) {ordered.format(c='value')} AS f, "
            f"last(value ORDER BY ts, value) {ordered.format(c='value')} AS l, "
            f"first(word ORDER BY ts, word) {ordered.format(c='word')} AS fw",
        ),
    )


def test_sketches_are_within_their_error(spark: SparkSession, tmp_path: Path, batches: Batches) -> None:
    result = results(
        spark,
        tmp_path,
        batches,
        distinct=rh.approx_distinct("word"),
        distinct_values=rh.approx_distinct("value"),
        quantiles=rh.quantiles("value", 0.0, 0.5, 1.0),
        top=rh.top_k("word", 3),
        top_values=rh.top_k("value", 2),
    )
    truth = oracle(
        batches,
        "count(DISTINCT word) AS distinct_, count(DISTINCT value) AS distinct_values_, "
        "min(value) AS low, max(value) AS high, median(value) AS middle, count(value) AS n, "
        "list(word) FILTER (WHERE word IS NOT NULL) AS words",
    )
    times = [(pl.col(c).dt.timestamp("us") - 1_767_225_600_000_000).alias(c) for c in ("window_start", "window_end")]
    joined = result.with_columns(times).join(truth, on=["window", "window_start", "window_end", "key"])
    assert len(joined) == len(result) == len(truth)
    for row in joined.iter_rows(named=True):
        assert math.isclose(row["distinct"], row["distinct_"], rel_tol=0.05, abs_tol=1)
        assert math.isclose(row["distinct_values"], row["distinct_values_"], rel_tol=0.05, abs_tol=1)
        low, middle, high = row["quantiles"]
        assert (low, high) == (row["low"], row["high"])
        assert abs(middle - row["middle"]) <= 20, "rank error of a percent or two over 200 values"
        counts = pl.Series(row["words"]).value_counts(sort=True).rows()
        best = sorted(((-n, w) for w, n in counts))[:3]
        assert [(-e["count"], e["item"]) for e in row["top"]] == best, "exact below the sketch's capacity"
        assert len(row["top_values"]) == 2


def test_decimals_add_up_exactly(spark: SparkSession, tmp_path: Path) -> None:
    schema = {"ts": pl.Int64, "key": pl.String, "value": pl.Decimal(10, 2)}
    rows = [(i * 10 * SECOND, "a", f"{i}.1{i % 10}") for i in range(60)]
    batches = Batches.of(rows[:30], rows[30:], schema=schema)
    aggregates = {"s": rh.sum("value"), "m": rh.max("value"), "n": rh.count()}
    result, query = windowed(spark, tmp_path, batches, rh.sliding("4 minutes", every="1 minute"), aggregates=aggregates)
    assert "running total" not in query.explain(), "max cannot be subtracted"
    assert result.schema["s"] == pl.Decimal(20, 2)
    oracle = expected(
        batches, rh.sliding("4 minutes", every="1 minute"), select="sum(value) AS s, max(value) AS m, count(*) AS n"
    )
    assert_same(result, oracle)


def vwap(over: Over) -> Any:
    """Value-weighted mean of x, written by a user over Polars or Arrow."""

    def partial(rows: Any) -> Any:
        frame: Any = rows if over == "polars" else pl.from_arrow(rows)
        known = frame.with_columns(w=(pl.col("value").abs() + 1).cast(pl.Float64) * pl.col("x").is_not_null())
        out = known.group_by("group").agg(wx=(pl.col("w") * pl.col("x")).sum(), w=pl.col("w").sum())
        return out if over == "polars" else out.to_arrow()

    def merge(parts: Any) -> Any:
        if over == "polars":
            return parts.group_by("group").agg(pl.col("wx").sum(), pl.col("w").sum())
        return (
            pa.TableGroupBy(parts, "group")
            .aggregate([("wx", "sum"), ("w", "sum")])
            .rename_columns(["group", "wx", "w"])
        )

    def finish(parts: Any) -> Any:
        if over == "polars":
            return parts["wx"] / parts["w"]
        return pa.compute.divide(parts["wx"], parts["w"])

    return rh.own_aggregate(
        inputs=["value", "x"],
        partial=partial,
        partials={"wx": "double", "w": "double"},
        merge=merge,
        finish=finish,
        result="double",
        over=over,
    )


@pytest.mark.parametrize("over", ["polars", "arrow"])
def test_user_written_aggregates_beside_declared_ones(
    spark: SparkSession, tmp_path: Path, batches: Batches, over: Over
) -> None:
    result = results(spark, tmp_path, batches, mine=vwap(over), n=rh.count(), d=rh.approx_distinct("word"))
    weight = "(abs(value) + 1)"
    truth = oracle(
        batches,
        f"sum({weight} * x) FILTER (WHERE x IS NOT NULL AND value IS NOT NULL) / "
        f"sum({weight}) FILTER (WHERE x IS NOT NULL AND value IS NOT NULL) AS mine, count(*) AS n",
    )
    assert_same(result.drop("d"), truth)
    assert result["d"].min() is not None
