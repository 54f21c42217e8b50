"""What runs inside Python workers: taking partials in, and closing windows.

Each task owns one slot of one component. It reads the segments of its shards, writes new ones under names of its own,
and returns one line: what it did. Nothing it writes counts until the driver commits an epoch that mentions it, so tasks
may be killed, repeated or run twice at any time.
"""

from __future__ import annotations

import gc
import time
import uuid
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext

from rheostat.elastic.routing.table import owned, shards_of
from rheostat.errors import OperatorError
from rheostat.planning.feeds import ARRIVAL, FEED, MAX_TIME, Feed
from rheostat.planning.results import finish
from rheostat.spark.stage.specs import KeyedTableSpec, PartReport, ResultFile, StageSpec, TableReport, WindowTableSpec
from rheostat.spark.tasks.arrival_times import arrivals_of
from rheostat.spark.tasks.keyed_task import call_timers, take_rows
from rheostat.state.cache import drain_fetches
from rheostat.state.window_table import TableReader, arrow_schema, to_polars, write_rows
from rheostat.windows.close import ClosedGranule, close
from rheostat.windows.custom import GROUP, Custom
from rheostat.windows.lateness import place
from rheostat.windows.partials import ROWS
from rheostat.windows.refresh import refresh
from rheostat.windows.window_layout import GRANULE, HASH, START, WindowLayout

REPORT_SCHEMA = "report string"

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def ingest_task(spec: StageSpec) -> Task:
    """The stage that takes an epoch's partials in."""
    return _task(spec, _ingest_part)


def close_task(spec: StageSpec) -> Task:
    """The stage that closes windows."""
    return _task(spec, _close_part)


def _task(spec: StageSpec, work: Callable[[StageSpec, int, Iterable[pa.RecordBatch]], PartReport]) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        drain_fetches()
        try:
            report = work(spec, part, batches)
        except OverflowError as error:
            names = [o for t in spec.tables[spec.parts[part][0]] for o in t.table.operators]
            raise OperatorError(", ".join(names), str(error)) from error
        _count_fetches(spec, report)
        yield pa.RecordBatch.from_pydict({"report": [report.to_json()]})

    return run


def _count_fetches(spec: StageSpec, report: PartReport) -> None:
    """How many bytes the task had to copy to this node, and how many of them because shards came to its slot."""
    routing = spec.routing[report.component]
    came = [s for s in spec.moved.get(report.component, ()) if routing[s] == report.slot]
    known: list[WindowTableSpec | KeyedTableSpec] = [*spec.tables[report.component], *spec.keyed[report.component]]
    ranges = {s.file: s.shards for given in known for s in (*given.segments, *given.fold)}
    for file, size in drain_fetches():
        report.fetched += size
        first, last = ranges.get(file, (0, -1))
        report.migrated += size if any(first <= s <= last for s in came) else 0


_settled = False


def _settle() -> None:
    """PySpark collects garbage after every task, over everything imported. Frozen once, a task costs ~30 ms less."""
    global _settled  # noqa: PLW0603 - once per worker process
    if not _settled:
        gc.collect()
        gc.freeze()
        _settled = True


def _ingest_part(spec: StageSpec, part: int, batches: Iterable[pa.RecordBatch]) -> PartReport:
    component, slot = spec.parts[part]
    arrived = list(batches)
    began = time.perf_counter()
    report = PartReport(component, slot)
    table = pa.Table.from_batches(arrived) if arrived else None
    for given in spec.tables[component]:
        before = time.perf_counter()
        taken, changed = _take_in(spec, given, slot, table, spec.routing[component])
        report.tables[given.table.name] = taken
        if any(o.emit == "update" for o in given.table.outputs) and changed is not None and len(changed):
            now = (*given.segments, *([taken.segment] if taken.segment else []))
            reader = TableReader(given.folder, given.table.layout, now, owned(spec.routing[component], slot))
            refreshed = list(refresh(reader, given.table.layout, given.table.plan, changed, given.before))
            report.results += _write_results(spec, given, slot, refreshed, "update")
        if changed is not None:
            shards = shards_of(changed[HASH].to_numpy(), len(spec.routing[component]))
            report.spend(shards, time.perf_counter() - before)
    for keyed in spec.keyed[component]:
        take_rows(spec, keyed, slot, table, report)
    report.seconds = time.perf_counter() - began
    return report


