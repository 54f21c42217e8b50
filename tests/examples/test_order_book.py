"""The order book against a brute-force one: price first, then time; nothing is lost and nothing appears."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from sortedcontainers import SortedDict

from examples.exchange import BUY, SELL, Fill, match


def resting(side: Any) -> list[Fill]:
    """The orders that rest on a side, by price and then oldest first: price, shares, order, trader.

    >>> resting({100: [2, 11, 300, 4, 12, 50]})
    [(100, 300, 2, 11), (100, 50, 4, 12)]
    """
    return [
        (price, level[i + 2], level[i], level[i + 1]) for price, level in side.items() for i in range(0, len(level), 3)
    ]


class Order(NamedTuple):
    side: str
    price: int
    shares: int
    order: int
    trader: int


class Trade(NamedTuple):
    price: int
    shares: int
    incoming: Order
    order: int
    trader: int


def orders(max_size: int = 40) -> st.SearchStrategy[list[Order]]:
    """Orders with few different prices, so that many meet."""
    one = st.tuples(st.sampled_from([BUY, SELL]), st.integers(95, 105), st.integers(1, 9), st.integers(0, 3))
    return st.lists(one, max_size=max_size).map(
        lambda drawn: [Order(side, price, shares, n, trader) for n, (side, price, shares, trader) in enumerate(drawn)]
    )


def run(incoming: list[Order]) -> tuple[list[Trade], SortedDict, SortedDict]:
    bids, asks = SortedDict(), SortedDict()
    trades = [Trade(p, n, o, order, trader) for o in incoming for p, n, order, trader in match(bids, asks, *o)]
    return trades, bids, asks


def brute_force(incoming: list[Order]) -> tuple[list[Fill], list[list[int]]]:
    """One share at a time: the best-priced, then oldest, opposite order that is acceptable gives it."""
    book: list[list[int]] = []  # [order, shares left], oldest first
    fills: list[Fill] = []
    for new in incoming:
        left, sign = new.shares, 1 if new.side == BUY else -1
        while left:
            able = [
                r for r in book if incoming[r[0]].side != new.side and sign * incoming[r[0]].price <= sign * new.price
            ]
            if not able:
                break
            chosen = min(able, key=lambda r: (sign * incoming[r[0]].price, r[0]))
            resting_order = incoming[chosen[0]]
            fill = (resting_order.price, 1, resting_order.order, resting_order.trader)
            if fills and fills[-1][2] == chosen[0] and left < new.shares:
                fill = (fill[0], fills.pop()[1] + 1, fill[2], fill[3])
            fills.append(fill)
            left -= 1
            chosen[1] -= 1
            book = [r for r in book if r[1]]
        if left:
            book.append([new.order, left])
    return fills, book


@settings(max_examples=300, deadline=None)
@given(orders())
def test_trades_and_remainders_are_those_of_brute_force(incoming: list[Order]) -> None:
    trades, bids, asks = run(incoming)
    fills, book = brute_force(incoming)
    assert [(t.price, t.shares, t.order, t.trader) for t in trades] == fills
    assert sorted((order, shares) for side in (bids, asks) for _, shares, order, _ in resting(side)) == [
        (order, shares) for order, shares in sorted(book)
    ]


@settings(max_examples=200, deadline=None)
@given(orders())
def test_shares_and_cash_are_conserved(incoming: list[Order]) -> None:
    trades, bids, asks = run(incoming)
    shares = {BUY: 0, SELL: 0}  # given by orders, less what they got: what must rest
    cash = dict.fromkeys(range(4), 0)
    stock = dict.fromkeys(range(4), 0)
    for order in incoming:
        shares[order.side] += order.shares
    for t in trades:
        shares[BUY] -= t.shares
        shares[SELL] -= t.shares
        buyer, seller = (t.incoming.trader, t.trader) if t.incoming.side == BUY else (t.trader, t.incoming.trader)
        cash[buyer] -= t.price * t.shares
        cash[seller] += t.price * t.shares
        stock[buyer] += t.shares
        stock[seller] -= t.shares
    assert shares == {BUY: sum(r[1] for r in resting(bids)), SELL: sum(r[1] for r in resting(asks))}
    assert sum(cash.values()) == sum(stock.values()) == 0


@settings(max_examples=200, deadline=None)
@given(orders())
def test_the_book_is_never_crossed(incoming: list[Order]) -> None:
    bids, asks = SortedDict(), SortedDict()
    for order in incoming:
        match(bids, asks, *order)
        assert not bids or not asks or bids.peekitem(-1)[0] < asks.peekitem(0)[0]
        assert all(level and min(level[2::3]) > 0 for side in (bids, asks) for level in side.values())


@settings(max_examples=200, deadline=None)
@given(orders())
def test_no_trade_goes_through_a_limit(incoming: list[Order]) -> None:
    trades, _, _ = run(incoming)
    for t in trades:
        older = incoming[t.order]
        assert older.order < t.incoming.order
        assert older.side != t.incoming.side
        assert older.trader == t.trader
        assert t.price == older.price
        assert t.price <= t.incoming.price if t.incoming.side == BUY else t.price >= t.incoming.price


def test_the_oldest_order_of_a_price_goes_first_and_keeps_its_place() -> None:
    trades, _, asks = run(
        [
            Order(SELL, 100, 5, 0, 1),
            Order(SELL, 100, 5, 1, 2),
            Order(BUY, 100, 2, 2, 3),
            Order(SELL, 100, 5, 3, 1),
            Order(BUY, 100, 5, 4, 3),
        ]
    )
    assert [(t.order, t.shares) for t in trades] == [(0, 2), (0, 3), (1, 2)]
    assert asks == {100: [1, 2, 3, 3, 1, 5]}


def test_an_order_without_shares_does_nothing() -> None:
    trades, bids, asks = run([Order(SELL, 100, 5, 0, 1), Order(BUY, 100, 0, 1, 2), Order(BUY, 99, 0, 2, 2)])
    assert trades == []
    assert not bids
    assert asks == {100: [0, 1, 5]}
