"""What the driver knows of the copies that hosts have."""

from __future__ import annotations

from rheostat.state.copies import Copies
from rheostat.state.segments import Segment

ROUTING = (0, 0, 1, 1, 2, 2)
HOSTS = ["a", "b", "c"]


def segment(file: str, size: int, shards: tuple[int, int], groups: int | None = None) -> Segment:
    return Segment(file=file, epoch=0, rows=1, bytes=size, spans={0: (0, 0)}, shards=shards, groups=groups)


SEGMENTS = [segment("x", 100, (0, 1)), segment("y", 10, (2, 5)), segment("z", 1, (0, 5), groups=0b100001)]


def test_a_host_lacks_what_it_neither_wrote_nor_fetched() -> None:
    copies = Copies()
    assert copies.lacking(SEGMENTS, ROUTING, HOSTS).tolist() == [[101.0] * 3, [10.0] * 3, [11.0] * 3]
    copies.add("b", ["x"])
    copies.add("b", ["z"])
    copies.add("gone", ["y"])
    assert copies.lacking(SEGMENTS, ROUTING, HOSTS).tolist() == [[101, 0, 101], [10, 10, 10], [11, 10, 11]]


def test_a_whole_segment_is_lacking_for_one_shard() -> None:
    moved = (0, 1, 1, 1, 2, 2)
    copies = Copies()
    copies.add("a", ["x", "z"])
    copies.add("b", ["y"])
    assert copies.lacking(SEGMENTS, moved, HOSTS[:2]).tolist() == [[0, 101], [10, 100], [10, 1]]


def test_files_that_are_gone_are_forgotten() -> None:
    copies = Copies()
    copies.add("a", ["x", "y"])
    copies.keep({"y", "z"})
    assert copies.lacking(SEGMENTS, ROUTING, ["a"]).tolist() == [[101], [0], [1]]


def test_homes_are_assumed_to_have_what_their_slots_read() -> None:
    copies = Copies()
    copies.assume(["a", "", "c"], SEGMENTS, ROUTING)
    assert copies.lacking(SEGMENTS, ROUTING, ["a", "c", "b", ""]).tolist() == [
        [0, 100, 101, 101],
        [10, 0, 10, 10],
        [10, 0, 11, 11],
    ]
