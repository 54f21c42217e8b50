"""NEXMark queries over windows."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame

import rheostat as rh
from examples.nexmark.events import SLACK, bids
from rheostat.workloads.nexmark_events import BID

WINDOW = "10 seconds"
GAP = pl.duration(seconds=10)


def q5(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The auctions with the most bids in the last 10 seconds, every 2 seconds; all of them if several have the most."""
    source = t.source(bids(events, "auction"), event_time="date_time", slack=SLACK, name="q5_bids")
    counts = source.aggregate("q5_counts", by="auction", windows=rh.sliding(WINDOW, every="2 seconds"), bids=rh.count())
    return counts.process(
        "q5",
        hottest,
        by="window_end",
        order=None,
        schema="window_start timestamp, window_end timestamp, auction bigint, bids bigint",
    )


def hottest(rows: pl.DataFrame, _state: pl.DataFrame) -> tuple[pl.DataFrame, None]:
    """The rows with the most bids. All results of a window come in one epoch, so there is nothing to remember."""
    return rows.filter(pl.col("bids") == pl.col("bids").max().over("window_end")), None


def q7(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The highest bids of every 10 seconds; all of them if several have the highest price."""
    columns = bids(events, "auction", "bidder", "price")
    source = t.source(columns, event_time="date_time", slack=SLACK, name="q7_bids")
    row = "date_time timestamp, auction bigint, bidder bigint, price bigint"
    highest = source.map("q7_highest", highest_of_batch, schema=f"window_end timestamp, {row}")
    return highest.process(
        "q7",
        keep_highest,
        by="window_end",
        order=None,
        schema=f"window_end timestamp, {row}",
        state=rh.keyed_state("highest array<struct<date_time:timestamp,auction:bigint,bidder:bigint,price:bigint>>"),
        on_timer=emit_highest,
    )


def highest_of_batch(batch: pa.RecordBatch) -> pa.Table:
    """The rows that may have the highest price of their window: those with the highest price in their batch."""
    rows = pl.DataFrame(batch).with_columns(window_end=pl.col("date_time").dt.truncate("10s") + GAP)
    best = rows.filter(pl.col("price") == pl.col("price").max().over("window_end"))
    return best.select("window_end", "date_time", "auction", "bidder", "price").to_arrow()


def keep_highest(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[None, pl.DataFrame]:
    """Remember the highest bids of every window, until it ends."""
    columns = ["window_end", "date_time", "auction", "bidder", "price"]
    before = state.select("window_end", pl.col("highest")).explode("highest").unnest("highest")
    best = pl.concat([before.select(columns), rows.select(columns)]).filter(
        pl.col("price") == pl.col("price").max().over("window_end")
    )
    kept = best.group_by("window_end").agg(highest=pl.struct(columns[1:]))
    return None, kept.with_columns(timer=pl.col("window_end"))


def emit_highest(state: pl.DataFrame) -> tuple[pl.DataFrame, None, pl.DataFrame]:
    """The highest bids of windows that have ended."""
    return state.select("window_end", "highest").explode("highest").unnest("highest"), None, state.select("window_end")


def q8(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """New persons who opened an auction within the same 10 seconds: persons and auctions are counted together by id."""
    rows = events.where(f"event_type <> {BID}").selectExpr(
        "date_time", "coalesce(person.id, auction.seller) as id", "person.name as name", "auction.id as auction"
    )
    source = t.source(rows, event_time="date_time", slack=SLACK, name="q8_events")
    both = source.aggregate(
        "q8_both",
        by="id",
        windows=rh.tumbling(WINDOW),
        aggregates={"name": rh.max("name"), "auctions": rh.count("auction")},  # name= is the operator's own
    )
    return both.map("q8", lambda df: df.where("name is not null and auctions > 0").drop("window", "auctions"))


def q11(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """How many bids a person makes in a session, which ends when there is none for more than 10 seconds.

    A person's bids within one window of 10 seconds belong to the same session. So bids are aggregated by such windows
    first, and then only these are put together.
    """
    source = t.source(bids(events, "bidder"), event_time="date_time", slack=SLACK, name="q11_bids")
    parts = source.aggregate(
        "q11_parts",
        by="bidder",
        windows=rh.tumbling(WINDOW),
        bids=rh.count(),
        first=rh.min("date_time"),
        last=rh.max("date_time"),
    )
    return parts.process(
        "q11",
        join_sessions,
        by="bidder",
        order=None,
        reads=["bids", "first", "last"],
        schema="bidder bigint, bids bigint, start_time timestamp, end_time timestamp",
        state=rh.keyed_state("bids bigint, first timestamp, last timestamp"),
        on_timer=end_sessions,
    )


def join_sessions(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put windows together to sessions. The last session of every person may go on; the others are complete."""
    columns = ["bidder", "bids", "first", "last"]
    parts = pl.concat([state.select(columns), rows.select(columns)]).sort("bidder", "first")
    begins = (pl.col("first") - pl.col("last").shift() > GAP) | (pl.col("bidder") != pl.col("bidder").shift())
    sessions = (
        parts.with_columns(session=begins.fill_null(True).cum_sum())
        .group_by("session")
        .agg(pl.col("bidder").first(), pl.col("bids").sum(), pl.col("first").min(), pl.col("last").max())
    )
    is_last = pl.col("session") == pl.col("session").max().over("bidder")
    # A bid that goes on with the session is in the next window at the latest: wait for the end of that window.
    ends = pl.col("last").dt.truncate("10s") + 2 * GAP
    return _ended(sessions.filter(~is_last)), sessions.filter(is_last).select(*columns, timer=ends)


def end_sessions(state: pl.DataFrame) -> tuple[pl.DataFrame, None, pl.DataFrame]:
    """The sessions that nothing continued."""
    return _ended(state), None, state.select("bidder")


def _ended(sessions: pl.DataFrame) -> pl.DataFrame:
    return sessions.select("bidder", "bids", start_time=pl.col("first"), end_time=pl.col("last") + GAP)


def q12(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """How many bids a person makes within 10 seconds of processing time: the time at which Spark planned the epoch."""
    rows = bids(events, "bidder").selectExpr("bidder", "current_timestamp() as processed")
    source = t.source(rows, event_time="processed", name="q12_bids")
    return source.aggregate("q12", by="bidder", windows=rh.tumbling(WINDOW), emit="update", bids=rh.count())
