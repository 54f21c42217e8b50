"""NEXMark's queries 0 to 22 as topologies. See ``docs/nexmark.md`` for what each means and where versions disagree.

``python -m examples.nexmark q5`` makes events and runs a query over them.

- ``events``: the streams of persons, auctions and bids
- ``stateless``: queries 0, 1, 2, 10, 13, 14, 21, 22
- ``windows``: queries 5, 7, 8, 11, 12
- ``joins``: queries 3, 20
- ``winners``: queries 4, 6, 9
- ``statistics``: queries 15 to 19
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from pyspark.sql import DataFrame

import rheostat as rh
from examples.nexmark import joins, stateless, statistics, windows, winners

Build = Callable[[rh.Topology, DataFrame], rh.Stream]


@dataclass(frozen=True)
class NexmarkQuery:
    """A query of NEXMark.

    Attributes:
        build: adds it to a topology, given the stream of events; returns the stream of its results.
        keys: columns that identify a result, if a result may be emitted again with new values; empty if not.
    """

    build: Build
    keys: tuple[str, ...] = ()

    def final(self, results: pl.DataFrame) -> pl.DataFrame:
        """The last value of every result, given all results in the order of epochs."""
        return results.unique(self.keys, keep="last", maintain_order=True) if self.keys else results


QUERIES = {
    "q0": NexmarkQuery(stateless.q0),
    "q1": NexmarkQuery(stateless.q1),
    "q2": NexmarkQuery(stateless.q2),
    "q3": NexmarkQuery(joins.q3),
    "q4": NexmarkQuery(winners.q4, keys=("category",)),
    "q5": NexmarkQuery(windows.q5),
    "q6": NexmarkQuery(winners.q6),
    "q7": NexmarkQuery(windows.q7),
    "q8": NexmarkQuery(windows.q8),
    "q9": NexmarkQuery(winners.q9, keys=("id",)),
    "q10": NexmarkQuery(stateless.q10),
    "q11": NexmarkQuery(windows.q11),
    "q12": NexmarkQuery(windows.q12, keys=("window_start", "bidder")),
    "q13": NexmarkQuery(stateless.q13),
    "q14": NexmarkQuery(stateless.q14),
    "q15": NexmarkQuery(statistics.q15, keys=("day",)),
    "q16": NexmarkQuery(statistics.q16, keys=("day", "channel")),
    "q17": NexmarkQuery(statistics.q17, keys=("window_start", "auction")),
    "q18": NexmarkQuery(statistics.q18, keys=("bidder", "auction")),
    "q19": NexmarkQuery(statistics.q19, keys=("auction", "rank")),
    "q20": NexmarkQuery(joins.q20),
    "q21": NexmarkQuery(stateless.q21),
    "q22": NexmarkQuery(stateless.q22),
}
"""The queries by name."""
