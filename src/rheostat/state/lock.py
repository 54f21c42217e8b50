"""One query per checkpoint: a lock that a killed process leaves behind does not last.

On a local filesystem the operating system holds the lock and drops it when the process ends, however it ends. On other
filesystems a small file says who owns the checkpoint and when the owner last said so; an owner that has been silent for
``LEASE_SECONDS`` has lost it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
import uuid
from typing import IO

from rheostat.errors import CheckpointInUseError
from rheostat.state.files import Folder

LEASE_SECONDS = 60.0
_FILE = "owner.json"


class CheckpointLock:
    """Ownership of a checkpoint, from construction until ``release``.

    Raises:
        CheckpointInUseError: another query owns the checkpoint; the message says which process.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._token = uuid.uuid4().hex
        self._file: IO[str] | None = None
        if folder.is_local:
            self._file = self._lock_file()
        else:
            self._check_lease()
            self.renew()

    def renew(self) -> None:
        """Say that the owner is alive, and fail if another query has taken over. Call it once per epoch."""
        if self._file is not None:
            return
        owner = self._owner()
        if owner is not None and owner["token"] != self._token and not _expired(owner):
            raise self._in_use(owner)
        self._folder.write(_FILE, self._description().encode())

    def release(self) -> None:
        """Give the checkpoint up."""
        if self._file is not None:
            self._file.close()
            self._file = None
        elif (owner := self._owner()) is not None and owner["token"] == self._token:
            self._folder.delete(_FILE)

    def _lock_file(self) -> IO[str]:
        file = open(self._folder.path(_FILE), "a+")  # noqa: SIM115, PTH123 - it stays open for as long as the lock is held
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            text = file.read()
            file.close()
            raise self._in_use(json.loads(text) if text else {}) from None
        file.truncate(0)
        file.write(self._description())
        file.flush()
        return file

    def _check_lease(self) -> None:
        owner = self._owner()
        if owner is not None and not _expired(owner):
            raise self._in_use(owner)

    def _owner(self) -> dict[str, str] | None:
        if not self._folder.exists(_FILE):
            return None
        with contextlib.suppress(ValueError):
            owner: dict[str, str] = json.loads(self._folder.read(_FILE))
            return owner
        return None

    def _description(self) -> str:
        return json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "token": self._token, "time": time.time()})

    def _in_use(self, owner: dict[str, str]) -> CheckpointInUseError:
        return CheckpointInUseError(
            f"checkpoint {self._folder.uri} belongs to a running query "
            f"(process {owner.get('pid', '?')} on {owner.get('host', '?')}): "
            "stop that query, or give this one a checkpoint of its own"
        )


def _expired(owner: dict[str, str]) -> bool:
    return time.time() - float(owner["time"]) > LEASE_SECONDS
