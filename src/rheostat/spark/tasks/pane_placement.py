"""Places new partials in the granules they belong to, as ``windows.lateness`` decides for each pane."""

from __future__ import annotations

import polars as pl

from rheostat.spark.stage.specs import WindowTableSpec
from rheostat.spark.stage.task_reports import TableReport
from rheostat.windows.consolidation import PANE
from rheostat.windows.lateness import place
from rheostat.windows.partials import ROWS
from rheostat.windows.window_layout import GRANULE, START

_HOME = "home"


def place_partials(table_spec: WindowTableSpec, new: pl.DataFrame, report: TableReport) -> pl.DataFrame:
    """The new partials with the granules they belong to.

    Args:
        table_spec: the table.
        new: new partials, with the ``start`` of their pane.
        report: the report on the table; late and dropped rows are counted in it.
    """
    plan, layout, watermark = table_spec.table.plan, table_spec.table.layout, table_spec.before
    placements = {start: place(plan, start, watermark) for start in new[START].unique().to_list()}
    report.late = _rows_in(new, [start for start, p in placements.items() if p.late])
    report.dropped = _rows_in(new, [start for start, p in placements.items() if p.dropped])
    if all(p.homes == ((PANE, start),) for start, p in placements.items()):
        names = [c.name for c in layout.columns]
        return new.select(pl.lit(PANE, dtype=pl.Int16).alias(GRANULE), START, *names)
    homes = [(start, granule, home) for start, p in placements.items() for granule, home in p.homes]
    where = pl.DataFrame(homes, schema={START: pl.Int64, GRANULE: pl.Int16, _HOME: pl.Int64}, orient="row")
    placed = new.join(where, on=START).drop(START).rename({_HOME: START})
    # Late rows of several panes may belong to the same granule, where a segment holds each key only once.
    return layout.merge(placed, within=[GRANULE, START])


def _rows_in(partials: pl.DataFrame, starts: list[int]) -> int:
    """The number of rows in the partials of these panes."""
    return int(partials.filter(pl.col(START).is_in(starts))[ROWS].sum()) if starts else 0
