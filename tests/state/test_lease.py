"""The lease on filesystems without locks: another query may take over when the owner has not renewed it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from rheostat.errors import CheckpointInUseError
from rheostat.state.lock import LEASE_SECONDS, CheckpointLock
from tests.state.builders import remote


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now: float = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("rheostat.state.lock.time", clock)
    return clock


def test_a_second_owner_is_refused(tmp_path: Path, clock: Clock) -> None:
    CheckpointLock(remote(tmp_path))
    clock.now += LEASE_SECONDS
    with pytest.raises(CheckpointInUseError, match=rf"checkpoint file://{tmp_path} belongs to a running query"):
        CheckpointLock(remote(tmp_path))


def test_an_expired_lease_may_be_taken_over(tmp_path: Path, clock: Clock) -> None:
    first = CheckpointLock(remote(tmp_path))
    clock.now += LEASE_SECONDS + 1
    CheckpointLock(remote(tmp_path))
    with pytest.raises(CheckpointInUseError):
        first.renew()


def test_an_owner_that_renews_keeps_it(tmp_path: Path, clock: Clock) -> None:
    first = CheckpointLock(remote(tmp_path))
    for _ in range(5):
        clock.now += LEASE_SECONDS - 1
        first.renew()
    with pytest.raises(CheckpointInUseError):
        CheckpointLock(remote(tmp_path))


def test_an_owner_with_an_expired_lease_continues_if_nobody_took_over(tmp_path: Path, clock: Clock) -> None:
    first = CheckpointLock(remote(tmp_path))
    clock.now += 10 * LEASE_SECONDS
    first.renew()
    with pytest.raises(CheckpointInUseError):
        CheckpointLock(remote(tmp_path))


def test_a_released_checkpoint_is_free_at_once(tmp_path: Path, clock: Clock) -> None:
    CheckpointLock(remote(tmp_path)).release()
    assert not (tmp_path / "owner.json").exists()
    CheckpointLock(remote(tmp_path))


def test_releasing_a_lost_checkpoint_does_not_affect_the_new_owner(tmp_path: Path, clock: Clock) -> None:
    first = CheckpointLock(remote(tmp_path))
    clock.now += LEASE_SECONDS + 1
    second = CheckpointLock(remote(tmp_path))
    first.release()
    with pytest.raises(CheckpointInUseError):
        CheckpointLock(remote(tmp_path))
    second.renew()


def test_a_damaged_owner_file_does_not_hold_the_checkpoint(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "owner.json").write_text("{")
    CheckpointLock(remote(tmp_path))
    assert json.loads((tmp_path / "owner.json").read_text())["time"] == clock.now


@pytest.mark.parametrize("text", ["{}", "[]", '{"time": "x", "token": "y"}'])
def test_an_owner_file_without_an_owner_does_not_hold_the_checkpoint(tmp_path: Path, clock: Clock, text: str) -> None:
    (tmp_path / "owner.json").write_text(text)
    CheckpointLock(remote(tmp_path))


@pytest.mark.parametrize("then", ["falls silent too", "releases it"])
def test_an_owner_that_was_replaced_never_comes_back(tmp_path: Path, clock: Clock, then: str) -> None:
    """The first owner does not know what the second one committed, so its next commit would undo it."""
    first = CheckpointLock(remote(tmp_path))
    clock.now += LEASE_SECONDS + 1
    second = CheckpointLock(remote(tmp_path))
    if then == "releases it":
        second.release()
    clock.now += LEASE_SECONDS + 1
    with pytest.raises(CheckpointInUseError):
        first.renew()
