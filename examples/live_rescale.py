"""Change the number of slots while a query runs: ``python examples/live_rescale.py``."""

from __future__ import annotations

import tempfile

from pyspark.sql import SparkSession

import rheostat as rh


def topology(spark: SparkSession) -> rh.Topology:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000).load()
    visits = rows.selectExpr("timestamp as ts", "value % 500 as visitor")
    t = rh.Topology("visits")
    source = t.source(visits, event_time="ts")
    source.aggregate("visits", by="visitor", windows=rh.tumbling("1 second"), visits=rh.count()).sink(rh.sinks.memory())
    return t


def show(progress: rh.Progress) -> None:
    for change in progress.changes:
        before, after = change.slots
        print(
            f"epoch {progress.epoch}: {before} -> {after} slots, {change.moved} of 256 shards moved ({change.reason})"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("visits")).start(checkpoint, slots=2, on_progress=show)
        for slots in (4, 8, 2):
            query.await_epoch(query.status.epoch + 1)
            query.rescale(slots=slots)  # takes effect with the next epoch
        query.await_epoch(query.status.epoch + 2)
        query.stop()
