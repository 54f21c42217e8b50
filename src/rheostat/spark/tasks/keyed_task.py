"""Keyed tables: call the user's functions with new rows or due timers, and write changed state and results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa

from rheostat.arrays import Floats
from rheostat.elastic.routing.table import owned, shards_of
from rheostat.keyed import frame_calls, key_calls
from rheostat.keyed.call_result import CallMoment, CallResult
from rheostat.keyed.keyed_layout import TIMERS, TOUCHED
from rheostat.planning.feeds import MAX_TIME
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.spark.tasks.hottest_key import hottest_key
from rheostat.spark.tasks.keyed_rows import read_rows, user_columns
from rheostat.spark.tasks.received_rows import note_received
from rheostat.spark.tasks.result_files import write_results
from rheostat.spark.tasks.time_limit import time_limit
from rheostat.state.keyed_table import KeyedReader, write_keys
from rheostat.state.segments import Segment
from rheostat.state.window_table import arrow_schema, to_polars
from rheostat.windows.window_layout import HASH


def ingest_rows(spec: StageSpec, table_spec: KeyedTableSpec, arrived: pa.Table | None, report: PartReport) -> None:
    """Call the user's function with the new rows of this slot, and write changed state and results.

    Args:
        spec: the stage.
        table_spec: the table.
        arrived: all rows that the task received; None if there are none.
        report: the report of the task; what it does here is added.
    """
    process = table_spec.table.process
    table_report = report.tables[table_spec.table.name] = TableReport()
    shards = len(spec.routing[report.component])
    began = time.perf_counter()
    rows = read_rows(spec, table_spec, arrived)
    table_report.rows = sum(len(f) for f in rows.values())
    if not table_report.rows:
        if table_spec.fold:
            _write(spec, table_spec, None, report)
        return
    hashes = np.concatenate([f[HASH].to_numpy() for f in rows.values()])
    state = _reader(spec, table_spec, table_spec.segments, report).lookup(hashes)
    moment = CallMoment(spec.epoch, table_spec.before, table_spec.now)
    with time_limit(process.time_limit, process.name):
        call = key_calls.call_rows if process.per_key else frame_calls.call_rows
        result = call(process, table_spec.table.layout, user_columns(process, rows), state, moment)
    if process.clock == "event" and process.ttl is not None:
        result = touch_by_event_time(result, state, table_spec.before, rows)
    for stream, frame in rows.items():
        note_received(report, stream, frame, shards)
    _write(spec, table_spec, result, report)
    report.tally.spend(shards_of(hashes, shards), time.perf_counter() - began, _seconds_by_shard(result, shards))
    report.note_hottest(hottest_key(process, rows, result, shards))


def call_timers(spec: StageSpec, table_spec: KeyedTableSpec, report: PartReport) -> None:
    """Call the timers that the watermark has passed, and write changed state and results.

    Args:
        spec: the stage.
        table_spec: the table.
        report: the report of the task; what it does here is added.
    """
    process, layout, until = table_spec.table.process, table_spec.table.layout, table_spec.after
    assert until is not None
    report.tables[table_spec.table.name] = TableReport()
    began = time.perf_counter()
    candidates = _reader(spec, table_spec, table_spec.segments, report).due(table_spec.before, until)
    due = candidates.filter((pl.col(TIMERS).list.min() <= until).fill_null(False))
    if due.is_empty():
        return
    with time_limit(process.time_limit, process.name):
        call = key_calls.call_timers if process.per_key else frame_calls.call_timers
        result = call(process, layout, due, CallMoment(spec.epoch, until, table_spec.now))
    if process.clock == "event" and process.ttl is not None:
        result = touch_by_event_time(result, due, until, {})
    _write(spec, table_spec, result, report)
    shards = shards_of(due[HASH].to_numpy(), len(spec.routing[report.component]))
    report.tally.spend(shards, time.perf_counter() - began)


def touch_by_event_time(
    result: CallResult, before: pl.DataFrame, watermark: int | None, rows: Mapping[str, pl.DataFrame]
) -> CallResult:
    """The result with the event time at which each key last changed.

    That is the event time of the key's newest row so far, or the watermark if that is later.

    Args:
        result: the result of a call.
        before: the state of its keys before the call.
        watermark: the watermark at the call; None before the first.
        rows: by stream, the rows of the call.
    """
    times = [before.select(HASH, pl.col(TOUCHED).alias(MAX_TIME))]
    times += [f.select(HASH, MAX_TIME) for f in rows.values() if MAX_TIME in f.columns]
    newest = pl.concat(times).group_by(HASH).agg(pl.col(MAX_TIME).max())
    state = result.state.join(newest, on=HASH, how="left")
    touched = pl.max_horizontal(MAX_TIME, pl.lit(watermark, dtype=pl.Int64)).alias(TOUCHED)
    return replace(result, state=state.with_columns(touched).select(result.state.columns))


def _reader(
    spec: StageSpec, table_spec: KeyedTableSpec, segments: Sequence[Segment], report: PartReport
) -> KeyedReader:
    """A reader of the slot's keys in some segments of the table."""
    shards = owned(spec.routing[report.component], report.slot)
    table = table_spec.table
    return KeyedReader(table_spec.folder, table.layout, segments, shards, now=table_spec.now, ttl=table.process.ttl)


def _write(spec: StageSpec, table_spec: KeyedTableSpec, result: CallResult | None, report: PartReport) -> None:
    """Write changed state and folded segments as one segment, and the output as a result file."""
    table = table_spec.table
    folded = []
    if table_spec.fold:
        complete = len(table_spec.fold) == len(table_spec.segments)
        folded = _reader(spec, table_spec, table_spec.fold, report).fold(table_spec.before, complete=complete)
    state = to_polars(arrow_schema(table.layout).empty_table()) if result is None else result.state
    table_report = report.tables[table.name]
    table_report.segment = write_keys(
        table_spec.folder,
        table.layout,
        state,
        None if result is None else result.wakes,
        folded,
        watermark=table_spec.before if table_spec.after is None else table_spec.after,
        epoch=spec.epoch,
        slot=report.slot,
        shards=len(spec.routing[report.component]),
    )
    table_report.partials = len(state)
    if result is not None:
        write_results(spec, table.name, result.output, report)


def _seconds_by_shard(result: CallResult, shards: int) -> Floats | None:
    """The measured seconds of every shard; None if time was not measured by key."""
    if result.costs is None:
        return None
    hashes, seconds = result.costs
    return np.bincount(shards_of(hashes, shards), weights=seconds, minlength=shards).astype(np.float64, copy=False)
