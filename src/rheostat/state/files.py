"""A folder on any Arrow filesystem, with the operations that state needs."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from rheostat.errors import CheckpointError

_MOUNTED = "mounted://"
"""The scheme of a folder on a network filesystem that all hosts have mounted at the same path."""


@dataclass(frozen=True)
class Folder:
    """A folder, given by its URI. It is a plain value that can be sent to tasks, which open the filesystem themselves.

    Attributes:
        uri: a local path, or a URI with a scheme. ``mounted:///path`` is a path on a network filesystem: its files are
            copied to nodes like those of an object store, instead of being mapped over the network.

    >>> folder = Folder.at("/tmp")
    >>> folder.uri, folder.is_local
    ('/tmp', True)
    >>> mounted = Folder.at("mounted:///tmp")
    >>> mounted.is_local, mounted.spark_uri, mounted.path("x")
    (False, 'file:///tmp', '/tmp/x')
    """

    uri: str

    @classmethod
    def at(cls, uri: str | os.PathLike[str]) -> Folder:
        """The folder at a path or URI; relative paths start at the current directory of the driver.

        Raises:
            CheckpointError: the path of a mounted folder is not absolute.
        """
        text = os.fspath(uri).rstrip("/") or "/"
        if text.startswith(_MOUNTED) and not text.startswith(f"{_MOUNTED}/"):
            raise CheckpointError(f"{text} has no absolute path: write three slashes, as in {_MOUNTED}/mnt/checkpoint")
        if text.startswith("file:"):
            text = "/" + text.removeprefix("file:").lstrip("/")
        return cls(text if "://" in text else str(Path(text).absolute()))

    @property
    def is_local(self) -> bool:
        """True if files can be opened and memory-mapped by path."""
        return "://" not in self.uri

    @property
    def spark_uri(self) -> str:
        """The URI for Spark: always with a scheme, so that Spark's default filesystem does not matter."""
        return f"file://{self.uri.removeprefix(_MOUNTED)}" if self._has_path else self.uri

    @property
    def _has_path(self) -> bool:
        """True if files have paths that the operating system knows."""
        return self.is_local or self.uri.startswith(_MOUNTED)

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.uri}/{name}")

    def path(self, name: str) -> str:
        """The path of a file on the Arrow filesystem."""
        return f"{_open(self.uri)[1]}/{name}"

    @property
    def filesystem(self) -> pafs.FileSystem:
        """The Arrow filesystem."""
        return _open(self.uri)[0]

    def create(self) -> None:
        """Create the folder and its parents if they do not exist."""
        self.filesystem.create_dir(_open(self.uri)[1], recursive=True)

    def read(self, name: str) -> bytes:
        """The contents of a file.

        Raises:
            CheckpointError: the file does not exist.
        """
        try:
            with self.filesystem.open_input_stream(self.path(name)) as stream:
                return bytes(stream.readall())
        except FileNotFoundError:
            raise CheckpointError(f"file {self.uri}/{name} is missing; restore it from a copy of the folder") from None

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically: it exists completely or not at all."""
        if not self._has_path:  # an object store shows an object only when its upload is complete
            with self.filesystem.open_output_stream(self.path(name)) as stream:
                stream.write(data)
            return
        temporary = Path(self.path(f".{name}.{uuid.uuid4().hex}"))
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path(name))

    def names(self, *, hidden: bool = False) -> list[str]:
        """Names of the files and folders in the folder, sorted; empty if the folder does not exist.

        Args:
            hidden: True to include names that begin with a dot.
        """
        selector = pafs.FileSelector(_open(self.uri)[1], allow_not_found=True)
        infos = self.filesystem.get_file_info(selector)
        return sorted(i.base_name for i in infos if hidden or not i.base_name.startswith("."))

    def folders(self) -> list[str]:
        """Names of the folders in the folder, sorted; empty if the folder does not exist."""
        selector = pafs.FileSelector(_open(self.uri)[1], allow_not_found=True)
        infos = self.filesystem.get_file_info(selector)
        return sorted(i.base_name for i in infos if i.type == pafs.FileType.Directory)

    def exists(self, name: str) -> bool:
        """True if the folder has a file or folder of this name."""
        return bool(self.filesystem.get_file_info(self.path(name)).type != pafs.FileType.NotFound)

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        try:
            self.filesystem.delete_file(self.path(name))
        except FileNotFoundError:
            return

    def delete_folder(self, name: str) -> None:
        """Delete a folder with everything in it if it exists."""
        if self.exists(name):
            self.filesystem.delete_dir(self.path(name))

    def empty(self) -> None:
        """Delete everything in the folder, which must exist."""
        self.filesystem.delete_dir_contents(_open(self.uri)[1])

    def move(self, name: str, target: Folder, new_name: str) -> None:
        """Move a file or folder; atomic on local filesystems and HDFS."""
        self.filesystem.move(self.path(name), target.path(new_name))


@lru_cache(maxsize=64)
def _open(uri: str) -> tuple[pafs.FileSystem, str]:
    if "://" not in uri or uri.startswith(_MOUNTED):
        return pafs.LocalFileSystem(), uri.removeprefix(_MOUNTED)
    # Hadoop's name for S3 is s3a; Arrow's is s3.
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise CheckpointError(f"cannot open {uri}: {error}; pass a path, or a URI that Arrow supports") from error
    return filesystem, path.rstrip("/")
