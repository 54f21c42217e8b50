"""The three streams of NEXMark, out of one stream of events. Each query reads only the columns it needs."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from rheostat.workloads.nexmark_events import AUCTION, BID, PERSON, SCHEMA

SLACK = "4 seconds"
"""Events arrive less than three seconds late, so no row is lost."""

DAY = "timestamp_micros(unix_micros(date_time) div 86400000000 * 86400000000) as day"
"""The day of an event, in UTC."""


def read_events(spark: SparkSession, folder: Path | str, files_per_epoch: int = 1) -> DataFrame:
    """The files of ``NexmarkEvents.write`` as a streaming DataFrame."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_per_epoch).parquet(str(folder))


def persons(events: DataFrame, *columns: str) -> DataFrame:
    """Persons: the time, and the given columns."""
    return events.where(f"event_type = {PERSON}").select("date_time", "person.*").selectExpr("date_time", *columns)


def auctions(events: DataFrame, *columns: str) -> DataFrame:
    """Auctions: the time, and the given columns."""
    return events.where(f"event_type = {AUCTION}").select("date_time", "auction.*").selectExpr("date_time", *columns)


def bids(events: DataFrame, *columns: str) -> DataFrame:
    """Bids: the time, and the given columns."""
    return events.where(f"event_type = {BID}").select("date_time", "bid.*").selectExpr("date_time", *columns)


def auctions_and_bids(events: DataFrame, *columns: str) -> DataFrame:
    """Auctions and bids in one stream: the time, the id of the auction, and the given columns.

    Columns of auctions, such as ``auction.seller``, are null for bids, and those of bids are null for auctions.
    """
    both = events.where(f"event_type in ({AUCTION}, {BID})")
    return both.selectExpr("date_time", "coalesce(auction.id, bid.auction) as id", *columns)
