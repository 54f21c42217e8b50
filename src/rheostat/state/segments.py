"""Segments: immutable Arrow files with sorted rows and an index of the rows of each granule instance.

Rows are sorted by granule, start and hash. The index is in the metadata of the file's schema, so a reader of one
granule maps the file into memory and touches only the pages of that granule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from rheostat.arrays import Flags, Ints
from rheostat.errors import CheckpointError
from rheostat.state.cache import LOST, checksum_of, keep_copy, local_copy
from rheostat.state.files import Folder
from rheostat.state.shard_groups import groups_of

_INDEX = b"rheostat.index"

GranuleKey = tuple[int, int]
"""A granule instance: the number of the granule and the start of the instance."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The description of a segment in a manifest.

    Attributes:
        file: name of the file in the table's folder.
        epoch: the epoch that wrote it.
        rows: number of rows.
        bytes: size of the file in bytes.
        spans: by granule, the first and the last start of its instances in the segment.
        shards: the first and the last shard in the segment.
        checksum: ``checksum_of`` the file; None if it is on a local filesystem, or an older version wrote it.
        groups: ``groups_of`` the shards in the segment; None where ``checksum`` is.
        held: the rows of every shard, up to the last that has any; only where it was written, None elsewhere.
    """

    file: str
    epoch: int
    rows: int
    bytes: int
    spans: Mapping[int, tuple[int, int]]
    shards: tuple[int, int]
    checksum: int | None = None
    groups: int | None = None
    held: Ints | None = field(default=None, compare=False, repr=False)

    def has_any(self, owned: Flags) -> bool:
        """True if the segment may have rows of some of these shards.

        Args:
            owned: for every shard, True if it is one of them.
        """
        first, last = self.shards
        if not owned[first : last + 1].any():
            return False
        return self.groups is None or bool(self.groups & groups_of(owned))

    def to_json(self) -> dict[str, Any]:
        """The segment as plain values."""
        remote = {"checksum": self.checksum, "groups": f"{self.groups:x}"} if self.groups is not None else {}
        return {
            "file": self.file,
            "epoch": self.epoch,
            "rows": self.rows,
            "bytes": self.bytes,
            "spans": [[g, *span] for g, span in self.spans.items()],
            "shards": list(self.shards),
            **remote,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Segment:
        """The segment that ``to_json`` wrote."""
        return cls(
            file=value["file"],
            epoch=value["epoch"],
            rows=value["rows"],
            bytes=value["bytes"],
            spans={g: (first, last) for g, first, last in value["spans"]},
            shards=(value["shards"][0], value["shards"][1]),
            checksum=value.get("checksum"),
            groups=int(value["groups"], 16) if "groups" in value else None,
        )


@dataclass(frozen=True)
class OpenSegment:
    """A memory-mapped segment.

    Attributes:
        table: the rows.
        index: by granule instance, the offset and the number of its rows.
    """

    table: pa.Table
    index: Mapping[GranuleKey, tuple[int, int]]

    def slice(self, key: GranuleKey) -> pa.Table:
        """The rows of one granule instance, without copying; it must be in the index."""
        offset, length = self.index[key]
        return self.table.slice(offset, length)


def write_segment(
    folder: Folder, file: str, table: pa.Table, index: Iterable[tuple[int, int, int]]
) -> tuple[int, int | None]:
    """Write sorted rows as one record batch. Return the size of the file in bytes, and its checksum if it is remote.

    Args:
        folder: the table's folder.
        file: name of the file.
        table: the rows, sorted by granule, start and hash.
        index: granule, start and number of rows of every granule instance, in the same order.
    """
    entries = json.dumps(list(index), separators=(",", ":")).encode()
    described = table.combine_chunks().replace_schema_metadata({_INDEX: entries})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, described.schema) as writer:
        for batch in described.to_batches():
            writer.write_batch(batch)
    data = sink.getvalue()
    with folder.filesystem.open_output_stream(folder.path(file)) as stream:
        stream.write(data)
    if folder.is_local:
        return int(data.size), None
    keep_copy(folder, file, data)
    return int(data.size), checksum_of(data)


def open_segment(folder: Folder, segment: Segment) -> OpenSegment:
    """Map a segment into memory.

    Raises:
        CheckpointError: the file is missing, truncated, damaged or not a segment; the message names it.
    """
    name = f"{folder.uri}/{segment.file}"
    for last_try in (False, True):
        path = local_copy(folder, segment.file, segment.bytes, segment.checksum)
        try:
            size = path.stat().st_size
            if size != segment.bytes:
                raise CheckpointError(
                    f"segment {name} has {size} bytes, not the {segment.bytes} that were written; {LOST}"
                )
            return _map(str(path), size, name)
        except FileNotFoundError:
            # Another process may have deleted the copy in the node's cache to free space: copy the segment again.
            if last_try or folder.is_local:
                raise CheckpointError(f"segment {name} is missing; {LOST}") from None
    raise AssertionError("unreachable")


@lru_cache(maxsize=512)
def _map(path: str, size: int, name: str) -> OpenSegment:  # noqa: ARG001 - a file of another size is another file
    source = pa.memory_map(path)
    try:
        table = pa.ipc.open_file(source).read_all()
        entries = json.loads(table.schema.metadata[_INDEX])
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"segment {name} cannot be read ({error}); {LOST}") from error
    index: dict[GranuleKey, tuple[int, int]] = {}
    offset = 0
    for granule, start, rows in entries:
        index[granule, start] = (offset, rows)
        offset += rows
    return OpenSegment(table, index)
