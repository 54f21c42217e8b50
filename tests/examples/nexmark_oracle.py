"""What NEXMark's queries give over all events at once, in DuckDB's SQL."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

VIEWS = """
CREATE VIEW events AS SELECT *, make_timestamp(epoch_us(date_time)) AS event_time FROM read_parquet('{files}');
CREATE VIEW person AS SELECT person.*, event_time AS date_time FROM events WHERE event_type = 0;
CREATE VIEW auction AS SELECT auction.* EXCLUDE (expires), make_timestamp(epoch_us(auction.expires)) AS expires,
  event_time AS date_time FROM events WHERE event_type = 1;
CREATE VIEW bid AS SELECT bid.*, event_time AS date_time FROM events WHERE event_type = 2;
CREATE VIEW valid AS SELECT A.id, A.category, A.seller, A.date_time AS opened, A.expires, B.price, B.bidder,
  B.date_time AS bid_time
  FROM auction A JOIN bid B ON A.id = B.auction AND B.date_time BETWEEN A.date_time AND A.expires;
CREATE VIEW winner AS SELECT * FROM valid
  QUALIFY row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_time, bidder) = 1;
"""

_RANKS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price BETWEEN 10000 AND 999999",
    "rank3": "price >= 1000000",
}


def _distinct(by: str) -> str:
    figures = [f"count(*) FILTER ({where}) AS {rank}_bids" for rank, where in _RANKS.items()]
    for what in ("bidder", "auction"):
        figures += [f"count(DISTINCT {what}) FILTER ({where}) AS {rank}_{what}s" for rank, where in _RANKS.items()]
    day = "date_trunc('day', date_time)::TIMESTAMP"
    return (
        f"SELECT {day} AS day, {by} max(strftime(date_time, '%H:%M')) AS minute, {', '.join(figures)} "
        f"FROM bid GROUP BY {by} {day}"
    )


ORACLE = {
    "q0": "SELECT auction, bidder, price, extra, date_time FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, date_time, extra FROM bid",
    "q2": "SELECT auction, price, date_time FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT P.name, P.city, P.state, A.id AS auction FROM auction A JOIN person P ON A.seller = P.id
      WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')""",
    "q4": "SELECT category, avg(price) AS average FROM winner GROUP BY category",
    "q5": """WITH copies AS (
        SELECT auction, time_bucket(INTERVAL 2 SECONDS, date_time) - to_seconds(2 * step) AS window_start
        FROM bid, range(5) AS steps(step)),
      counts AS (SELECT window_start, auction, count(*) AS bids FROM copies GROUP BY ALL)
      SELECT window_start, window_start + INTERVAL 10 SECONDS AS window_end, auction, bids FROM counts
      WHERE window_start + INTERVAL 10 SECONDS <= {watermark}
      QUALIFY bids = max(bids) OVER (PARTITION BY window_start)""",
    "q6": """SELECT seller, id, expires, avg(price) OVER (PARTITION BY seller ORDER BY expires, id
        ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS average FROM winner WHERE expires <= {watermark}""",
    "q7": """SELECT time_bucket(INTERVAL 10 SECONDS, date_time) + INTERVAL 10 SECONDS AS window_end, date_time, auction,
        bidder, price FROM bid
      QUALIFY price = max(price) OVER (PARTITION BY window_end) AND window_end <= {watermark}""",
    "q8": """SELECT DISTINCT time_bucket(INTERVAL 10 SECONDS, P.date_time) AS window_start,
        window_start + INTERVAL 10 SECONDS AS window_end, P.id, P.name
      FROM person P JOIN auction A ON P.id = A.seller
        AND time_bucket(INTERVAL 10 SECONDS, P.date_time) = time_bucket(INTERVAL 10 SECONDS, A.date_time)
      WHERE time_bucket(INTERVAL 10 SECONDS, P.date_time) + INTERVAL 10 SECONDS <= {watermark}""",
    "q9": "SELECT id, category, seller, opened, expires, price, bidder, bid_time FROM winner",
    "q10": """SELECT auction, bidder, price, extra, date_time, strftime(date_time, '%Y-%m-%d') AS dt,
        strftime(date_time, '%H:%M') AS hm FROM bid""",
    "q11": """WITH marked AS (
        SELECT bidder, date_time,
          date_time - lag(date_time) OVER (PARTITION BY bidder ORDER BY date_time) > INTERVAL 10 SECONDS AS begins
        FROM bid),
      numbered AS (SELECT *, count(*) FILTER (begins) OVER (PARTITION BY bidder ORDER BY date_time
          RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session FROM marked)
      SELECT bidder, count(*) AS bids, min(date_time) AS start_time, max(date_time) + INTERVAL 10 SECONDS AS end_time
      FROM numbered GROUP BY bidder, session
      HAVING time_bucket(INTERVAL 10 SECONDS, max(date_time)) + INTERVAL 20 SECONDS <= {watermark}""",
    "q12": "SELECT bidder, count(*) AS bids FROM bid GROUP BY bidder",
    "q13": "SELECT auction, bidder, price, 'value ' || auction % 10000 AS value, date_time FROM bid",
    "q14": """SELECT auction, bidder, 0.908 * price AS price,
        CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'dayTime'
          WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bid_time_type,
        date_time, extra, len(extra) - len(replace(extra, 'c', '')) AS c_counts
      FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": _distinct(""),
    "q16": _distinct("channel,"),
    "q17": """SELECT auction, count(*) AS total_bids, count(*) FILTER (price < 10000) AS rank1_bids,
        count(*) FILTER (price BETWEEN 10000 AND 999999) AS rank2_bids,
        count(*) FILTER (price >= 1000000) AS rank3_bids, min(price) AS min_price, max(price) AS max_price,
        avg(price) AS avg_price, sum(price)::BIGINT AS sum_price,
        date_trunc('day', date_time)::TIMESTAMP AS window_start
      FROM bid GROUP BY auction, window_start""",
    "q18": """SELECT bidder, auction, date_time, price, channel, url, extra FROM bid QUALIFY row_number() OVER (
        PARTITION BY bidder, auction ORDER BY date_time DESC, price DESC, channel DESC, url DESC, extra DESC) = 1""",
    "q19": """SELECT auction, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, bidder) AS rank,
        price, date_time AS bid_time, bidder FROM bid QUALIFY rank <= 10""",
    "q20": """SELECT A.id, B.bidder, B.price, B.channel, B.url, B.date_time AS bid_time, A.item_name, A.initial_bid,
        A.reserve, A.date_time AS opened, A.expires, A.seller, A.category
      FROM auction A JOIN bid B ON A.id = B.auction WHERE A.category = 10""",
    "q21": """SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
          WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
          ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id, date_time
      FROM bid WHERE channel_id <> ''""",
    "q22": """SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
        split_part(url, '/', 6) AS dir3, date_time FROM bid""",
}
"""By query, its results. Windows, sessions and sales that are still open at the end are left out: ``{watermark}``."""


_READS = {"q6": "event_type > 0", "q8": "event_type < 2"}
"""The events that a query reads, if it is not the bids; their newest time decides what is complete."""


def expected(query: str, folder: Path, slack_seconds: int = 4) -> pl.DataFrame:
    """The results of a query over the files of a folder.

    Args:
        query: name of the query.
        folder: the folder of Parquet files.
        slack_seconds: the watermark is the newest event time minus this.
    """
    with duckdb.connect() as connection:
        connection.execute(VIEWS.format(files=folder / "*.parquet"))
        newest = f"SELECT max(event_time) FROM events WHERE {_READS.get(query, 'event_type = 2')}"
        watermark = f"(({newest}) - INTERVAL {slack_seconds} SECONDS)"
        found: pl.DataFrame = connection.sql(ORACLE[query].format(watermark=watermark)).pl()
        return found


def comparable(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Rows in a fixed order, with types that do not depend on who made them."""
    plain = frame.select(columns).with_columns(
        pl.col(name).cast(pl.Float64).round(6)
        if dtype.is_decimal() or dtype.is_float()
        else pl.col(name).cast(pl.Int64)
        if dtype.is_integer()
        else pl.col(name).cast(pl.Datetime("us"))
        if dtype == pl.Datetime
        else pl.col(name)
        for name, dtype in frame.select(columns).schema.items()
    )
    return plain.sort(columns)
