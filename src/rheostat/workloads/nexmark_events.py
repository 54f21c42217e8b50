"""NEXMark's persons, auctions and bids, as rows: the events of an online auction house (Tucker et al., 2002).

The proportions, ids and sizes are those of the benchmark's usual generator. A round of 50 events has 1 person, 3
auctions and 46 bids, and ids count upwards. Most bids are for a *hot* auction and by a hot bidder; after 100 new ids,
these are others. Bids may name an auction, and auctions a seller, that only comes a few events later. Some events
arrive late, by at most ``delay`` seconds, so the rows of a file are not in the order of their time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from rheostat.arrays import Floats
from rheostat.errors import ConfigurationError
from rheostat.workloads.draws import sum_by_index

Ids = npt.NDArray[np.int64]

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Events of each kind in a round of 50 events."""

PERSON, AUCTION, BID = 0, 1, 2
"""Values of the column ``event_type``."""

PERSON_BYTES, AUCTION_BYTES, BID_BYTES = 200, 500, 100
"""Mean sizes of the events; the column ``extra`` fills them up."""

FIRST_ID = 1_000
"""Id of the first person and of the first auction. Inside these modules ids count from 0."""

FIRST_CATEGORY, CATEGORIES = 10, 5

START = 1_767_225_600_000_000
"""Event time of the first event in microseconds: 2026-01-01 00:00 UTC."""

SCHEMA = (
    "event_type int, date_time timestamp, "
    "person struct<id:bigint,name:string,email_address:string,credit_card:string,city:string,state:string,"
    "extra:string>, "
    "auction struct<id:bigint,item_name:string,description:string,initial_bid:bigint,reserve:bigint,expires:timestamp,"
    "seller:bigint,category:bigint,extra:string>, "
    "bid struct<auction:bigint,bidder:bigint,price:bigint,channel:string,url:string,extra:string>"
)
"""The columns of the files, as Spark DDL. An event has one of the three structs; the others are null."""

_ROUND = PERSONS + AUCTIONS + BIDS
_IN_FLIGHT = 100  # an auction lasts as long, on average, as it takes to open so many more
_HOT_EVERY = 100  # hot ids are multiples of this
_LEAD = 10  # number of next ids that can be drawn although they do not exist yet
_CHANNELS = 10_000
_HOT_CHANNELS = ("Apple", "Google", "Facebook", "Baidu")
_WITH_CHANNEL_ID = 0.9  # share of the other channels whose address contains an id

_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_TIME = pa.timestamp("us", tz="UTC")


class RecentIds(NamedTuple):
    """How ids are drawn: the hot id, or one of the latest ids and of the next few.

    Attributes:
        ratio: the hot id is drawn with probability ``1 - 1 / ratio``.
        window: number of latest ids that can be drawn otherwise.
        offset: the hot id is the latest multiple of 100, plus this.
    """

    ratio: int
    window: int
    offset: int = 0

    def draw(self, rng: np.random.Generator, last: Ids) -> Ids:
        """Draw an id for each row; ``last`` is the latest id that exists then."""
        chance = rng.random(len(last)) * self.ratio  # below 1 if the id is not hot; then also its place in the range
        least = np.maximum(last - (self.window - 1), 0)
        other = least + (chance * (last - least + (1 + _LEAD))).astype(np.int64)
        return np.where(chance < 1, other, self._hot(last))

    def expected(self, last: Ids, rows: Floats) -> tuple[Ids, Floats]:
        """Return ids, and the number of rows expected for each of them.

        Args:
            last: the latest id that exists, for groups of rows, sorted.
            rows: number of rows of each group.
        """
        least = np.maximum(last - (self.window - 1), 0)
        each = rows / self.ratio / (last - least + (1 + _LEAD))
        hot = self._hot(last)
        ids = np.arange(min(least[0], hot[0]), last[-1] + _LEAD + 2)
        # Each id from least to last + _LEAD gets equally many rows: sum the changes where these ranges begin and end.
        begins = sum_by_index(least - ids[0], each, len(ids))
        ends = sum_by_index(last + (1 + _LEAD) - ids[0], each, len(ids))
        others = np.cumsum(begins - ends).clip(0)  # rounding can leave values slightly below 0
        return ids, others + sum_by_index(hot - ids[0], rows * (1 - 1 / self.ratio), len(ids))

    def _hot(self, last: Ids) -> Ids:
        return last // _HOT_EVERY * _HOT_EVERY + self.offset


BID_AUCTIONS = RecentIds(ratio=2, window=_IN_FLIGHT + 1)
SELLERS = RecentIds(ratio=4, window=1_000)
BIDDERS = RecentIds(ratio=4, window=1_000, offset=1)
"""A hot bidder is never the hot seller."""


