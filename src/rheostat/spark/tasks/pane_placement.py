"""The granules that new partials belong to. ``windows.lateness`` decides it pane by pane; here it is applied."""

from __future__ import annotations

import polars as pl

from rheostat.spark.stage.specs import WindowTableSpec
from rheostat.spark.stage.task_reports import TableReport
from rheostat.windows.consolidation import PANE
from rheostat.windows.lateness import place
from rheostat.windows.partials import ROWS
from rheostat.windows.window_layout import GRANULE, START

_HOME = "home"


def place_partials(given: WindowTableSpec, new: pl.DataFrame, report: TableReport) -> pl.DataFrame:
    """New partials with the granules they belong to; late and dropped rows are counted in the report.

    Args:
        given: the table.
        new: new partials, with ``start`` of their pane.
        report: what is told to the driver.
    """
    placements = {start: place(given.table.plan, start, given.before) for start in new[START].unique().to_list()}
    report.late = _rows_in(new, [start for start, p in placements.items() if p.late])
    report.dropped = _rows_in(new, [start for start, p in placements.items() if p.dropped])
    if all(p.homes == ((PANE, start),) for start, p in placements.items()):
        names = [c.name for c in given.table.layout.columns]
        return new.select(pl.lit(PANE, dtype=pl.Int16).alias(GRANULE), START, *names)
    homes = [(start, granule, home) for start, p in placements.items() for granule, home in p.homes]
    where = pl.DataFrame(homes, schema={START: pl.Int64, GRANULE: pl.Int16, _HOME: pl.Int64}, orient="row")
    placed = new.join(where, on=START).drop(START).rename({_HOME: START})
    # Late rows of several panes may meet in one stored granule; a segment holds each key there once.
    return given.table.layout.merge(placed, within=[GRANULE, START])


def _rows_in(partials: pl.DataFrame, starts: list[int]) -> int:
    """The number of rows in the partials of these panes."""
    return int(partials.filter(pl.col(START).is_in(starts))[ROWS].sum()) if starts else 0
