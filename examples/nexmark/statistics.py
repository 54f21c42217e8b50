"""NEXMark queries about bids so far: statistics by day, the last bid, the highest ten bids."""

from __future__ import annotations

import polars as pl
from pyspark.sql import DataFrame

import rheostat as rh
from examples.nexmark.events import DAY, SLACK, bids

RANK = "case when price < 10000 then 1 when price < 1000000 then 2 else 3 end as rank"
"""Bids by price: below 10,000, below a million, others."""

_FIGURES = [
    f"{rank}_{what}" for what in ("bids", "bidders", "auctions") for rank in ("total", "rank1", "rank2", "rank3")
]


def q15(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """By day: bids, distinct bidders and distinct auctions, in all and by rank of price."""
    return _distinct(t, events, "q15", ["day"])


def q16(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The same by day and channel, with the last minute in which there was a bid."""
    return _distinct(t, events, "q16", ["day", "channel"])


def _distinct(t: rh.Topology, events: DataFrame, query: str, by: list[str]) -> rh.Stream:
    """Distinct bidders and auctions are found by operators keyed by these; what is new is then added up."""
    columns = bids(events, "auction", "bidder", "price", "channel").selectExpr(
        "date_time", DAY, "channel", "auction", "bidder", RANK, "date_format(date_time, 'HH:mm') as minute"
    )
    source = t.source(columns, event_time="date_time", slack=SLACK, name=f"{query}_bids")
    types = {"day": "timestamp", "channel": "string"}
    keys = ", ".join(f"{key} {types[key]}" for key in by)
    found = ", ".join(f"{figure} bigint" for figure in _FIGURES)
    seen = rh.keyed_state("rank1 boolean, rank2 boolean, rank3 boolean", ttl="2 days", clock="event")
    new = {
        what: source.process(
            f"{query}_{what}",
            NewIn([*by, what], what),
            by=[*by, what],
            order=None,
            reads=["rank", "minute"],
            schema=f"{keys}, minute string, {found}",
            state=seen,
        )
        for what in ("bidder", "auction")
    }
    return new["bidder"].process(
        query,
        AddUp(by),
        by=by,
        join=new["auction"],
        order=None,
        schema=f"{keys}, minute string, {found}",
        state=rh.keyed_state(f"minute string, {found}"),
    )


class NewIn:
    """Counts bids, and the bidders (or auctions) that are seen for the first time, in all and by rank.

    Args:
        keys: the keys of the operator; the last of them is what is counted.
        what: ``bidder`` or ``auction``. Bids are counted with bidders.
    """

    def __init__(self, keys: list[str], what: str) -> None:
        self._keys, self._what = keys, what

    def __call__(self, rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        ranks = ["rank1", "rank2", "rank3"]
        now = rows.group_by(self._keys).agg(
            pl.len().alias("bids"),
            pl.col("minute").max(),
            *((pl.col("rank") == i + 1).sum().alias(f"{rank}_bids") for i, rank in enumerate(ranks)),
        )
        both = now.join(state, on=self._keys, how="left")
        before = [pl.col(rank).fill_null(False) for rank in ranks]
        after = [old | (pl.col(f"{rank}_bids") > 0) for rank, old in zip(ranks, before, strict=True)]
        firsts = [
            pl.col("rank1").is_null(),  # no state yet
            *(new & ~old for new, old in zip(after, before, strict=True)),
        ]
        counts = ["bids", *(f"{rank}_bids" for rank in ranks)] if self._what == "bidder" else [pl.lit(0)] * 4
        figures = [
            *(pl.sum(c) if isinstance(c, str) else c for c in counts),
            *(f.sum() if self._what == "bidder" else pl.lit(0) for f in firsts),
            *(f.sum() if self._what == "auction" else pl.lit(0) for f in firsts),
        ]
        found = both.group_by(self._keys[:-1]).agg(
            pl.col("minute").max(),
            *(figure.cast(pl.Int64).alias(name) for figure, name in zip(figures, _FIGURES, strict=True)),
        )
        return found, both.select(*self._keys, *(new.alias(rank) for new, rank in zip(after, ranks, strict=True)))


class AddUp:
    """Adds what is new to the figures so far.

    Args:
        keys: the keys of the operator.
    """

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys

    def __call__(self, rows: dict[str, pl.DataFrame], state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        columns = [*self._keys, "minute", *_FIGURES]
        parts = pl.concat([state.select(columns), *(frame.select(columns) for frame in rows.values())])
        figures = parts.group_by(self._keys).agg(pl.col("minute").max(), pl.col(_FIGURES).sum())
        return figures, figures


def q17(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """By auction and day: bids in all and by rank, and the lowest, highest, mean and total price."""
    ranked = bids(events, "auction", "price").selectExpr(
        "date_time",
        "auction",
        "price",
        "bigint(price < 10000) as rank1",
        "bigint(price >= 10000 and price < 1000000) as rank2",
        "bigint(price >= 1000000) as rank3",
    )
    source = t.source(ranked, event_time="date_time", slack=SLACK, name="q17_bids")
    return source.aggregate(
        "q17",
        by="auction",
        windows=rh.tumbling("1 day"),
        emit="update",
        total_bids=rh.count(),
        rank1_bids=rh.sum("rank1"),
        rank2_bids=rh.sum("rank2"),
        rank3_bids=rh.sum("rank3"),
        min_price=rh.min("price"),
        max_price=rh.max("price"),
        avg_price=rh.mean("price"),
        sum_price=rh.sum("price"),
    )


_ROW = ["date_time", "price", "channel", "url", "extra"]


def q18(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The last bid of every bidder for every auction; of several at the same time, the highest."""
    source = t.source(
        bids(events, "auction", "bidder", "price", "channel", "url", "extra"),
        event_time="date_time",
        slack=SLACK,
        name="q18_bids",
    )
    row = "date_time timestamp, price bigint, channel string, url string, extra string"
    return source.process(
        "q18",
        last_bids,
        by=["bidder", "auction"],
        order=None,
        schema=f"bidder bigint, auction bigint, {row}",
        state=rh.keyed_state(row),
    )


def last_bids(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The bids that are the last ones now and were not before."""
    columns = ["bidder", "auction", *_ROW]
    old = state.select(*columns, new=pl.lit(False))
    both = pl.concat([old, rows.select(*columns, new=pl.lit(True))]).sort([*_ROW, "new"])
    changed = both.unique(["bidder", "auction"], keep="last", maintain_order=True).filter("new").drop("new")
    return changed, changed


def q19(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """The ten highest bids of every auction, all ten again in every epoch that changed them."""
    made = bids(events, "auction", "bidder", "price", "date_time as bid_time")
    source = t.source(made, event_time="date_time", slack=SLACK, name="q19_bids")
    return source.process(
        "q19",
        ten_highest,
        by="auction",
        order=None,
        reads=["bidder", "price", "bid_time"],
        schema="auction bigint, rank bigint, price bigint, bid_time timestamp, bidder bigint",
        state=rh.keyed_state("top array<struct<price:bigint,bid_time:timestamp,bidder:bigint>>"),
    )


def ten_highest(rows: pl.DataFrame, state: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ten highest bids; of several with the same price, the earlier ones."""
    bid = ["price", "bid_time", "bidder"]
    before = state.select("auction", "top").explode("top").unnest("top").with_columns(new=pl.lit(False))
    both = pl.concat([before.select("auction", *bid, "new"), rows.select("auction", *bid, new=pl.lit(True))])
    ordered = both.sort([*bid, "new"], descending=[True, False, False, False])
    best = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1).over("auction")).filter(pl.col("rank") <= 10)
    changed = best.filter(pl.col("new").any().over("auction"))
    kept = changed.group_by("auction", maintain_order=True).agg(top=pl.struct(bid))
    return changed.drop("new"), kept
