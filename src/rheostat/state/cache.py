"""A node's own copies of remote files, shared by every process of the node.

A file never changes once it has been written, so a copy stays valid for ever. A copy appears by rename, so that another
process sees all of it or nothing. Any process may delete a copy to free space; a process that has it mapped keeps its
pages.
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
"""When the copies have more bytes than this, those that were not used for longest are deleted."""

_fetched: list[tuple[str, int]] = []


def drain_fetches() -> list[tuple[str, int]]:
    """The files that this process has copied since the last call, with their bytes."""
    drained = list(_fetched)
    _fetched.clear()
    return drained


def local_copy(folder: Folder, file: str) -> Path:
    """A path where the file can be memory-mapped on this node; the file is copied if need be."""
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
    """The folder with this node's copies; the environment variable RHEOSTAT_CACHE moves it, say to a faster disk."""
    given = os.environ.get("RHEOSTAT_CACHE")
    return Path(given) if given else Path(tempfile.gettempdir()) / f"rheostat-cache-{getpass.getuser()}"


def _make_room(keep: Path) -> None:
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
