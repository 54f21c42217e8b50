"""Nodes that read remote state: each node copies a segment once, for all its slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rheostat.elastic.routing.table import even_routing, owned
from rheostat.state.cache import drain_news
from rheostat.state.files import Folder
from rheostat.state.keyed_table import KeyedReader, write_keys
from rheostat.state.segments import Segment
from tests.state.builders import SHARDS, remote
from tests.state.keyed_builders import HASHES, LAYOUT, Kept, Model, model_of, shard_of, state_frame

EVERY = np.array(sorted(HASHES.values(), key=lambda h: h % 2**64), dtype=np.int64)


class Cluster:
    """A remote store, and the folders in which nodes keep copies."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self._monkeypatch = monkeypatch
        (path / "store").mkdir()
        self.store: Folder = remote(path / "store")
        self.model: Model = {}
        self.segments: list[Segment] = []

    def write(self, epoch: int, routing: Sequence[int]) -> None:
        """Run an epoch that changes every key; every slot writes its own keys, on a node of the writers."""
        self._monkeypatch.setenv("RHEOSTAT_CACHE", str(self._path / "writers"))
        for slot in sorted(set(routing)):
            mine = {k: Kept(epoch, None) for k in HASHES if routing[shard_of(k)] == slot}
            if not mine:
                continue
            made = write_keys(
                self.store, LAYOUT, state_frame(mine, None), None, [], watermark=None, epoch=epoch, slot=slot, shards=16
            )
            assert made is not None
            self.segments.append(made)
            self.model |= mine

    def read(self, node: str, routing: Sequence[int], slot: int) -> int:
        """Read all keys of a slot on a node, and return the bytes copied for it."""
        self._monkeypatch.setenv("RHEOSTAT_CACHE", str(self._path / node))
        drain_news()
        found = model_of(
            KeyedReader(self.store, LAYOUT, self.segments, owned(routing, slot)).lookup(self._mine(routing, slot))
        )
        assert found == {k: v for k, v in self.model.items() if routing[shard_of(k)] == slot}
        fetched = drain_news().fetched
        assert len({file for file, _ in fetched}) == len(fetched)
        return sum(size for _, size in fetched)

    def bytes(self, epoch: int = 0) -> int:
        """The bytes written since an epoch."""
        return sum(s.bytes for s in self.segments if s.epoch >= epoch)

    def _mine(self, routing: Sequence[int], slot: int) -> np.ndarray:
        return np.array([h for k, h in HASHES.items() if routing[shard_of(k)] == slot], dtype=np.int64)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    yield Cluster(tmp_path, monkeypatch)
    drain_news()


ONE, TWO = even_routing(SHARDS, 1), even_routing(SHARDS, 2)


def test_a_slot_of_a_new_node_fetches_everything_once(cluster: Cluster) -> None:
    for epoch in range(3):
        cluster.write(epoch, ONE)
    assert cluster.read("n1", ONE, 0) == cluster.bytes() > 0
    assert cluster.read("n1", ONE, 0) == 0


def test_another_slot_of_the_same_node_fetches_nothing(cluster: Cluster) -> None:
    for epoch in range(3):
        cluster.write(epoch, ONE)
    assert cluster.read("n1", TWO, 0) == cluster.bytes()
    assert cluster.read("n1", TWO, 1) == 0


def test_another_node_fetches_everything(cluster: Cluster) -> None:
    cluster.write(0, ONE)
    assert cluster.read("n1", TWO, 0) == cluster.bytes()
    assert cluster.read("n2", TWO, 1) == cluster.bytes()
    assert cluster.read("n1", TWO, 1) == 0


def test_a_node_that_was_there_before_fetches_only_what_is_new(cluster: Cluster) -> None:
    cluster.write(0, ONE)
    cluster.write(1, ONE)
    cluster.read("n1", ONE, 0)
    cluster.read("n2", ONE, 0)
    cluster.write(2, ONE)
    assert cluster.read("n2", ONE, 0) == cluster.bytes(since := 2)
    cluster.write(3, ONE)
    assert cluster.read("n1", ONE, 0) == cluster.bytes(since)
    assert cluster.read("n2", ONE, 0) == cluster.bytes(3)


def test_a_slot_fetches_only_segments_that_may_have_its_shards(cluster: Cluster) -> None:
    cluster.write(0, TWO)
    sizes = [s.bytes for s in cluster.segments]
    assert [cluster.read(f"n{slot}", TWO, slot) for slot in (0, 1)] == sizes


def test_the_node_that_wrote_a_segment_fetches_nothing(cluster: Cluster) -> None:
    for epoch in range(3):
        cluster.write(epoch, ONE)
    assert cluster.read("writers", TWO, 0) == cluster.read("writers", TWO, 1) == 0
    assert cluster.read("n1", TWO, 0) == cluster.bytes()


def test_segments_of_scattered_shards_are_fetched_only_for_shards_that_they_have(cluster: Cluster) -> None:
    scattered = tuple(s % 2 for s in range(SHARDS))
    cluster.write(0, scattered)
    sizes = [s.bytes for s in cluster.segments]
    assert all(s.shards[1] - s.shards[0] > 1 for s in cluster.segments), "the ranges of shards overlap"
    assert [cluster.read(f"n{slot}", scattered, slot) for slot in (0, 1)] == sizes


def test_shards_that_move_between_slots_of_a_node_cost_nothing(cluster: Cluster) -> None:
    cluster.write(0, TWO)
    for slot in (0, 1):
        cluster.read("n1", TWO, slot)
    mixed = tuple(s % 2 for s in range(SHARDS))
    assert [cluster.read("n1", mixed, slot) for slot in (0, 1)] == [0, 0]


def test_shards_that_move_to_another_node_bring_only_their_segments(cluster: Cluster) -> None:
    cluster.write(0, even_routing(SHARDS, 4))
    halves = [cluster.read(f"n{slot}", TWO, slot) for slot in (0, 1)]
    assert sum(halves) == cluster.bytes()
    moved = (*TWO[: SHARDS // 2], *(0,) * (SHARDS // 4), *(1,) * (SHARDS // 4))
    third = next(s for s in cluster.segments if SHARDS // 2 <= s.shards[0] < SHARDS * 3 // 4)
    assert cluster.read("n0", moved, 0) == third.bytes
    assert cluster.read("n1", moved, 1) == 0


def test_fetches_are_reported_once(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.write(0, ONE)
    monkeypatch.setenv("RHEOSTAT_CACHE", str(tmp_path / "n1"))
    KeyedReader(cluster.store, LAYOUT, cluster.segments, owned(ONE, 0)).lookup(EVERY)
    assert drain_news().fetched == [(s.file, s.bytes) for s in cluster.segments]
    assert drain_news().fetched == []


def test_a_local_store_is_never_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHEOSTAT_CACHE", str(tmp_path / "n1"))
    folder = Folder.at(tmp_path / "store")
    folder.create()
    made = write_keys(
        folder, LAYOUT, state_frame({"a": Kept(1, None)}, None), None, [], watermark=None, epoch=0, slot=0, shards=16
    )
    assert made is not None
    drain_news()
    assert len(KeyedReader(folder, LAYOUT, [made], owned(ONE, 0)).lookup(EVERY)) == 1
    assert drain_news().fetched == []
    assert not (tmp_path / "n1").exists()
