"""A node's local copies of remote files, shared by all processes on the node.

A file never changes after it is written, so a copy is valid for ever. A copy is renamed into place, so other processes
see all of it or nothing. Whoever writes a file keeps a copy too, so that nobody on the node has to fetch it. Any
process may delete a copy to free space; processes that have it mapped keep its pages.

Copies are believed only if their checksum is right, and they lie in a folder that only the user may enter.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import tempfile
import uuid
import zlib
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder

CACHE_BYTES = 8 * 1024**3
"""Limit on the size of all copies, in bytes. Above it, the least recently used copies are deleted."""

_SWEEP_FILES, _SWEEP_SHARE = 256, 64
"""A process looks for copies to delete after so many new ones, or after a 64th of the limit; and at its first."""

_VERIFIED = 10_000
"""How many copies a process remembers as verified."""

LOST = "restore it from a copy of the checkpoint, or start afresh with a new checkpoint"
"""What to do about a file that is missing or damaged where it was written."""

_ADVICE = "set RHEOSTAT_CACHE to a folder of your own"


@dataclass
class CacheNews:
    """What happened to the copies of this process since the last call of ``drain_news``.

    Attributes:
        fetched: the files that were copied from elsewhere, with their sizes in bytes.
        damaged: the files whose copy was damaged, and was fetched again.
    """

    fetched: list[tuple[str, int]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


@dataclass
class _Process:
    """What this process remembers.

    Attributes:
        news: what happened since the last call of ``drain_news``.
        verified: paths of copies whose checksum was right.
        files: new copies since the last sweep.
        size: their bytes; infinite before the first sweep.
    """

    news: CacheNews = field(default_factory=CacheNews)
    verified: set[Path] = field(default_factory=set)
    files: int = 0
    size: float = float("inf")


_process = _Process()


def drain_news() -> CacheNews:
    """What happened to the copies of this process since the last call."""
    drained, _process.news = _process.news, CacheNews()
    return drained


def checksum_of(data: bytes | pa.Buffer) -> int:
    """The checksum of a file.

    >>> checksum_of(b"state")
    2744374011
    """
    return zlib.crc32(data)


def local_copy(folder: Folder, file: str, size: int | None = None, checksum: int | None = None) -> Path:
    """A local path of the file, for memory-mapping. A remote file is copied first if there is no sound copy yet.

    Args:
        folder: the folder of the file.
        file: its name.
        size: its size in bytes; None if unknown.
        checksum: its ``checksum_of``; None if unknown.

    Raises:
        CheckpointError: the file is missing or damaged, or the cache belongs to another user.
    """
    if folder.is_local:
        return Path(folder.path(file))
    copy = _place(folder, file)
    with contextlib.suppress(FileNotFoundError):
        if _is_sound(copy, size, checksum):
            os.utime(copy)
            return copy
        copy.unlink()
        _process.news.damaged.append(file)
    data = folder.read(file)
    if not _fits(data, size, checksum):
        data = folder.read(file)  # it may have been damaged on the way
        if not _fits(data, size, checksum):
            raise CheckpointError(_what_is_wrong(f"{folder.uri}/{file}", data, size))
    _process.news.fetched.append((file, len(data)))
    _put(copy, data)
    return copy


def keep_copy(folder: Folder, file: str, data: bytes | pa.Buffer) -> None:
    """Keep a copy of a remote file that this process has written. Without room for it, the file is fetched later.

    Args:
        folder: the folder of the file.
        file: its name.
        data: its contents.
    """
    if not folder.is_local:
        with contextlib.suppress(OSError):
            _put(_place(folder, file), data)


def cache_home() -> Path:
    """The folder of this node's copies; set the environment variable RHEOSTAT_CACHE to use another one."""
    configured = os.environ.get("RHEOSTAT_CACHE")
    return Path(configured) if configured else Path(tempfile.gettempdir()) / f"rheostat-cache-{getpass.getuser()}"


def _place(folder: Folder, file: str) -> Path:
    """The path of the copy of a file."""
    return _private(cache_home()) / sha256(folder.uri.encode()).hexdigest()[:16] / file


@cache
def _private(home: Path) -> Path:
    """Make a folder that only this user may enter, or make sure that it is one. Once per process."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=0o700)
    found = home.lstat()  # of a link itself: another user may have put it where anyone can write
    if found.st_uid != os.getuid():
        raise CheckpointError(
            f"the cache {home} belongs to user {found.st_uid}, and this process runs as user {os.getuid()}: {_ADVICE}"
        )
    if not home.is_dir():
        raise CheckpointError(f"the cache {home} is not a folder: {_ADVICE}")
    if home.stat().st_uid != os.getuid():
        raise CheckpointError(f"the cache {home} is a link to a folder of another user: {_ADVICE}")
    home.chmod(0o700)
    return home


def _is_sound(copy: Path, size: int | None, checksum: int | None) -> bool:
    """True if a copy, which must exist, has its size and checksum. The checksum is computed once per process."""
    found = copy.stat().st_size
    if size is not None and found != size:
        return False
    if checksum is not None and copy not in _process.verified:
        with pa.memory_map(str(copy)) as source:
            if zlib.crc32(source.read_buffer()) != checksum:
                return False
        _remember(copy)
    return True


def _remember(copy: Path) -> None:
    if len(_process.verified) >= _VERIFIED:
        _process.verified.clear()
    _process.verified.add(copy)


def _fits(data: bytes, size: int | None, checksum: int | None) -> bool:
    return (size is None or len(data) == size) and (checksum is None or zlib.crc32(data) == checksum)


def _what_is_wrong(name: str, data: bytes, size: int | None) -> str:
    if len(data) != size:
        return f"segment {name} has {len(data)} bytes, not the {size} that were written; {LOST}"
    return f"segment {name} is damaged: its checksum is wrong; {LOST}"


def _put(copy: Path, data: bytes | pa.Buffer) -> None:
    """Write a copy, completely or not at all, and make room for it."""
    if not copy.parent.exists():
        _private.cache_clear()  # somebody may have deleted all copies
        _private(copy.parent.parent)
        copy.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = copy.with_name(f".{copy.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(data)
        temporary.replace(copy)
    finally:
        temporary.unlink(missing_ok=True)
    _remember(copy)
    _process.files += 1
    _process.size += len(data)
    if _process.files >= _SWEEP_FILES or _process.size >= CACHE_BYTES / _SWEEP_SHARE:
        _make_room(keep=copy)
        _process.files, _process.size = 0, 0.0


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
