"""Define your own aggregate, a volume-weighted average price: ``python examples/own_aggregate.py``."""

from __future__ import annotations

import tempfile

import polars as pl
from pyspark.sql import SparkSession

import rheostat as rh

VWAP = rh.own_aggregate(
    inputs=["price", "shares"],
    partial=lambda rows: rows.group_by("group").agg(
        cash=(pl.col("price") * pl.col("shares")).sum(), shares=pl.col("shares").sum()
    ),
    partials={"cash": "bigint", "shares": "bigint"},  # the state per key and pane
    merge=lambda parts: parts.group_by("group").agg(pl.col("cash").sum(), pl.col("shares").sum()),
    finish=lambda parts: parts["cash"] / parts["shares"],
    result="double",
)


def topology(spark: SparkSession) -> rh.Topology:
    options = {"rowsPerBatch": "100", "advanceMillisPerBatch": "60000"}
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    trades = rows.selectExpr("timestamp as ts", "value % 2 as stock", "100 + value % 9 as price", "value % 5 as shares")
    t = rh.Topology("prices")
    source = t.source(trades, event_time="ts")
    minutes = rh.sliding("3 minutes", every="1 minute")
    source.aggregate("vwap", by="stock", windows=minutes, vwap=VWAP, trades=rh.count()).sink(rh.sinks.console())
    return t


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("prices")).start(checkpoint)
        query.await_epoch(3)
        query.stop()
