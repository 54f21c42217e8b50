"""Peer-to-peer lending: the motivating job of Enorm (section 2), complete.

Five operators: the interest rate of every loan (op1); per area, interest against annual income (op2) and the approval
rate (op3); over all areas, the average interest (op4) and the approval rate (op5). The last four over 10 minutes,
30 minutes, 1 hour, 6 hours and 24 hours each.

Run it with ``python examples/lending.py``: it makes its own stream and prints results for half a minute.
"""

from __future__ import annotations

import tempfile
from typing import Any

import rheostat as rh
from rheostat.workloads.lending import columns

WINDOWS = rh.tumbling("10 minutes", "30 minutes", "1 hour", "6 hours", "24 hours")


def lending(loans: Any) -> tuple[rh.Topology, dict[str, rh.Stream]]:
    """The topology and its four result streams, still without sinks."""
    t = rh.Topology("lending")
    source = t.source(loans, event_time="date", slack="10 seconds", arrival_time="arrived", name="loans")
    rated = source.map(
        "interest",
        lambda df: df.selectExpr("*", "(return / amount - 1) * 12 / lendingTime as rate", "int(approval) as approved"),
    )
    results = {
        "area_interest": rated.compute("interest_by_area", by="area", rate=rh.mean("rate"), income=rh.mean("income")),
        "area_approval": rated.compute("approval_by_area", by="area", loans=rh.count(), approval=rh.mean("approved")),
        "global_interest": rated.compute("interest_overall", rate=rh.mean("rate")),
        "global_approval": rated.compute("approval_overall", loans=rh.count(), approval=rh.mean("approved")),
    }
    return t, {name: computed.consolidate(name, WINDOWS) for name, computed in results.items()}


def loan_stream(spark: Any, rows_per_second: int, speed: float) -> Any:
    """Loan applications out of Spark's rate source, event time sped up."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
    return rate.selectExpr(*columns(rows_per_second, speed))


def topology(spark: Any) -> rh.Topology:
    """The job as ``rheostat run`` and ``rheostat explain`` load it: a thousand loans a second, ten minutes in one."""
    t, results = lending(loan_stream(spark, rows_per_second=1_000, speed=600))
    generous = results["area_approval"].map("generous", lambda df: df.where("approval > 0.63 and window = '1 hour'"))
    generous.sink(rh.sinks.console(5))
    results["global_interest"].sink(rh.sinks.console())
    return t


def main() -> None:
    spark = rh.session("lending")
    job = topology(spark)
    print(job.explain())
    with tempfile.TemporaryDirectory() as checkpoint:
        query = job.start(checkpoint, trigger="1 second")
        query.await_termination(timeout=30)
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
