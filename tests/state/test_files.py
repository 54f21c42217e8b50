"""The operations on folders, local and remote."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder
from tests.state.builders import mounted, remote

either = pytest.mark.parametrize("at", [Folder.at, remote, mounted], ids=["local", "remote", "mounted"])
At = Callable[[Path], Folder]


@either
def test_a_file_is_read_as_it_was_written(tmp_path: Path, at: At) -> None:
    folder = at(tmp_path) / "deep" / "er"
    folder.create()
    folder.create()
    folder.write("x", b"one")
    folder.write("x", b"two")
    assert folder.read("x") == b"two"
    assert folder.names() == ["x"]


@either
def test_a_missing_file_is_named(tmp_path: Path, at: At) -> None:
    with pytest.raises(CheckpointError, match=rf"file .*{tmp_path}/x is missing; restore it"):
        at(tmp_path).read("x")


@either
def test_names_are_sorted_and_hidden_ones_left_out_unless_asked_for(tmp_path: Path, at: At) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "c").mkdir()
    assert at(tmp_path).names() == ["a", "b", "c"]
    assert at(tmp_path).names(hidden=True) == [".hidden", "a", "b", "c"]
    assert at(tmp_path / "nowhere").names() == []


@either
def test_deleting_what_is_not_there_is_nothing(tmp_path: Path, at: At) -> None:
    folder = at(tmp_path)
    folder.write("x", b"")
    (folder / "full").create()
    (folder / "full").write("y", b"")
    for _ in range(2):
        folder.delete("x")
        folder.delete_folder("full")
    assert not folder.exists("x")
    assert not folder.exists("full")


@either
def test_a_folder_is_emptied_and_stays(tmp_path: Path, at: At) -> None:
    folder = at(tmp_path)
    folder.write("x", b"")
    (folder / "full").create()
    (folder / "full").write("y", b"")
    for _ in range(2):
        folder.empty()
        assert folder.names(hidden=True) == []
    assert tmp_path.is_dir()


@either
def test_files_and_folders_move(tmp_path: Path, at: At) -> None:
    folder = at(tmp_path)
    folder.write("x", b"data")
    (folder / "to").create()
    folder.move("x", folder / "to", "y")
    assert (folder / "to").read("y") == b"data"
    assert not folder.exists("x")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder.at(tmp_path)
    folder.write("x", b"old")

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        folder.write("x", b"new")
    assert folder.read("x") == b"old"
    assert folder.names() == ["x"]


def test_uris_of_local_files_are_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Folder.at(f"file://{tmp_path}/a/") == Folder.at(tmp_path / "a") == Folder.at("a")
    assert Folder.at("a").is_local
    assert not Folder.at("s3a://bucket/a/").is_local
    assert Folder.at("s3a://bucket/a/").uri == "s3a://bucket/a"


def test_an_unknown_filesystem_is_refused() -> None:
    with pytest.raises(CheckpointError, match="cannot open nowhere://host/x"):
        Folder.at("nowhere://host/x").create()
