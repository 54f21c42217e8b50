"""Window tables: write an epoch's new partials as a segment, and refresh the open windows that changed."""

from __future__ import annotations

import time

import polars as pl
import pyarrow as pa

from rheostat.elastic.routing.table import owned, shards_of
from rheostat.planning.feeds import ARRIVAL, MAX_TIME, Feed
from rheostat.planning.results import finish
from rheostat.spark.stage.specs import StageSpec, WindowTableSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.spark.tasks.arrival_times import arrivals_of
from rheostat.spark.tasks.feed_rows import feeds_of
from rheostat.spark.tasks.pane_placement import place_partials
from rheostat.spark.tasks.result_files import write_results
from rheostat.state.window_table import TableReader, arrow_schema, to_polars, write_rows
from rheostat.windows.custom import GROUP, Custom
from rheostat.windows.partials import ROWS
from rheostat.windows.refresh import refresh
from rheostat.windows.window_layout import GRANULE, HASH, START, WindowLayout


def take_partials(spec: StageSpec, given: WindowTableSpec, arrived: pa.Table | None, report: PartReport) -> None:
    """Take the partials that arrived for a table in, in this order:

    1. Read them out of the table's feeds, and count the rows they stand for.
    2. Place them in the granules they belong to, and count late rows.
    3. Write them as one segment, together with the rows of older segments that are folded.
    4. Refresh the open windows that changed, for operators that emit updates.

    Args:
        spec: the stage.
        given: the table.
        arrived: everything that arrived at the task; None if nothing did.
        report: what the task did so far; it is added to.
    """
    began = time.perf_counter()
    routing = spec.routing[report.component]
    did = report.tables[given.table.name] = TableReport()
    new = _new_partials(spec, given, arrived, did)
    placed = [] if new is None or new.is_empty() else [place_partials(given, new, did)]
    rows = _with_folded(given, placed, routing, report.slot)
    if rows is not None:
        did.segment = write_rows(
            given.folder, given.table.layout, rows, epoch=spec.epoch, slot=report.slot, shards=len(routing)
        )
    if new is not None:
        _write_refreshed(spec, given, new, report)
        report.spend(shards_of(new[HASH].to_numpy(), len(routing)), time.perf_counter() - began)


def _new_partials(
    spec: StageSpec, given: WindowTableSpec, arrived: pa.Table | None, report: TableReport
) -> pl.DataFrame | None:
    """One row per pane and key of what arrived; None if nothing did."""
    layout = given.table.layout
    fresh: list[pl.DataFrame] = []
    for feed, rows in feeds_of(spec, given.table.name, arrived):
        frame = to_polars(_cast_known(rows, layout))
        fresh.append(_partials_of_rows(layout, frame) if feed.raw else _count_in(report, feed, frame))
    if not fresh:
        return None
    names = [START, *(c.name for c in layout.columns)]
    new = pl.concat([_complete(f, layout).select(names) for f in fresh])
    return layout.merge(new, within=[START]) if len(fresh) > 1 else new


def _with_folded(
    given: WindowTableSpec, placed: list[pl.DataFrame], routing: tuple[int, ...], slot: int
) -> pl.DataFrame | None:
    """The rows of the epoch's segment: new ones, and those of the segments to fold; None if there are none."""
    layout, plan, watermark = given.table.layout, given.table.plan, given.before
    parts = list(placed)
    if given.fold:
        reader = TableReader(given.folder, layout, given.fold, owned(routing, slot))
        names = [GRANULE, START, *(c.name for c in layout.columns)]
        alive = reader.live(lambda g, s: watermark is None or plan.expiry(g, s) > watermark)
        parts += [f.select(names) for f in alive]
    if not parts:
        return None
    rows = pl.concat(parts)
    return layout.merge(rows, within=[GRANULE, START]) if len(parts) > 1 else rows


def _write_refreshed(spec: StageSpec, given: WindowTableSpec, changed: pl.DataFrame, report: PartReport) -> None:
    """Write the current values of the open windows that changed, if some operator emits them."""
    table, written = given.table, report.tables[given.table.name].segment
    if not table.refreshes or changed.is_empty():
        return
    now = (*given.segments, *([written] if written else []))
    reader = TableReader(given.folder, table.layout, now, owned(spec.routing[report.component], report.slot))
    refreshed = list(refresh(reader, table.layout, table.plan, changed, given.before))
    for output in table.outputs:
        if output.emit == "update" and output.operator in spec.staging:
            write_results(spec, output.operator, finish(output, refreshed), report)


def _cast_known(rows: pa.Table, layout: WindowLayout) -> pa.Table:
    """The rows with the types of the state, for columns that the state has."""
    known = arrow_schema(layout)
    return rows.cast(pa.schema([known.field(f.name) if f.name in known.names else f for f in rows.schema]))


def _count_in(report: TableReport, feed: Feed, frame: pl.DataFrame) -> pl.DataFrame:
    """Count a feed's rows, and leave those without event time out."""
    timed = frame.filter(pl.col(START).is_not_null()) if frame[START].null_count() else frame
    report.partials += len(timed)
    if feed.counted:
        rows = int(frame[ROWS].sum())
        report.rows += rows
        report.nulls += rows - int(timed[ROWS].sum())
        if len(timed):
            newest = timed[MAX_TIME].max()
            assert isinstance(newest, int)
            report.max_time = newest if report.max_time is None else max(report.max_time, newest)
        if ARRIVAL in frame.columns:
            report.arrivals = arrivals_of(frame)
    return timed


def _partials_of_rows(layout: WindowLayout, rows: pl.DataFrame) -> pl.DataFrame:
    """Partials of user-written aggregates, made from rows; they have no other columns of the state."""
    by = [START, *layout.key_names]
    groups = rows.group_by(by).agg(pl.col(HASH).first()).with_row_index(GROUP)
    numbered = rows.join(groups.select(GROUP, *by), on=by, nulls_equal=True)
    inputs = numbered.rename({n: n.removeprefix("r.") for n in numbered.columns if n.startswith("r.")})
    for partial in layout.partials:
        if isinstance(partial, Custom):
            groups = groups.join(partial.compute_groups(inputs), on=GROUP, how="left")
    return groups.drop(GROUP)


def _complete(frame: pl.DataFrame, layout: WindowLayout) -> pl.DataFrame:
    """The frame with every column of the state, null where it had none, in the types of the state."""
    schema = arrow_schema(layout)
    missing = [f for f in schema if f.name not in frame.columns]
    if not missing:
        return frame
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    for field in missing:
        table = table.append_column(field, pa.nulls(len(table), field.type))
    return to_polars(table.select([START, *schema.names]).cast(pa.schema([pa.field(START, pa.int64()), *schema])))
