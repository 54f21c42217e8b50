"""A checkpoint: the folder with everything a query needs to continue after a stop or a crash.

rheostat.json     format and number of shards, fixed when the checkpoint is created
owner.json        the process that runs the query
epochs/N.json     the manifests of the newest epochs
state/TABLE/      the segments of a table
results/          results of the current epoch, until they are written to sinks
aside/SOURCE/     rows kept aside, by epoch
events/N.json     what was decided, by whom and why, and what came of it
profile.json      what ELYSIUM has learned of the operators; it may be deleted
spark/            Spark's own offset and commit logs
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder
from rheostat.state.lock import CheckpointLock
from rheostat.state.manifest import FORMAT, RESTORE, Manifest, check_format, decode, encode, file_name
from rheostat.state.segments import Segment

IDENTITY = "rheostat.json"
"""The file that makes a folder a checkpoint."""


class Checkpoint:
    """A checkpoint that this process owns, from ``Checkpoint.open`` until ``close``.

    Attributes:
        folder: the folder of the checkpoint.
        shards: number of shards, fixed when the checkpoint is created.
        manifest: the newest manifest; in a new checkpoint an empty one, for epoch -1.
    """

    def __init__(self, folder: Folder, lock: CheckpointLock, shards: int, retain: int) -> None:
        self.folder = folder
        self.shards = shards
        self._lock = lock
        self._retain = max(retain, 2)
        self._retained = self._read_manifests()
        self.manifest = self._retained[-1] if self._retained else Manifest()
        self._delete_orphans()

    @classmethod
    def open(cls, uri: str, shards: int, retain: int = 10) -> Checkpoint:
        """Take ownership of the checkpoint at ``uri``, creating it if it does not exist.

        Args:
            uri: path or URI of its folder.
            shards: number of shards for a new checkpoint; an existing one keeps its number.
            retain: number of epochs whose manifests and segments are kept; less than 2 counts as 2.

        Raises:
            CheckpointInUseError: another running query owns it.
            CheckpointError: it is damaged or has a newer format.
        """
        folder = Folder.at(uri)
        folder.create()
        for name in ("epochs", "state", "results"):
            (folder / name).create()
        lock = CheckpointLock(folder)
        try:
            return cls(folder, lock, _identify(folder, shards), retain)
        except BaseException:
            lock.release()
            raise

    def commit(self, manifest: Manifest) -> None:
        """Commit an epoch, in this order. Before step 2 nothing of the epoch counts; after it everything does.

        1. Make sure that this process still owns the checkpoint.
        2. Write the manifest, completely or not at all.
        3. Delete manifests that are no longer retained, and the segments that only they list.

        Args:
            manifest: the manifest of the epoch, which must follow the newest one.

        Raises:
            CheckpointInUseError: another query has taken the checkpoint over.
        """
        if manifest.epoch != self.manifest.epoch + 1:
            raise CheckpointError(
                f"epoch {manifest.epoch} cannot follow epoch {self.manifest.epoch} in {self.folder.uri}"
            )
        self._lock.renew()
        (self.folder / "epochs").write(file_name(manifest.epoch), encode(manifest))
        self._retained.append(manifest)
        self.manifest = manifest
        self._delete_old()

    def forget_tables(self, except_for: Collection[str]) -> None:
        """Continue without the state of some tables. It is deleted after the next commits, not at once.

        Args:
            except_for: names of the tables whose state is kept.
        """
        kept = {name: segments for name, segments in self.manifest.tables.items() if name in except_for}
        self.manifest = replace(self.manifest, tables=kept)

    def replace_segments(self, table: str, segments: Sequence[Segment]) -> None:
        """Continue with other segments of a table, which hold the same rows. The next commit makes them count.

        Args:
            table: name of the table.
            segments: the segments, oldest first.
        """
        self.manifest = replace(self.manifest, tables={**self.manifest.tables, table: tuple(segments)})

    def close(self) -> None:
        """Give up ownership."""
        self._lock.release()

    def table_folder(self, table: str) -> Folder:
        """The folder of a table's segments."""
        return self.folder / "state" / table

    def _read_manifests(self) -> list[Manifest]:
        """The retained manifests, oldest first; older ones are deleted."""
        folder = self.folder / "epochs"
        names = [n for n in folder.names() if n.endswith(".json")]
        oldest = file_name(int(names[-1].removesuffix(".json")) - self._retain + 1) if names else ""
        for stale in [n for n in names if n < oldest]:
            folder.delete(stale)  # an earlier run retained more
        names = [n for n in names if n >= oldest]
        manifests = [decode(folder.read(n), f"{folder.uri}/{n}") for n in names]
        for earlier, later in pairwise(manifests):
            if later.epoch != earlier.epoch + 1:
                raise CheckpointError(f"manifest {folder.uri}/{file_name(earlier.epoch + 1)} is missing; {RESTORE}")
        return manifests

    def _delete_old(self) -> None:
        """Delete manifests that are no longer retained, and the segments that only they list."""
        old = self._retained[: -self._retain]
        if not old:
            return
        self._retained = self._retained[-self._retain :]
        kept = _files(self._retained)
        for table, file in _files(old) - kept:
            self.table_folder(table).delete(file)
        for manifest in old:
            (self.folder / "epochs").delete(file_name(manifest.epoch))

    def _delete_orphans(self) -> None:
        """Delete what a killed epoch left behind: segments that no manifest lists, and staged results."""
        kept = _files(self._retained)
        for table in (self.folder / "state").folders():
            for file in self.table_folder(table).names():
                if (table, file) not in kept:
                    self.table_folder(table).delete(file)
        for name in (self.folder / "results").folders():
            (self.folder / "results").delete_folder(name)


def _files(manifests: Iterable[Manifest]) -> set[tuple[str, str]]:
    """The table and file name of every segment in the manifests."""
    return {(t, s.file) for m in manifests for t, segments in m.tables.items() for s in segments}


def read_identity(folder: Folder) -> tuple[int, int]:
    """The format and the number of shards of a checkpoint.

    Args:
        folder: the folder of the checkpoint.

    Raises:
        CheckpointError: the file with the identity is missing or damaged, or has a newer format.
    """
    file = f"{folder.uri}/{IDENTITY}"
    try:
        identity = json.loads(folder.read(IDENTITY))
        version, shards = int(identity["format"]), int(identity["shards"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} is damaged ({error}); {RESTORE}") from error
    check_format(version, file)
    return version, shards


def _identify(folder: Folder, shards: int) -> int:
    """The number of shards of the checkpoint. A new checkpoint gets ``shards``."""
    if not folder.exists(IDENTITY):
        if (folder / "epochs").names():
            raise CheckpointError(f"{folder.uri}/{IDENTITY} is missing; {RESTORE}")
        folder.write(IDENTITY, json.dumps({"format": FORMAT, "shards": shards}).encode())
        return shards
    return read_identity(folder)[1]
