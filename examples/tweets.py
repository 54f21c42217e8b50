"""POSG's application (figure 12): enrich tweets, which takes longest for media: ``python examples/tweets.py``."""

from __future__ import annotations

import tempfile
import time
from typing import Any

from pyspark.sql import SparkSession

import rheostat as rh

MEDIA, POLITICIANS = range(8), range(8, 40)
"""Entities that take long to look up, and entities that take a while; all others are not looked up."""


def enrich(tweet: Any) -> tuple[Any, ...]:
    """Return the tweet with the class of the entity that it mentions; sleeping stands for a look-up in a database."""
    if tweet.entity in MEDIA:
        time.sleep(0.025)
        return tweet.ts, tweet.entity, "media"
    if tweet.entity in POLITICIANS:
        time.sleep(0.005)
        return tweet.ts, tweet.entity, "politician"
    time.sleep(0.001)
    return tweet.ts, tweet.entity, "other"


def topology(spark: SparkSession, sink: rh.sinks.Sink) -> rh.Topology:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 200).load()
    tweets = rows.selectExpr("timestamp as ts", "value * value % 127 as entity")
    t = rh.Topology("tweets")
    source = t.source(tweets, event_time="ts")
    schema = "ts timestamp, entity bigint, class string"
    enriched = source.apply("enrich", enrich, schema=schema, cost_by="entity", slots=4)  # grouping="lpt" is the default
    enriched.sink(sink)
    return t


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as checkpoint:
        query = topology(rh.session("tweets", "local[4]"), rh.sinks.console(5)).start(checkpoint)
        query.await_epoch(5)
        query.stop()
        for decision in query.decisions():
            print(f"epoch {decision.epoch}: {decision.action}, because {decision.reasons[0]}")
