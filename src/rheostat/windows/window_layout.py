"""The columns of a window table, and how its rows are merged: one Polars ``group_by`` for all partials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rheostat.windows.custom import GROUP, Custom
from rheostat.windows.partials import ROW_COUNT, ROWS, Column, Partial

HASH = "hash"
"""State column with the routing hash, which determines a row's shard and its position in a segment."""

GRANULE, START = "granule", "start"
"""Columns with the granule number and the start of a state row's instance. Segments keep them in their index."""

_FEW = 0.3
"""Share of rows with a hash that other rows have, up to which setting the others aside pays."""


@dataclass(frozen=True)
class WindowLayout:
    """The columns of a window table.

    Attributes:
        keys: the key columns, named ``k.NAME``.
        partials: the partials of a key; they include ``ROW_COUNT``.

    >>> layout = WindowLayout(keys=(Column("k.area", "string"),), partials=(ROW_COUNT,))
    >>> frame = pl.DataFrame({"hash": [7, 7], "k.area": ["a", "a"], "p.count(*)": [2, 3]})
    >>> layout.merge(frame).rows()
    [(7, 'a', 5)]
    """

    keys: tuple[Column, ...]
    partials: tuple[Partial, ...]

    def __post_init__(self) -> None:
        if ROW_COUNT not in self.partials:
            raise ValueError("the partials of a table must include ROW_COUNT")

    @property
    def key_names(self) -> list[str]:
        """Names of the key columns."""
        return [k.name for k in self.keys]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of a row: hash, keys, partials."""
        return (Column(HASH, "bigint"), *self.keys, *(c for p in self.partials for c in p.columns))

    @property
    def subtractable(self) -> bool:
        """True if every partial of the table can be subtracted exactly."""
        return all(p.subtractable for p in self.partials)

    def merge(self, frame: pl.DataFrame, within: Sequence[str] = ()) -> pl.DataFrame:
        """Merge all rows of a key into one.

        Args:
            frame: any number of rows per key.
            within: additional columns to group by.

        Raises:
            OverflowError: a sum of integers does not fit into a bigint.
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

    def merge_repeated(self, frame: pl.DataFrame, within: Sequence[str] = ()) -> pl.DataFrame:
        """As ``merge``, for keys that hardly ever repeat: rows whose hash no other row has are left as they are.

        A row with a hash of its own has a key of its own. Finding these rows costs a fraction of grouping them.

        Args:
            frame: any number of rows per key.
            within: additional columns to group by.

        Raises:
            OverflowError: a sum of integers does not fit into a bigint.
        """
        repeated = frame[HASH].is_duplicated()
        if int(repeated.sum()) > _FEW * len(frame):
            return self.merge(frame, within)
        alone = frame.filter(~repeated).select(*within, *(c.name for c in self.columns))
        return pl.concat([alone, self.merge(frame.filter(repeated), within)])

    def concat(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """All rows of the frames, with this table's columns only."""
        names = [c.name for c in self.columns]
        return pl.concat([f.select(names) for f in frames])

    def negate(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows with all partials negated, for running totals; the partials must be subtractable."""
        return frame.with_columns(-pl.col(c.name) for p in self.partials for c in p.columns)

    def drop_empty(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame without the keys that have no rows left after subtraction."""
        return frame.filter(pl.col(ROWS) != 0)
