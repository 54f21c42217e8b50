"""Merging partials: one Polars ``group_by`` over all the partials of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rheostat.windows.custom import GROUP, Custom
from rheostat.windows.partials import ROW_COUNT, ROWS, Column, Partial

HASH = "hash"
"""State column with the routing hash: shard and order inside a segment follow from it."""

GRANULE, START = "granule", "start"
"""Columns that say, in memory, to which granule instance a state row belongs; in a segment the index says it."""


@dataclass(frozen=True)
class WindowLayout:
    """The columns of a state table: key columns, then the partials, the row count always among them.

    >>> layout = WindowLayout(keys=(Column("k.area", "string"),), partials=(ROW_COUNT,))
    >>> frame = pl.DataFrame({"hash": [7, 7], "k.area": ["a", "a"], "p.count(*)": [2, 3]})
    >>> layout.merge(frame).rows()
    [(7, 'a', 5)]
    """

    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]

    def __post_init__(self) -> None:
        if ROW_COUNT not in self.partials:
            raise ValueError("every table counts its rows")

    @property
    def key_names(self) -> list[str]:
        return [k.name for k in self.keys]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of a partial row: hash, keys, partials."""
        return (Column(HASH, "bigint"), *self.keys, *(c for p in self.partials for c in p.columns))

    @property
    def subtractable(self) -> bool:
        """Whether running totals are exact for every partial of the table."""
        return all(p.subtractable for p in self.partials)

    def merge(self, frame: pl.DataFrame, within: Sequence[str] = ()) -> pl.DataFrame:
        """One row per key out of any number of partials of it; ``within`` names columns that keep keys apart too.

        Raises:
            OverflowError: a sum of integers left the range of bigint.
        """
        by = [*within, *(self.key_names or [HASH])]
        routing = [pl.col(HASH).first()] if self.keys else []
        built_in = [e for p in self.partials if not isinstance(p, Custom) for e in p.merge()]
        custom = [p for p in self.partials if isinstance(p, Custom)]
        try:
            merged = frame.group_by(by).agg(*routing, *built_in)
        except pl.exceptions.InvalidOperationError as error:
            raise OverflowError(f"a sum does not fit into a bigint: {error}") from error
        if custom:
            merged = merged.with_row_index(GROUP)
            grouped = frame.join(merged.select(GROUP, *by), on=by, nulls_equal=True)
            for partial in custom:
                merged = merged.join(partial.merge_groups(grouped), on=GROUP, how="left")
        return merged.select(*within, *(c.name for c in self.columns))

    def concat(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """All rows of the frames, with this table's columns only."""
        names = [c.name for c in self.columns]
        return pl.concat([f.select(names) for f in frames])

    def negated(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The same partials with the sign turned, for running totals. Only for subtractable tables."""
        return frame.with_columns(-pl.col(c.name) for p in self.partials for c in p.columns)

    def present(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Without the keys that have no rows left after subtraction."""
        return frame.filter(pl.col(ROWS) != 0)
