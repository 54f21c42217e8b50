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
        """The rows of an instance whose routing hash is in ``hashes``, which are sorted as unsigned integers."""


def refresh(
    state: KeyedGranules, layout: WindowLayout, plan: ConsolidationPlan, changed: pl.DataFrame, watermark: int | None
) -> Iterator[MergedGranule]:
    """Merge every open window instance that contains changed rows, for the keys that changed in it.

    Args:
        state: the partials, including those that changed.
        layout: the columns of the table.
        plan: how its windows are derived; it must keep all panes of open windows (``panes_only``).
        changed: one row per changed partial, with its hash, its keys and the ``start`` of its pane.
        watermark: windows that end at or before it are closed and no longer refreshed; None if none is.
    """
    if changed.is_empty():
        return
    largest = max(g.window.size for g in plan.granules if g.requested)
    pane = plan.pane
    panes = changed["start"].unique().sort().to_list()
    # All panes that may lie in the same window as a changed one.
    reach = sorted({t for p in panes for t in range(p - largest + pane.size, p + largest, pane.size)})
    hashes = np.sort(changed[HASH].unique().to_numpy().view(np.uint64)).view(np.int64)
    frames = [
        frame.with_columns(pl.lit(t, dtype=pl.Int64).alias(_PANE_START))
        for t in reach
        for frame in state.rows_of(PANE, t, hashes)
    ]
    if not frames:
        return  # all changed rows were late or fell into gaps between windows
    partials = pl.concat(frames)
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
            rows = partials.filter(pl.col(_PANE_START).is_between(start, end, closed="left"))
            rows = rows.join(keys, on=by, how="semi", nulls_equal=True)
            yield MergedGranule(number, start, layout.merge(layout.concat([rows])))