@dataclass(frozen=True)
class NexmarkEvents:
    """NEXMark's events, as an Arrow table or as Parquet files.

    Attributes:
        events: number of events.
        rate: events per second of event time.
        delayed: share of the events that arrive late.
        delay: they arrive by less than so many seconds late.
        seed: seed of all random numbers.

    >>> events = NexmarkEvents(100).table()
    >>> events["event_type"].to_pylist().count(BID)
    92
    >>> events["auction"].combine_chunks().drop_null().field("id").to_pylist()
    [1000, 1001, 1002, 1003, 1004, 1005]
    """

    events: int
    rate: float = 10_000.0
    delayed: float = 0.1
    delay: float = 3.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in (("events", 1), ("rate", 1e-3), ("delay", 0)):
            if not getattr(self, name) >= least:
                raise ConfigurationError(f"{name}={getattr(self, name)!r}: must be at least {least}")
        if not 0 <= self.delayed <= 1:
            raise ConfigurationError(f"delayed={self.delayed!r}: must be between 0 and 1")

    def table(self) -> pa.Table:
        """All events in the order of their arrival."""
        return pa.concat_tables(self._chunks(1))

    def write(self, folder: Path, files: int = 8, done: Callable[[int], None] = lambda _: None) -> None:
        """Write the events as Parquet files, in the order of their arrival within and across files.

        Args:
            folder: the folder to write to.
            files: number of files, with about equally many events each. The events depend on it.
            done: called after each file with the number of files written so far.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for number, chunk in enumerate(self._chunks(files)):
            path = folder / f"{number:05d}.parquet"
            pq.write_table(chunk, path)
            os.utime(path, (1_000_000_000 + number,) * 2)  # Spark reads files in the order of these times
            done(number + 1)

    def _chunks(self, chunks: int) -> Iterator[pa.Table]:
        """The events in the order of their arrival, in chunks; a delayed event may be in a later chunk."""
        channels = _Channels.drawn(np.random.default_rng([self.seed, 0]))
        waiting = _Arrived.none()
        for chunk in range(chunks):
            first, last = (self.events * c // chunks for c in (chunk, chunk + 1))
            rng = np.random.default_rng([self.seed, 1, chunk])
            numbers = np.arange(first, last)
            times = self._time(numbers)
            late = rng.random(len(numbers)) < self.delayed
            delays = np.where(late, rng.random(len(numbers)) * self.delay * 1e6, 0.0)
            arrivals = times.astype(np.float64) + delays
            arrived = _Arrived(self._rows(rng, numbers, times, channels), arrivals).after(waiting)
            until = np.inf if chunk == chunks - 1 else float(self._time(np.array([last]))[0])
            now, waiting = arrived.split(until)
            yield now

    def _time(self, numbers: Ids) -> Ids:
        """Event times in microseconds, in whole milliseconds."""
        return START + (numbers * (1_000 / self.rate)).astype(np.int64) * 1_000

    def _rows(self, rng: np.random.Generator, numbers: Ids, times: Ids, channels: _Channels) -> pa.Table:
        rounds, place = np.divmod(numbers, _ROUND)
        kind = np.select([place < PERSONS, place < PERSONS + AUCTIONS], [PERSON, AUCTION], BID)
        person = kind == PERSON
        auction = kind == AUCTION
        bid = kind == BID
        opened = rounds[auction] * AUCTIONS + place[auction] - PERSONS
        horizon = self._time(numbers[auction] + _IN_FLIGHT * _ROUND // AUCTIONS) - times[auction]
        structs = (
            (person, _persons(rng, rounds[person])),
            (auction, _auctions(rng, opened, rounds[auction], times[auction], horizon)),
            (bid, _bids(rng, rounds[bid], channels)),
        )
        columns = [pa.array(kind.astype(np.int32)), pa.array(times, _TIME)]
        columns += [_spread(struct, where) for where, struct in structs]
        return pa.table(columns, names=["event_type", "date_time", "person", "auction", "bid"])


class _Arrived(NamedTuple):
    """Events, and the times of their arrival in microseconds."""

    rows: pa.Table | None
    times: Floats

    @classmethod
    def none(cls) -> _Arrived:
        return cls(None, np.empty(0))

    def after(self, waiting: _Arrived) -> _Arrived:
        """These events after others that still wait."""
        if waiting.rows is None:
            return self
        return _Arrived(pa.concat_tables([waiting.rows, self.rows]), np.concatenate([waiting.times, self.times]))

    def split(self, until: float) -> tuple[pa.Table, _Arrived]:
        """The events that arrive before a time, in order, and those that wait."""
        assert self.rows is not None
        now = self.times < until
        order = np.flatnonzero(now)[np.argsort(self.times[now], kind="stable")]
        later = np.flatnonzero(~now)
        return self.rows.take(pa.array(order)).combine_chunks(), _Arrived(self.rows.take(later), self.times[later])


class _Channels(NamedTuple):
    """The channels through which bids come: names and addresses."""

    names: pa.Array
    urls: pa.Array

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> _Channels:
        """The four hot channels, then the others."""
        count = len(_HOT_CHANNELS) + _CHANNELS
        parts = [_texts(rng, rng.integers(3, 6, count)).to_pylist() for _ in range(3)]
        ids = rng.integers(0, 2**31, count)
        given = rng.random(count) < _WITH_CHANNEL_ID
        given[: len(_HOT_CHANNELS)] = False
        urls = [
            f"https://www.nexmark.com/{a}/{b}/{c}/item.htm?query=1" + (f"&channel_id={i}" if g else "")
            for a, b, c, i, g in zip(*parts, ids, given, strict=True)
        ]
        return cls(pa.array([*_HOT_CHANNELS, *(f"channel-{i}" for i in range(_CHANNELS))]), pa.array(urls))

    def draw(self, rng: np.random.Generator, count: int) -> Ids:
        """Places of channels; half of them are hot."""
        hot = rng.integers(0, len(_HOT_CHANNELS), count)
        return np.where(rng.random(count) < 0.5, hot, len(_HOT_CHANNELS) + rng.integers(0, _CHANNELS, count))


def _persons(rng: np.random.Generator, ids: Ids) -> pa.StructArray:
    n = len(ids)
    names = pa.array([f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES])
    digits = [np.char.zfill(rng.integers(0, 10_000, n).astype(str), 4) for _ in range(4)]
    mails = zip(_texts(rng, np.full(n, 7)).to_pylist(), _texts(rng, np.full(n, 5)).to_pylist(), strict=True)
    return _struct(
        id=ids + FIRST_ID,
        name=names.take(rng.integers(0, len(names), n)),
        email_address=pa.array([f"{user}@{host}.com" for user, host in mails], pa.string()),
        credit_card=pa.array([" ".join(four) for four in zip(*digits, strict=True)], pa.string()),
        city=pa.array(_CITIES).take(rng.integers(0, len(_CITIES), n)),
        state=pa.array(_STATES).take(rng.integers(0, len(_STATES), n)),
        extra=_extra(rng, PERSON_BYTES - 75, n),
    )


def _auctions(rng: np.random.Generator, ids: Ids, people: Ids, times: Ids, horizon: Ids) -> pa.StructArray:
    """Auctions.

    Args:
        rng: random numbers.
        ids: their ids.
        people: the latest person at the time of each.
        times: their event times in microseconds.
        horizon: microseconds that they last on average.
    """
    n = len(ids)
    initial = _prices(rng, n)
    milliseconds = 1 + (rng.random(n) * np.maximum(horizon // 1_000 * 2, 1)).astype(np.int64)
    return _struct(
        id=ids + FIRST_ID,
        item_name=_texts(rng, rng.integers(3, 20, n)),
        description=_texts(rng, rng.integers(3, 100, n)),
        initial_bid=initial,
        reserve=initial + _prices(rng, n),
        expires=pa.array(times + milliseconds * 1_000, _TIME),
        seller=SELLERS.draw(rng, people) + FIRST_ID,
        category=FIRST_CATEGORY + rng.integers(0, CATEGORIES, n),
        extra=_extra(rng, AUCTION_BYTES - 110, n),
    )


def _bids(rng: np.random.Generator, people: Ids, channels: _Channels) -> pa.StructArray:
    n = len(people)
    place = channels.draw(rng, n)
    return _struct(
        auction=BID_AUCTIONS.draw(rng, last_auction(people)) + FIRST_ID,
        bidder=BIDDERS.draw(rng, people) + FIRST_ID,
        price=_prices(rng, n),
        channel=channels.names.take(place),
        url=channels.urls.take(place),
        extra=_extra(rng, BID_BYTES - 32, n),
    )


def last_auction(round_: Ids) -> Ids:
    """Return the latest auction at the time of the bids of a round."""
    return round_ * AUCTIONS + (AUCTIONS - 1)


def _prices(rng: np.random.Generator, count: int) -> Ids:
    """Prices in cents; their logarithms are uniform."""
    return np.rint(10 ** (rng.random(count) * 6) * 100).astype(np.int64)


def _extra(rng: np.random.Generator, size: int, count: int) -> pa.Array:
    """Texts of about a size, up to a fifth more or less."""
    fifth = round(size * 0.2)
    return _texts(rng, rng.integers(size - fifth, size + fifth, count))


def _texts(rng: np.random.Generator, lengths: npt.NDArray[Any]) -> pa.Array:
    """Random texts of lower-case letters."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    letters = rng.integers(ord("a"), ord("z") + 1, int(offsets[-1]), dtype=np.uint8)
    return pa.Array.from_buffers(pa.string(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


def _struct(**columns: Any) -> pa.StructArray:
    arrays = [c if isinstance(c, pa.Array) else pa.array(c) for c in columns.values()]
    return pa.StructArray.from_arrays(arrays, names=list(columns))


def _spread(struct: pa.StructArray, where: npt.NDArray[np.bool_]) -> pa.StructArray:
    """The structs at the places where there is one, null elsewhere."""
    return struct.take(pa.array(np.cumsum(where) - 1, mask=~where))
