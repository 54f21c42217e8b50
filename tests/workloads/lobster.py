"""Recorded order books in LOBSTER's format: rebuild the best bid and ask out of the messages.

A level-1 recording has only the messages at the best price of their side, so orders that wait behind the best come and
go unseen, whether they were placed before the recording or during it. ``rebuild`` corrects for them with what the
messages say about each other, and never looks at the recorded book unless it is given one:

- A recorded change is at the best price. Whatever was believed to be better is gone.
- Order ids are given in order of time. An order that is first seen when it leaves (its deletion or execution) was
  there since the last new order with a smaller id; it is put where it must have been.
- A side's best does not change between two of its messages. If the next one takes an order away, the best is there.
- Executions take the oldest order of a price first. Older ones at that price are gone.

What remains open is a level that comes up when the one before it is used up, and goes under again, touched by no
message: there the best is a guess, and ``told`` is false. With ``recorded``, such a level is read from the recorded
book in the row where it comes up (``read`` is true there, and that row proves nothing); until it goes under, messages
alone keep it.

On LOBSTER's sample of Amazon (57,515 rows, 6,700 orders first seen when they leave, only 102 of them from before the
recording) messages alone tell both prices in 76.7 % of the rows, and all of these are as recorded; with the guesses it
is 91.3 % of all rows. With 6,892 rows read, 99.98 % of the others are as recorded.
"""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from sortedcontainers import SortedDict

NEW, PARTIAL_CANCEL, DELETE, EXECUTION, HIDDEN = 1, 2, 3, 4, 5
BUY, SELL = 1, -1

_UNSEEN = 0  # stands for all orders of a level that was read from the recorded book; LOBSTER uses it for hidden orders


class Message(NamedTuple):
    """One event.

    Attributes:
        seconds: since midnight.
        type: one of NEW, PARTIAL_CANCEL, DELETE, EXECUTION, HIDDEN.
        order: id of the order.
        size: shares.
        price: in 1/10000 of a dollar.
        side: of the resting order, BUY or SELL.
    """

    seconds: float
    type: int
    order: int
    size: int
    price: int
    side: int


class Quote(NamedTuple):
    """The best bid and ask, in the column order of the recorded book.

    Attributes:
        ask: lowest price to sell at; None if nothing is known of that side.
        ask_size: shares at that price.
        bid: highest price to buy at; None if nothing is known of that side.
        bid_size: shares at that price.
    """

    ask: int | None
    ask_size: int
    bid: int | None
    bid_size: int


class Best(NamedTuple):
    """One side's best level from one of its messages to the next.

    Attributes:
        row: of the message that this level follows.
        price: None if nothing is known.
        size: shares at that price.
        told: the messages leave no other price.
        read: it was read from the recorded book.
    """

    row: int
    price: int | None
    size: int
    told: bool
    read: bool = False


@dataclass(frozen=True)
class Agreement:
    """How a rebuilt book compares with the recorded one, in rows.

    Attributes:
        rows: all rows.
        right: rows with the recorded prices.
        told: rows where the messages leave only one price on each side.
        told_right: those of them with the recorded prices.
        unread: rows in which nothing was read from the recorded book, though a level may stand that was read in a row
            before.
        unread_right: those of them with the recorded prices.
        sizes_right: rows with the recorded prices and sizes, of those in which nothing was read.
    """

    rows: int
    right: int
    told: int
    told_right: int
    unread: int
    unread_right: int
    sizes_right: int


def read_messages(path: Path) -> list[Message]:
    """The messages of a LOBSTER message file."""
    with path.open(newline="") as file:
        return [Message(float(t), int(k), int(o), int(n), int(p), int(s)) for t, k, o, n, p, s in csv.reader(file)]


def read_quotes(path: Path) -> list[Quote]:
    """The best level of a LOBSTER order book file."""
    with path.open(newline="") as file:
        return [Quote(*(int(v) for v in row[:4])) for row in csv.reader(file)]


