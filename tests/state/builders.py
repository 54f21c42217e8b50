"""Small tables, segments and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rheostat.state.checkpoint import Checkpoint
from rheostat.state.files import Folder
from rheostat.state.manifest import Manifest
from rheostat.state.segments import Segment
from rheostat.state.window_table import write_rows
from rheostat.windows.partials import ROW_COUNT, ROWS, Column
from rheostat.windows.window_layout import GRANULE, HASH, START, WindowLayout

LAYOUT = WindowLayout((Column("k.key", "string"),), (ROW_COUNT,))
SHARDS = 16

Row = tuple[int, int, int, str, int]
"""Granule, start, hash, key, count."""


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows as a task has them before it writes them."""
    schema = {GRANULE: pl.Int16, START: pl.Int64, HASH: pl.Int64, "k.key": pl.String, ROWS: pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def written(folder: Folder, rows: Sequence[Row], epoch: int = 0, slot: int = 0) -> Segment:
    """The rows as a segment."""
    folder.create()
    segment = write_rows(folder, LAYOUT, frame(rows), epoch=epoch, slot=slot, shards=SHARDS)
    assert segment is not None
    return segment


def remote(path: Path) -> Folder:
    """A local folder with a URI like that of a remote one, so that its files cannot be opened by path."""
    return Folder(f"file://{path}")


def mounted(path: Path) -> Folder:
    """A folder on a network filesystem, as far as we know."""
    return Folder.at(f"mounted://{path}")


def commit(checkpoint: Checkpoint, segments: Sequence[Segment], table: str = "area") -> Manifest:
    """Commit the next epoch with these live segments."""
    manifest = checkpoint.manifest.at(checkpoint.manifest.epoch + 1, tables={table: tuple(segments)})
    checkpoint.commit(manifest)
    return manifest


def segment(file: str, epoch: int = 0, rows: int = 1, size: int = 1) -> Segment:
    """The description of a segment in a manifest, without a file."""
    return Segment(file=file, epoch=epoch, rows=rows, bytes=size, spans={0: (0, 0)}, shards=(0, SHARDS - 1))
