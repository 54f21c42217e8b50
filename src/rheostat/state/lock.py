"""A lock that allows one query per checkpoint, and that does not outlive its process.

On a local filesystem, the operating system holds the lock and releases it when the process ends, even by a crash. On
other filesystems, a small file names the owner and the time at which it last renewed its lease. A thread renews the
lease every few seconds. If it has not done so for ``LEASE_SECONDS``, another query may take the checkpoint over.
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
"""How long a lease is valid after it was renewed."""

_FILE = "owner.json"


@dataclass(frozen=True)
class Owner:
    """The owner of a checkpoint.

    Attributes:
        host: name of its machine.
        pid: id of its process.
        token: a unique text.
        time: when it last renewed its lease, in seconds since 1970.
    """

    host: str
    pid: int
    token: str
    time: float

    @classmethod
    def parse(cls, text: str | bytes) -> Owner | None:
        """The owner in the text of a file; None if the file is empty or damaged."""
        try:
            value = json.loads(text)
            return cls(
                host=str(value["host"]), pid=int(value["pid"]), token=str(value["token"]), time=float(value["time"])
            )
        except (ValueError, TypeError, KeyError):
            return None

    @property
    def expired(self) -> bool:
        """True if the owner has not renewed its lease for ``LEASE_SECONDS``."""
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
            if owner is not None and not owner.expired:
                raise self._in_use(owner)
            self._write()
            threading.Thread(target=self._keep_alive, name="rheostat-lease", daemon=True).start()

    def renew(self) -> None:
        """Renew the lease.

        Raises:
            CheckpointInUseError: another query has taken the checkpoint over, even if that query has ended since.
        """
        if self._file is not None:
            return
        owner = self._owner()
        if owner is None or owner.token != self._token:
            raise self._in_use(owner)
        self._write()

    def release(self) -> None:
        """Give up ownership."""
        self._released.set()
        if self._file is not None:
            self._file.close()
            self._file = None
        elif (owner := self._owner()) is not None and owner.token == self._token:
            self._folder.delete(_FILE)

    def _keep_alive(self) -> None:
        while not self._released.wait(LEASE_SECONDS / 6):
            with contextlib.suppress(OSError):  # a temporary fault; the lease outlasts several failed renewals
                try:
                    self.renew()
                except CheckpointInUseError:
                    return  # the next commit raises the error

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
        owner = Owner(host=socket.gethostname(), pid=os.getpid(), token=self._token, time=time.time())
        return json.dumps(asdict(owner))

    def _in_use(self, owner: Owner | None) -> CheckpointInUseError:
        who = f"process {owner.pid} on {owner.host}" if owner is not None else "an unknown process"
        return CheckpointInUseError(
            f"checkpoint {self._folder.uri} belongs to a running query ({who}): "
            "stop that query, or start this one with another checkpoint"
        )