def _take_in(
    spec: StageSpec, given: WindowTableSpec, slot: int, arrived: pa.Table | None, routing: tuple[int, ...]
) -> tuple[TableReport, pl.DataFrame | None]:
    """Write what arrived for a table as a segment; also what changed, by pane and key."""
    report = TableReport()
    layout = given.table.layout
    fresh: list[pl.DataFrame] = []
    for feed in spec.feeds:
        if arrived is None or feed.table != given.table.name:
            continue
        frame = _unpack(feed, len(spec.feeds) > 1, layout, arrived)
        if feed.raw:
            fresh.append(_partials_of_rows(layout, frame))
        else:
            fresh.append(_count_in(report, feed, frame))
    names = [START, *(c.name for c in layout.columns)]
    new = pl.concat([_completed(f, layout).select(names) for f in fresh]) if fresh else None
    if new is not None and len(fresh) > 1:
        new = layout.merge(new, within=[START])
    placed = [] if new is None or new.is_empty() else [_placed(report, given, new)]
    if given.fold:
        reader = TableReader(given.folder, layout, given.fold, owned(routing, slot))
        plan, watermark = given.table.plan, given.before
        alive = list(reader.live(lambda g, s: watermark is None or plan.expiry(g, s) > watermark))
        placed += [f.select(GRANULE, *names) for f in alive]
    if placed:
        rows = pl.concat(placed)
        if len(placed) > 1:
            rows = layout.merge(rows, within=[GRANULE, START])
        report.segment = write_rows(given.folder, layout, rows, epoch=spec.epoch, slot=slot, shards=len(routing))
    return report, new


def _unpack(feed: Feed, several: bool, layout: WindowLayout, arrived: pa.Table) -> pl.DataFrame:
    """A feed's rows under their own names and types."""
    table = arrived.filter(pc.equal(arrived.column(FEED), feed.number)) if several else arrived
    table = table.select(feed.wire).rename_columns(feed.columns)
    known = arrow_schema(layout)
    schema = pa.schema([known.field(n) if n in known.names else table.schema.field(n) for n in table.column_names])
    return to_polars(table.cast(schema))


def _count_in(report: TableReport, feed: Feed, frame: pl.DataFrame) -> pl.DataFrame:
    """Count a feed's rows and set those without event time apart."""
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
    """Partials of user-written aggregates, out of rows; everything else about them is empty."""
    by = [START, *layout.key_names]
    groups = rows.group_by(by).agg(pl.col(HASH).first()).with_row_index(GROUP)
    numbered = rows.join(groups.select(GROUP, *by), on=by, nulls_equal=True)
    inputs = numbered.rename({n: n.removeprefix("r.") for n in numbered.columns if n.startswith("r.")})
    for partial in layout.partials:
        if isinstance(partial, Custom):
            groups = groups.join(partial.compute_groups(inputs), on=GROUP, how="left")
    return groups.drop(GROUP)


def _completed(frame: pl.DataFrame, layout: WindowLayout) -> pl.DataFrame:
    """The frame with every state column, empty where it had none, in the types of the state."""
    schema = arrow_schema(layout)
    missing = [f for f in schema if f.name not in frame.columns]
    if not missing:
        return frame
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    for field in missing:
        table = table.append_column(field, pa.nulls(len(table), field.type))
    return to_polars(table.select([START, *schema.names]).cast(pa.schema([pa.field(START, pa.int64()), *schema])))


