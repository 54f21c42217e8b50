"""A checkpoint: the folder with everything a query needs to continue after a stop or a crash.

rheostat.json     format and shard count; fixed when the checkpoint is made
owner.json        which process runs the query
epochs/N.json     manifests, the newest ones
state/TABLE/      segments
results/          results of the current epoch, until sinks have them
aside/SOURCE/     rows kept aside, by epoch
spark/            Spark's own offsets and commits
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import pairwise

from rheostat.errors import CheckpointError
from rheostat.state.files import Folder
from rheostat.state.lock import CheckpointLock
from rheostat.state.manifest import FORMAT, Manifest, decode, encode, file_name

IDENTITY = "rheostat.json"
"""The file that makes a folder a checkpoint."""


class Checkpoint:
    """A checkpoint that this process owns. Get it with ``Checkpoint.open``; give it up with ``close``.

    Attributes:
        folder: where it is.
        shards: number of shards, fixed for the checkpoint's life.
        manifest: the newest manifest; an empty one, of epoch -1, in a new checkpoint.
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
            shards: number of shards for a new checkpoint; an existing one keeps its own.
            retain: how many epochs' manifests and segments to keep, at least 2.

        Raises:
            CheckpointInUseError: a running query owns it.
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
        """Commit an epoch. Before step 2 nothing of the epoch counts; after it everything does.

        1. Make sure that this process still owns the checkpoint.
        2. Write the manifest, completely or not at all.
        3. Delete what no retained manifest mentions any more.
        """
        if manifest.epoch != self.manifest.epoch + 1:
            raise CheckpointError(f"epoch {manifest.epoch} cannot follow epoch {self.manifest.epoch}")
        self._lock.renew()
        (self.folder / "epochs").write(file_name(manifest.epoch), encode(manifest))
        self._retained.append(manifest)
        self.manifest = manifest
        self._forget()

    def forget_tables(self, except_for: Collection[str]) -> None:
        """Continue without the state of all other tables. It is lost with the next commit, not before.

        Args:
            except_for: the tables to keep.
        """
        kept = {name: segments for name, segments in self.manifest.tables.items() if name in except_for}
        self.manifest = replace(self.manifest, tables=kept)

    def close(self) -> None:
        """Give up ownership."""
        self._lock.release()

    def table_folder(self, table: str) -> Folder:
        """Where a table's segments are."""
        return self.folder / "state" / table

    def _read_manifests(self) -> list[Manifest]:
        folder = self.folder / "epochs"
        names = [n for n in folder.names() if n.endswith(".json")]
        oldest = file_name(int(names[-1].removesuffix(".json")) - self._retain + 1) if names else ""
        for stale in [n for n in names if n < oldest]:
            folder.delete(stale)  # an earlier run retained more
        names = [n for n in names if n >= oldest]
        manifests = [decode(folder.read(n), f"{folder.uri}/{n}") for n in names]
        for earlier, later in pairwise(manifests):
            if later.epoch != earlier.epoch + 1:
                raise CheckpointError(
                    f"manifest {folder.uri}/{file_name(earlier.epoch + 1)} is missing; "
                    "restore it from a copy of the checkpoint"
                )
        return manifests

    def _forget(self) -> None:
        forgotten = self._retained[: -self._retain]
        if not forgotten:
            return
        self._retained = self._retained[-self._retain :]
        kept = _files(self._retained)
        for table, file in _files(forgotten) - kept:
            self.table_folder(table).delete(file)
        for manifest in forgotten:
            (self.folder / "epochs").delete(file_name(manifest.epoch))

    def _delete_orphans(self) -> None:
        """Remove what a killed epoch left behind: segments that no manifest mentions, and staged results."""
        kept = _files(self._retained)
        for table in (self.folder / "state").folders():
            for file in self.table_folder(table).names():
                if (table, file) not in kept:
                    self.table_folder(table).delete(file)
        for name in (self.folder / "results").folders():
            (self.folder / "results").delete_folder(name)


def _files(manifests: Iterable[Manifest]) -> set[tuple[str, str]]:
    return {(t, s.file) for m in manifests for t, segments in m.tables.items() for s in segments}


def _identify(folder: Folder, shards: int) -> int:
    """The number of shards of the checkpoint, which is fixed when it is created."""
    if not folder.exists(IDENTITY):
        if (folder / "epochs").names():
            raise CheckpointError(f"{folder.uri}/{IDENTITY} is missing; restore it from a copy of the checkpoint")
        folder.write(IDENTITY, json.dumps({"format": FORMAT, "shards": shards}).encode())
        return shards
    file = f"{folder.uri}/{IDENTITY}"
    try:
        identity = json.loads(folder.read(IDENTITY))
        version, kept = int(identity["format"]), int(identity["shards"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} is damaged ({error}); restore it from a copy of the checkpoint") from error
    if version > FORMAT:
        raise CheckpointError(
            f"{file} has format {version}, and this version of Rheostat reads up to {FORMAT}: "
            "use the version that wrote the checkpoint, or a newer one"
        )
    return kept
