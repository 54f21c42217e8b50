"""Read from Kafka, aggregate over windows, write to Kafka. It needs a broker and Spark's Kafka connector.

KAFKA=localhost:9092 spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0 examples/kafka.py
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import DataFrame, SparkSession

import rheostat as rh

ORDER = "shop string, ordered timestamp, cents bigint"


def shops(messages: DataFrame, sink: rh.sinks.Sink) -> rh.Topology:
    """Turnover per shop. ``messages`` has Kafka's columns; ``timestamp`` is when a message arrived."""
    order = f"from_json(string(value), '{ORDER}') as o"
    orders = messages.selectExpr(order, "timestamp as arrived").selectExpr("o.*", "arrived")
    t = rh.Topology("shops")
    source = t.source(orders, event_time="ordered", slack="1 minute", arrival_time="arrived", late="aside")
    windows = [rh.tumbling("1 hour"), rh.sliding("1 day", every="1 hour")]
    turnover = source.aggregate("turnover", by="shop", windows=windows, orders=rh.count(), cents=rh.sum("cents"))
    message = "window_end", "shop as key", "to_json(struct(*)) as value"
    turnover.map("message", lambda df: df.selectExpr(*message)).sink(sink)
    return t


def topology(spark: SparkSession) -> rh.Topology:
    servers = os.environ.get("KAFKA") or sys.exit("set KAFKA to the address of a broker, as in KAFKA=localhost:9092")
    options = {"kafka.bootstrap.servers": servers}
    messages = spark.readStream.format("kafka").options(**options, subscribe="orders").load()
    return shops(messages, rh.sinks.format("kafka", **options, topic="turnover"))  # Kafka sinks deliver at least once


if __name__ == "__main__":
    topology(rh.session("shops")).start("checkpoint", trigger="1 second").await_termination()
