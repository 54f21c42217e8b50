"""NEXMark at a rate that is a sine: bids by auction (queries 2 and 5), persons and auctions by person (query 8).

The generator of the benchmark makes rounds of 50 events: 1 person, 3 auctions and 46 bids. Ids count upwards. With
probability 1/2, a bid is for the *hot* auction, the latest one whose id is a multiple of 100. Otherwise it is for one
of the latest auctions, or of the next few, which do not exist yet. Sellers are drawn in the same way, with probability
3/4 for the hot one. So at any time one shard has half of all bids, and after about 1,500 bids it is another shard.

StreamSwitch (sections 6.3 to 6.5) runs the three queries at 30,000 rows per second. Here these are the rows that enter
the operator of the query; events of other kinds are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import Shards, hash_shards, sum_by_index
from rheostat.workloads.nexmark_events import (
    AUCTIONS,
    BID_AUCTIONS,
    BIDS,
    FIRST_ID,
    PERSONS,
    SELLERS,
    Ids,
    last_auction,
)
from rheostat.workloads.sinusoid import BASE, Sine

Query = Literal["q2", "q5", "q8"]


@dataclass(frozen=True, eq=False)
class Nexmark(Sine):
    """The rows that enter the operator of a query; their shards are hashes of the operator's key.

    Attributes:
        query: ``q2`` and ``q5`` read bids by auction; ``q8`` reads persons by id and auctions by seller.
        base: mean rows per second.
        amplitude: largest difference from ``base`` in rows per second, at most ``base``.
        period: seconds from one peak to the next.
        shards: number of shards.
        seconds: length of the workload; infinite by default.
        scale: multiplies all rates.
        poisson: True if rows arrive at random times, False if at equal distances, in the fixed order of the generator.
        seed: seed of all random numbers.

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
            raise ConfigurationError(f"query={self.query!r}: must be 'q2', 'q5' or 'q8'")
        self._check()

    def _place(self, rng: np.random.Generator, _index: int, rows: Floats) -> Shards:
        number = rows.astype(np.int64)
        if self.query != "q8":
            ids = BID_AUCTIONS.draw(rng, last_auction(number // BIDS))
        else:
            person = number // (PERSONS + AUCTIONS)
            ids = np.where(number % (PERSONS + AUCTIONS) < PERSONS, person, SELLERS.draw(rng, person))
        return hash_shards(ids + FIRST_ID, self.shards)

    def _rows(self, begin: float, end: float) -> Floats:
        first, last = self.scale * self._expected(np.array([begin, end]))
        if self.query != "q8":
            rounds, bids = _rounds(first, last, BIDS, 0, BIDS)
            ids, rows = BID_AUCTIONS.expected(last_auction(rounds), bids)
        else:
            rounds, auctions = _rounds(first, last, PERSONS + AUCTIONS, PERSONS, PERSONS + AUCTIONS)
            ids, rows = SELLERS.expected(rounds, auctions)
            rows[rounds - ids[0]] += _rounds(first, last, PERSONS + AUCTIONS, 0, PERSONS)[1]
        return sum_by_index(hash_shards(ids + FIRST_ID, self.shards), rows, self.shards) / self.scale


def _rounds(first: float, last: float, size: int, begin: int, end: int) -> tuple[Ids, Floats]:
    """Return the rounds that lie between two positions, at least in part, and the number of rows of each that do.

    Args:
        first: the first position; see ``ExpectedFlow``.
        last: the end of the positions.
        size: rows per round.
        begin: the first row of a round that counts.
        end: the end of the rows of a round that count.

    >>> _rounds(3.0, 9.0, 4, 1, 4)
    (array([0, 1, 2]), array([1., 3., 0.]))
    """
    rounds = np.arange(int(first // size), max(math.ceil(last / size), int(first // size) + 1))
    return rounds, np.clip(last - rounds * size, begin, end) - np.clip(first - rounds * size, begin, end)
