"""Segments written when an operator had other fields: new fields are null, wider fields keep their values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from rheostat.keyed.keyed_layout import DEAD, TIMERS, TOUCHED, KeyedLayout
from rheostat.state.files import Folder
from rheostat.state.keyed_table import KeyedReader, write_keys
from rheostat.state.segments import Segment
from rheostat.state.window_table import arrow_schema
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import HASH
from tests.state.builders import SHARDS

ALL = np.ones(SHARDS, dtype=np.bool_)
KEY = (Column("k.key", "string"),)


def layout(**fields: str) -> KeyedLayout:
    return KeyedLayout(KEY, tuple(Column(f"s.{n}", t) for n, t in fields.items()))


def written(folder: Folder, given: KeyedLayout, epoch: int, key: str, **fields: Any) -> Segment:
    """One key's state as an earlier or later version of the operator wrote it."""
    row = {HASH: ord(key), "k.key": key, DEAD: False, TOUCHED: None, TIMERS: []}
    row |= {f"s.{n}": v for n, v in fields.items()}
    frame = pl.from_arrow(pa.Table.from_pylist([row], arrow_schema(given)))
    assert isinstance(frame, pl.DataFrame)
    folder.create()
    made = write_keys(folder, given, frame, None, [], watermark=None, epoch=epoch, slot=0, shards=SHARDS)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ({"n": "int"}, {"n": "int", "last": "timestamp"}, {"n": 5}, (5, None)),
        ({"n": "int"}, {"names": "array<struct<key:int,value:string>>", "n": "int"}, {"n": 5}, (None, 5)),
        ({"n": "int", "last": "timestamp"}, {"n": "int"}, {"n": 5, "last": datetime(2024, 1, 1, tzinfo=UTC)}, (5,)),
        ({"n": "tinyint"}, {"n": "bigint"}, {"n": -128}, (-128,)),
        ({"n": "int"}, {"n": "double"}, {"n": 2**31 - 1}, (float(2**31 - 1),)),
        ({"n": "float"}, {"n": "double"}, {"n": 0.5}, (0.5,)),
        ({"n": "int"}, {"m": "int"}, {"n": 5}, (None,)),
        ({"n": "int"}, {}, {"n": 5}, ()),
    ],
    ids=["added", "added first", "removed", "wider", "to double", "float", "renamed", "none left"],
)
def test_old_segments_are_read_with_the_fields_of_today(
    tmp_path: Path, old: dict[str, str], new: dict[str, str], before: dict[str, Any], after: tuple[Any, ...]
) -> None:
    folder, today = Folder.at(tmp_path), layout(**new)
    made = [written(folder, layout(**old), 0, "a", **before), written(folder, today, 1, "b")]
    reader = KeyedReader(folder, today, made, ALL)
    names = [c.name for c in today.fields]
    every = reader.lookup(np.array([ord("a"), ord("b")]))
    assert every.columns == today.names
    assert every.filter(pl.col("k.key") == "a").select(names).rows() == ([after] if names else [])
    assert reader.fold(None, complete=True)[0].sort("k.key").select(every.columns).equals(every.sort("k.key"))


def test_folding_writes_the_fields_of_today(tmp_path: Path) -> None:
    folder, today = Folder.at(tmp_path), layout(n="bigint", top="double")
    old = written(folder, layout(n="int", gone="string"), 0, "a", n=1, gone="x")
    folded = KeyedReader(folder, today, [old], ALL).fold(None, complete=True)
    empty = folded[0].drop("granule", "start").clear()
    again = write_keys(folder, today, empty, None, folded, watermark=None, epoch=1, slot=0, shards=SHARDS)
    assert again is not None
    found = KeyedReader(folder, today, [again], ALL).lookup(np.array([ord("a")]))
    assert found.select("s.n", "s.top").rows() == [(1, None)]
