"""A limit order book: orders match by price first, then by time.

A side of a book is an ordered map from price to a level. A level is a flat list of whole numbers, three for every
resting order (order, trader, shares), oldest first: ``[7, 1, 300, 9, 2, 100]``. Arrow turns plain numbers into state
and back several times as fast as structs, and a book goes there and back in every epoch in which its stock trades.
"""

from __future__ import annotations

from typing import Any

FIELDS = 3
"""Numbers per resting order."""

Level = list[int]
Fill = tuple[int, int, int, int]
"""Price, shares, resting order and its trader."""

BUY, SELL = "B", "S"


def match(bids: Any, asks: Any, side: str, price: int, shares: int, order: int, trader: int) -> list[Fill]:
    """Match an incoming order, and let what is left of it rest in the book.

    The order takes the best opposite price first and the oldest order there first, at the resting order's price, as
    long as that is no worse than its own limit.

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
        asks: resting sell orders.
        side: ``B`` to buy, ``S`` to sell.
        price: the worst price the order accepts.
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
    """Take shares from the oldest orders of a level; how many are still wanted."""
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


def resting(side: Any) -> list[Fill]:
    """The orders that rest on a side, by price and then oldest first: price, shares, order, trader.

    >>> resting({100: [2, 11, 300, 4, 12, 50]})
    [(100, 300, 2, 11), (100, 50, 4, 12)]
    """
    return [
        (price, level[i + 2], level[i], level[i + 1]) for price, level in side.items() for i in range(0, len(level), 3)
    ]
