"""Keyed state as a dict, and the same state as frames and segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from hypothesis import strategies as st

from rheostat.elastic.routing.table import even_routing, shards_of
from rheostat.keyed.keyed_layout import TIMERS, TOUCHED, KeyedLayout
from rheostat.state.files import Folder
from rheostat.state.keyed_table import write_keys
from rheostat.state.segments import Segment
from rheostat.state.window_table import arrow_schema, to_polars
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH, START
from tests.state.builders import SHARDS

LAYOUT = KeyedLayout((Column("k.key", "string"),), (Column("s.value", "bigint"),))
# Keys at the edges of shards, some with the hash of another, one of them null.
HASHES: dict[str | None, int] = {
    "a": 0,
    "b": 0,
    "c": -1,
    None: -1,
    "d": 2**63 - 1,
    "e": -(2**63),
    "f": 1 << 60,
    "g": (1 << 60) - 1,
    "h": 7,
}
KEYS = st.sampled_from(list(HASHES))


@dataclass(frozen=True)
class Kept:
    """The state of a key in the model."""

    value: int
    touched: int | None
    timers: frozenset[int] = frozenset()


Model = dict[str | None, Kept]


def shard_of(key: str | None) -> int:
    return int(shards_of(np.array([HASHES[key]], dtype=np.int64), SHARDS)[0])


def state_frame(rows: Mapping[str | None, Kept | None], touched: int | None) -> pl.DataFrame:
    """State rows as a call returns them; None stands for a removed key."""
    schema = to_polars(arrow_schema(LAYOUT).empty_table()).schema
    return pl.DataFrame(
        [
            (HASHES[k], k, None if v is None else v.value, v is None, touched, sorted(v.timers) if v else [])
            for k, v in rows.items()
        ],
        schema=schema,
        orient="row",
    )


def wake_frame(wakes: Iterable[tuple[str | None, int]]) -> pl.DataFrame | None:
    rows = [(HASHES[k], k, at) for k, at in wakes]
    schema = {HASH: pl.Int64, "k.key": pl.String, START: pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row") if rows else None


def model_of(frame: pl.DataFrame) -> Model:
    rows = frame.select("k.key", "s.value", TOUCHED, TIMERS).rows()
    assert len({r[0] for r in rows}) == len(rows), "a key has two rows"
    return {key: Kept(value, touched, frozenset(timers)) for key, value, touched, timers in rows}


ROUTINGS = st.one_of(
    st.integers(1, 3).map(lambda slots: even_routing(SHARDS, slots)),
    st.lists(st.integers(0, 2), min_size=SHARDS, max_size=SHARDS).map(tuple),
)


def one(folder: Folder, rows: Mapping[str | None, Kept | None], epoch: int, touched: int | None = None) -> Segment:
    """A segment written by one slot that owns every shard."""
    folder.create()
    wakes = wake_frame((k, at) for k, v in rows.items() if v for at in v.timers)
    frame = state_frame(rows, touched)
    made = write_keys(folder, LAYOUT, frame, wakes, [], watermark=None, epoch=epoch, slot=0, shards=SHARDS)
    assert made is not None
    return made


ALL = np.ones(SHARDS, dtype=np.bool_)
