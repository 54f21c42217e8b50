"""NEXMark's queries on plain Spark, where its streaming SQL can express them.

Each is written in the fastest way we know that gives the same results. Where that is not the published text, the query
says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.native_settings import ROCKSDB, settings
from examples.nexmark.events import SLACK, auctions, bids, persons, read_events
from rheostat.workloads.nexmark_events import BID

CONF = {
    **ROCKSDB,
    # Sessions are merged before the exchange, too.
    "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": "true",
}

EURO = "cast(0.908 * price as decimal(23, 3)) as price"

IMPOSSIBLE = {
    "q4": "an average over maxima that change needs retractions; Spark chains aggregations in append mode only",
    "q6": "the last ten rows of a group need a window function, which streams do not have",
    "q9": "the first row of a group needs a window function, and an aggregate after a join must have a time window",
    "q15": "count(DISTINCT ...) is refused on streams",
    "q16": "count(DISTINCT ...) is refused on streams",
    "q19": "the first ten rows of a group need a window function, which streams do not have",
}
"""Queries that Spark's streaming SQL cannot express, and why."""


@dataclass(frozen=True)
class NativeQuery:
    """A query on plain Spark.

    Attributes:
        build: from the stream of events to the results.
        updates: True if results are emitted again when they change.
        partition_by: columns by which files are written to folders, as CSV; empty for Parquet without folders.
    """

    build: Callable[[DataFrame], DataFrame]
    updates: bool = False
    partition_by: tuple[str, ...] = ()


def q3(events: DataFrame) -> DataFrame:
    sellers = persons(events, "id", "name", "city", "state").where("state in ('OR', 'ID', 'CA')").drop("date_time")
    offers = auctions(events, "id as auction", "seller", "category").where("category = 10")
    return offers.join(sellers, F.expr("seller = id")).select("name", "city", "state", "auction")


def q5(events: DataFrame) -> DataFrame:
    """Instead of joining counts with their maximum: the counts of a window are collected and filtered."""
    counts = (
        bids(events, "auction")
        .withWatermark("date_time", SLACK)
        .groupBy(F.window("date_time", "10 seconds", "2 seconds").alias("w"), "auction")
        .agg(F.count("*").alias("bids"))
        .select("w", F.window_time("w").alias("at"), "auction", "bids")
    )
    # Every sliding window ends within another two seconds, which therefore stand for it.
    windows = counts.groupBy(F.window("at", "2 seconds")).agg(
        F.max("bids").alias("most"), F.first("w").alias("w"), F.collect_list(F.struct("auction", "bids")).alias("all")
    )
    hottest = windows.selectExpr("w", "inline(filter(all, x -> x.bids = most))")
    return hottest.selectExpr("w.start as window_start", "w.end as window_end", "auction", "bids")


def q7(events: DataFrame) -> DataFrame:
    """Instead of joining bids with the highest price: the largest row. It keeps one of several equal ones."""
    rows = bids(events, "auction", "bidder", "price").withWatermark("date_time", SLACK)
    best = rows.groupBy(F.window("date_time", "10 seconds").alias("w")).agg(
        F.max(F.struct("price", "date_time", "auction", "bidder")).alias("best")
    )
    return best.selectExpr("w.end as window_end", "best.date_time", "best.auction", "best.bidder", "best.price")


def q8(events: DataFrame) -> DataFrame:
    """Instead of joining two windowed streams: persons and auctions are counted together by id, as on Rheostat."""
    rows = events.where(f"event_type <> {BID}").selectExpr(
        "date_time", "coalesce(person.id, auction.seller) as id", "person.name as name", "auction.id as auction"
    )
    both = (
        rows.withWatermark("date_time", SLACK)
        .groupBy(F.window("date_time", "10 seconds").alias("w"), "id")
        .agg(F.max("name").alias("name"), F.count("auction").alias("auctions"))
    )
    found = both.where("name is not null and auctions > 0")
    return found.selectExpr("w.start as window_start", "w.end as window_end", "id", "name")


def q11(events: DataFrame) -> DataFrame:
    rows = bids(events, "bidder").withWatermark("date_time", SLACK)
    sessions = rows.groupBy(F.session_window("date_time", "10 seconds").alias("s"), "bidder").agg(
        F.count("*").alias("bids")
    )
    return sessions.selectExpr("bidder", "bids", "s.start as start_time", "s.end as end_time")


def q12(events: DataFrame) -> DataFrame:
    rows = bids(events, "bidder").withColumn("processed", F.current_timestamp()).withWatermark("processed", "0 seconds")
    counts = rows.groupBy(F.window("processed", "10 seconds").alias("w"), "bidder").agg(F.count("*").alias("bids"))
    return counts.selectExpr("w.start as window_start", "bidder", "bids")


def q13(events: DataFrame) -> DataFrame:
    table = events.sparkSession.range(10_000).selectExpr("id as key", "concat('value ', id) as value")
    rows = bids(events, "auction", "bidder", "price")
    return rows.join(F.broadcast(table), F.expr("auction % 10000 = key")).drop("key")