def rebuild(
    messages: Sequence[Message], recorded: Sequence[Quote] | None = None
) -> tuple[list[Quote], list[bool], list[bool]]:
    """The best bid and ask after every message; whether the messages tell both; whether one was read from the record.

    >>> new = [Message(1.0, NEW, 1, 100, 99, BUY), Message(1.1, NEW, 2, 50, 101, SELL)]
    >>> quotes, told, _ = rebuild([*new, Message(1.2, EXECUTION, 1, 30, 99, BUY)])
    >>> quotes[-1], told[-1]
    (Quote(ask=101, ask_size=50, bid=99, bid_size=70), True)
    """
    sides = {}
    for side in (SELL, BUY):
        truth = None if recorded is None else [_of(quote, side) for quote in recorded]
        sides[side] = list(_spread(list(_follow(messages, side, truth)), len(messages)))
    both = list(zip(sides[SELL], sides[BUY], strict=True))
    quotes = [Quote(ask.price, ask.size, bid.price, bid.size) for ask, bid in both]
    return quotes, [ask.told and bid.told for ask, bid in both], [ask.read or bid.read for ask, bid in both]


def compare(messages: Sequence[Message], recorded: Sequence[Quote], *, correct: bool = False) -> Agreement:
    """Rebuild and count the rows that agree; with ``correct``, levels no message tells of are read from the record."""
    quotes, told, read = rebuild(messages, recorded if correct else None)
    right = [(q.ask, q.bid) == (r.ask, r.bid) for q, r in zip(quotes, recorded, strict=True)]
    exact = [q == r for q, r in zip(quotes, recorded, strict=True)]
    unread = [not r for r in read]
    return Agreement(
        rows=len(quotes),
        right=sum(right),
        told=sum(told),
        told_right=sum(r and t for r, t in zip(right, told, strict=True)),
        unread=sum(unread),
        unread_right=sum(r and p for r, p in zip(right, unread, strict=True)),
        sizes_right=sum(e and p for e, p in zip(exact, unread, strict=True)),
    )


class _Levels:
    """Orders by level, the best level first. A level's key is its price, negative on the bid side."""

    def __init__(self) -> None:
        self._levels: SortedDict[int, dict[int, int]] = SortedDict()

    def add(self, key: int, order: int, size: int) -> None:
        self._levels.setdefault(key, {})[order] = size

    def at(self, key: int) -> dict[int, int]:
        level: dict[int, int] = self._levels.get(key, {})
        return level

    def best(self, not_before: int | None = None) -> int | None:
        return next(self._levels.irange(minimum=not_before), None)

    def size(self, key: int) -> int:
        return sum(self.at(key).values())

    def take(self, key: int, order: int, size: int) -> None:
        level = self.at(key)
        level[order] -= size
        if level[order] <= 0:
            self.drop(key, [order])

    def drop(self, key: int, orders: Iterable[int]) -> None:
        level = self.at(key)
        for order in list(orders):
            level.pop(order, None)
        if not level:
            self._levels.pop(key, None)

    def drop_better(self, key: int) -> list[tuple[int, int, int]]:
        """Remove every level better than ``key``; the orders that stood there."""
        gone = []
        while (best := self.best()) is not None and best < key:
            gone += [(best, order, size) for order, size in self._levels.pop(best).items()]
        return gone


