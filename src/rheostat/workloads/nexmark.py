"""NEXMark: bids by auction (queries 2 and 5), persons and auctions by person (query 8), at a rate that is a sine.

The generator of the benchmark makes 50 events at a time: 1 person, 3 auctions, 46 bids. Ids count upwards. A bid goes
to the *hot* auction with probability 1 - 1/2, else to one of the last auctions or of the next few, which do not exist
yet; the hot auction is the latest whose number is a multiple of 100. Sellers are drawn in the same way, with 1 - 1/4.
So one shard has half of all bids at any moment, and after some 1,500 bids it is another one.

StreamSwitch (sections 6.3 to 6.5) runs the three queries at 30 thousand rows a second. These are taken as the rows that
enter the operator of the query, and events of other kinds happen besides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import Shards, hash_shards, summed
from rheostat.workloads.sinusoid import BASE, Sine

Query = Literal["q2", "q5", "q8"]
Ids = npt.NDArray[np.int64]

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Events of every kind among 50 successive ones."""

PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100

_FIRST = 1_000  # number of the first person and of the first auction
_HOT_EVERY = 100  # ids, of which the first is hot
_LEAD = 10  # ids that are drawn although they do not exist yet


class _Recent(NamedTuple):
    """How an id is drawn: the hot one, or any of the latest ids and of the lead.

    Attributes:
        ratio: the id is hot with probability ``1 - 1 / ratio``.
        window: how many of the latest ids can be drawn if it is not.
    """

    ratio: int
    window: int

    def draw(self, rng: np.random.Generator, last: Ids) -> Ids:
        """An id for every row; ``last`` is the latest id that exists then."""
        chance = rng.random(len(last)) * self.ratio  # below 1 if the id is not hot, and then where it lies in its range
        least = np.maximum(last - (self.window - 1), 0)
        other = least + (chance * (last - least + (1 + _LEAD))).astype(np.int64)
        return np.where(chance < 1, other, last // _HOT_EVERY * _HOT_EVERY)

    def expected(self, last: Ids, rows: Floats) -> tuple[Ids, Floats]:
        """Ids, and the rows that each is expected to get from rows at every value of ``last``, which is in order."""
        least = np.maximum(last - (self.window - 1), 0)
        each = rows / self.ratio / (last - least + (1 + _LEAD))
        hot = last // _HOT_EVERY * _HOT_EVERY
        ids = np.arange(min(least[0], hot[0]), last[-1] + _LEAD + 2)
        begun, over = (summed(place - ids[0], each, len(ids)) for place in (least, last + (1 + _LEAD)))
        others = np.cumsum(begun - over).clip(0)  # rounding leaves a trace below 0
        return ids, others + summed(hot - ids[0], rows * (1 - 1 / self.ratio), len(ids))


_AUCTION = _Recent(ratio=2, window=101)
_SELLER = _Recent(ratio=4, window=1_000)


@dataclass(frozen=True, eq=False)
class Nexmark(Sine):
    """The rows that enter the operator of a query, with the key it is partitioned by hashed to shards.

    Attributes:
        query: ``q2`` and ``q5`` take bids by auction; ``q8`` takes persons by id and auctions by seller.
        base: rows per second, on average.
        amplitude: how far the rate goes from that, at most ``base``.
        period: seconds from one peak to the next.
        shards: of the operator that the rows enter.
        seconds: how long it lasts; infinite by default.
        scale: multiplies all rates.
        poisson: if not, rows are at equal distances on the axis of expected rows, in the generator's fixed order.
        seed: everything random follows from it.

    >>> bids = Nexmark("q5")
    >>> rates = [bids.rates(t, t + 0.01) for t in (10.0, 10.1)]
    >>> [round(float(rate.max() / rate.sum()), 1) for rate in rates]
    [0.5, 0.5]
    >>> int(rates[0].argmax()) == int(rates[1].argmax())
    False
    """

    query: Query = "q5"
    base: float = BASE
    amplitude: float = 10_000.0
    period: float = 600.0
    shards: int = 64
    seconds: float = math.inf
    scale: float = 1.0
    poisson: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        if self.query not in ("q2", "q5", "q8"):
            raise ConfigurationError(f"query={self.query!r}: give 'q2', 'q5' or 'q8'")
        self._check()

    def _place(self, rng: np.random.Generator, _index: int, rows: Floats) -> Shards:
        number = rows.astype(np.int64)
        if self.query != "q8":
            ids = _AUCTION.draw(rng, _last_auction(number // BIDS))
        else:
            person = number // (PERSONS + AUCTIONS)
            ids = np.where(number % (PERSONS + AUCTIONS) < PERSONS, person, _SELLER.draw(rng, person))
        return hash_shards(ids + _FIRST, self.shards)

    def _rows(self, begin: float, end: float) -> Floats:
        first, last = self.scale * self._expected(np.array([begin, end]))
        if self.query != "q8":
            turns, bids = _turns(first, last, BIDS, 0, BIDS)
            ids, rows = _AUCTION.expected(_last_auction(turns), bids)
        else:
            turns, auctions = _turns(first, last, PERSONS + AUCTIONS, PERSONS, PERSONS + AUCTIONS)
            ids, rows = _SELLER.expected(turns, auctions)
            rows[turns - ids[0]] += _turns(first, last, PERSONS + AUCTIONS, 0, PERSONS)[1]
        return summed(hash_shards(ids + _FIRST, self.shards), rows, self.shards) / self.scale


def _last_auction(turn: Ids) -> Ids:
    """The latest auction when the bids of a turn of 50 events are made."""
    return turn * AUCTIONS + (AUCTIONS - 1)


def _turns(first: float, last: float, size: int, begin: int, end: int) -> tuple[Ids, Floats]:
    """The turns of ``size`` rows between two places on the axis of rows, and how much of each lies there.

    Only the rows from ``begin`` to ``end`` of a turn count.

    >>> _turns(3.0, 9.0, 4, 1, 4)
    (array([0, 1, 2]), array([1., 3., 0.]))
    """
    turns = np.arange(int(first // size), max(math.ceil(last / size), int(first // size) + 1))
    return turns, np.clip(last - turns * size, begin, end) - np.clip(first - turns * size, begin, end)
