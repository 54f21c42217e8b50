"""Reads the rows of a table from its segments, by granule, and writes rows as a new segment."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from rheostat.arrays import Flags, Ints
from rheostat.elastic.routing.table import first_hashes, shards_of
from rheostat.state.files import Folder
from rheostat.state.segments import GranuleKey, OpenSegment, Segment, open_segment, write_segment
from rheostat.state.shard_groups import groups_of
from rheostat.types import arrow_type
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import GRANULE, HASH, START

_MANY = 64
"""Above so many ranges of shards, rows are filtered instead of cut out."""


class HasColumns(Protocol):
    """Anything that lists the columns of a table: a ``WindowLayout`` or a ``KeyedLayout``."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, the routing hash first."""


def arrow_schema(layout: HasColumns) -> pa.Schema:
    """The Arrow schema of a table's rows in a segment."""
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in layout.columns])


def to_polars(table: pa.Table) -> pl.DataFrame:
    """The same rows as a Polars frame; numbers are not copied."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def fit_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly the columns and types of a schema; columns that it does not have are null."""
    for field in schema:
        if field.name not in table.schema.names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(schema)


@dataclass(frozen=True)
class TableReader:
    """Reads the rows of a table that one slot owns, in one epoch.

    Attributes:
        folder: the table's folder.
        layout: the columns of the rows.
        segments: the live segments, oldest first.
        owned: for every shard, True if it belongs to the slot.
    """

    folder: Folder
    layout: HasColumns
    segments: Sequence[Segment]
    owned: Flags

    @cached_property
    def _schema(self) -> pa.Schema:
        return arrow_schema(self.layout)

    def _fit(self, part: pa.Table) -> pa.Table:
        """Rows in the table's columns and types; an older segment may have other columns or narrower types."""
        return part if part.schema.equals(self._schema) else fit_to_schema(part, self._schema)

    @cached_property
    def _segments_of(self) -> dict[GranuleKey, list[tuple[Segment, OpenSegment]]]:
        """By granule instance, the segments that have rows of it, oldest first."""
        segments_of: dict[GranuleKey, list[tuple[Segment, OpenSegment]]] = {}
        for segment in self.segments:
            if segment.has_any(self.owned):
                opened = open_segment(self.folder, segment)
                for key in opened.index:
                    segments_of.setdefault(key, []).append((segment, opened))
        return segments_of

    def keys(self) -> Iterable[GranuleKey]:
        """The granule instances with rows in the segments, including those with rows of other slots only."""
        return self._segments_of.keys()

    def count(self, granule: int, start: int) -> int:
        """The number of rows of an instance in all segments, before merging and including rows of other slots."""
        key = (granule, start)
        return sum(opened.index[key][1] for _, opened in self._segments_of.get(key, ()))

    def rows(self, granule: int, start: int) -> list[pl.DataFrame]:
        """The slot's rows of an instance, one frame per segment that has any, oldest first."""
        key = (granule, start)
        frames = [self._owned_rows(s, opened.slice(key)) for s, opened in self._segments_of.get(key, ())]
        return [f for f in frames if len(f)]

    def rows_of(self, granule: int, start: int, hashes: Ints) -> list[pl.DataFrame]:
        """The rows of an instance with one of these routing hashes, one frame per segment that has any, oldest first.

        The time it takes is proportional to the number of hashes, not to the number of rows.

        Args:
            granule: number of the granule.
            start: start of the instance.
            hashes: the routing hashes, sorted as unsigned integers.
        """
        frames = []
        wanted = hashes.view(np.uint64)
        for _, opened in self._segments_of.get((granule, start), ()):
            part = opened.slice((granule, start))
            stored = part.column(HASH).to_numpy().view(np.uint64)
            first, last = (np.searchsorted(stored, wanted, side=side) for side in ("left", "right"))
            positions = _ranges(first, last)
            if len(positions):
                frames.append(to_polars(self._fit(part.take(pa.array(positions)))))
        return frames

    def live(self, alive: Callable[[int, int], bool]) -> Iterator[pl.DataFrame]:
        """All rows of the slot that are still needed, with granule and start.

        Args:
            alive: True for a granule and a start if the instance is still needed.
        """
        for granule, start in self._segments_of:
            if alive(granule, start):
                for frame in self.rows(granule, start):
                    yield frame.with_columns(
                        pl.lit(granule, dtype=pl.Int16).alias(GRANULE), pl.lit(start, dtype=pl.Int64).alias(START)
                    )

    @cached_property
    def _owned_ranges(self) -> list[tuple[np.uint64, np.uint64 | None]]:
        """The hashes of the slot's shards, as few ranges [first, end); None is the end of all hashes."""
        starts = first_hashes(len(self.owned))
        edges = np.flatnonzero(np.diff(self.owned.astype(np.int8), prepend=0, append=0))
        return [(starts[a], starts[b] if b < len(starts) else None) for a, b in edges.reshape(-1, 2)]

    def _owned_rows(self, segment: Segment, part: pa.Table) -> pl.DataFrame:
        first, last = segment.shards
        frame = to_polars(self._fit(part))
        if self.owned[first : last + 1].all():
            return frame
        column = part.column(HASH).to_numpy()
        if len(self._owned_ranges) > _MANY:
            return frame.filter(pl.Series(self.owned[shards_of(column, len(self.owned))]))
        # Rows are sorted by hash, and a shard is a range of hashes: neighbouring shards are one slice.
        hashes = column.view(np.uint64)
        slices = []
        for start, end in self._owned_ranges:
            begin = int(np.searchsorted(hashes, start))
            stop = len(hashes) if end is None else int(np.searchsorted(hashes, end))
            if stop > begin:
                slices.append(frame.slice(begin, stop - begin))
        return slices[0] if len(slices) == 1 else pl.concat(slices) if slices else frame.clear()