class _Side:
    """One side of a book in the making.

    Orders of ``sure`` are there: their removal would have been seen, or will be. Those of ``doubtful`` were there
    when a better order hid them, and no message speaks of them again. Orders that are first seen when they leave come
    from ``unseen`` (row, key, order, size), in order of rows.
    """

    def __init__(self, last_row: dict[int, int], unseen: Iterable[tuple[int, int, int, int]]) -> None:
        self.sure = _Levels()
        self.doubtful = _Levels()
        self._last_row = last_row
        self._unseen = deque(unseen)
        self._waiting: list[tuple[int, int, int]] = []  # placed about now, but not yet, for they would be the best

    def new(self, key: int, order: int, size: int, row: int) -> None:
        """A new order at the best price, or a better one that hides the best."""
        if (best := self.sure.best()) is not None and key < best:
            self._hide(best, row)
        self.sure.add(key, order, size)

    def remove(self, message: Message, key: int) -> None:
        """An order at the best price becomes smaller or goes."""
        level = self.sure.at(key)
        order = message.order if message.order in level else _UNSEEN
        if order in level:
            self.sure.take(key, order, level[order] if message.type == DELETE and order else message.size)
        if message.type == EXECUTION:
            self.doubtful.drop(key, [o for o in self.doubtful.at(key) if o < message.order])

    def settle(self, row: int, limit: int) -> None:
        """Nothing is better than ``limit`` after this row: orders that are were placed later, or have gone."""
        self.doubtful.drop_better(limit)
        self._waiting += self.sure.drop_better(limit)
        while self._unseen and self._unseen[0][0] <= row:
            self._waiting.append(self._unseen.popleft()[1:])
        for key, order, size in self._waiting:
            if key >= limit:
                self.sure.add(key, order, size)
        self._waiting = [w for w in self._waiting if w[0] < limit]

    def guess(self, limit: int) -> int | None:
        """The best level that may still be there."""
        return min((b for b in (self.sure.best(limit), self.doubtful.best(limit)) if b is not None), default=None)

    def read(self, key: int, size: int) -> None:
        """A level as the recorded book has it: what is not known of it are unseen orders."""
        self.doubtful.drop_better(key)
        self.doubtful.drop(key, list(self.doubtful.at(key)))
        if (unseen := size - self.sure.size(key)) > 0:
            self.sure.add(key, _UNSEEN, unseen)

    def size(self, key: int) -> int:
        return self.sure.size(key) + self.doubtful.size(key)

    def _hide(self, key: int, row: int) -> None:
        hidden = {o: n for o, n in self.sure.at(key).items() if self._last_row.get(o, -1) <= row}
        self.sure.drop(key, hidden)
        for order, size in hidden.items():
            self.doubtful.add(key, order, size)


def _follow(messages: Sequence[Message], side: int, recorded: list[tuple[int, int]] | None) -> Iterator[Best]:
    """One side's best level after each of its messages."""
    own = [(row, m) for row, m in enumerate(messages) if m.side == side and m.type != HIDDEN]
    book = _Side({m.order: row for row, m in own}, _unseen(messages, side))
    for (row, message), following in zip_longest(own, (m for _, m in own[1:])):
        key = limit = -side * message.price
        if message.type == NEW:
            book.new(key, message.order, message.size, row)
        else:
            book.settle(row, key)
            book.remove(message, key)
            limit = key if following is None else max(key, -side * following.price)
        book.settle(row, limit)
        removal_follows = following is not None and following.type != NEW
        told = message.type == NEW or removal_follows or bool(book.sure.at(limit))
        best = limit if told else book.guess(limit)
        if read := not told and recorded is not None:
            best = -side * recorded[row][0]
            book.read(best, recorded[row][1])
        yield Best(row, None if best is None else -side * best, 0 if best is None else book.size(best), told, read)


def _unseen(messages: Sequence[Message], side: int) -> list[tuple[int, int, int, int]]:
    """Orders that are first seen when they leave: the row since which they are there, level, id and size."""
    placed = sorted((m.order, row) for row, m in enumerate(messages) if m.type == NEW)
    ids = [order for order, _ in placed]
    known = set(ids)
    found: dict[int, tuple[int, int, int, int]] = {}
    for m in messages:
        if m.side == side and m.type in (PARTIAL_CANCEL, DELETE, EXECUTION) and m.order not in known:
            before = bisect_right(ids, m.order)
            size = found[m.order][3] if m.order in found else 0
            found[m.order] = (placed[before - 1][1] if before else -1, -side * m.price, m.order, size + m.size)
    return sorted(found.values())


def _spread(changes: list[Best], rows: int) -> Iterator[Best]:
    """The best level of every row; each change holds until the next."""
    now = Best(0, None, 0, told=False)
    change = iter([*changes, Best(rows, None, 0, told=False)])
    following = next(change)
    for row in range(rows):
        while following.row <= row:
            now, following = following, next(change)
        yield now if row == now.row else now._replace(read=False)


def _of(quote: Quote, side: int) -> tuple[int, int]:
    return (quote.bid or 0, quote.bid_size) if side == BUY else (quote.ask or 0, quote.ask_size)
