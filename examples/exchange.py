"""A stock exchange: the application of Elasticutor (section 5.4).

A transactor reads limit orders, keeps an order book for each stock, and matches orders by price and time. Its trades
feed six statistics (moving average, volume-weighted average price, candles, volume, volatility, composite index) and
five operators that detect events (price alarms, halts, large trades, volume bursts, wash trades). The paper names the
moving averages, the composite index and the alarms; the others are common ones that we added.

``python examples/exchange.py`` generates a trading day and processes it for one minute.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

import rheostat as rh
from rheostat.workloads.exchange import SCHEMA, Exchange

TRADE = (
    "stock int, ts timestamp, price bigint, shares bigint, cash bigint, "
    "buyer bigint, seller bigint, buy_order bigint, sell_order bigint"
)
EVENT = "stock int, ts timestamp, price bigint, shares bigint, bound double"
"""A trade that is an event, and the bound that it exceeded."""

HALT = 0.08  # a halt: the price differs by more than this share from the day's first trade
LARGE = 10  # a large trade: worth more than this many times the stock's average trade
LARGE_AFTER = 20  # trades of a stock before its average is used
BURST = 10  # a volume burst: more than this many times the stock's average volume per minute
BURST_AFTER = 10  # minutes of a stock before its average is used
BASE = 1_000.0  # the composite index before the first trade

DAY = Exchange(orders=500_000)
FILES = 96

FIELDS = 3
"""Numbers per resting order in a ``Level``."""

Level = list[int]
"""The orders that rest at a price: order, trader and shares of each, oldest first, as in ``[7, 1, 300, 9, 2, 100]``.

