"""Manifests: the state of a query after an epoch. Writing the manifest is the commit of the epoch."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.errors import CheckpointError
from rheostat.state.segments import Segment

FORMAT = 2
"""Version of the format of checkpoints. Older versions can be read, newer ones are refused."""

RESTORE = "restore it from a copy of the checkpoint"
"""What to do about a file that is missing or damaged."""


@dataclass(frozen=True, kw_only=True)
class SourceState:
    """The state of a source: its newest event time, and its counts since the checkpoint was created.

    Attributes:
        max_time: newest event time in microseconds; None before the first row.
        rows: rows read, including rows without event time.
        late: rows that missed at least one window.
        dropped: rows that missed every window.
        nulls: rows without event time.
    """

    max_time: int | None = None
    rows: int = 0
    late: int = 0
    dropped: int = 0
    nulls: int = 0

    def watermark(self, slack: int) -> int | None:
        """The newest event time minus the slack, in microseconds; None before the first row.

        Args:
            slack: how long to wait for late rows, in microseconds.
        """
        return None if self.max_time is None else self.max_time - slack


@dataclass(frozen=True)
class Manifest:
    """The state of a query after an epoch.

    Attributes:
        epoch: number of the epoch; -1 before the first.
        topology: by operator with state, its description when the state was written.
        sources: by source, its newest event time and counts.
        watermarks: by clock, the watermark up to which windows have been closed, in microseconds.
        routing: by component, the slot of every shard.
        tables: by table, its live segments, oldest first.
        totals: counters since the checkpoint was created.
        loads: by component, the useful seconds per epoch of its shards, as ``ShardLoads`` writes them.
        changes: the latest changes of routing as plain values, oldest first.
        learned: by apply operator, what it has learned of costs, as plain values.
        traffic: by window table, its partials and useful seconds per epoch.
        forms: by table whose form was watched, what is known of split and combined, as plain values.
        homes: by component, the host that each slot prefers; empty if that does not matter.
    """

    epoch: int = -1
    _: KW_ONLY
    topology: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: Mapping[str, SourceState] = field(default_factory=dict)
    watermarks: Mapping[str, int | None] = field(default_factory=dict)
    routing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tables: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    loads: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Any]] = ()
    learned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    traffic: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    forms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    homes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def state_bytes(self) -> int:
        """Size of all live segments, in bytes."""
        return sum(s.bytes for segments in self.tables.values() for s in segments)

    @property
    def state_rows(self) -> int:
        """Number of rows in all live segments."""
        return sum(s.rows for segments in self.tables.values() for s in segments)

    def at(self, epoch: int, **changes: Any) -> Manifest:
        """A copy of this manifest for another epoch.

        Args:
            epoch: number of the epoch.
            changes: new values of fields.
        """
        return replace(self, epoch=epoch, **changes)


def encode(manifest: Manifest) -> bytes:
    """The contents of a manifest file: a line with format, checksum and size, then JSON."""
    body = json.dumps(
        {
            "epoch": manifest.epoch,
            "topology": dict(manifest.topology),
            "sources": {n: vars(s) for n, s in manifest.sources.items()},
            "watermarks": dict(manifest.watermarks),
            "routing": {n: list(r) for n, r in manifest.routing.items()},
            "tables": {n: [s.to_json() for s in segments] for n, segments in manifest.tables.items()},
            "totals": dict(manifest.totals),
            "loads": dict(manifest.loads),
            "changes": list(manifest.changes),
            "learned": dict(manifest.learned),
            "traffic": dict(manifest.traffic),
            "forms": dict(manifest.forms),
            "homes": {n: list(homes) for n, homes in manifest.homes.items()},
        },
        separators=(",", ":"),
    ).encode()
    header = f"rheostat manifest {FORMAT} {zlib.crc32(body):08x} {len(body)}\n"
    return header.encode() + body


def decode(data: bytes, file: str) -> Manifest:
    """The manifest in a file, as ``encode`` wrote it.

    Args:
        data: the contents of the file.
        file: name of the file, for errors.

    Raises:
        CheckpointError: the file is damaged, is not a manifest, or has a newer format.
    """
    header, _, body = data.partition(b"\n")
    words = header.split()
    if len(words) != 5 or words[:2] != [b"rheostat", b"manifest"] or not (words[2] + words[4]).isdigit():
        raise CheckpointError(f"{file} is not a manifest; {_advice(file)}")
    version, size = int(words[2]), int(words[4])
    check_format(version, file)
    if len(body) != size or f"{zlib.crc32(body):08x}".encode() != words[3]:
        raise CheckpointError(f"manifest {file} is damaged or truncated; {_advice(file)}")
    value = json.loads(body)
    return Manifest(
        value["epoch"],
        topology=value["topology"],
        sources={n: SourceState(**s) for n, s in value["sources"].items()},
        watermarks=value["watermarks"],
        routing={n: tuple(r) for n, r in value["routing"].items()},
        tables={n: tuple(Segment.from_json(s) for s in segments) for n, segments in value["tables"].items()},
        totals=value["totals"],
        loads={n: loads if isinstance(loads, str) else _text(loads) for n, loads in value.get("loads", {}).items()},
        changes=tuple(value.get("changes", ())),
        learned=value.get("learned", {}),
        traffic=value.get("traffic", {}),
        forms=value.get("forms", {}),
        homes={n: tuple(homes) for n, homes in value.get("homes", {}).items()},
    )


def _text(loads: list[list[Any]]) -> str:
    """Loads as format 1 has them, pairs of a shard and its seconds, in the way of format 2."""
    return ShardLoads.of(max((shard for shard, _ in loads), default=-1) + 1, ((s, v) for s, v in loads)).to_text()


def check_format(version: int, file: str) -> None:
    """Refuse a file whose format is newer than ``FORMAT``.

    Args:
        version: the format of the file.
        file: name of the file.

    Raises:
        CheckpointError: the format is newer.
    """
    if version > FORMAT:
        raise CheckpointError(
            f"{file} has format {version}, and this version of Rheostat reads up to {FORMAT}: "
            "use the version that wrote the checkpoint, or a newer one"
        )


def file_name(epoch: int) -> str:
    """The name of an epoch's manifest; names sort like epochs."""
    return f"{epoch:012d}.json"


def _advice(file: str) -> str:
    """What to do about a damaged manifest."""
    try:
        epoch = int(file.rsplit("/", 1)[-1].removesuffix(".json"))
    except ValueError:
        return RESTORE
    return (
        f"{RESTORE}, or, if it is the newest manifest, delete it together with "
        f"spark/commits/{epoch}: epoch {epoch} is then repeated from the one before"
    )
