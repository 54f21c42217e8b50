"""Segments: immutable Arrow files that hold partials, sorted, with an index of where each granule's rows are.

Rows are sorted by granule, start and hash. The index lives in the file's schema metadata, so a reader that wants one
granule maps the file and touches only the pages of that granule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from rheostat.errors import CheckpointError
from rheostat.state.cache import local_copy
from rheostat.state.files import Folder

_INDEX = b"rheostat.index"
_ADVICE = "restore it from a copy of the checkpoint, or start afresh with a new checkpoint"

GranuleKey = tuple[int, int]
"""A granule's number and the start of an instance of it."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A segment as a manifest knows it.

    Attributes:
        file: name in the table's folder.
        epoch: the epoch that wrote it.
        rows: number of rows.
        bytes: size of the file.
        spans: for every granule in it, the first and last start of an instance.
        shards: first and last shard in it.
    """

    file: str
    epoch: int
    rows: int
    bytes: int
    spans: Mapping[int, tuple[int, int]]
    shards: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """The segment as plain values."""
        return {
            "file": self.file,
            "epoch": self.epoch,
            "rows": self.rows,
            "bytes": self.bytes,
            "spans": [[g, *span] for g, span in self.spans.items()],
            "shards": list(self.shards),
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
        )


@dataclass(frozen=True)
class OpenSegment:
    """A memory-mapped segment.

    Attributes:
        table: its rows.
        index: for every granule instance, the offset and the number of its rows.
    """

    table: pa.Table
    index: Mapping[GranuleKey, tuple[int, int]]

    def slice(self, key: GranuleKey) -> pa.Table:
        """The rows of one granule instance that the index lists, without copying."""
        offset, length = self.index[key]
        return self.table.slice(offset, length)


def write_segment(folder: Folder, file: str, table: pa.Table, index: Iterable[tuple[int, int, int]]) -> int:
    """Write sorted rows as one record batch, and return the size of the file in bytes.

    Args:
        folder: where to write.
        file: name of the file.
        table: the rows, sorted by granule, start and hash.
        index: granule, start and number of rows of every instance, in order.
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
    return int(data.size)


def open_segment(folder: Folder, segment: Segment) -> OpenSegment:
    """Map a segment into memory.

    Raises:
        CheckpointError: the file is missing, truncated or not a segment; the message names it.
    """
    name = f"{folder.uri}/{segment.file}"
    for last_try in (False, True):
        path = local_copy(folder, segment.file)
        try:
            size = path.stat().st_size
            if size != segment.bytes:
                raise CheckpointError(
                    f"segment {name} has {size} bytes, not the {segment.bytes} that were written; {_ADVICE}"
                )
            return _map(str(path), size, name)
        except FileNotFoundError:
            # A copy in the node's cache may be deleted by another process that needs room; a second one is fresh.
            if last_try or folder.is_local:
                raise CheckpointError(f"segment {name} is missing; {_ADVICE}") from None
    raise AssertionError("unreachable")


@lru_cache(maxsize=512)
def _map(path: str, size: int, name: str) -> OpenSegment:  # noqa: ARG001 - a file of another size is another file
    source = pa.memory_map(path)
    try:
        table = pa.ipc.open_file(source).read_all()
        entries = json.loads(table.schema.metadata[_INDEX])
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"segment {name} cannot be read ({error}); {_ADVICE}") from error
    index: dict[GranuleKey, tuple[int, int]] = {}
    offset = 0
    for granule, start, rows in entries:
        index[granule, start] = (offset, rows)
        offset += rows
    return OpenSegment(table, index)
