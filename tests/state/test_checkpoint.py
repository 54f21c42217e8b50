"""A reopened checkpoint continues where it was; a damaged one is refused with advice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rheostat.errors import CheckpointError
from rheostat.state.checkpoint import Checkpoint
from rheostat.state.manifest import FORMAT, Manifest, encode, file_name
from tests.state.builders import commit, written


def reopened(path: Path, shards: int = 16, retain: int = 10) -> Checkpoint:
    """Open a checkpoint and close it at once."""
    checkpoint = Checkpoint.open(str(path), shards, retain)
    checkpoint.close()
    return checkpoint


def test_a_new_checkpoint_is_before_the_first_epoch(tmp_path: Path) -> None:
    checkpoint = reopened(tmp_path / "new" / "ckpt", shards=32)
    assert checkpoint.manifest == Manifest()
    assert checkpoint.manifest.epoch == -1
    assert checkpoint.shards == 32


def test_what_is_committed_is_there_after_reopening(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    segment = written(checkpoint.table_folder("area"), [(0, 0, 1, "a", 1)])
    commit(checkpoint, [segment])
    last = commit(checkpoint, [segment])
    checkpoint.close()
    assert reopened(tmp_path).manifest == last


def test_the_shard_count_is_fixed_when_the_checkpoint_is_made(tmp_path: Path) -> None:
    reopened(tmp_path, shards=32)
    assert reopened(tmp_path, shards=64).shards == 32


@pytest.mark.parametrize("epoch", [-1, 0, 2])
def test_epochs_follow_each_other(tmp_path: Path, epoch: int) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    commit(checkpoint, [])
    before = sorted((tmp_path / "epochs").iterdir())
    with pytest.raises(CheckpointError, match=f"epoch {epoch} cannot follow epoch 0"):
        checkpoint.commit(Manifest(epoch))
    assert sorted((tmp_path / "epochs").iterdir()) == before
    assert checkpoint.manifest.epoch == 0
    checkpoint.close()


def test_a_missing_manifest_is_refused_and_named(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    for _ in range(4):
        commit(checkpoint, [])
    checkpoint.close()
    (tmp_path / "epochs" / file_name(2)).unlink()
    with pytest.raises(CheckpointError, match=rf"manifest {tmp_path}/epochs/{file_name(2)} is missing"):
        reopened(tmp_path)


def test_a_damaged_manifest_is_refused_and_named(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    commit(checkpoint, [])
    checkpoint.close()
    (tmp_path / "epochs" / file_name(0)).write_bytes(encode(Manifest(0))[:-5])
    with pytest.raises(CheckpointError, match=rf"{tmp_path}/epochs/{file_name(0)} is damaged"):
        reopened(tmp_path)


def test_without_its_newest_manifest_the_epoch_before_counts(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    for _ in range(3):
        commit(checkpoint, [])
    checkpoint.close()
    (tmp_path / "epochs" / file_name(2)).unlink()
    assert reopened(tmp_path).manifest.epoch == 1


def test_a_checkpoint_without_its_identity_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    commit(checkpoint, [])
    checkpoint.close()
    (tmp_path / "rheostat.json").unlink()
    with pytest.raises(CheckpointError, match=rf"{tmp_path}/rheostat.json is missing; restore it"):
        reopened(tmp_path)


@pytest.mark.parametrize("identity", ["", "{", "[]", "{}", '{"format": 1}', '{"format": "x", "shards": 3}', "null"])
def test_a_damaged_identity_is_refused(tmp_path: Path, identity: str) -> None:
    reopened(tmp_path)
    (tmp_path / "rheostat.json").write_text(identity)
    with pytest.raises(CheckpointError, match=rf"{tmp_path}/rheostat.json is damaged"):
        reopened(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    reopened(tmp_path)
    (tmp_path / "rheostat.json").write_text(json.dumps({"format": FORMAT + 1, "shards": 16}))
    with pytest.raises(CheckpointError, match=f"has format {FORMAT + 1}, and this version of Rheostat reads up to"):
        reopened(tmp_path)


def spoil_identity(path: Path) -> None:
    (path / "rheostat.json").write_text("{")


def spoil_manifest(path: Path) -> None:
    (path / "epochs" / file_name(0)).write_bytes(b"")


@pytest.mark.parametrize("spoil", [spoil_identity, spoil_manifest])
def test_a_checkpoint_that_cannot_be_opened_is_not_held(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    commit(checkpoint, [])
    checkpoint.close()
    spoil(tmp_path)
    errors = []  # what an error remembers of the first attempt must not keep the second one out
    for _ in range(2):
        with pytest.raises(CheckpointError, match=r"is damaged|is not a manifest") as error:
            reopened(tmp_path)
        errors.append(error.value)


def test_half_a_manifest_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    commit(checkpoint, [])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        commit(checkpoint, [])
    checkpoint.close()
    monkeypatch.undo()
    assert reopened(tmp_path).manifest.epoch == 0