def q14(events: DataFrame) -> DataFrame:
    dear = "0.908 * price > 1000000 and 0.908 * price < 50000000"
    return (
        bids(events, "auction", "bidder", "price", "extra")
        .where(dear)
        .selectExpr(
            "auction",
            "bidder",
            EURO,
            "case when hour(date_time) between 8 and 18 then 'dayTime' "
            "when hour(date_time) <= 6 or hour(date_time) >= 20 then 'nightTime' else 'otherTime' end as bid_time_type",
            "date_time",
            "extra",
            "length(extra) - length(replace(extra, 'c', '')) as c_counts",
        )
    )


def q17(events: DataFrame) -> DataFrame:
    rows = bids(events, "auction", "price").withWatermark("date_time", SLACK)
    counts = rows.groupBy(F.window("date_time", "1 day").alias("w"), "auction").agg(
        F.count("*").alias("total_bids"),
        F.count_if(F.expr("price < 10000")).alias("rank1_bids"),
        F.count_if(F.expr("price >= 10000 and price < 1000000")).alias("rank2_bids"),
        F.count_if(F.expr("price >= 1000000")).alias("rank3_bids"),
        F.min("price").alias("min_price"),
        F.max("price").alias("max_price"),
        F.avg("price").alias("avg_price"),
        F.sum("price").alias("sum_price"),
    )
    return counts.selectExpr("w.start as window_start", "*").drop("w")


def q18(events: DataFrame) -> DataFrame:
    """Instead of the first row of a group: its largest one."""
    rows = bids(events, "auction", "bidder", "price", "channel", "url", "extra")
    last = rows.groupBy("bidder", "auction").agg(
        F.max(F.struct("date_time", "price", "channel", "url", "extra")).alias("last")
    )
    return last.select("bidder", "auction", "last.*")


def q20(events: DataFrame) -> DataFrame:
    offers = auctions(
        events, "id", "item_name", "initial_bid", "reserve", "date_time as opened", "expires", "seller", "category"
    )
    made = bids(events, "auction", "bidder", "price", "channel", "url", "date_time as bid_time").drop("date_time")
    return made.join(offers.where("category = 10").drop("date_time"), F.expr("auction = id")).drop("auction")


def q21(events: DataFrame) -> DataFrame:
    hot = "when 'apple' then '0' when 'google' then '1' when 'facebook' then '2' when 'baidu' then '3'"
    channel = f"case lower(channel) {hot} else regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) end as channel_id"
    rows = bids(events, "auction", "bidder", "price", "channel", "url")
    return rows.selectExpr("auction", "bidder", "price", "channel", channel, "date_time").where("channel_id <> ''")


def q22(events: DataFrame) -> DataFrame:
    folders = [f"split_part(url, '/', {3 + i}) as dir{i}" for i in (1, 2, 3)]
    rows = bids(events, "auction", "bidder", "price", "channel", "url")
    return rows.selectExpr("auction", "bidder", "price", "channel", *folders, "date_time")


def _all(events: DataFrame) -> DataFrame:
    return bids(events, "auction", "bidder", "price", "extra")


def _log(events: DataFrame) -> DataFrame:
    day, minute = "date_format(date_time, 'yyyy-MM-dd') as dt", "date_format(date_time, 'HH:mm') as hm"
    return _all(events).selectExpr("*", day, minute)


NATIVE = {
    "q0": NativeQuery(_all),
    "q1": NativeQuery(lambda events: _all(events).selectExpr("auction", "bidder", EURO, "date_time", "extra")),
    "q2": NativeQuery(lambda events: bids(events, "auction", "price").where("auction % 123 = 0")),
    "q3": NativeQuery(q3),
    "q5": NativeQuery(q5),
    "q7": NativeQuery(q7),
    "q8": NativeQuery(q8),
    "q10": NativeQuery(_log, partition_by=("dt", "hm")),
    "q11": NativeQuery(q11),
    "q12": NativeQuery(q12, updates=True),
    "q13": NativeQuery(q13),
    "q14": NativeQuery(q14),
    "q17": NativeQuery(q17, updates=True),
    "q18": NativeQuery(q18, updates=True),
    "q20": NativeQuery(q20),
    "q21": NativeQuery(q21),
    "q22": NativeQuery(q22),
}
"""The queries that plain Spark can express."""


def run(spark: SparkSession, name: str, *, data: Path, scratch: Path, files_per_epoch: int) -> None:
    """Run a query over all files.

    Args:
        spark: the session.
        name: name of the query.
        data: folder of the input files.
        scratch: folder for results (``out``) and the checkpoint (``checkpoint``).
        files_per_epoch: files per epoch.
    """
    query = NATIVE[name]
    with settings(spark, CONF):
        results = query.build(read_events(spark, data, files_per_epoch))
        writer = results.writeStream.option("checkpointLocation", str(scratch / "checkpoint"))
        out = str(scratch / "out")
        if query.updates:
            writer = writer.outputMode("update").foreachBatch(
                lambda df, epoch: df.write.mode("overwrite").parquet(f"{out}/epoch={epoch}")
            )
        elif query.partition_by:
            writer = writer.format("csv").partitionBy(*query.partition_by).option("path", out)
        else:
            writer = writer.format("parquet").option("path", out)
        writer.trigger(availableNow=True).start().awaitTermination()
