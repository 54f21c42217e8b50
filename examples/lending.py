"""Peer-to-peer lending, the motivating job of Enorm (section 2): ``python examples/lending.py``.

The input is a synthetic stream of 1,000 loans per second. Event time runs 600 times as fast as real time.
"""

from __future__ import annotations

import tempfile

from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.workloads.lending import columns

WINDOWS = rh.tumbling("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours")
RATE = "(return / amount - 1) * 12 / lendingTime as rate"


def topology(spark: SparkSession) -> rh.Topology:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 1000).load()
    t = rh.Topology("lending")
    loans = t.source(rows.selectExpr(*columns(1000, speed=600)), event_time="date", slack="10 seconds", name="loans")
    rated = loans.map("interest", lambda df: df.selectExpr("*", RATE, "int(approval) as approved"))
    areas = rated.aggregate(
        "areas", by="area", windows=WINDOWS, loans=rh.count(), rate=rh.mean("rate"), approval=rh.mean("approved")
    )
    areas.map("generous", lambda df: df.where("approval > 0.63 and window = '1 hour'")).sink(rh.sinks.console(5))
    rated.aggregate("overall", windows=WINDOWS, loans=rh.count(), rate=rh.mean("rate")).sink(rh.sinks.console())
    return t


if __name__ == "__main__":
    job = topology(rh.session("lending"))
    print(job.explain())
    with tempfile.TemporaryDirectory() as checkpoint:
        query = job.start(checkpoint, trigger="1 second")
        query.await_epoch(12)
        query.stop()
