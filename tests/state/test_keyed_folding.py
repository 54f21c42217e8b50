"""Folding keyed state: rows that hide older rows stay, expired rows are dropped, timers in the future stay."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.table import owned
from rheostat.keyed.keyed_layout import DEAD, TIMERS
from rheostat.state.files import Folder
from rheostat.state.keyed_table import KeyedReader, write_keys
from tests.state.builders import SHARDS
from tests.state.keyed_builders import (
    ALL,
    HASHES,
    KEYS,
    LAYOUT,
    ROUTINGS,
    Kept,
    model_of,
    one,
    shard_of,
    state_frame,
    wake_frame,
)


def test_a_removed_key_is_dropped_only_when_nothing_older_is_left(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    made = [one(folder, {"a": Kept(1, None), "b": Kept(2, None)}, 0), one(folder, {"a": None}, 1)]
    everything = KeyedReader(folder, LAYOUT, made, ALL).fold(None, complete=True)[0]
    assert everything["k.key"].to_list() == ["b"]
    newest = KeyedReader(folder, LAYOUT, made[1:], ALL).fold(None, complete=False)[0]
    assert newest.select("k.key", DEAD).rows() == [("a", True)]


def test_an_expired_key_hides_older_rows_until_all_segments_are_folded(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    made = [one(folder, {"a": Kept(1, None)}, 0, touched=None), one(folder, {"a": Kept(2, None)}, 1, touched=10)]
    expired = KeyedReader(folder, LAYOUT, made, ALL, now=20, ttl=10)
    assert expired.lookup(np.array([0])).is_empty()
    newest = KeyedReader(folder, LAYOUT, made[1:], ALL, now=20, ttl=10).fold(None, complete=False)[0]
    assert newest.select("k.key", DEAD).rows() == [("a", True)]
    assert expired.fold(None, complete=True)[0].is_empty()
    for later in (replace(expired, now=19), replace(expired, ttl=None), replace(expired, now=None)):
        assert later.lookup(np.array([0]))["s.value"].to_list() == [2]


def test_nothing_is_written_when_nothing_is_left(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    made = [one(folder, {"a": Kept(1, None)}, 0), one(folder, {"a": None}, 1)]
    folded = KeyedReader(folder, LAYOUT, made, ALL).fold(None, complete=True)
    state = state_frame({}, None)
    assert write_keys(folder, LAYOUT, state, None, folded, watermark=5, epoch=2, slot=0, shards=SHARDS) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.dictionaries(KEYS, st.frozensets(st.integers(0, 30), max_size=3), max_size=4), min_size=1, max_size=4),
    st.none() | st.integers(-1, 30),
    st.integers(0, 30),
    ROUTINGS,
)
def test_due_timers_are_those_between_two_watermarks(
    epochs: list[dict[str | None, frozenset[int]]], after: int | None, steps: int, routing: tuple[int, ...]
) -> None:
    """The keys found include all that are due, and maybe more: the newest row of a key decides whether it is due."""
    until = (after or 0) + steps
    with tempfile.TemporaryDirectory() as path:
        folder = Folder.at(path)
        made = [one(folder, {k: Kept(0, None, t) for k, t in e.items()}, n) for n, e in enumerate(epochs) if e]
        newest = {k: t for e in epochs for k, t in e.items()}
        for slot in set(routing):
            found = KeyedReader(folder, LAYOUT, made, owned(routing, slot)).due(after, until)
            keys = set(model_of(found))
            due = {k for k, ts in newest.items() if any((after is None or t > after) and t <= until for t in ts)}
            assert keys >= {k for k in due if routing[shard_of(k)] == slot}
            noted = {HASHES[k] for e in epochs for k, ts in e.items() for t in ts if t <= until}
            assert {HASHES[k] for k in keys} <= noted
            assert all(routing[shard_of(k)] == slot for k in keys)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(KEYS, st.frozensets(st.integers(0, 20), min_size=1), min_size=1), st.integers(0, 20))
def test_folding_keeps_the_timers_that_have_not_been_called(
    timers: dict[str | None, frozenset[int]], watermark: int
) -> None:
    with tempfile.TemporaryDirectory() as path:
        folder = Folder.at(path)
        made = one(folder, {k: Kept(0, None, t) for k, t in timers.items()}, 0)
        folded = KeyedReader(folder, LAYOUT, [made], ALL).fold(watermark, complete=True)
        again = write_keys(
            folder, LAYOUT, state_frame({}, None), None, folded, watermark=watermark, epoch=1, slot=0, shards=SHARDS
        )
        assert again is not None
        later = [t for ts in timers.values() for t in ts if t > watermark]
        assert again.rows == len(timers) + len(later)
        assert again.spans.get(1) == ((min(later), max(later)) if later else None)


def test_a_timer_in_the_past_is_written_right_after_the_watermark(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    folder.create()
    state = state_frame({"a": Kept(0, None, frozenset({3}))}, None)
    made = write_keys(folder, LAYOUT, state, wake_frame([("a", 3)]), [], watermark=10, epoch=0, slot=0, shards=SHARDS)
    assert made is not None
    assert made.spans[1] == (11, 11)
    reader = KeyedReader(folder, LAYOUT, [made], ALL)
    assert reader.due(10, 10).is_empty()
    assert reader.due(10, 11)[TIMERS].to_list() == [[3]]
