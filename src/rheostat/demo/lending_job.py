"""The peer-to-peer lending job of ``rheostat demo``: the motivating example of Enorm (section 2).

It has five operators: the interest rate of every loan (op1); per area, mean interest and income (op2) and the approval
rate (op3); over all areas, mean interest (op4) and the approval rate (op5). Operators 2 to 5 have windows of
10 minutes, 30 minutes, 1 hour, 6 hours and 24 hours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rheostat as rh
from rheostat.workloads.lending import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOWS = rh.tumbling("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours")


def lending(loans: DataFrame) -> tuple[rh.Topology, dict[str, rh.Stream]]:
    """Return the topology and its four result streams by name, without sinks."""
    t = rh.Topology("lending")
    source = t.source(loans, event_time="date", slack="10 seconds", arrival_time="arrived", name="loans")
    rated = source.map(
        "interest",
        lambda df: df.selectExpr("*", "(return / amount - 1) * 12 / lendingTime as rate", "int(approval) as approved"),
    )

    def windows(name: str, by: tuple[str, ...], **aggregates: rh.Aggregate) -> rh.Stream:
        return rated.aggregate(name, by=by, windows=WINDOWS, aggregates=aggregates)

    area = ("area",)
    results = [
        windows("area_interest", area, rate=rh.mean("rate"), income=rh.mean("income")),
        windows("area_approval", area, loans=rh.count(), approval=rh.mean("approved")),
        windows("global_interest", (), rate=rh.mean("rate")),
        windows("global_approval", (), loans=rh.count(), approval=rh.mean("approved")),
    ]
    return t, {stream.name: stream for stream in results}


def loan_stream(spark: SparkSession, rows_per_second: int, speed: float) -> DataFrame:
    """Return a stream of loan applications, made from Spark's rate source, with event time sped up."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
    return rate.selectExpr(*columns(rows_per_second, speed))
