"""Tables in segments: reading the rows of granules, and writing rows as a new segment."""

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
from rheostat.elastic.routing.table import shards_of
from rheostat.state.files import Folder
from rheostat.state.segments import GranuleKey, OpenSegment, Segment, open_segment, write_segment
from rheostat.types import arrow_type
from rheostat.windows.partials import Column
from rheostat.windows.window_layout import GRANULE, HASH, START


class HasColumns(Protocol):
    """The columns of a table's rows: a ``WindowLayout`` or a ``KeyedLayout``."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, the routing hash first."""


def arrow_schema(layout: HasColumns) -> pa.Schema:
    """The columns of a table's rows as they are in a segment."""
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in layout.columns])


def to_polars(table: pa.Table) -> pl.DataFrame:
    """The same rows in Polars; numbers are not copied."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


@dataclass(frozen=True)
class TableReader:
    """The rows of a table that one slot owns, at one epoch.

    Attributes:
        folder: where the segments are.
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

    def _fitted(self, part: pa.Table) -> pa.Table:
        """Rows in the table's columns and types; an older segment may have other columns or narrower types."""
        if part.schema.equals(self._schema):
            return part
        missing = [f for f in self._schema if f.name not in part.schema.names]
        for field in missing:
            part = part.append_column(field, pa.nulls(len(part), field.type))
        return part.select(self._schema.names).cast(self._schema)

    @cached_property
    def _where(self) -> dict[GranuleKey, list[tuple[Segment, OpenSegment]]]:
        """For every granule instance the segments that have rows of it, oldest first."""
        where: dict[GranuleKey, list[tuple[Segment, OpenSegment]]] = {}
        for segment in self.segments:
            first, last = segment.shards
            if self.owned[first : last + 1].any():
                opened = open_segment(self.folder, segment)
                for key in opened.index:
                    where.setdefault(key, []).append((segment, opened))
        return where

    def keys(self) -> Iterable[GranuleKey]:
        """The granule instances that have rows, of this slot or of others."""
        return self._where.keys()

    def count(self, granule: int, start: int) -> int:
        """How many rows an instance has in the segments, before merging and including rows of other slots."""
        key = (granule, start)
        return sum(opened.index[key][1] for _, opened in self._where.get(key, ()))

    def rows(self, granule: int, start: int) -> list[pl.DataFrame]:
        """The slot's rows of an instance, one frame per segment that has some."""
        key = (granule, start)
        frames = [self._owned_rows(s, opened.slice(key)) for s, opened in self._where.get(key, ())]
        return [f for f in frames if len(f)]

    def rows_of(self, granule: int, start: int, hashes: Ints) -> list[pl.DataFrame]:
        """The rows of an instance that have one of these routing hashes.

        It takes time in proportion to the number of hashes, not to the number of rows.

        Args:
            granule: number of the granule.
            start: start of the instance.
            hashes: the routing hashes, sorted as unsigned integers.
        """
        frames = []
        wanted = hashes.view(np.uint64)
        for _, opened in self._where.get((granule, start), ()):
            part = opened.slice((granule, start))
            have = part.column(HASH).to_numpy().view(np.uint64)
            hits = _ranges(np.searchsorted(have, wanted, side="left"), np.searchsorted(have, wanted, side="right"))
            if len(hits):
                frames.append(to_polars(self._fitted(part.take(pa.array(hits)))))
        return frames

    def live(self, alive: Callable[[int, int], bool]) -> Iterator[pl.DataFrame]:
        """All rows of the slot that are still needed, with granule and start.

        Args:
            alive: from granule and start to True if the instance is still needed.
        """
        for granule, start in self._where:
            if alive(granule, start):
                for frame in self.rows(granule, start):
                    yield frame.with_columns(
                        pl.lit(granule, dtype=pl.Int16).alias(GRANULE), pl.lit(start, dtype=pl.Int64).alias(START)
                    )

    def _owned_rows(self, segment: Segment, part: pa.Table) -> pl.DataFrame:
        first, last = segment.shards
        frame = to_polars(self._fitted(part))
        if self.owned[first : last + 1].all():
            return frame
        shards = shards_of(part.column(HASH).to_numpy(), len(self.owned))
        return frame.filter(pl.Series(self.owned[shards]))


def write_rows(
    folder: Folder, layout: HasColumns, frame: pl.DataFrame, *, epoch: int, slot: int, shards: int
) -> Segment | None:
    """Sort rows and write them as a segment; None if there are none.

    The file's name is new for every attempt, so an attempt that is repeated or abandoned does no harm.

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
    size = write_segment(folder, file, table, index)
    held = shards_of(ordered[HASH].to_numpy(), shards)
    return Segment(
        file=file,
        epoch=epoch,
        rows=len(ordered),
        bytes=size,
        spans=spans,
        shards=(int(held.min()), int(held.max())),
    )


def _ranges(first: npt.NDArray[np.intp], last: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """All positions in the ranges [first, last), in order.

    >>> _ranges(np.array([0, 5]), np.array([2, 8]))
    array([0, 1, 5, 6, 7])
    """
    lengths = last - first
    offsets = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return offsets + np.arange(lengths.sum())
