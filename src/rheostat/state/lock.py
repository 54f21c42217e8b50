"""One query per checkpoint: a lock that a killed process leaves behind does not last.

On a local filesystem the operating system holds the lock and drops it when the process ends, however it ends. On other
filesystems a small file says who owns the checkpoint and when the owner last said so; a thread says so every few
seconds, and an owner that has been silent for ``LEASE_SECONDS`` has lost the checkpoint for good.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from typing import IO

from rheostat.errors import CheckpointInUseError
from rheostat.state.files import Folder

LEASE_SECONDS = 60.0
_FILE = "owner.json"


@dataclass(frozen=True)
class Owner:
    """Who owns a checkpoint."""

    host: str
    pid: int
    token: str
    time: float

    @classmethod
    def parse(cls, text: str | bytes) -> Owner | None:
        """The owner a file names; None if it names none, as a damaged one does."""
        try:
            value = json.loads(text)
            return cls(str(value["host"]), int(value["pid"]), str(value["token"]), float(value["time"]))
        except (ValueError, TypeError, KeyError):
            return None

    @property
    def silent(self) -> bool:
        """Whether the owner has not been heard of for too long."""
        return time.time() - self.time > LEASE_SECONDS


class CheckpointLock:
    """Ownership of a checkpoint, from construction until ``release``.

    Raises:
        CheckpointInUseError: another query owns the checkpoint; the message says which process.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._token = uuid.uuid4().hex
        self._file: IO[str] | None = None
        self._released = threading.Event()
        if folder.is_local:
            self._file = self._lock_file()
        else:
            owner = self._owner()
            if owner is not None and not owner.silent:
                raise self._in_use(owner)
            self._write()
            threading.Thread(target=self._keep_alive, name="rheostat-lease", daemon=True).start()

    def renew(self) -> None:
        """Fail if another query has taken over, even if it has gone since; otherwise say that the owner is alive."""
        if self._file is not None:
            return
        owner = self._owner()
        if owner is None or owner.token != self._token:
            raise self._in_use(owner)
        self._write()

    def release(self) -> None:
        """Give the checkpoint up."""
        self._released.set()
        if self._file is not None:
            self._file.close()
            self._file = None
        elif (owner := self._owner()) is not None and owner.token == self._token:
            self._folder.delete(_FILE)

    def _keep_alive(self) -> None:
        while not self._released.wait(LEASE_SECONDS / 6):
            with contextlib.suppress(OSError):  # a passing fault; the lease lasts for several of these
                try:
                    self.renew()
                except CheckpointInUseError:
                    return  # the next commit finds out, and fails

    def _lock_file(self) -> IO[str]:
        file = open(self._folder.path(_FILE), "a+")  # noqa: SIM115, PTH123 - open for as long as the lock is held
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = Owner.parse(file.read())
            file.close()
            raise self._in_use(owner) from None
        file.truncate(0)
        file.write(self._description())
        file.flush()
        return file

    def _owner(self) -> Owner | None:
        return Owner.parse(self._folder.read(_FILE)) if self._folder.exists(_FILE) else None

    def _write(self) -> None:
        self._folder.write(_FILE, self._description().encode())

    def _description(self) -> str:
        return json.dumps(asdict(Owner(socket.gethostname(), os.getpid(), self._token, time.time())))

    def _in_use(self, owner: Owner | None) -> CheckpointInUseError:
        who = f"process {owner.pid} on {owner.host}" if owner is not None else "an unknown process"
        return CheckpointInUseError(
            f"checkpoint {self._folder.uri} belongs to a running query ({who}): "
            "stop that query, or give this one a checkpoint of its own"
        )
