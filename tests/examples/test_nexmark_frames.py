"""The functions of NEXMark's queries, epoch by epoch and without Spark: cutting rows into epochs changes no result."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from examples.nexmark import joins, statistics, windows, winners
from tests.examples.frame_epochs import FrameEpochs

START = datetime(2026, 1, 1, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")
NUMBER = {"id": pl.Int64}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def cut(rows: list[Any], places: list[int]) -> list[list[Any]]:
    """The rows in several epochs."""
    edges = [0, *sorted(p % (len(rows) + 1) for p in places), len(rows)]
    return [rows[a:b] for a, b in pairwise(edges)]


PLACES = st.lists(st.integers(0, 50), max_size=4)

OFFER = st.tuples(st.just("offer"), st.integers(0, 3), st.integers(0, 20), st.integers(0, 20))
"""Auction, second at which it opens, and how many seconds it lasts."""

MADE = st.tuples(st.just("bid"), st.integers(0, 3), st.integers(0, 40), st.integers(1, 4), st.integers(0, 2))
"""Auction, second, price and bidder."""

AUCTION_HOUSE = st.lists(st.one_of(OFFER, MADE), max_size=30).map(
    lambda rows: list(
        {(row[0], row[1]) if row[0] == "offer" else (i, *row): row for i, row in enumerate(rows)}.values()
    )
)
"""Every auction is opened at most once; bids may come before it."""


def auction_rows(rows: list[Any]) -> pl.DataFrame:
    schema: dict[str, Any] = {
        "date_time": TIME,
        "id": pl.Int64,
        "category": pl.Int64,
        "seller": pl.Int64,
        "expires": TIME,
        "price": pl.Int64,
        "bidder": pl.Int64,
    }
    made = [
        (at(row[2]), row[1], 10 + row[1] % 2, row[1] % 2, at(row[2] + row[3]), None, None)
        if row[0] == "offer"
        else (at(row[2]), row[1], None, None, None, row[3], row[4])
        for row in rows
    ]
    return pl.DataFrame(made, schema, orient="row")


def winning(rows: list[Any]) -> dict[int, tuple[int, int, int]]:
    """By auction, price, second and bidder of the winning bid."""
    found = {}
    for offer in (row for row in rows if row[0] == "offer"):
        _, auction, opened, length = offer
        valid = [b for b in rows if b[0] == "bid" and b[1] == auction and opened <= b[2] <= opened + length]
        if valid:
            _, _, second, price, bidder = min(valid, key=lambda b: (-b[3], b[2], b[4]))
            found[auction] = (price, second, bidder)
    return found


@given(AUCTION_HOUSE, PLACES)
def test_the_winner_does_not_depend_on_epochs_or_order(rows: list[Any], places: list[int]) -> None:
    schema = f"id bigint, {winners.OFFER}, {winners.BEST}"
    operator = FrameEpochs(winners.new_winners, NUMBER, winners.STATE, schema)
    output = operator.run([auction_rows(part) for part in cut(rows, places)])
    last = output.unique("id", keep="last", maintain_order=True)
    found = {row["id"]: (row["price"], row["bid_time"], row["bidder"]) for row in last.to_dicts()}
    assert found == {a: (price, at(second), bidder) for a, (price, second, bidder) in winning(rows).items()}


@given(AUCTION_HOUSE, PLACES)
def test_averages_follow_winners_that_change(rows: list[Any], places: list[int]) -> None:
    changes = FrameEpochs(
        winners.price_changes, NUMBER, winners.STATE, "category bigint, added bigint, auctions bigint"
    )
    averages = FrameEpochs(
        winners.average_prices,
        {"category": pl.Int64},
        "total bigint, auctions bigint",
        "category bigint, average double",
    )
    output = averages.run([changes.epoch(auction_rows(part)) for part in cut(rows, places)])
    prices = defaultdict(list)
    for auction, (price, _, _) in winning(rows).items():
        prices[10 + auction % 2].append(price)
    last = output.unique("category", keep="last", maintain_order=True)
    assert dict(last.rows()) == {category: sum(p) / len(p) for category, p in prices.items()}


def test_an_auction_is_sold_when_it_expires_and_then_forgotten() -> None:
    operator = FrameEpochs(
        winners.follow_auctions,
        NUMBER,
        winners.STATE,
        "seller bigint, id bigint, expires timestamp, price bigint",
        on_timer=winners.sell,
    )
    rows = [("offer", 1, 0, 10), ("offer", 2, 0, 10), ("bid", 1, 5, 3, 0)]
    assert operator.epoch(auction_rows(rows), at(9)).is_empty()
    assert operator.epoch(auction_rows([("bid", 1, 9, 4, 0)]), at(10)).rows() == [(1, 1, at(10), 4)]
    assert operator.state.is_empty(), "also the auction without a bid"


def test_the_average_is_over_ten_sales() -> None:
    operator = FrameEpochs(
        winners.last_ten,
        {"seller": pl.Int64},
        "prices array<bigint>",
        "seller bigint, id bigint, expires timestamp, average double",
    )
    sales_schema: dict[str, Any] = {"seller": pl.Int64, "id": pl.Int64, "expires": TIME, "price": pl.Int64}
    sales = pl.DataFrame([(7, i, at(i), i) for i in range(25)], sales_schema, orient="row")
    output = operator.run([sales[:4], sales[4:17], sales[17:]])
    expected = [sum(range(max(0, i - 9), i + 1)) / min(i + 1, 10) for i in range(25)]
    assert output["average"].to_list() == expected


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=20), PLACES)
def test_sellers_and_auctions_meet_in_any_order(rows: list[tuple[int, bool]], places: list[int]) -> None:
    made: list[Any] = []
    known = set()
    for number, (person, is_person) in enumerate(rows):
        if is_person and person not in known:
            known.add(person)
            made.append((person, f"p{person}", "Bend", "OR", None))
        elif not is_person:
            made.append((person, None, None, None, number))
    schema: dict[str, Any] = {
        "id": pl.Int64,
        "name": pl.String,
        "city": pl.String,
        "state": pl.String,
        "auction": pl.Int64,
    }
    operator = FrameEpochs(
        joins.local_items,
        NUMBER,
        "name string, city string, state string, waiting array<bigint>",
        "name string, city string, state string, auction bigint",
    )
    output = operator.run([pl.DataFrame(part, schema, orient="row") for part in cut(made, places)])
    expected = [(f"p{row[0]}", row[4]) for row in made if row[4] is not None and row[0] in known]
    assert sorted(output.select("name", "auction").rows()) == sorted(expected)


def bid_rows(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    """Rows of second, price and bidder."""
    schema: dict[str, Any] = {"date_time": TIME, "auction": pl.Int64, "bidder": pl.Int64, "price": pl.Int64}
    return pl.DataFrame([(at(second), 1, bidder, price) for second, price, bidder in rows], schema, orient="row")


@given(st.lists(st.tuples(st.integers(0, 39), st.integers(1, 5), st.integers(0, 9)), max_size=40), PLACES)
def test_all_of_several_highest_bids_are_kept(rows: list[tuple[int, int, int]], places: list[int]) -> None:
    operator = FrameEpochs(
        windows.keep_highest,
        {"window_end": TIME},
        "highest array<struct<date_time:timestamp,auction:bigint,bidder:bigint,price:bigint>>",
        "window_end timestamp, date_time timestamp, auction bigint, bidder bigint, price bigint",
        on_timer=windows.emit_highest,
    )
    epochs = [_candidates(bid_rows(part)) for part in cut(rows, places)]
    output = operator.run(epochs, [None] * (len(epochs) - 1) + [at(30)])
    expected = []
    for end in (10, 20, 30):
        inside = [row for row in rows if end - 10 <= row[0] < end]
        expected += [(at(end), at(s), p, b) for s, p, b in inside if p == max(price for _, price, _ in inside)]
    assert sorted(output.select("window_end", "date_time", "price", "bidder").rows()) == sorted(expected)


def _candidates(rows: pl.DataFrame) -> pl.DataFrame:
    """What the map lets through, with a batch of at most three rows at a time."""
    empty = pl.DataFrame(windows.highest_of_batch(rows.clear().to_arrow()))
    batches = rows.to_arrow().to_batches(max_chunksize=3)
    return pl.concat([empty, *(pl.DataFrame(windows.highest_of_batch(batch)) for batch in batches)])


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 120)), max_size=30),
    st.lists(st.integers(1, 15), max_size=3),
)
def test_sessions_are_those_of_the_bids_themselves(rows: list[tuple[int, int]], ends: list[int]) -> None:
    """Windows of ten seconds close in order, several at once in some epochs."""
    operator = FrameEpochs(
        windows.join_sessions,
        {"bidder": pl.Int64},
        "bids bigint, first timestamp, last timestamp",
        "bidder bigint, bids bigint, start_time timestamp, end_time timestamp",
        on_timer=windows.end_sessions,
    )
    schema: dict[str, Any] = {"bidder": pl.Int64, "bids": pl.Int64, "first": TIME, "last": TIME}
    closed, output = 0, []
    for until in [*sorted(ends), 16]:
        parts = []
        for window in range(closed, until):
            for bidder in (0, 1):
                times = [t for b, t in rows if b == bidder and t // 10 == window]
                if times:
                    parts.append((bidder, len(times), at(min(times)), at(max(times))))
        output.append(operator.epoch(pl.DataFrame(parts, schema, orient="row"), at(until * 10)))
        closed = max(closed, until)
    assert sorted(pl.concat(output).rows()) == sorted(_sessions(rows))
    assert operator.state.is_empty()


def _sessions(rows: list[tuple[int, int]]) -> list[tuple[int, int, datetime, datetime]]:
    found = []
    for bidder in (0, 1):
        open_: list[int] = []
        for time in sorted(t for b, t in rows if b == bidder):
            if open_ and time - open_[-1] > 10:
                found.append((bidder, len(open_), at(open_[0]), at(open_[-1] + 10)))
                open_ = []
            open_.append(time)
        if open_:
            found.append((bidder, len(open_), at(open_[0]), at(open_[-1] + 10)))
    return found


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20), st.integers(0, 9)), max_size=40), PLACES)
def test_the_ten_highest_bids_are_those_of_all_epochs(rows: list[tuple[int, int, int]], places: list[int]) -> None:
    operator = FrameEpochs(
        statistics.ten_highest,
        {"auction": pl.Int64},
        "top array<struct<price:bigint,bid_time:timestamp,bidder:bigint>>",
        "auction bigint, rank bigint, price bigint, bid_time timestamp, bidder bigint",
    )
    output = operator.run([bid_rows(part).rename({"date_time": "bid_time"}) for part in cut(rows, places)])
    last = output.unique(["auction", "rank"], keep="last", maintain_order=True).sort("rank")
    expected = sorted((-price, at(second), bidder) for second, price, bidder in rows)[:10]
    assert [(-row["price"], row["bid_time"], row["bidder"]) for row in last.to_dicts()] == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)), max_size=30), PLACES)
def test_nobody_is_counted_twice(rows: list[tuple[int, int, int]], places: list[int]) -> None:
    figures = ", ".join(f"{figure} bigint" for figure in statistics._FIGURES)
    seen = {
        what: FrameEpochs(
            statistics.NewIn(["day", what], what),
            {"day": TIME, what: pl.Int64},
            "rank1 boolean, rank2 boolean, rank3 boolean",
            f"day timestamp, minute string, {figures}",
        )
        for what in ("bidder", "auction")
    }
    total = FrameEpochs(
        statistics.AddUp(["day"]),
        {"day": TIME},
        f"minute string, {figures}",
        f"day timestamp, minute string, {figures}",
    )
    schema: dict[str, Any] = {
        "day": TIME,
        "bidder": pl.Int64,
        "auction": pl.Int64,
        "rank": pl.Int64,
        "minute": pl.String,
    }
    output = []
    for part in cut(rows, places):
        frame = pl.DataFrame([(START, *row, "00:00") for row in part], schema, orient="row")
        output.append(total.epoch({what: operator.epoch(frame) for what, operator in seen.items()}))
    last = pl.concat(output).tail(1)
    if not rows:
        assert last.is_empty()
        return
    by_rank = [rows, *([row for row in rows if row[2] == rank] for rank in (1, 2, 3))]
    expected = [len(some) for some in by_rank]
    expected += [len({bidder for bidder, _, _ in some}) for some in by_rank]
    expected += [len({auction for _, auction, _ in some}) for some in by_rank]
    assert list(last.select(statistics._FIGURES).row(0)) == expected