def write_rows(
    folder: Folder, layout: HasColumns, frame: pl.DataFrame, *, epoch: int, slot: int, shards: int
) -> Segment | None:
    """Sort rows and write them as a segment; None if there are no rows.

    Every attempt uses a new file name, so repeated or abandoned attempts do no harm.

    Args:
        folder: the table's folder.
        layout: the columns of the rows.
        frame: the rows, with granule and start.
        epoch: the epoch that writes them.
        slot: the slot that writes them.
        shards: the number of shards.
    """
    if frame.is_empty():
        return None
    ordered = frame.sort(GRANULE, START, pl.col(HASH).reinterpret(signed=False))
    index = ordered.select(GRANULE, START).group_by(GRANULE, START, maintain_order=True).len().rows()
    spans: dict[int, tuple[int, int]] = {}
    for granule, start, _ in index:
        spans[granule] = (spans.get(granule, (start, start))[0], start)
    schema = arrow_schema(layout)
    table = ordered.select(schema.names).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)
    file = f"{epoch:012d}-{slot}-{uuid.uuid4().hex[:12]}.arrow"
    size, checksum = write_segment(folder, file, table, index)
    row_shards = shards_of(ordered[HASH].to_numpy(), shards)
    held = np.bincount(row_shards)
    return Segment(
        file=file,
        epoch=epoch,
        rows=len(ordered),
        bytes=size,
        spans=spans,
        shards=(int(row_shards.min()), int(row_shards.max())),
        checksum=checksum,
        groups=None if checksum is None else groups_of(np.pad(held > 0, (0, shards - len(held)))),
        held=held,
    )


def _ranges(first: npt.NDArray[np.intp], last: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """All positions in the ranges [first, last), in order.

    >>> _ranges(np.array([0, 5]), np.array([2, 8]))
    array([0, 1, 5, 6, 7])
    """
    lengths = last - first
    offsets = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return offsets + np.arange(lengths.sum())