They are plain numbers because Arrow converts these several times as fast as structs.
"""
Fill = tuple[int, int, int, int]
"""Price, shares, resting order, and the trader of that order."""

BUY, SELL = "B", "S"

Frames = tuple[pl.DataFrame, pl.DataFrame]
"""What a function on whole frames returns: output, and changed state."""


def match(bids: Any, asks: Any, side: str, price: int, shares: int, order: int, trader: int) -> list[Fill]:
    """Match an incoming order and return its fills; the rest of the order stays in the book.

    The order is matched with the best opposite price first, and with the oldest order at that price first. The price of
    a fill is that of the resting order. Matching ends when that price is worse than the limit of the incoming order.

    >>> from sortedcontainers import SortedDict
    >>> bids, asks = SortedDict(), SortedDict()
    >>> match(bids, asks, SELL, 101, 200, order=1, trader=10)
    []
    >>> match(bids, asks, SELL, 100, 300, order=2, trader=11)
    []
    >>> match(bids, asks, BUY, 102, 400, order=3, trader=12)
    [(100, 300, 2, 11), (101, 100, 1, 10)]
    >>> dict(asks), dict(bids)
    ({101: [1, 10, 100]}, {})

    Args:
        bids: resting buy orders, a ``SortedDict`` from price to level; changed in place.
        asks: resting sell orders, likewise.
        side: ``B`` to buy, ``S`` to sell.
        price: limit of the order.
        shares: shares of the order.
        order: number of the order.
        trader: trader of the order.
    """
    buying = side == BUY
    own, opposite, best = (bids, asks, 0) if buying else (asks, bids, -1)
    fills: list[Fill] = []
    while shares > 0 and opposite:
        at, level = opposite.peekitem(best)
        if at > price if buying else at < price:
            break
        shares = _take(at, level, shares, fills)
        if not level:
            del opposite[at]
    if shares > 0:
        if (level := own.get(price)) is None:
            own[price] = [order, trader, shares]
        else:
            level += (order, trader, shares)
    return fills


def _take(price: int, level: Level, shares: int, fills: list[Fill]) -> int:
    """Take shares from the oldest orders of a level; return how many are still missing."""
    used = 0
    while shares and used < len(level):
        resting = level[used + 2]
        taken = resting if resting <= shares else shares
        fills.append((price, taken, level[used], level[used + 1]))
        shares -= taken
        if taken < resting:
            level[used + 2] = resting - taken
        else:
            used += FIELDS
    del level[:used]
    return shares


class Transactor(rh.KeyProcessor):
    """Matches the orders of a stock. Prices are in ticks; the price of a trade is that of the older order."""

    bids = rh.ordered_map("bigint", "array<bigint>")
    asks = rh.ordered_map("bigint", "array<bigint>")

    def process(self, key: Any, rows: Any, context: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002
        bids, asks, stock = self.bids, self.asks, key.stock
        for row in rows:
            fills = match(
                bids=bids,
                asks=asks,
                side=row.side,
                price=row.price,
                shares=row.shares,
                order=row.order,
                trader=row.trader,
            )
            for price, shares, order, trader in fills:
                if row.side == BUY:
                    parties = (row.trader, trader, row.order, order)
                else:
                    parties = (trader, row.trader, order, row.order)
                yield (stock, row.ts, price, shares, price * shares, *parties)


def index_moves(trades: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """Return how much trades move the composite index in each second; all stocks have the same weight."""
    seen = _beside(trades, state).with_columns(first=pl.col("first").fill_null(pl.col("price").first().over("stock")))
    before = pl.col("price").shift(1).over("stock").fill_null(pl.col("last")).fill_null(pl.col("price"))
    moves = seen.select(
        market=pl.lit("SSE"),
        ts=pl.col("ts").dt.truncate("1s"),
        move=(pl.col("price") - before) / pl.col("first") * (BASE / DAY.stocks),
    )
    changed = seen.group_by("stock").agg(pl.col("first").first(), last=pl.col("price").last())
    return moves.group_by("market", "ts", maintain_order=True).agg(pl.col("move").sum()), changed


def composite_index(moves: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """Return the index after each second. A second that spans two epochs has two rows; the later row is final."""
    by_second = moves.group_by("market", "ts").agg(pl.col("move").sum()).sort("market", "ts")
    level = pl.col("level").fill_null(BASE) + pl.col("move").cum_sum().over("market")
    output = by_second.join(state, on="market", how="left", maintain_order="left").select("market", "ts", level=level)
    return output, output.group_by("market").agg(pl.col("level").last())


def price_alarms(alarms: Mapping[int, int]) -> Callable[[pl.DataFrame, pl.DataFrame], Frames]:
    """Return a function that reports when the price of a stock rises above its alarm price."""
    bounds = pl.DataFrame(
        {"stock": list(alarms), "bound": list(alarms.values())}, {"stock": pl.Int32, "bound": pl.Float64}
    )

    def raise_alarms(trades: pl.DataFrame, state: pl.DataFrame) -> Frames:
        watched = _beside(trades.join(bounds, on="stock", maintain_order="left"), state)
        now = watched.with_columns(now=pl.col("price") > pl.col("bound"))
        before = pl.col("now").shift(1).over("stock").fill_null(pl.col("above")).fill_null(False)
        return _events(now.filter(pl.col("now") & ~before)), now.group_by("stock").agg(above=pl.col("now").last())

    return raise_alarms


def halts(trades: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """Return the first trade of a stock that is too far above its first price of the day, and the first below."""
    opened = pl.col("opened").fill_null(pl.col("price").first().over("stock"))
    seen = _beside(trades, state).with_columns(
        opened=opened, high=pl.col("high").fill_null(False), low=pl.col("low").fill_null(False)
    )
    for column, beyond, bound in (
        ("high", pl.col("price") > pl.col("opened") * (1 + HALT), pl.col("opened") * (1 + HALT)),
        ("low", pl.col("price") < pl.col("opened") * (1 - HALT), pl.col("opened") * (1 - HALT)),
    ):
        first = beyond & ~pl.col(column) & (beyond.cum_sum().over("stock") == 1)
        seen = seen.with_columns(pl.when(first).then(bound).alias(f"{column}_bound"), beyond.alias(f"{column}_now"))
    events = seen.with_columns(bound=pl.coalesce("high_bound", "low_bound")).filter(pl.col("bound").is_not_null())
    changed = seen.group_by("stock").agg(
        pl.col("opened").first(),
        *(pl.col(c).first() | pl.col(f"{c}_now").any() for c in ("high", "low")),
    )
    return _events(events), changed


def large_trades(trades: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """Return the trades that are worth many times the average of the stock's earlier trades."""
    seen = _beside(trades, state).with_columns(
        trades=pl.col("trades").fill_null(0) + pl.int_range(1, pl.len() + 1).over("stock"),
        total=pl.col("total").fill_null(0) + pl.col("cash").cum_sum().over("stock"),
    )
    before = pl.col("trades") - 1
    average = (pl.col("total") - pl.col("cash")) / before
    large = seen.filter((before >= LARGE_AFTER) & (pl.col("cash") > LARGE * average))
    changed = seen.group_by("stock").agg(pl.col("trades").last(), pl.col("total").last())
    return _events(large.with_columns(bound=LARGE * average)), changed


