"""Manifests survive a round trip, and damaged ones are refused."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.errors import CheckpointError
from rheostat.state.manifest import FORMAT, Manifest, SourceState, decode, encode, file_name
from rheostat.state.segments import Segment
from tests.state.builders import segment

NAMES = st.text(min_size=1, max_size=5)
COUNTS = st.integers(0, 2**63)
TIMES = st.one_of(st.none(), st.integers(-(2**62), 2**62))
SHARDS = st.tuples(st.integers(0, 99), st.integers(0, 99))
SEGMENTS = st.builds(
    Segment,
    file=NAMES,
    epoch=COUNTS,
    rows=COUNTS,
    bytes=COUNTS,
    spans=st.dictionaries(st.integers(0, 9), st.tuples(COUNTS, COUNTS)),
    shards=SHARDS,
)
SOURCES = st.builds(SourceState, max_time=TIMES, rows=COUNTS, late=COUNTS, dropped=COUNTS, nulls=COUNTS)
MANIFESTS = st.builds(
    Manifest,
    st.integers(0, 10**12 - 1),
    topology=st.dictionaries(NAMES, st.dictionaries(NAMES, st.one_of(NAMES, st.lists(st.integers(0, 9)))), max_size=2),
    sources=st.dictionaries(NAMES, SOURCES, max_size=2),
    watermarks=st.dictionaries(NAMES, TIMES, max_size=2),
    routing=st.dictionaries(NAMES, st.lists(st.integers(0, 9)).map(tuple), max_size=2),
    tables=st.dictionaries(NAMES, st.lists(SEGMENTS, max_size=2).map(tuple), max_size=2),
    totals=st.dictionaries(NAMES, COUNTS, max_size=2),
    learned=st.dictionaries(
        NAMES, st.dictionaries(NAMES, st.one_of(NAMES, st.floats(0, 9), st.booleans())), max_size=2
    ),
)
FILE = "/checkpoint/epochs/000000000012.json"
MANIFEST = Manifest(
    12,
    topology={"a": {"keys": ["k"]}},
    sources={"s": SourceState(max_time=5, rows=1)},
    watermarks={"s": 3},
    routing={"k": (0, 1)},
    totals={"rows": 1},
)


@settings(max_examples=100, deadline=None)
@given(MANIFESTS)
def test_a_manifest_survives_the_round_trip(manifest: Manifest) -> None:
    assert decode(encode(manifest), FILE) == manifest


def test_equal_manifests_are_equal_bytes() -> None:
    assert encode(MANIFEST) == encode(decode(encode(MANIFEST), FILE))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_truncated_manifest_is_refused(data: st.DataObject) -> None:
    whole = encode(MANIFEST)
    with pytest.raises(CheckpointError, match=FILE):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))], FILE)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_changed_byte_of_the_body_is_noticed(data: st.DataObject) -> None:
    whole = bytearray(encode(MANIFEST))
    place = data.draw(st.integers(whole.index(b"\n") + 1, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CheckpointError, match=rf"manifest {FILE} is damaged or truncated"):
        decode(bytes(whole), FILE)


@pytest.mark.parametrize("word", [2, 4])
def test_a_damaged_first_line_is_refused(word: int) -> None:
    header, _, body = encode(MANIFEST).partition(b"\n")
    words = header.split()
    words[word] = b"?"
    with pytest.raises(CheckpointError, match=FILE):
        decode(b" ".join(words) + b"\n" + body, FILE)


def test_appended_bytes_are_noticed() -> None:
    with pytest.raises(CheckpointError, match="damaged or truncated"):
        decode(encode(MANIFEST) + b" ", FILE)


def test_the_advice_for_a_damaged_manifest_names_the_commit_to_delete() -> None:
    with pytest.raises(CheckpointError, match=r"spark/commits/12: epoch 12 is then repeated from the one before"):
        decode(encode(MANIFEST)[:-1], FILE)
    with pytest.raises(CheckpointError, match=r"other.json is damaged or truncated; restore it from a copy"):
        decode(encode(MANIFEST)[:-1], "other.json")


@pytest.mark.parametrize("data", [b"", b"{}", b"rheostat manifest\n{}", b"\x00" * 100, b"a b c d e\n{}"])
def test_something_else_is_no_manifest(data: bytes) -> None:
    with pytest.raises(CheckpointError, match=f"{FILE} is not a manifest"):
        decode(data, FILE)


def test_loads_of_an_older_format_are_read() -> None:
    older = json.loads(encode(MANIFEST.at(12)).partition(b"\n")[2]) | {"loads": {"by key": [[1, 2.5], [3, 0.5]]}}
    body = json.dumps(older).encode()
    found = decode(f"rheostat manifest 1 {zlib.crc32(body):08x} {len(body)}\n".encode() + body, FILE)
    assert ShardLoads.of_text(5, found.loads["by key"]).seconds.tolist() == [0.0, 2.5, 0.0, 0.5, 0.0]


def test_a_newer_format_is_refused() -> None:
    newer = encode(MANIFEST).replace(f"manifest {FORMAT}".encode(), f"manifest {FORMAT + 1}".encode(), 1)
    with pytest.raises(CheckpointError, match=rf"{FILE} has format {FORMAT + 1}, and .* reads up to {FORMAT}"):
        decode(newer, FILE)


@given(st.integers(0, 10**12 - 1), st.integers(0, 10**12 - 1))
def test_names_sort_like_epochs(a: int, b: int) -> None:
    assert (file_name(a) < file_name(b)) == (a < b)


def test_totals_are_over_all_tables() -> None:
    segments = tuple(segment(str(i), rows=10, size=100) for i in range(3))
    manifest = Manifest(tables={"a": segments[:2], "b": segments[2:]})
    assert (manifest.state_rows, manifest.state_bytes) == (30, 300)


def test_the_watermark_is_the_newest_time_less_the_slack() -> None:
    assert SourceState(max_time=100).watermark(30) == 70
    assert SourceState().watermark(30) is None
