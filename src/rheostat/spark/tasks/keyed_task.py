"""Keyed tables: call user logic with an epoch's rows or with timers that are due, and write what changed."""

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
from rheostat.planning.feeds import ARRIVAL, MAX_TIME
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.spark.tasks.arrival_times import arrivals_of
from rheostat.spark.tasks.hottest_key import hottest_key
from rheostat.spark.tasks.keyed_rows import read_rows, user_columns
from rheostat.spark.tasks.result_files import write_results
from rheostat.spark.tasks.time_limit import time_limit
from rheostat.state.keyed_table import KeyedReader, write_keys
from rheostat.state.segments import Segment
from rheostat.state.window_table import arrow_schema, to_polars
from rheostat.windows.window_layout import HASH


def take_rows(spec: StageSpec, given: KeyedTableSpec, arrived: pa.Table | None, report: PartReport) -> None:
    """Call the operator's logic with the rows that arrived for this slot, and write what it gives.

    Args:
        spec: the stage.
        given: the table.
        arrived: everything that arrived at the task; None if nothing did.
        report: what the task did so far; it is added to.
    """
    process = given.table.process
    did = report.tables[given.table.name] = TableReport()
    shards = len(spec.routing[report.component])
    began = time.perf_counter()
    rows = read_rows(spec, given, arrived)
    did.rows = sum(len(f) for f in rows.values())
    if not did.rows:
        if given.fold:
            _write(spec, given, None, report)
        return
    hashes = np.concatenate([f[HASH].to_numpy() for f in rows.values()])
    state = _reader(spec, given, given.segments, report).lookup(hashes)
    moment = CallMoment(spec.epoch, given.before, given.now)
    with time_limit(process.time_limit, process.name):
        call = key_calls.call_rows if process.per_key else frame_calls.call_rows
        result = call(process, given.table.layout, user_columns(process, rows), state, moment)
    if process.clock == "event" and process.ttl is not None:
        result = touch_by_event_time(result, state, given.before, rows)
    did.arrivals = arrivals_of(rows[process.upstream]) if ARRIVAL in rows[process.upstream].columns else []
    _write(spec, given, result, report)
    report.spend(shards_of(hashes, shards), time.perf_counter() - began, _seconds_by_shard(result, shards))
    report.note_hottest(hottest_key(process, rows, result, shards))


def call_timers(spec: StageSpec, given: KeyedTableSpec, report: PartReport) -> None:
    """Call the operator's timers that the watermark has passed, and write what they give.

    Args:
        spec: the stage.
        given: the table.
        report: what the task did so far; it is added to.
    """
    process, layout, until = given.table.process, given.table.layout, given.after
    assert until is not None
    report.tables[given.table.name] = TableReport()
    began = time.perf_counter()
    found = _reader(spec, given, given.segments, report).due(given.before, until)
    due = found.filter((pl.col(TIMERS).list.min() <= until).fill_null(False))
    if due.is_empty():
        return
    with time_limit(process.time_limit, process.name):
        call = key_calls.call_timers if process.per_key else frame_calls.call_timers
        result = call(process, layout, due, CallMoment(spec.epoch, until, given.now))
    if process.clock == "event" and process.ttl is not None:
        result = touch_by_event_time(result, due, until, {})
    _write(spec, given, result, report)
    shards = shards_of(due[HASH].to_numpy(), len(spec.routing[report.component]))
    report.spend(shards, time.perf_counter() - began)


def touch_by_event_time(
    result: CallResult, before: pl.DataFrame, watermark: int | None, rows: Mapping[str, pl.DataFrame]
) -> CallResult:
    """The result with the time at which each key last changed, by event time.

    That is the event time of the newest row the key ever had, or the watermark if that is later.

    Args:
        result: what a call gave.
        before: the state of its keys before the call.
        watermark: the watermark at the call.
        rows: per stream, the rows of the call.
    """
    times = [before.select(HASH, pl.col(TOUCHED).alias(MAX_TIME))]
    times += [f.select(HASH, MAX_TIME) for f in rows.values() if MAX_TIME in f.columns]
    newest = pl.concat(times).group_by(HASH).agg(pl.col(MAX_TIME).max())
    known = result.state.join(newest, on=HASH, how="left")
    touched = pl.max_horizontal(MAX_TIME, pl.lit(watermark, dtype=pl.Int64)).alias(TOUCHED)
    return replace(result, state=known.with_columns(touched).select(result.state.columns))


def _reader(spec: StageSpec, given: KeyedTableSpec, segments: Sequence[Segment], report: PartReport) -> KeyedReader:
    """The slot's keys in some of the table's segments."""
    mine = owned(spec.routing[report.component], report.slot)
    return KeyedReader(given.folder, given.table.layout, segments, mine, now=given.now, ttl=given.table.process.ttl)


def _write(spec: StageSpec, given: KeyedTableSpec, result: CallResult | None, report: PartReport) -> None:
    """Write changed state and folded segments as one segment, and output as a result file."""
    table = given.table
    folded = []
    if given.fold:
        complete = len(given.fold) == len(given.segments)
        folded = _reader(spec, given, given.fold, report).fold(given.before, complete=complete)
    state = to_polars(arrow_schema(table.layout).empty_table()) if result is None else result.state
    did = report.tables[table.name]
    did.segment = write_keys(
        given.folder,
        table.layout,
        state,
        None if result is None else result.wakes,
        folded,
        watermark=given.before if given.after is None else given.after,
        epoch=spec.epoch,
        slot=report.slot,
        shards=len(spec.routing[report.component]),
    )
    did.partials = len(state)
    if result is not None:
        write_results(spec, table.name, result.output, report)


def _seconds_by_shard(result: CallResult, shards: int) -> Floats | None:
    """Seconds per shard that were measured key by key; None if they were not."""
    if result.costs is None:
        return None
    hashes, seconds = result.costs
    return np.bincount(shards_of(hashes, shards), weights=seconds, minlength=shards).astype(np.float64, copy=False)
