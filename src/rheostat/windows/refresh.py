"""Refreshing windows: the current value of every open window that changed in an epoch (``emit="update"``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from rheostat.windows.close import ClosedGranule
from rheostat.windows.consolidation import PANE, ConsolidationPlan
from rheostat.windows.window_layout import HASH, WindowLayout

_PANE_START = "pane_start"


class KeyedGranules(Protocol):
    """Read access to the partials of some keys."""

    def rows_of(self, granule: int, start: int, hashes: npt.NDArray[np.int64]) -> list[pl.DataFrame]:
        """The rows of an instance whose routing hash is among ``hashes`` (sorted as unsigned)."""


def refresh(
    state: KeyedGranules, layout: WindowLayout, plan: ConsolidationPlan, changed: pl.DataFrame, watermark: int | None
) -> Iterator[ClosedGranule]:
    """Every open window instance that contains changed rows, with the merged partials of the keys that changed in it.

    Args:
        state: the partials, the changed ones included.
        changed: hash, keys and ``start`` of the pane, of everything that changed.
        watermark: windows that end at or before it have had their last value.
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
        return  # everything that changed came too late, or fell between windows
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
            yield ClosedGranule(number, start, layout.merge(layout.concat([rows])))
