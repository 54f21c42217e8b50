"""NEXMark queries without state: each bid gives one row or none."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import rheostat as rh
from examples.nexmark.events import SLACK, bids

CHANNEL_ID = "regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"


def q0(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Pass every bid through."""
    return _source(t, "q0", bids(events, "auction", "bidder", "price", "extra"))


def q1(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Prices in euros: 0.908 times the price, as in the SQL versions."""
    rows = _source(t, "q1_bids", bids(events, "auction", "bidder", "price", "extra"))
    euros = "cast(0.908 * price as decimal(23, 3)) as price"
    return rows.map("q1", lambda df: df.selectExpr("auction", "bidder", euros, "date_time", "extra"))


def q2(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Bids for every 123rd auction."""
    rows = _source(t, "q2_bids", bids(events, "auction", "price"))
    return rows.map("q2", lambda df: df.where("auction % 123 = 0"))


def q10(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """All bids with day and minute, for files in a folder per minute: see ``log_files``."""
    rows = _source(t, "q10_bids", bids(events, "auction", "bidder", "price", "extra"))
    day, minute = "date_format(date_time, 'yyyy-MM-dd') as dt", "date_format(date_time, 'HH:mm') as hm"
    return rows.map("q10", lambda df: df.selectExpr("*", day, minute))


def log_files(path: str) -> rh.sinks.Sink:
    """The sink of query 10: CSV files, in a folder for every epoch, day and minute."""
    return rh.sinks.format("csv", path, partition_by=["dt", "hm"])


def q13(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Bids with the value that a table of 10,000 rows has for their auction. Tables are joined before ``source``."""
    table = events.sparkSession.range(10_000).selectExpr("id as key", "concat('value ', id) as value")
    rows = bids(events, "auction", "bidder", "price").join(F.broadcast(table), F.expr("auction % 10000 = key"))
    return _source(t, "q13", rows.drop("key"))


def q14(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Bids of a range of prices, in euros, with the time of day and how often a letter occurs in ``extra``."""
    rows = _source(t, "q14_bids", bids(events, "auction", "bidder", "price", "extra"))
    columns = (
        "auction",
        "bidder",
        "cast(0.908 * price as decimal(23, 3)) as price",
        "case when hour(date_time) between 8 and 18 then 'dayTime' "
        "when hour(date_time) <= 6 or hour(date_time) >= 20 then 'nightTime' else 'otherTime' end as bid_time_type",
        "date_time",
        "extra",
        "length(extra) - length(replace(extra, 'c', '')) as c_counts",
    )
    dear = "0.908 * price > 1000000 and 0.908 * price < 50000000"
    return rows.map("q14", lambda df: df.where(dear).selectExpr(*columns))


def q21(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Bids with the id of their channel, by its name or from the address; bids without one are dropped."""
    rows = _source(t, "q21_bids", bids(events, "auction", "bidder", "price", "channel", "url"))
    hot = "when 'apple' then '0' when 'google' then '1' when 'facebook' then '2' when 'baidu' then '3'"
    channel = f"case lower(channel) {hot} else {CHANNEL_ID} end as channel_id"
    columns = "auction", "bidder", "price", "channel", channel, "date_time"
    return rows.map("q21", lambda df: df.selectExpr(*columns).where("channel_id <> ''"))


def q22(t: rh.Topology, events: DataFrame) -> rh.Stream:
    """Bids with the first three folders of their address."""
    rows = _source(t, "q22_bids", bids(events, "auction", "bidder", "price", "channel", "url"))
    folders = [f"split_part(url, '/', {3 + i}) as dir{i}" for i in (1, 2, 3)]
    return rows.map("q22", lambda df: df.selectExpr("auction", "bidder", "price", "channel", *folders, "date_time"))


def _source(t: rh.Topology, name: str, rows: DataFrame) -> rh.Stream:
    return t.source(rows, event_time="date_time", slack=SLACK, name=name)
