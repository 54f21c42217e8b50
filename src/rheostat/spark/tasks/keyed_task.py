"""What a slot does for keyed state: take rows in, call the user's logic, write what changed; later, call timers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rheostat.elastic.routing.table import owned, shards_of
from rheostat.keyed import frame_calls, key_calls
from rheostat.keyed.call_result import CallMoment, CallResult
from rheostat.keyed.keyed_layout import TIMERS, TOUCHED
from rheostat.planning.feeds import ARRIVAL, FEED, MAX_TIME, SEQUENCE
from rheostat.spark.stage.specs import KeyedTableSpec, PartReport, ResultFile, StageSpec, TableReport
from rheostat.spark.tasks.arrival_times import arrivals_of
from rheostat.spark.tasks.time_limit import time_limit
from rheostat.state.keyed_table import KeyedReader, write_keys
from rheostat.state.window_table import to_polars
from rheostat.topology.nodes import Process
from rheostat.types import arrow_type
from rheostat.windows.window_layout import HASH


def take_rows(spec: StageSpec, given: KeyedTableSpec, slot: int, arrived: pa.Table | None, report: PartReport) -> None:
    """Call the operator's logic with the rows that came for this slot."""
    process = given.table.process
    did = report.tables[given.table.name] = TableReport()
    routing = spec.routing[report.component]
    began = time.perf_counter()
    rows = _rows(spec, given, arrived)
    count = sum(len(f) for f in rows.values())
    did.rows = count
    reader = _reader(given, routing, slot)
    if not count:
        if given.fold:
            _write(spec, given, slot, None, report)
        return
    hashes = np.concatenate([f[HASH].to_numpy() for f in rows.values()])
    state = reader.lookup(hashes)
    setting = CallMoment(spec.epoch, given.before, given.now)
    with time_limit(process.time_limit, process.name):
        call = key_calls.call_rows if process.per_key else frame_calls.call_rows
        outcome = call(process, given.table.layout, _plain(process, rows), state, setting)
    if process.clock == "event" and process.ttl is not None:
        outcome = _touched(outcome, state, given.before, rows)
    did.arrivals = arrivals_of(rows[process.upstream]) if ARRIVAL in rows[process.upstream].columns else []
    _write(spec, given, slot, outcome, report)
    report.spend(shards_of(hashes, len(routing)), time.perf_counter() - began, _by_shard(outcome, len(routing)))
    report.note_hottest(_hottest(process, rows, outcome, len(routing)))


def call_timers(spec: StageSpec, given: KeyedTableSpec, slot: int, report: PartReport) -> None:
    """Call the operator's timers that the watermark has passed."""
    process, layout, until = given.table.process, given.table.layout, given.after
    assert until is not None
    report.tables[given.table.name] = TableReport()
    routing = spec.routing[report.component]
    began = time.perf_counter()
    found = _reader(given, routing, slot).due(given.before, until)
    due = found.filter((pl.col(TIMERS).list.min() <= until).fill_null(False))
    if due.is_empty():
        return
    with time_limit(process.time_limit, process.name):
        call = key_calls.call_timers if process.per_key else frame_calls.call_timers
        outcome = call(process, layout, due, CallMoment(spec.epoch, until, given.now))
    if process.clock == "event" and process.ttl is not None:
        outcome = _touched(outcome, due, until, {})
    _write(spec, given, slot, outcome, report)
    report.spend(shards_of(due[HASH].to_numpy(), len(routing)), time.perf_counter() - began)


def _reader(given: KeyedTableSpec, routing: tuple[int, ...], slot: int) -> KeyedReader:
    mine = owned(routing, slot)
    return KeyedReader(given.folder, given.table.layout, given.segments, mine, given.now, given.table.process.ttl)


def _rows(spec: StageSpec, given: KeyedTableSpec, arrived: pa.Table | None) -> dict[str, pl.DataFrame]:
    """Per stream, the rows in order, with what was carried beside them."""
    process = given.table.process
    rows = {}
    for feed in spec.feeds:
        if arrived is None or feed.table != given.table.name:
            continue
        table = arrived.filter(pc.equal(arrived.column(FEED), feed.number)) if len(spec.feeds) > 1 else arrived
        frame = to_polars(_typed(process, feed.stream, table.select(feed.wire).rename_columns(feed.columns)))
        order = [*(f"r.{c}" for c in process.order), *([SEQUENCE] if process.ordered else [])]
        in_order = not process.ordered or (len(order) == 1 and frame[SEQUENCE].is_sorted())
        rows[feed.stream] = frame if in_order else frame.sort(order)
    for stream in process.upstreams:
        if stream not in rows:
            schema = pa.schema([(HASH, pa.int64()), *_types(process, stream).items()])
            rows[stream] = to_polars(schema.empty_table())
    return {stream: rows[stream] for stream in process.upstreams}


