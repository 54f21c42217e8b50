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
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import Shards, hash_shards, sum_by_index
from rheostat.workloads.sinusoid import BASE, Sine

Query = Literal["q2", "q5", "q8"]
Ids = npt.NDArray[np.int64]

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Events of each kind in a round of 50 events."""

PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100

_FIRST = 1_000  # id of the first person and of the first auction; inside this module they count from 0
_HOT_EVERY = 100  # hot ids are multiples of this
_LEAD = 10  # number of next ids that can be drawn although they do not exist yet


class _Recent(NamedTuple):
    """How ids are drawn: the hot id, or one of the latest ids and of the next few.

    Attributes:
        ratio: the hot id is drawn with probability ``1 - 1 / ratio``.
        window: number of latest ids that can be drawn otherwise.
    """

    ratio: int
    window: int

    def draw(self, rng: np.random.Generator, last: Ids) -> Ids:
        """Draw an id for each row; ``last`` is the latest id that exists then."""
        chance = rng.random(len(last)) * self.ratio  # below 1 if the id is not hot; then also its place in the range
        least = np.maximum(last - (self.window - 1), 0)
        other = least + (chance * (last - least + (1 + _LEAD))).astype(np.int64)
        return np.where(chance < 1, other, last // _HOT_EVERY * _HOT_EVERY)

    def expected(self, last: Ids, rows: Floats) -> tuple[Ids, Floats]:
        """Return ids, and the number of rows expected for each of them.

        Args:
            last: the latest id that exists, for groups of rows, sorted.
            rows: number of rows of each group.
        """
        least = np.maximum(last - (self.window - 1), 0)
        each = rows / self.ratio / (last - least + (1 + _LEAD))
        hot = last // _HOT_EVERY * _HOT_EVERY
        ids = np.arange(min(least[0], hot[0]), last[-1] + _LEAD + 2)
        # Each id from least to last + _LEAD gets equally many rows: sum the changes where these ranges begin and end.
        begins = sum_by_index(least - ids[0], each, len(ids))
        ends = sum_by_index(last + (1 + _LEAD) - ids[0], each, len(ids))
        others = np.cumsum(begins - ends).clip(0)  # rounding can leave values slightly below 0
        return ids, others + sum_by_index(hot - ids[0], rows * (1 - 1 / self.ratio), len(ids))


_AUCTION = _Recent(ratio=2, window=101)
_SELLER = _Recent(ratio=4, window=1_000)


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
            ids = _AUCTION.draw(rng, _last_auction(number // BIDS))
        else:
            person = number // (PERSONS + AUCTIONS)
            ids = np.where(number % (PERSONS + AUCTIONS) < PERSONS, person, _SELLER.draw(rng, person))
        return hash_shards(ids + _FIRST, self.shards)

    def _rows(self, begin: float, end: float) -> Floats:
        first, last = self.scale * self._expected(np.array([begin, end]))
        if self.query != "q8":
            rounds, bids = _rounds(first, last, BIDS, 0, BIDS)
            ids, rows = _AUCTION.expected(_last_auction(rounds), bids)
        else:
            rounds, auctions = _rounds(first, last, PERSONS + AUCTIONS, PERSONS, PERSONS + AUCTIONS)
            ids, rows = _SELLER.expected(rounds, auctions)
            rows[rounds - ids[0]] += _rounds(first, last, PERSONS + AUCTIONS, 0, PERSONS)[1]
        return sum_by_index(hash_shards(ids + _FIRST, self.shards), rows, self.shards) / self.scale


def _last_auction(round_: Ids) -> Ids:
    """Return the latest auction at the time of the bids of a round."""
    return round_ * AUCTIONS + (AUCTIONS - 1)


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