def volume_bursts(trades: pl.DataFrame, state: pl.DataFrame) -> Frames:
    """Return the trades at which the volume of a stock in a minute exceeds many times its earlier average."""
    minute = pl.col("ts").dt.epoch("s") // 60
    seen = _beside(trades, state).with_columns(now=pl.max_horizontal(minute.cum_max().over("stock"), "minute"))
    carried = pl.when(pl.col("now") == pl.col("minute")).then(pl.col("volume")).otherwise(0).fill_null(0)
    seen = seen.with_columns(
        began=pl.col("began").fill_null(pl.col("now").first().over("stock")),
        volume=carried + pl.col("shares").cum_sum().over("stock", "now"),
        total=pl.col("total").fill_null(0) + pl.col("shares").cum_sum().over("stock"),
    )
    minutes = pl.col("now") - pl.col("began")
    bound = BURST * (pl.col("total") - pl.col("volume")) / minutes
    burst = (pl.col("volume") > bound) & (pl.col("volume") - pl.col("shares") <= bound)
    changed = seen.group_by("stock").agg(
        pl.col("began").first(),
        minute=pl.col("now").last(),
        volume=pl.col("volume").last(),
        total=pl.col("total").last(),
    )
    return _events(seen.filter((minutes >= BURST_AFTER) & burst).with_columns(bound=bound)), changed


def exchange(orders: Any, alarms: Mapping[int, int] | None = None) -> tuple[rh.Topology, dict[str, rh.Stream]]:
    """Return the topology, and its streams by name: the trades and eleven results. They have no sinks yet.

    Args:
        orders: a streaming DataFrame with the columns of the workload's ``SCHEMA``.
        alarms: alarm price in ticks by stock; stocks without one raise no alarms.
    """
    t = rh.Topology("exchange")
    source = t.source(orders, event_time="ts", slack="1 second", name="orders")
    trades = source.process_keys(
        "transactor", Transactor, by="stock", schema=TRADE, event_time="ts", order=("ts", "order")
    )
    return t, {"trades": trades, **_statistics(trades), **_watches(trades, alarms or {})}


