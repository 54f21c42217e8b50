"""The kinds of tasks: one ingests the partials and rows of a slot, one the partials of the rows that it reads, and one
closes windows and calls timers.

Their functions contain only the tables; the instructions of an epoch come as a property of the Spark job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from rheostat.errors import OperatorError
from rheostat.spark.stage.spec_wire import PROPERTY, Tables, decode
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec, WindowTableSpec
from rheostat.spark.stage.task_reports import PartReport
from rheostat.spark.tasks.keyed_task import call_timers, ingest_rows
from rheostat.spark.tasks.reading_ingest import ingest_anywhere
from rheostat.spark.tasks.window_close import close_windows
from rheostat.spark.tasks.window_ingest import ingest_partials
from rheostat.spark.tasks.worker import TaskClock, freeze_modules
from rheostat.state.cache import drain_news

REPORT_SCHEMA = "report string"
"""What a task returns to Spark: the lines of its report."""

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function for ``mapInArrow``."""


def ingest_task(tables: Tables) -> Task:
    """The task that ingests partials and rows of one slot."""
    return _task(tables, _ingest_part)


def reading_task(tables: Tables) -> Task:
    """The task that ingests the partials of the rows that it reads, of all shards."""
    return _task(tables, _read_part)


def close_task(tables: Tables) -> Task:
    """The task that closes windows and calls timers."""
    return _task(tables, _close_part)


def _task(tables: Tables, work: Callable[[StageSpec, PartReport, Iterable[pa.RecordBatch]], None]) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_modules()
        context = TaskContext.get()
        assert context is not None
        spec = decode(context.getLocalProperty(PROPERTY) or "", tables)
        part = context.partitionId()
        report = PartReport(*spec.parts[part])
        if spec.head_starts:
            time.sleep(spec.head_starts[part])
        clock = TaskClock()
        drain_news()
        try:
            work(spec, report, batches)
        except OverflowError as error:
            names = [o for t in spec.tables[report.component] for o in t.table.operators]
            raise OperatorError(", ".join(names), str(error)) from error  # a sum exceeds bigint
        _count_fetches(spec, report)
        report.tally.shorten(clock.waited)  # no row has caused that others had the processors
        yield clock.wire(report)

    return run


def _ingest_part(spec: StageSpec, report: PartReport, batches: Iterable[pa.RecordBatch]) -> None:
    began = time.perf_counter()
    arrived = list(batches)
    report.reading = time.perf_counter() - began
    table = pa.Table.from_batches(arrived) if arrived else None
    for table_spec in spec.tables[report.component]:
        ingest_partials(spec, table_spec, table, report)
    for keyed in spec.keyed[report.component]:
        ingest_rows(spec, keyed, table, report)
    report.tally.spread(seconds=report.reading)


def _read_part(spec: StageSpec, report: PartReport, batches: Iterable[pa.RecordBatch]) -> None:
    context = TaskContext.get()
    assert context is not None
    began = time.perf_counter()
    arrived = list(batches)
    report.reading = time.perf_counter() - began
    table = pa.Table.from_batches(arrived) if arrived else None
    for table_spec in spec.tables[report.component]:
        ingest_anywhere(spec, table_spec, table, report, context.partitionId())
    report.tally.spread(seconds=report.reading)


def _close_part(spec: StageSpec, report: PartReport, batches: Iterable[pa.RecordBatch]) -> None:
    for _ in batches:
        pass  # the input has one row per task, only to make Spark start the task
    for table_spec in spec.tables[report.component]:
        close_windows(spec, table_spec, report)
    for keyed in spec.keyed[report.component]:
        call_timers(spec, keyed, report)


def _count_fetches(spec: StageSpec, report: PartReport) -> None:
    """Report what the task copied to this node, and how many bytes of it because shards moved to its slot."""
    routing = spec.routing[report.component]
    moved_here = [s for s in spec.moved.get(report.component, ()) if routing[s] == report.slot]
    tables: list[WindowTableSpec | KeyedTableSpec] = [*spec.tables[report.component], *spec.keyed[report.component]]
    shards_in = {s.file: s.shards for table_spec in tables for s in (*table_spec.segments, *table_spec.fold)}
    news = drain_news()
    report.copied, report.damaged = [file for file, _ in news.fetched], news.damaged
    for file, size in news.fetched:
        report.fetched += size
        first, last = shards_in.get(file, (0, -1))
        report.migrated += size if any(first <= s <= last for s in moved_here) else 0
