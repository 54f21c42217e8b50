"""Window tables: write the new partials of an epoch as a segment, and refresh the open windows that changed."""

from __future__ import annotations

import time

import polars as pl
import pyarrow as pa

from rheostat.arrays import Flags
from rheostat.elastic.routing.table import owned, shards_of
from rheostat.planning.feeds import MAX_TIME, Feed
from rheostat.planning.results import finish
from rheostat.spark.stage.specs import StageSpec, WindowTableSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.spark.tasks.feed_rows import feeds_of
from rheostat.spark.tasks.pane_placement import place_partials
from rheostat.spark.tasks.received_rows import note_received
from rheostat.spark.tasks.result_files import write_results
from rheostat.state.window_table import TableReader, arrow_schema, fit_to_schema, to_polars, write_rows
from rheostat.windows.custom import GROUP, Custom
from rheostat.windows.partials import ROWS
from rheostat.windows.refresh import refresh
from rheostat.windows.window_layout import GRANULE, HASH, START, WindowLayout


def ingest_partials(spec: StageSpec, table_spec: WindowTableSpec, arrived: pa.Table | None, report: PartReport) -> None:
    """Ingest the new partials of a table, in this order:

    1. Read them from the table's feeds, and count the rows that they aggregate.
    2. Place them in the granules they belong to, and count late rows.
    3. Write them as one segment, together with the rows of older segments to fold.
    4. Refresh the open windows that changed, for operators that emit updates.

    Args:
        spec: the stage.
        table_spec: the table.
        arrived: all rows that the task received; None if there are none.
        report: the report of the task; what it does here is added.
    """
    began = time.perf_counter()
    routing = spec.routing[report.component]
    table_report = report.tables[table_spec.table.name] = TableReport()
    new = new_partials(spec, table_spec, arrived, report)
    placed = [] if new is None or new.is_empty() else [place_partials(table_spec, new, table_report)]
    rows = with_folded(table_spec, placed, owned(routing, report.slot))
    if rows is not None:
        table_report.segment = write_rows(
            table_spec.folder, table_spec.table.layout, rows, epoch=spec.epoch, slot=report.slot, shards=len(routing)
        )
    if new is not None:
        _write_refreshed(spec, table_spec, new, report)
        table_report.seconds = time.perf_counter() - began
        report.tally.spend(shards_of(new[HASH].to_numpy(), len(routing)), table_report.seconds)


def new_partials(
    spec: StageSpec, table_spec: WindowTableSpec, arrived: pa.Table | None, report: PartReport
) -> pl.DataFrame | None:
    """The new partials, one row per pane and key; None if nothing arrived for the table."""
    layout, table_report = table_spec.table.layout, report.tables[table_spec.table.name]
    fresh: list[pl.DataFrame] = []
    single = False
    for feed, rows in feeds_of(spec, table_spec.table.name, arrived):
        frame = to_polars(_cast_state_columns(rows, layout))
        note_received(report, feed.stream, frame, len(spec.routing[report.component]))
        fresh.append(_partials_of_rows(layout, frame) if feed.raw else _count_rows(table_report, feed, frame))
        single = single or feed.single
    if not fresh:
        return None
    names = [START, *(c.name for c in layout.columns)]
    new = pl.concat([_complete(f, layout).select(names) for f in fresh])
    if len(fresh) > 1:
        new = layout.merge(new, within=[START])
    elif single:
        new = layout.merge_repeated(new, within=[START])
    table_report.partials = len(new)
    return new


def with_folded(table_spec: WindowTableSpec, placed: list[pl.DataFrame], mine: Flags) -> pl.DataFrame | None:
    """The rows of the segment to write: the new ones and those of the segments to fold; None if there are none.

    Args:
        table_spec: the table.
        placed: the new rows, with granule and start.
        mine: for every shard, True if this task folds its rows.
    """
    layout, plan, watermark = table_spec.table.layout, table_spec.table.plan, table_spec.before
    parts = list(placed)
    if table_spec.fold:
        reader = TableReader(table_spec.folder, layout, table_spec.fold, mine)
        names = [GRANULE, START, *(c.name for c in layout.columns)]
        alive = reader.live(lambda g, s: watermark is None or plan.expiry(g, s) > watermark)
        parts += [f.select(names) for f in alive]
    if not parts:
        return None
    rows = pl.concat(parts)
    return layout.merge(rows, within=[GRANULE, START]) if len(parts) > 1 else rows


def _write_refreshed(spec: StageSpec, table_spec: WindowTableSpec, changed: pl.DataFrame, report: PartReport) -> None:
    """Write the current values of the open windows that changed, if some operator emits them."""
    table, written = table_spec.table, report.tables[table_spec.table.name].segment
    if not table.refreshes or changed.is_empty():
        return
    segments = (*table_spec.segments, *([written] if written else []))
    reader = TableReader(table_spec.folder, table.layout, segments, owned(spec.routing[report.component], report.slot))
    refreshed = list(refresh(reader, table.layout, table.plan, changed, table_spec.before))
    for output in table.outputs:
        if output.emit == "update" and output.operator in spec.staging:
            write_results(spec, output.operator, finish(output, refreshed), report)


def _cast_state_columns(rows: pa.Table, layout: WindowLayout) -> pa.Table:
    """The rows with the types of the state, in the columns that the state has."""
    state = arrow_schema(layout)
    return rows.cast(pa.schema([state.field(f.name) if f.name in state.names else f for f in rows.schema]))


def _count_rows(report: TableReport, feed: Feed, frame: pl.DataFrame) -> pl.DataFrame:
    """Count the rows of a feed in the report, and return the partials of those with event time."""
    timed = frame.filter(pl.col(START).is_not_null()) if frame[START].null_count() else frame
    if feed.counted:
        rows = int(frame[ROWS].sum())
        report.rows += rows
        report.nulls += rows - int(timed[ROWS].sum())
        if len(timed):
            newest = timed[MAX_TIME].max()
            assert isinstance(newest, int)
            report.max_time = newest if report.max_time is None else max(report.max_time, newest)
    return timed


def _partials_of_rows(layout: WindowLayout, rows: pl.DataFrame) -> pl.DataFrame:
    """The partials of user-written aggregates, computed from rows; the other columns of the state are missing."""
    by = [START, *layout.key_names]
    groups = rows.group_by(by).agg(pl.col(HASH).first()).with_row_index(GROUP)
    numbered = rows.join(groups.select(GROUP, *by), on=by, nulls_equal=True)
    inputs = numbered.rename({n: n.removeprefix("r.") for n in numbered.columns if n.startswith("r.")})
    for partial in layout.partials:
        if isinstance(partial, Custom):
            groups = groups.join(partial.compute_groups(inputs), on=GROUP, how="left")
    return groups.drop(GROUP)


def _complete(frame: pl.DataFrame, layout: WindowLayout) -> pl.DataFrame:
    """The frame with all columns and types of the state; columns that it does not have are null."""
    schema = arrow_schema(layout)
    if all(name in frame.columns for name in schema.names):
        return frame
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return to_polars(fit_to_schema(table, pa.schema([pa.field(START, pa.int64()), *schema])))
