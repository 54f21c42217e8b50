"""Refreshing windows: the current value of every open window that changed in an epoch (``emit="update"``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import polars as pl

from rheostat.arrays import Ints
from rheostat.windows.close import MergedGranule
from rheostat.windows.consolidation import PANE, ConsolidationPlan
from rheostat.windows.window_layout import HASH, WindowLayout

_PANE_START = "pane_start"


class KeyedGranules(Protocol):
    """Read access to the partials of some keys."""

    def rows_of(self, granule: int, start: int, hashes: Ints) -> list[pl.DataFrame]:
        """The rows of an instance whose routing hash is among ``hashes`` (sorted as unsigned)."""


def refresh(
    state: KeyedGranules, layout: WindowLayout, plan: ConsolidationPlan, changed: pl.DataFrame, watermark: int | None
) -> Iterator[MergedGranule]:
    """Every open window instance that contains changed rows, with the merged partials of the keys that changed in it.

    Args:
        state: the partials, including those that changed.
        layout: the columns of the table.
        plan: how its windows are derived; it must keep all panes of open windows (``panes_only``).
        changed: hash, keys and ``start`` of the pane of every partial that changed.
        watermark: windows that end at or before it were refreshed for the last time.
    """
    if changed.is_empty():
        return
    largest = max(g.window.size for g in plan.granules if g.requested)
    pane = plan.pane
    panes = changed["start"].unique().sort().to_list()
    # Every pane that some open window shares with a changed one.
    reach = sorted({t for p in panes for t in range(p - largest + pane.size, p + largest, pane.size)})
    hashes = np.sort(changed[HASH].unique().to_numpy().view(np.uint64)).view(np.int64)
    gathered = [
        frame.with_columns(pl.lit(t, dtype=pl.Int64).alias(_PANE_START))
        for t in reach
        for frame in state.rows_of(PANE, t, hashes)
    ]
    if not gathered:
        return  # everything that changed was too late, or lies between windows
    known = pl.concat(gathered)
    by = layout.key_names or [HASH]
    for number, granule in enumerate(plan.granules):
        if not granule.requested:
            continue
        window = granule.window
        for start in sorted({s for p in panes for s in window.containing(p)}):
            end = start + window.size
            if watermark is not None and end <= watermark:
                continue
            inside = pl.col("start").is_between(start, end, closed="left")
            keys = changed.filter(inside).select(by).unique()
            rows = known.filter(pl.col(_PANE_START).is_between(start, end, closed="left"))
            rows = rows.join(keys, on=by, how="semi", nulls_equal=True)
            yield MergedGranule(number, start, layout.merge(layout.concat([rows])))