def _statistics(trades: rh.Stream) -> dict[str, rh.Stream]:
    def windows(name: str, over: tuple[rh.Window, ...], **aggregates: Any) -> rh.Stream:
        return trades.aggregate(name, by="stock", windows=over, aggregates=aggregates)

    sliding, price = rh.sliding("5 minutes", every="1 minute"), "price"
    cash, shares = rh.sum("cash"), rh.sum("shares")
    candle = {"open": rh.first(price), "high": rh.max(price), "low": rh.min(price), "close": rh.last(price)}
    moves = trades.process(
        "index_moves",
        index_moves,
        by="stock",
        schema="market string, ts timestamp, move double",
        state=rh.keyed_state("first bigint, last bigint"),
    )
    return {
        "moving_average": windows("moving_average", sliding, average=rh.mean(price)),
        "vwap": windows("values_traded", sliding, cash=cash, shares=shares).map(
            "vwap", lambda df: df.selectExpr("*", "cash / shares as vwap")
        ),
        "candles": windows("candles", rh.tumbling("1 minute"), **candle),
        "volume": windows(
            "volume", rh.tumbling("1 minute", "5 minutes", "1 hour"), trades=rh.count(), shares=shares, cash=cash
        ),
        "volatility": windows("volatility", sliding, deviation=rh.stddev(price)),
        "composite_index": moves.process(
            "composite_index",
            composite_index,
            by="market",
            schema="market string, ts timestamp, level double",
            state=rh.keyed_state("level double"),
        ),
    }


def _watches(trades: rh.Stream, alarms: Mapping[int, int]) -> dict[str, rh.Stream]:
    def watch(name: str, logic: Callable[[pl.DataFrame, pl.DataFrame], Frames], state: str) -> rh.Stream:
        return trades.process(name, logic, by="stock", schema=EVENT, state=rh.keyed_state(state))

    return {
        "price_alarms": watch("price_alarms", price_alarms(alarms), "above boolean"),
        "halts": watch("halts", halts, "opened bigint, high boolean, low boolean"),
        "large_trades": watch("large_trades", large_trades, "trades bigint, total bigint"),
        "volume_bursts": watch(
            "volume_bursts", volume_bursts, "began bigint, minute bigint, volume bigint, total bigint"
        ),
        "wash_trades": trades.map("wash_trades", lambda df: df.where("buyer = seller")),
    }


def _beside(rows: pl.DataFrame, state: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the state that their stock had before this epoch; nulls if it had none."""
    return rows.join(state, on="stock", how="left", maintain_order="left")


def _events(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("stock", "ts", "price", "shares", pl.col("bound").cast(pl.Float64))


def unfilled(orders: pl.DataFrame, trades: pl.DataFrame) -> pl.DataFrame:
    """Return the orders with a column ``left``: the shares that were not traded.

    Tests check the exchange with it: no order is filled beyond its size, buyers get as many shares as sellers give, and
    the remaining orders of a stock do not match each other.
    """
    sides = [trades.select(order=f"{side}_order", filled="shares") for side in ("buy", "sell")]
    filled = pl.concat(sides).group_by("order").agg(pl.col("filled").sum())
    left = pl.col("shares") - pl.col("filled").fill_null(0)
    return orders.join(filled, on="order", how="left", maintain_order="left").with_columns(left=left).drop("filled")


def order_stream(spark: Any, day: Exchange, files: int) -> Any:
    """Return the orders of a trading day as a stream of files, one file per epoch."""
    folder = Path(tempfile.gettempdir()) / f"rheostat-exchange-{day.orders}-{day.seconds}-{day.seed}-{files}"
    day.write(folder, files)  # always the same files, so that a query can resume from its checkpoint
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def topology(spark: Any) -> rh.Topology:
    """Return the topology for ``rheostat run`` and ``rheostat explain``; alarm prices are 3 % above opening prices."""
    alarms = {stock: int(price * 1.03) for stock, price in enumerate(DAY.opening_prices())}
    t, results = exchange(order_stream(spark, DAY, FILES), alarms)
    for name in ("composite_index", "price_alarms", "halts", "volume_bursts"):
        results[name].sink(rh.sinks.console(5))
    heavy = results["volume"].map("heavy", lambda df: df.where("window = '5 minutes' and shares > 1000000"))
    heavy.sink(rh.sinks.console(5))
    return t


def main() -> None:
    spark = rh.session("exchange")
    job = topology(spark)
    print(job.explain())
    with tempfile.TemporaryDirectory() as checkpoint:
        query = job.start(checkpoint)
        query.await_termination(timeout=60)
        query.stop()


if __name__ == "__main__":
    main()