def _placed(report: TableReport, given: WindowTableSpec, new: pl.DataFrame) -> pl.DataFrame:
    """The rows with the granules they belong to; late ones are counted."""
    homes: list[tuple[int, int, int]] = []
    late: list[int] = []
    dropped: list[int] = []
    plain = True
    for start in new[START].unique().to_list():
        placement = place(given.table.plan, start, given.before)
        homes += [(start, granule, home) for granule, home in placement.homes]
        plain &= placement.homes == ((0, start),)
        if placement.late:
            late.append(start)
        if placement.dropped:
            dropped.append(start)
    report.late = _rows_in(new, late)
    report.dropped = _rows_in(new, dropped)
    names = [c.name for c in given.table.layout.columns]
    if plain:
        return new.select(pl.lit(0, dtype=pl.Int16).alias(GRANULE), START, *names)
    where = pl.DataFrame(homes, schema={START: pl.Int64, GRANULE: pl.Int16, "home": pl.Int64}, orient="row")
    moved = new.join(where, on=START).drop(START).rename({"home": START})
    # Late rows of several panes may meet in one stored granule; a segment holds each key there once.
    return given.table.layout.merge(moved, within=[GRANULE, START])


def _rows_in(frame: pl.DataFrame, starts: list[int]) -> int:
    return int(frame.filter(pl.col(START).is_in(starts))[ROWS].sum()) if starts else 0


def _close_part(spec: StageSpec, part: int, batches: Iterable[pa.RecordBatch]) -> PartReport:
    for _ in batches:
        pass  # the stage's input only says that there is a task
    component, slot = spec.parts[part]
    began = time.perf_counter()
    report = PartReport(component, slot)
    routing = spec.routing[component]
    for given in spec.tables[component]:
        table, after = given.table, given.after
        assert after is not None
        started = time.perf_counter()
        reader = TableReader(given.folder, table.layout, given.segments, owned(routing, slot))
        closed = list(close(reader, table.layout, table.plan, given.before, after))
        kept = [
            c.frame.select(
                pl.lit(c.granule, dtype=pl.Int16).alias(GRANULE),
                pl.lit(c.start, dtype=pl.Int64).alias(START),
                *(column.name for column in table.layout.columns),
            )
            for c in closed
            if c.granule != 0
            and table.plan.granules[c.granule].stored
            and table.plan.expiry(c.granule, c.start) > after
        ]
        report.tables[table.name] = TableReport()
        if kept:
            report.tables[table.name].segment = write_rows(
                given.folder, table.layout, pl.concat(kept), epoch=spec.epoch, slot=slot, shards=len(routing)
            )
        report.results += _write_results(spec, given, slot, closed, "append")
        if closed:
            hashes = np.concatenate([c.frame[HASH].to_numpy() for c in closed])
            report.spend(shards_of(hashes, len(routing)), time.perf_counter() - started)
    for keyed in spec.keyed[component]:
        call_timers(spec, keyed, slot, report)
    report.seconds = time.perf_counter() - began
    return report


def _write_results(
    spec: StageSpec, given: WindowTableSpec, slot: int, closed: list[ClosedGranule], emit: str
) -> list[ResultFile]:
    """Finish what closed, for every operator that emits this way, as Parquet files in staging."""
    written = []
    windows = {i: g.window for i, g in enumerate(given.table.plan.granules)}
    key_types = {c.name.removeprefix("k."): c.type for c in given.table.layout.keys}
    for output in given.table.outputs:
        if output.emit != emit or output.operator not in spec.staging:
            continue  # nobody reads it
        table = finish(output, windows, key_types, closed)
        if table is None:
            continue
        folder = spec.staging[output.operator]
        file = f"part-{slot}-{uuid.uuid4().hex[:12]}.parquet"
        pq.write_table(table, folder.path(file), filesystem=folder.filesystem)
        written.append(ResultFile(output.operator, file, len(table)))
    return written
