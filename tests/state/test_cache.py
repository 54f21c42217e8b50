"""Local copies of remote files are made once, verified and shared; the least recently used are deleted first."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rheostat.errors import CheckpointError
from rheostat.state import cache
from rheostat.state.cache import cache_home, checksum_of, drain_news, keep_copy, local_copy
from rheostat.state.files import Folder
from rheostat.state.segments import Segment, open_segment
from tests.state.builders import remote, written


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RHEOSTAT_CACHE", str(tmp_path / "cache"))
    drain_news()
    return tmp_path / "cache"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    path.mkdir()
    return path


def test_local_files_are_not_copied(home: Path, store: Path) -> None:
    (store / "x").write_bytes(b"here")
    assert local_copy(Folder.at(store), "x") == store / "x"
    assert not home.exists()


def test_a_remote_file_is_copied_once(home: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (store / "x").write_bytes(b"there")
    copy = local_copy(remote(store), "x")
    assert copy.read_bytes() == b"there"
    assert copy.is_relative_to(home)
    monkeypatch.setattr(Folder, "read", lambda *_: pytest.fail("read again"))
    assert local_copy(remote(store), "x") == copy


def test_folders_do_not_share_copies(home: Path, store: Path) -> None:
    for name in ("one", "two"):
        (store / name).mkdir()
        (store / name / "x").write_text(name)
    assert [local_copy(remote(store / n), "x").read_text() for n in ("one", "two")] == ["one", "two"]


def test_a_copy_appears_whole(home: Path, store: Path) -> None:
    (store / "x").write_bytes(b"there")
    local_copy(remote(store), "x")
    assert [p.name for p in home.glob("*/*")] == ["x"]


def test_a_missing_remote_file_is_named(home: Path, store: Path) -> None:
    with pytest.raises(CheckpointError, match=rf"file://{store}/x is missing"):
        local_copy(remote(store), "x")
    assert list(home.glob("*/*")) == []


def test_segments_are_read_through_the_cache(home: Path, store: Path) -> None:
    segment = written(remote(store), [(0, 5, 1, "a", 3)])
    assert [p.name for p in home.glob("*/*")] == [segment.file], "who writes a segment has a copy"
    (store / segment.file).unlink()
    assert open_segment(remote(store), segment).index == {(0, 5): (0, 1)}
    assert drain_news().fetched == []


def test_a_copy_that_cannot_be_kept_is_fetched_later(home: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (store / "x").write_bytes(b"there")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError("no room")))
        keep_copy(remote(store), "x", b"there")
    assert copies(home) == set()
    assert local_copy(remote(store), "x").read_bytes() == b"there"


@pytest.mark.parametrize("damage", [b"thexe", b"the", b"", b"there is more"], ids=["changed", "cut", "empty", "longer"])
def test_a_damaged_copy_is_fetched_again_and_reported(home: Path, store: Path, damage: bytes) -> None:
    (store / "x").write_bytes(b"there")
    known = 5, checksum_of(b"there")
    copy = local_copy(remote(store), "x", *known)
    copy.write_bytes(damage)
    cache._process.verified.clear()  # as in another process
    drain_news()
    assert local_copy(remote(store), "x", *known).read_bytes() == b"there"
    news = drain_news()
    assert (news.damaged, news.fetched) == (["x"], [("x", 5)])
    assert local_copy(remote(store), "x", *known) == copy
    assert drain_news().damaged == []


def test_a_segment_with_a_damaged_copy_is_read_as_it_was_written(home: Path, store: Path) -> None:
    segment = written(remote(store), [(0, 5, 1, "a", 3)])
    (copy,) = home.glob("*/*")
    data = copy.read_bytes()
    middle = len(data) // 2
    copy.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    cache._process.verified.clear()
    assert open_segment(remote(store), segment).slice((0, 5)).column("k.key").to_pylist() == ["a"]
    assert drain_news().damaged == [segment.file]


def test_what_is_damaged_on_the_way_is_read_again(home: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [b"thexe", b"there"]
    monkeypatch.setattr(Folder, "read", lambda *_: answers.pop(0))
    assert local_copy(remote(store), "x", 5, checksum_of(b"there")).read_bytes() == b"there"
    assert answers == []


@pytest.mark.parametrize(
    ("stored", "why"), [(b"thexe", "its checksum is wrong"), (b"the", "has 3 bytes, not the 5 that were written")]
)
def test_a_file_that_is_damaged_where_it_was_written_is_named(home: Path, store: Path, stored: bytes, why: str) -> None:
    (store / "x").write_bytes(stored)
    with pytest.raises(CheckpointError, match=rf"{store}/x .*{why}"):
        local_copy(remote(store), "x", 5, checksum_of(b"there"))
    assert copies(home) == set()


def test_a_segment_of_an_older_version_has_no_checksum(home: Path, store: Path) -> None:
    segment = written(remote(store), [(0, 5, 1, "a", 3)])
    plain = segment.to_json()
    assert Segment.from_json(plain) == segment
    assert segment.checksum == checksum_of((store / segment.file).read_bytes())
    older = Segment.from_json({name: v for name, v in plain.items() if name not in ("checksum", "groups")})
    assert (older.checksum, older.groups) == (None, None)
    assert open_segment(remote(store), older).index == {(0, 5): (0, 1)}


def test_only_the_user_may_enter_the_cache(home: Path, store: Path) -> None:
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    (store / "x").write_bytes(b"there")
    local_copy(remote(store), "x")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_the_cache_of_another_user_is_refused(home: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: home.stat().st_uid + 1)
    (store / "x").write_bytes(b"there")
    with pytest.raises(CheckpointError, match=rf"the cache {home} belongs to user .*: set RHEOSTAT_CACHE"):
        local_copy(remote(store), "x")
    with pytest.raises(CheckpointError, match="belongs to user"):
        keep_copy(remote(store), "x", b"there")


def test_a_cache_that_is_no_folder_is_refused(home: Path, store: Path) -> None:
    home.write_text("")
    (store / "x").write_bytes(b"there")
    with pytest.raises(CheckpointError, match="is not a folder"):
        local_copy(remote(store), "x")


def test_a_cache_that_somebody_deleted_is_made_again(home: Path, store: Path) -> None:
    (store / "x").write_bytes(b"there")
    local_copy(remote(store), "x")
    shutil.rmtree(home)
    assert local_copy(remote(store), "x").read_bytes() == b"there"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def copies(home: Path) -> set[str]:
    return {p.name for p in home.glob("*/*")}


def test_the_copies_unused_for_longest_go_first(home: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i, name in enumerate("abcd"):
        (store / name).write_bytes(b"x" * 100)
        os.utime(local_copy(remote(store), name), (i, i))
    local_copy(remote(store), "a")  # used again, so "b" is now the oldest
    monkeypatch.setattr(cache, "CACHE_BYTES", 250)
    (store / "new").write_bytes(b"x" * 100)
    local_copy(remote(store), "new")
    assert copies(home) == {"a", "d", "new"}


def test_the_newest_copy_stays_even_if_it_alone_is_too_large(
    home: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CACHE_BYTES", 10)
    for name in ("old", "large"):
        (store / name).write_bytes(b"x" * 100)
        local_copy(remote(store), name)
    assert copies(home) == {"large"}


def test_a_copy_deleted_by_another_process_is_made_again(home: Path, store: Path) -> None:
    (store / "x").write_bytes(b"there")
    copy = local_copy(remote(store), "x")
    copy.unlink()
    assert local_copy(remote(store), "x").read_bytes() == b"there"


def test_copies_that_vanish_while_room_is_made_do_no_harm(
    home: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store / "x").write_bytes(b"there")
    listed = Path.glob

    def with_one_gone(self: Path, pattern: str) -> Iterator[Path]:
        yield from listed(self, pattern)
        yield self / "other" / "gone"

    monkeypatch.setattr(Path, "glob", with_one_gone)
    assert local_copy(remote(store), "x").read_bytes() == b"there"


def test_without_a_setting_every_user_has_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RHEOSTAT_CACHE", raising=False)
    assert cache_home().name.startswith("rheostat-cache-")
