"""Local copies of remote files are made once and shared; the least recently used are deleted first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rheostat.errors import CheckpointError
from rheostat.state import cache
from rheostat.state.cache import cache_home, local_copy
from rheostat.state.files import Folder
from rheostat.state.segments import open_segment
from tests.state.builders import remote, written


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RHEOSTAT_CACHE", str(tmp_path / "cache"))
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
    assert open_segment(remote(store), segment).index == {(0, 5): (0, 1)}
    assert [p.name for p in home.glob("*/*")] == [segment.file]


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
