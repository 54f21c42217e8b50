"""NEXMark queries about winning bids: the highest bid of an auction, made while it was open.

A bid counts if it was made between the begin and the end of its auction, both included; the reserve is ignored. Of
several bids with the highest price the earliest wins. Bids that arrive before their auction wait for it.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from pyspark.sql import DataFrame

import rheostat as rh
from examples.nexmark.events import SLACK, auctions_and_bids

OFFER = "category bigint, seller bigint, opened timestamp, expires timestamp"
BEST = "price bigint, bidder bigint, bid_time timestamp"
STATE = f"{OFFER}, {BEST}, early array<struct<price:bigint,bidder:bigint,bid_time:timestamp>>"

_OFFER = ["id", "category", "seller", "opened", "expires"]
_BID = ["price", "bidder", "bid_time"]


def q4(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The average winning price by category so far, in every epoch that changed it."""
    changes = _winners(t, events, "q4", "q4_changes", price_changes, "category bigint, added bigint, auctions bigint")
    return changes.process(
        "q4",
        average_prices,
        by="category",
        order=None,
        schema="category bigint, average double",
        state=rh.keyed_state("total bigint, auctions bigint"),
    )


def price_changes(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """By how much new winning prices differ from what was known, and the number of auctions with a first winner."""
    kept = find_winners(rows, state)
    old = state.select("id", before="price")
    won = kept.filter(pl.col("price").is_not_null()).join(old, on="id", how="left")
    changes = won.group_by("category").agg(
        added=(pl.col("price") - pl.col("before").fill_null(0)).sum(), auctions=pl.col("before").is_null().sum()
    )
    return changes, kept


def average_prices(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add the changes of every category to its sum."""
    new = rows.group_by("category").agg(pl.col("added").sum(), more=pl.col("auctions").sum())
    kept = new.join(state, on="category", how="left").select(
        "category",
        total=pl.col("total").fill_null(0) + pl.col("added"),
        auctions=pl.col("auctions").fill_null(0) + pl.col("more"),
    )
    return kept.select("category", average=pl.col("total") / pl.col("auctions")), kept


def q6(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The average price of a seller's last ten sales, after each sale; an auction is sold when it expires."""
    sales = _winners(
        t,
        events,
        "q6",
        "q6_sales",
        follow_auctions,
        "seller bigint, id bigint, expires timestamp, price bigint",
        on_timer=sell,
        event_time="expires",
    )
    return sales.process(
        "q6",
        last_ten,
        by="seller",
        order=["expires", "id"],
        schema="seller bigint, id bigint, expires timestamp, average double",
        state=rh.keyed_state("prices array<bigint>"),
    )


def follow_auctions(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[None, pl.DataFrame]:
    """Keep the best bid of every auction until it expires."""
    kept = find_winners(rows, state)
    return None, kept.with_columns(timer=pl.col("expires"))


def sell(state: pl.DataFrame) -> tuple[pl.DataFrame, None, pl.DataFrame]:
    """Auctions that have expired: those with a bid are sold."""
    sold = state.filter(pl.col("price").is_not_null())
    return sold.select("seller", "id", "expires", "price"), None, state.select("id")


def last_ten(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The mean of the last ten prices after each sale; ``rows`` are in the order of sales."""
    before = state.select("seller", price=pl.col("prices")).explode("price").with_columns(pl.lit(False).alias("new"))
    sales = pl.concat([before, rows.with_columns(pl.lit(True).alias("new"))], how="diagonal")
    mean = pl.col("price").rolling_mean(10, min_samples=1).over("seller")
    averages = sales.with_columns(average=mean).filter("new").select("seller", "id", "expires", "average")
    return averages, sales.group_by("seller", maintain_order=True).agg(prices=pl.col("price").tail(10))


def q9(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The winning bid of every auction so far, in every epoch that changed it."""
    return _winners(t, events, "q9", "q9", new_winners, f"id bigint, {OFFER}, {BEST}")


def new_winners(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Auctions whose winning bid has changed."""
    kept = find_winners(rows, state)
    won = kept.filter(pl.col("price").is_not_null())
    return won.join(state, on=["id", *_BID], how="anti"), kept


def find_winners(rows: pl.DataFrame, state: pl.DataFrame) -> pl.DataFrame:
    """The new state of auctions: their best bid so far, or the bids that wait for the auction."""
    bid = ["id", *_BID]
    offers = rows.drop_nulls("expires").select("id", "category", "seller", "expires", opened="date_time")
    made = rows.drop_nulls("price").select("id", "price", "bidder", bid_time="date_time")
    known = pl.concat([state.drop_nulls("opened").select(_OFFER), offers.select(_OFFER)])
    early = state.filter(pl.col("early").list.len() > 0).select("id", "early").explode("early").unnest("early")
    candidates = pl.concat([state.drop_nulls("price").select(bid), early.select(bid), made.select(bid)])
    valid = candidates.join(known, on="id").filter(pl.col("bid_time").is_between("opened", "expires"))
    ordered = valid.sort(["price", "bid_time", "bidder"], descending=[True, False, False])
    winners = ordered.unique("id", keep="first", maintain_order=True).select(bid)
    waiting = candidates.join(known, on="id", how="anti").group_by("id").agg(early=pl.struct(_BID))
    return known.join(winners, on="id", how="left").join(waiting, on="id", how="full", coalesce=True)


def _winners(
    t: rh.Topology, events: DataFrame, query: str, name: str, function: Any, schema: str, **options: Any
) -> rh.Stream:
    """An operator that joins auctions with their bids."""
    columns = "auction.category", "auction.seller", "auction.expires", "bid.price", "bid.bidder"
    source = t.source(auctions_and_bids(events, *columns), event_time="date_time", slack=SLACK, name=f"{query}_events")
    return source.process(
        name,
        function,
        by="id",
        order=None,
        schema=schema,
        state=rh.keyed_state(STATE, ttl="10 minutes", clock="event"),
        **options,
    )