def _types(process: Process, stream: str) -> dict[str, pa.DataType]:
    """A stream's columns as they travel. The prefix keeps them apart from what is carried beside them."""
    columns = process.inputs[process.upstreams.index(stream)]
    return {f"r.{c.name}": arrow_type(c.type) for c in columns}


def _typed(process: Process, stream: str, table: pa.Table) -> pa.Table:
    """The rows in the types of the topology; Spark sends timestamps in the zone of its session."""
    types = _types(process, stream)
    return table.cast(pa.schema([pa.field(f.name, types.get(f.name, f.type)) for f in table.schema]))


def _plain(process: Process, rows: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The rows with the stream's own columns and the hash."""
    return {stream: rows[stream].select(HASH, *_types(process, stream)) for stream in process.upstreams}


def _touched(
    outcome: CallResult, before: pl.DataFrame, watermark: int | None, rows: Mapping[str, pl.DataFrame]
) -> CallResult:
    """By event time, a key is as old as the newest row it ever had, or as the watermark when it last changed."""
    times = [before.select(HASH, pl.col(TOUCHED).alias(MAX_TIME))]
    times += [f.select(HASH, MAX_TIME) for f in rows.values() if MAX_TIME in f.columns]
    newest = pl.concat(times).group_by(HASH).agg(pl.col(MAX_TIME).max())
    known = outcome.state.join(newest, on=HASH, how="left")
    touched = pl.max_horizontal(MAX_TIME, pl.lit(watermark, dtype=pl.Int64)).alias(TOUCHED)
    state = known.with_columns(touched).select(outcome.state.columns)
    return CallResult(outcome.output, state, outcome.wakes, outcome.costs)


def _write(spec: StageSpec, given: KeyedTableSpec, slot: int, outcome: CallResult | None, report: PartReport) -> None:
    """Write changed state and folded segments as one segment, and output as a result file."""
    table, routing = given.table, spec.routing[report.component]
    watermark = given.before if given.after is None else given.after
    folded = []
    if given.fold:
        mine = owned(routing, slot)
        reader = KeyedReader(given.folder, table.layout, given.fold, mine, given.now, table.process.ttl)
        complete = len(given.fold) == len(given.segments)
        folded = reader.folded(given.before, complete=complete)
    state = outcome.state if outcome is not None else folded[0].drop("granule", "start").clear()
    report.tables[table.name].segment = write_keys(
        given.folder,
        table.layout,
        state,
        outcome.wakes if outcome is not None else None,
        folded,
        watermark=watermark,
        epoch=spec.epoch,
        slot=slot,
        shards=len(routing),
    )
    report.tables[table.name].partials = len(state)
    if outcome is not None and outcome.output is not None and table.name in spec.staging:
        folder = spec.staging[table.name]
        file = f"part-{slot}-{uuid.uuid4().hex[:12]}.parquet"
        pq.write_table(outcome.output, folder.path(file), filesystem=folder.filesystem)
        report.results.append(ResultFile(table.name, file, len(outcome.output)))


def _by_shard(outcome: CallResult, shards: int) -> np.ndarray | None:
    """Seconds per shard that were measured key by key."""
    if outcome.costs is None:
        return None
    hashes, seconds = outcome.costs
    return np.bincount(shards_of(hashes, shards), weights=seconds, minlength=shards)


def _hottest(
    process: Process, rows: Mapping[str, pl.DataFrame], outcome: CallResult, shards: int
) -> tuple[int, str, float]:
    """The key with most work in the busiest shard: shard, key, and its share of the task's work."""
    frame = rows[process.upstream] if len(rows[process.upstream]) else max(rows.values(), key=len)
    if outcome.costs is not None:
        hashes, weights = outcome.costs
    else:
        hashes = frame[HASH].to_numpy()
        weights = np.ones(len(hashes))
    where = shards_of(hashes, shards)
    busiest = int(np.bincount(where, weights=weights, minlength=shards).argmax())
    inside = where == busiest
    names, index = np.unique(hashes[inside], return_inverse=True)
    sums = np.bincount(index, weights=weights[inside])
    hottest = int(names[int(sums.argmax())])
    found = frame.filter(pl.col(HASH) == hottest).select(f"r.{k}" for k in process.keys).head(1).rows()
    text = ", ".join(f"{k}={v!r}" for k, v in zip(process.keys, found[0], strict=True)) if found else ""
    return busiest, text, float(sums.max() / max(float(weights.sum()), 1e-12))
