"""NEXMark queries that join two kinds of events. Whichever comes first waits in the state of its key for the other."""

from __future__ import annotations

import polars as pl
from pyspark.sql import DataFrame

import rheostat as rh
from examples.nexmark.events import SLACK, auctions_and_bids
from rheostat.workloads.nexmark_events import AUCTION, PERSON


def q3(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Auctions of category 10 whose seller is from Oregon, Idaho or California."""
    wanted = (
        f"(event_type = {PERSON} and person.state in ('OR', 'ID', 'CA')) "
        f"or (event_type = {AUCTION} and auction.category = 10)"
    )
    rows = events.where(wanted).selectExpr(
        "date_time",
        "coalesce(person.id, auction.seller) as id",
        "person.name as name",
        "person.city as city",
        "person.state as state",
        "auction.id as auction",
    )
    source = t.source(rows, event_time="date_time", slack=SLACK, name="q3_events")
    return source.process(
        "q3",
        local_items,
        by="id",
        order=None,
        reads=["name", "city", "state", "auction"],
        schema="name string, city string, state string, auction bigint",
        state=rh.keyed_state("name string, city string, state string, waiting array<bigint>"),
    )


def local_items(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Join auctions with their sellers, and keep what has no partner yet."""
    person = ["id", "name", "city", "state"]
    known = pl.concat([frame.select(person) for frame in (state, rows)]).drop_nulls("name")
    waited = state.select("id", auction="waiting").explode("auction")
    offers = pl.concat([waited, rows.select("id", "auction")]).drop_nulls("auction")
    waits = offers.join(known, on="id", how="anti").group_by("id").agg(waiting="auction")
    kept = known.join(waits, on="id", how="full", coalesce=True)
    return offers.join(known, on="id").select("name", "city", "state", "auction"), kept


_OFFER = ["item_name", "initial_bid", "reserve", "opened", "expires", "seller", "category"]
_BID = ["bidder", "price", "channel", "url", "bid_time"]


def q20(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Bids with their auction, if that is of category 10."""
    rows = auctions_and_bids(
        events,
        *(f"auction.{column}" for column in _OFFER if column != "opened"),
        *(f"bid.{column}" for column in _BID if column != "bid_time"),
    )
    source = t.source(rows, event_time="date_time", slack=SLACK, name="q20_events")
    offer = (
        "item_name string, initial_bid bigint, reserve bigint, opened timestamp, expires timestamp, seller bigint, "
        "category bigint"
    )
    early = "early array<struct<bidder:bigint,price:bigint,channel:string,url:string,bid_time:timestamp>>"
    return source.process(
        "q20",
        expand_bids,
        by="id",
        order=None,
        schema=f"id bigint, bidder bigint, price bigint, channel string, url string, bid_time timestamp, {offer}",
        state=rh.keyed_state(f"{offer}, {early}"),
    )


def expand_bids(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Join bids with their auction. Bids whose auction is not known yet wait, those of other categories are dropped."""
    new = rows.drop_nulls("category").select(
        "id", *(pl.col("date_time").alias(c) if c == "opened" else c for c in _OFFER)
    )
    known = pl.concat([state.drop_nulls("category").select("id", *_OFFER), new])
    waited = state.filter(pl.col("early").list.len() > 0).select("id", "early").explode("early").unnest("early")
    made = pl.concat([waited, rows.drop_nulls("price").select("id", *_BID[:-1], bid_time="date_time")])
    joined = made.join(known.filter(pl.col("category") == 10), on="id")
    waits = made.join(known, on="id", how="anti").group_by("id").agg(early=pl.struct(_BID))
    return joined, new.join(waits, on="id", how="full", coalesce=True)
