"""A node's local copies of remote files, shared by all processes on the node.

A file never changes after it is written, so a copy is valid for ever. A copy is renamed into place, so other processes
see all of it or nothing. Any process may delete a copy to free space; processes that have it mapped keep its pages.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import tempfile
import uuid
from pathlib import Path

from rheostat.state.files import Folder

CACHE_BYTES = 8 * 1024**3
"""Limit on the size of all copies, in bytes. Above it, the least recently used copies are deleted."""

_fetched: list[tuple[str, int]] = []
"""Files copied since the last call of ``drain_fetches``, with their sizes in bytes."""


def drain_fetches() -> list[tuple[str, int]]:
    """The files that this process has copied since the last call, with their sizes in bytes."""
    drained = list(_fetched)
    _fetched.clear()
    return drained


def local_copy(folder: Folder, file: str) -> Path:
    """A local path of the file, for memory-mapping. A remote file is copied first if there is no copy yet."""
    if folder.is_local:
        return Path(folder.path(file))
    home = cache_home() / hashlib.sha256(folder.uri.encode()).hexdigest()[:16]
    copy = home / file
    with contextlib.suppress(FileNotFoundError):
        os.utime(copy)
        return copy
    home.mkdir(parents=True, exist_ok=True)
    temporary = home / f".{file}.{uuid.uuid4().hex}"
    data = folder.read(file)
    temporary.write_bytes(data)
    _fetched.append((file, len(data)))
    temporary.replace(copy)
    _make_room(keep=copy)
    return copy


def cache_home() -> Path:
    """The folder of this node's copies; set the environment variable RHEOSTAT_CACHE to use another one."""
    configured = os.environ.get("RHEOSTAT_CACHE")
    return Path(configured) if configured else Path(tempfile.gettempdir()) / f"rheostat-cache-{getpass.getuser()}"


def _make_room(keep: Path) -> None:
    """Delete the least recently used copies while all copies but ``keep`` exceed ``CACHE_BYTES``."""
    copies = []
    for path in cache_home().glob("*/*"):
        with contextlib.suppress(FileNotFoundError):  # another process has just deleted it
            stat = path.stat()
            copies.append((stat.st_mtime, stat.st_size, path))
    excess = sum(size for _, size, path in copies if path != keep) - CACHE_BYTES
    for _, size, path in sorted(copies):
        if excess <= 0:
            return
        if path != keep:
            path.unlink(missing_ok=True)
            excess -= size
