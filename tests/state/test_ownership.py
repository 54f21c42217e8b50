"""One query per checkpoint, even if the process that runs it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rheostat.errors import CheckpointInUseError
from rheostat.state.checkpoint import Checkpoint

OWNER = """
import sys
from rheostat.state.checkpoint import Checkpoint
checkpoint = Checkpoint.open(sys.argv[1], 16)
print("owned", flush=True)
sys.stdin.read()
"""


@contextmanager
def owner(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the checkpoint until it is killed or its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "owned\n"
            yield process
        finally:
            process.kill()


def test_a_second_owner_in_the_same_process_is_refused(tmp_path: Path) -> None:
    first = Checkpoint.open(str(tmp_path), 16)
    message = rf"checkpoint {tmp_path} belongs to a running query \(process {os.getpid()} on .+\): stop that query"
    with pytest.raises(CheckpointInUseError, match=message):
        Checkpoint.open(str(tmp_path), 16)
    first.close()
    Checkpoint.open(str(tmp_path), 16).close()


def test_a_second_owner_is_refused_whatever_the_file_says(tmp_path: Path) -> None:
    first = Checkpoint.open(str(tmp_path), 16)
    (tmp_path / "owner.json").write_text("{")
    with pytest.raises(CheckpointInUseError):
        Checkpoint.open(str(tmp_path), 16)
    first.close()


def test_a_refused_owner_disturbs_nothing(tmp_path: Path) -> None:
    """To another process, the segments of the running epoch look like orphans."""
    first = Checkpoint.open(str(tmp_path), 16)
    staged = tmp_path / "results" / "windows"
    staged.mkdir()
    with pytest.raises(CheckpointInUseError):
        Checkpoint.open(str(tmp_path), 16)
    assert staged.exists()
    first.close()


def test_another_process_is_refused_until_the_owner_is_killed(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        with pytest.raises(CheckpointInUseError, match=rf"process {process.pid} on "):
            Checkpoint.open(str(tmp_path), 16)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        Checkpoint.open(str(tmp_path), 16).close()


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path), 16)
    checkpoint.close()
    checkpoint.close()
    second = Checkpoint.open(str(tmp_path), 16)
    checkpoint.close()
    with pytest.raises(CheckpointInUseError):
        Checkpoint.open(str(tmp_path), 16)
    second.close()
