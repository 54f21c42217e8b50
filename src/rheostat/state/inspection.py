"""The contents of a checkpoint as plain values, for ``rheostat inspect``. The checkpoint is read without owning it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheostat.elastic.loop.decision import Decision
from rheostat.elastic.loop.events import Event, EventKind, decisions_of, parsed
from rheostat.elastic.routing.balance import imbalance, slot_loads
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.elastic.routing.table import shards_of
from rheostat.errors import CheckpointError
from rheostat.state import compaction
from rheostat.state.checkpoint import IDENTITY, read_identity
from rheostat.state.event_log import read_events
from rheostat.state.files import Folder
from rheostat.state.manifest import Manifest, decode
from rheostat.state.segments import Segment, open_segment
from rheostat.windows.window_layout import HASH


def inspect(uri: str) -> dict[str, Any]:
    """The contents of a checkpoint as plain values. A query that runs on it is not disturbed.

    Args:
        uri: path or URI of the checkpoint: the folder passed to ``start``.

    Raises:
        CheckpointError: the folder is not a checkpoint, is damaged, or has a newer format.
    """
    folder = Folder.at(uri)
    if not folder.exists(IDENTITY):
        raise CheckpointError(
            f"{folder.uri} is not a checkpoint: it has no {IDENTITY}; pass the folder that was passed to start()"
        )
    version, shards = read_identity(folder)
    manifests = _manifests(folder)
    newest = manifests[-1] if manifests else Manifest()
    events = parsed(read_events(folder / "events"))
    return {
        "checkpoint": folder.uri,
        "format": version,
        "shards": shards,
        "epoch": newest.epoch,
        "totals": dict(newest.totals),
        "watermarks": dict(newest.watermarks),
        "operators": {n: {"table": e["table"], "keys": e["keys"]} for n, e in newest.topology.items()},
        "epochs": [_epoch(m, before) for before, m in zip([None, *manifests], manifests, strict=False)],
        "components": {name: _component(newest, name, routing) for name, routing in newest.routing.items()},
        "tables": {n: _table(folder, n, segments, shards) for n, segments in newest.tables.items()},
        "changes": [dict(c) for c in newest.changes],
        "decisions": [_decision(d) for d in decisions_of(events)],
        "events": [_event(e) for e in events if e.kind not in (EventKind.DECISION, EventKind.OUTCOME)],
    }


def _decision(decision: Decision) -> dict[str, Any]:
    """A decision as plain values."""
    return {**decision.to_json(), "slots": list(decision.slots), "reasons": list(decision.reasons)}


def _event(event: Event) -> dict[str, Any]:
    """An event that is not about a decision, as plain values."""
    plain = event.to_json()
    return {name: plain[name] for name in ("number", "epoch", "time", "kind", "values")}


def _manifests(folder: Folder) -> list[Manifest]:
    """All manifests, oldest first, without those that a running query deletes meanwhile."""
    epochs = folder / "epochs"
    manifests = []
    for name in epochs.names():
        if name.endswith(".json"):
            try:
                manifests.append(decode(epochs.read(name), f"{epochs.uri}/{name}"))
            except CheckpointError:
                if epochs.exists(name):
                    raise
    return manifests


def _epoch(manifest: Manifest, before: Manifest | None) -> dict[str, Any]:
    """One epoch in numbers.

    Args:
        manifest: the manifest of the epoch.
        before: the manifest of the epoch before; None if it is not retained.
    """
    written = [s for segments in manifest.tables.values() for s in segments if s.epoch == manifest.epoch]
    files_before = {s.file for segments in (before.tables.values() if before else ()) for s in segments}
    files = {s.file for segments in manifest.tables.values() for s in segments}
    rows = manifest.totals.get("rows", 0)
    return {
        "epoch": manifest.epoch,
        # Totals are cumulative: the rows of the oldest retained epoch are unknown, unless it is epoch 0.
        "rows": rows - before.totals.get("rows", 0) if before else rows if manifest.epoch == 0 else None,
        "state_rows": manifest.state_rows,
        "state_bytes": manifest.state_bytes,
        "segments": len(files),
        "written": len(written),
        "written_bytes": sum(s.bytes for s in written),
        "folded": len(files_before - files),
        "slots": {name: max(routing) + 1 for name, routing in manifest.routing.items()},
    }


def _component(manifest: Manifest, name: str, routing: Sequence[int]) -> dict[str, Any]:
    """The routing and the load of a component."""
    slots = max(routing) + 1
    loads = ShardLoads.of_text(len(routing), manifest.loads.get(name, "")).seconds
    by_slot = slot_loads(routing, loads, slots)
    busiest = [int(s) for s in np.argsort(-loads)[:10] if loads[s] > 0]
    return {
        "slots": slots,
        "shards_per_slot": np.bincount(np.asarray(routing), minlength=slots).tolist(),
        "seconds_per_slot": [round(float(s), 5) for s in by_slot],
        "imbalance": round(imbalance(by_slot), 3),
        "busiest_shards": [{"shard": s, "slot": routing[s], "seconds": round(float(loads[s]), 5)} for s in busiest],
        "routing": list(routing),
    }


def _table(folder: Folder, name: str, segments: Sequence[Segment], shards: int) -> dict[str, Any]:
    """The segments of a table, and how its bytes are spread over shards."""
    sizes = np.zeros(shards)
    for segment in segments:
        held = shards_of(open_segment(folder / "state" / name, segment).table.column(HASH).to_numpy(), shards)
        sizes += np.bincount(held, minlength=shards) * (segment.bytes / max(segment.rows, 1))
    ranks: dict[int, int] = {}
    for segment in segments:
        ranks[compaction.rank(segment.rows)] = ranks.get(compaction.rank(segment.rows), 0) + 1
    return {
        "rows": sum(s.rows for s in segments),
        "bytes": sum(s.bytes for s in segments),
        "segments": [{"file": s.file, "epoch": s.epoch, "rows": s.rows, "bytes": s.bytes} for s in segments],
        "segments_by_rank": dict(sorted(ranks.items())),
        "shard_bytes": {
            "mean": round(float(sizes.mean())),
            "largest": round(float(sizes.max())),
            "largest_shard": int(sizes.argmax()),
            "empty": int((sizes == 0).sum()),
        },
    }
