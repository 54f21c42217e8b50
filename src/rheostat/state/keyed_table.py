"""Keyed state in segments, where the newest row of a key counts: looks up keys, finds timers, folds and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import polars as pl

from rheostat.arrays import Flags, Ints
from rheostat.keyed.keyed_layout import DEAD, STATE, TOUCHED, WAKE, KeyedLayout
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from rheostat.state.window_table import TableReader, arrow_schema, to_polars, write_rows
from rheostat.windows.window_layout import GRANULE, HASH, START


@dataclass(frozen=True)
class KeyedReader:
    """Reads the state of the keys that one slot owns, in one epoch.

    Attributes:
        folder: the table's folder.
        layout: the columns of the rows.
        segments: the live segments, oldest first.
        owned: for every shard, True if it belongs to the slot.
        now: the time by which state expires, in microseconds; None if nothing expires.
        ttl: time to live of a key after its last change, in microseconds; None if it does not expire.
    """

    folder: Folder
    layout: KeyedLayout
    segments: Sequence[Segment]
    owned: Flags
    _: KW_ONLY
    now: int | None = None
    ttl: int | None = None

    def lookup(self, hashes: Ints) -> pl.DataFrame:
        """The state of the keys with these routing hashes.

        The time it takes is proportional to the number of hashes, not to the size of the state.
        """
        wanted = np.unique(hashes.view(np.uint64)).view(np.int64)
        frames = self._reader.rows_of(STATE, 0, wanted)
        return newest(self.layout, frames).filter(~self._gone())

    def due(self, after: int | None, until: int) -> pl.DataFrame:
        """The state of the slot's keys that may have a timer in ``(after, until]``."""
        reader = self._reader
        starts = [s for s in self._wakes(reader, after) if s <= until]
        hashes = [f[HASH].to_numpy() for start in starts for f in reader.rows(WAKE, start)]
        return self.lookup(np.concatenate(hashes) if hashes else np.empty(0, np.int64))

    def fold(self, after: int | None, *, complete: bool) -> list[pl.DataFrame]:
        """All rows of the slot that still count, with granule and start: state first, then timers.

        Args:
            after: the watermark up to which timers have been called; None before the first.
            complete: True if the reader has all live segments of the table. Only then may the row of a removed key be
                dropped; otherwise it must stay to hide older rows of the key.
        """
        reader = self._reader
        rows = newest(self.layout, reader.rows(STATE, 0))
        rows = rows.filter(~self._gone()) if complete else rows.with_columns(self._gone().alias(DEAD))
        alive = [to_granule(rows, STATE, 0)]
        for start in self._wakes(reader, after):
            alive += [to_granule(f, WAKE, start) for f in reader.rows(WAKE, start)]
        return alive

    def _wakes(self, reader: TableReader, after: int | None) -> list[int]:
        """The times later than ``after`` for which the index of timers has keys."""
        return [s for g, s in reader.keys() if g == WAKE and (after is None or s > after)]  # noqa: SIM118

    @property
    def _reader(self) -> TableReader:
        return TableReader(self.folder, self.layout, self.segments, self.owned)

    def _gone(self) -> pl.Expr:
        """An expression that is true for the row of a key that was removed or has expired."""
        if self.ttl is None or self.now is None:
            return pl.col(DEAD)
        return pl.col(DEAD) | (pl.col(TOUCHED) + self.ttl <= self.now).fill_null(False)


def newest(layout: KeyedLayout, oldest_first: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """One row per key: its newest one.

    Args:
        layout: the columns of the rows.
        oldest_first: frames with at most one row per key, oldest first.
    """
    if not oldest_first:
        return to_polars(arrow_schema(layout).empty_table())
    if len(oldest_first) == 1:
        return oldest_first[0]
    return pl.concat(oldest_first).unique(subset=layout.key_names, keep="last", maintain_order=True)


def to_granule(frame: pl.DataFrame, granule: int, start: int) -> pl.DataFrame:
    """The rows with the two columns of the granule instance they belong to."""
    where = pl.lit(granule, dtype=pl.Int16).alias(GRANULE), pl.lit(start, dtype=pl.Int64).alias(START)
    return frame.with_columns(*where)


def write_keys(
    folder: Folder,
    layout: KeyedLayout,
    state: pl.DataFrame,
    wakes: pl.DataFrame | None,
    folded: Sequence[pl.DataFrame],
    *,
    watermark: int | None,
    epoch: int,
    slot: int,
    shards: int,
) -> Segment | None:
    """Write changed keys, new timers and folded rows as one segment; None if there is nothing to write.

    A timer in the past is written with the time just after the watermark, so that it is due when the watermark next
    advances.

    Args:
        folder: the table's folder.
        layout: the columns of the rows.
        state: the rows of the keys that changed.
        wakes: keys with new timers: hash, key columns and ``start``; None if there are none.
        folded: rows of older segments that this one replaces, oldest first, as ``KeyedReader.fold`` returns them.
        watermark: the watermark up to which timers have been called; None before the first.
        epoch: the epoch that writes them.
        slot: the slot that writes them.
        shards: the number of shards.
    """
    rows = [*(f.filter(pl.col(GRANULE) == STATE) for f in folded), to_granule(state, STATE, 0)]
    merged = newest(layout, [r for r in rows if len(r)]) if any(len(r) for r in rows) else rows[-1]
    parts = [merged, *(f.filter(pl.col(GRANULE) == WAKE) for f in folded)]
    if wakes is not None and len(wakes):
        earliest = pl.col(START) if watermark is None else pl.max_horizontal(START, pl.lit(watermark + 1))
        parts.append(
            wakes.with_columns(earliest, pl.lit(WAKE, dtype=pl.Int16).alias(GRANULE)).unique(maintain_order=True)
        )
    every = pl.concat([p for p in parts if len(p)], how="diagonal") if any(len(p) for p in parts) else merged
    return write_rows(folder, layout, every, epoch=epoch, slot=slot, shards=shards)
