"""All slots together read every row exactly once, whatever the routing was when the rows were written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.table import even_routing, owned, shards_of
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from rheostat.state.window_table import TableReader
from rheostat.windows.window_layout import GRANULE, HASH, START
from tests.state.builders import LAYOUT, SHARDS, Row, written

IN_TMP = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Few hashes, at the edges of shards too, so that keys meet.
EDGES = [0, -1, 2**63 - 1, -(2**63), *((n << 60) - (n << 60 >> 63 << 64) for n in range(16)), 7, 1 << 61]
WRITTEN = st.lists(
    st.lists(
        st.tuples(
            st.integers(0, 1), st.integers(0, 2), st.sampled_from(EDGES), st.sampled_from("ab"), st.integers(1, 9)
        ),
        max_size=12,
    ),
    min_size=1,
    max_size=4,
)
ROUTINGS = st.one_of(
    st.integers(1, SHARDS).map(lambda slots: even_routing(SHARDS, slots)),
    st.lists(st.integers(0, 3), min_size=SHARDS, max_size=SHARDS).map(tuple),
)


def shard(row: Row) -> int:
    return int(shards_of(np.array([row[2]], dtype=np.int64), SHARDS)[0])


def write(folder: Folder, epochs: list[list[Row]], routings: list[tuple[int, ...]]) -> list[Segment]:
    """Write epochs, each with its own routing: every slot writes its rows."""
    segments = []
    for epoch, rows in enumerate(epochs):
        routing = routings[epoch % len(routings)]
        for slot in sorted(set(routing)):
            if mine := [r for r in rows if routing[shard(r)] == slot]:
                segments.append(written(folder, mine, epoch, slot))
    return segments


def as_rows(frames: list[pl.DataFrame], granule: int, start: int) -> Counter[Row]:
    return Counter((granule, start, *row) for f in frames for row in f.select(HASH, "k.key", "p.count(*)").rows())


@IN_TMP
@given(WRITTEN, st.lists(ROUTINGS, min_size=1, max_size=3), ROUTINGS)
def test_slots_of_any_routing_see_every_row_once(
    tmp_path: Path, epochs: list[list[Row]], before: list[tuple[int, ...]], now: tuple[int, ...]
) -> None:
    folder = Folder.at(tmp_path)
    segments = write(folder, epochs, before)
    seen: Counter[Row] = Counter()
    for slot in sorted(set(now)):
        reader = TableReader(folder, LAYOUT, segments, owned(now, slot))
        mine: Counter[Row] = Counter()
        for key in reader.keys():  # noqa: SIM118 - not a dict
            mine += as_rows(reader.rows(*key), *key)
        assert mine == Counter(r for rows in epochs for r in rows if now[shard(r)] == slot)
        seen += mine
    assert seen == Counter(r for rows in epochs for r in rows)


@IN_TMP
@given(WRITTEN, ROUTINGS, st.data())
def test_rows_of_some_hashes_are_just_those(
    tmp_path: Path, epochs: list[list[Row]], routing: tuple[int, ...], data: st.DataObject
) -> None:
    folder = Folder.at(tmp_path)
    segments = write(folder, epochs, [routing, even_routing(SHARDS, 1)])
    slot = data.draw(st.sampled_from(sorted(set(routing))))
    mine = [h for h in EDGES if routing[shard((0, 0, h, "", 0))] == slot]
    wanted = data.draw(st.sets(st.sampled_from(mine)) if mine else st.just(set()))
    hashes = np.sort(np.array(sorted(wanted), dtype=np.int64).view(np.uint64)).view(np.int64)
    reader = TableReader(folder, LAYOUT, segments, owned(routing, slot))
    for key in ((g, s) for g in range(2) for s in range(4)):
        found = reader.rows_of(*key, hashes)
        assert as_rows(found, *key) == Counter(r for rows in epochs for r in rows if r[:2] == key and r[2] in wanted)
        assert all(len(f) for f in found)


@IN_TMP
@given(WRITTEN, ROUTINGS, st.sets(st.tuples(st.integers(0, 1), st.integers(0, 2))))
def test_live_rows_are_those_still_needed(
    tmp_path: Path, epochs: list[list[Row]], routing: tuple[int, ...], needed: set[tuple[int, int]]
) -> None:
    folder = Folder.at(tmp_path)
    segments = write(folder, epochs, [even_routing(SHARDS, 3)])
    for slot in sorted(set(routing)):
        reader = TableReader(folder, LAYOUT, segments, owned(routing, slot))
        live = list(reader.live(lambda g, s: (g, s) in needed))
        names = [GRANULE, START, HASH, "k.key", "p.count(*)"]
        assert Counter(r for f in live for r in f.select(names).rows()) == Counter(
            r for rows in epochs for r in rows if r[:2] in needed and routing[shard(r)] == slot
        )


@IN_TMP
@given(WRITTEN, ROUTINGS)
def test_counts_are_of_everything_in_the_segments_of_a_slot(
    tmp_path: Path, epochs: list[list[Row]], routing: tuple[int, ...]
) -> None:
    folder = Folder.at(tmp_path)
    segments = write(folder, epochs, [even_routing(SHARDS, 3)])
    everything = Counter((g, s) for rows in epochs for g, s, *_ in rows)
    alone = TableReader(folder, LAYOUT, segments, np.ones(SHARDS, dtype=np.bool_))
    assert {key: alone.count(*key) for key in alone.keys()} == everything  # noqa: SIM118 - not a dict
    for slot in sorted(set(routing)):
        reader = TableReader(folder, LAYOUT, segments, owned(routing, slot))
        for key in everything:
            assert sum(map(len, reader.rows(*key))) <= reader.count(*key) <= everything[key]
    assert alone.count(9, 9) == 0


def test_segments_of_other_shards_are_not_opened(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    mine, other = written(folder, [(0, 0, 0, "a", 1)]), written(folder, [(0, 0, -1, "b", 1)])
    (tmp_path / other.file).unlink()
    reader = TableReader(folder, LAYOUT, [mine, other], owned(even_routing(SHARDS, 2), 0))
    assert as_rows(reader.rows(0, 0), 0, 0) == Counter([(0, 0, 0, "a", 1)])
