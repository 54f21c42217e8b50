"""Peer-to-peer lending: the motivating job of Enorm (section 2), as ``rheostat demo`` runs it.

Five operators: the interest rate of every loan (op1); per area, interest against annual income (op2) and the approval
rate (op3); over all areas, the average interest (op4) and the approval rate (op5). The last four over 10 minutes,
30 minutes, 1 hour, 6 hours and 24 hours each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rheostat as rh
from rheostat.workloads.lending import columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOWS = rh.tumbling("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours")


def lending(loans: DataFrame) -> tuple[rh.Topology, dict[str, rh.Stream]]:
    """The topology and its four result streams, still without sinks."""
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
    """Loan applications out of Spark's rate source, event time sped up."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
    return rate.selectExpr(*columns(rows_per_second, speed))
