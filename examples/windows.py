"""Tumbling and sliding windows of several sizes, in one pass over the rows: ``python examples/windows.py``."""

from __future__ import annotations

import tempfile

from pyspark.sql import DataFrame, SparkSession

import rheostat as rh


def clicks(spark: SparkSession) -> DataFrame:
    """A stream of 1,000 clicks per epoch; an epoch spans ten minutes of event time."""
    options = {"rowsPerBatch": "1000", "advanceMillisPerBatch": "600000", "startTimestamp": "1767225600000"}
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    ts = "timestampadd(MILLISECOND, value % 1000 * 600, timestamp) as ts"
    return rows.selectExpr(ts, "concat('page-', value % 3) as page", "value % 100 as millis")


def topology(spark: SparkSession) -> rh.Topology:
    t = rh.Topology("clicks")
    source = t.source(clicks(spark), event_time="ts")
    pages = source.aggregate(
        "pages",
        by="page",
        windows=[rh.tumbling("10 minutes", "30 minutes"), rh.sliding("20 minutes", every="5 minutes")],
        clicks=rh.count(),
        slowest=rh.max("millis"),
    )
    pages.map("half_hours", lambda df: df.where("window = '30 minutes'")).sink(rh.sinks.console())
    return t


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("clicks")).start(checkpoint)
        print(query.explain())  # how each window is derived
        query.await_epoch(7)  # the first half hour is complete after four epochs
        query.stop()
