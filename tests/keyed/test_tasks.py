"""The work of a task on a keyed table, with files but without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rheostat.keyed.call_result import CallResult
from rheostat.keyed.keyed_layout import TOUCHED, layout_of
from rheostat.planning.feeds import Feed
from rheostat.planning.tables import KeyedTable
from rheostat.spark.stage.specs import KeyedTableSpec, StageSpec
from rheostat.spark.stage.task_reports import PartReport
from rheostat.spark.tasks.keyed_rows import cast_stream
from rheostat.spark.tasks.keyed_task import call_timers, ingest_rows, touch_by_event_time
from rheostat.state.files import Folder
from rheostat.state.keyed_table import KeyedReader
from rheostat.state.segments import Segment
from rheostat.topology.nodes import Process
from rheostat.topology.processors import Context, KeyProcessor, list_of, value
from rheostat.types import arrow_type
from tests.keyed.builders import Row, operator, spread
from tests.state.keyed_builders import ALL

EXTRA = {"hash": "bigint", "sequence": "bigint", "max_time": "bigint"}


A = pl.DataFrame({"word": ["a"], "total": [1]})


class Log(KeyProcessor):
    """Keeps the numbers seen, in order, and sets a timer at each."""

    seen = list_of("bigint")
    rings = value("int", default=0)

    def process(self, key: Any, rows: Any, context: Context) -> Any:
        for row in rows:
            self.seen.append(row.n)
            context.set_timer(row.n)
        yield key.word, len(self.seen)

    def on_timer(self, key: Any, at: Any, context: Context) -> Any:
        self.rings += 1
        yield key.word, -self.rings


class Slot:
    """Epochs of the only slot of an operator."""

    def __init__(self, path: Path, process: Process) -> None:
        self.process = process
        self.folder = Folder.at(path / "state")
        self.folder.create()
        self.staging = Folder.at(path / "results")
        self.staging.create()
        self.segments: list[Segment] = []
        self.watermark: int | None = None
        self.epoch = -1
        self._table = KeyedTable(
            name="op", process=process, clock="source", level=0, route_by=process.keys, layout=layout_of(process)
        )

    def take(self, *rows: Row, now: int | None = None, fold: bool = False) -> PartReport:
        """Ingest rows, each with its event time before its columns."""
        self.epoch += 1
        columns = {**EXTRA, **{f"r.{c.name}": c.type for c in self.process.inputs[0]}}
        feed = Feed(number=0, table="op", stream=self.process.upstream, raw=True, counted=False, columns=tuple(columns))
        at = [[c.name for c in self.process.inputs[0]].index(k) for k in self.process.keys]
        filled = [(spread(tuple(r[1:][i] for i in at)), n, r[0], *r[1:]) for n, r in enumerate(rows)]
        arrays = [pa.array([r[i] for r in filled], type=arrow_type(t)) for i, t in enumerate(columns.values())]
        arrived = pa.table(arrays, names=list(feed.wire)) if rows else None
        gone = tuple(self.segments) if fold else ()
        given = KeyedTableSpec(
            table=self._table,
            folder=self.folder,
            segments=tuple(self.segments),
            fold=gone,
            before=self.watermark,
            now=now,
        )
        report = PartReport("by word", 0)
        ingest_rows(self._stage(given, [feed]), given, arrived, report)
        self.segments = [s for s in self.segments if s not in gone]
        return self._keep(report)

    def close(self, until: int, now: int | None = None) -> PartReport:
        """Advance the watermark and call the timers that are due."""
        given = KeyedTableSpec(
            table=self._table,
            folder=self.folder,
            segments=tuple(self.segments),
            before=self.watermark,
            after=until,
            now=now,
        )
        report = PartReport("by word", 0)
        call_timers(self._stage(given, []), given, report)
        self.watermark = until
        return self._keep(report)

    def state(self, now: int | None = None) -> pl.DataFrame:
        """The state of all keys."""
        reader = KeyedReader(self.folder, self._table.layout, self.segments, ALL, now=now, ttl=self.process.ttl)
        return reader.fold(None, complete=True)[0]

    def output(self, report: PartReport) -> list[Row]:
        """The output rows of a task."""
        return [
            tuple(row.values()) for r in report.results for row in pq.read_table(self.staging.path(r.file)).to_pylist()
        ]

    def _stage(self, given: KeyedTableSpec, feeds: Sequence[Feed]) -> StageSpec:
        routing = {"by word": (0,) * len(ALL)}
        return StageSpec(
            epoch=self.epoch,
            parts=(("by word", 0),),
            routing=routing,
            tables={},
            keyed={"by word": (given,)},
            feeds=tuple(feeds),
            staging={"op": self.staging},
        )

    def _keep(self, report: PartReport) -> PartReport:
        segment = report.tables["op"].segment
        self.segments += [segment] if segment is not None else []
        return PartReport.from_wire(*report.to_wire())


def test_rows_change_state_and_give_output(tmp_path: Path) -> None:
    slot = Slot(tmp_path, operator(Log))
    first = slot.take((0, "a", 7), (0, "b", 5), (0, "a", 3))
    assert sorted(slot.output(first)) == [("a", 2), ("b", 1)]
    assert (first.tables["op"].rows, first.tables["op"].partials) == (3, 2)
    assert slot.output(slot.take((0, "a", 9))) == [("a", 3)]
    assert dict(slot.state().select("k.word", "s.seen").rows()) == {"a": [7, 3, 9], "b": [5]}


def test_the_busiest_shard_and_key_are_reported(tmp_path: Path) -> None:
    report = Slot(tmp_path, operator(lambda rows, state: (None, None))).take((0, "a", 1), (0, "b", 1), (0, "b", 2))
    assert len(report.shards) == 2
    assert report.hottest is not None
    assert report.hottest[1] == "word='b'"
    assert report.hottest[2] == pytest.approx(2 / 3)


def test_an_epoch_without_rows_still_folds(tmp_path: Path) -> None:
    slot = Slot(tmp_path, operator(Log))
    slot.take((0, "a", 7))
    slot.take((0, "a", 8))
    assert slot.take().tables["op"].segment is None
    assert slot.take(fold=True).tables["op"].segment is not None
    assert len(slot.segments) == 1
    assert slot.state()["s.seen"].to_list() == [[7, 8]]


def test_folding_and_rows_in_one_epoch(tmp_path: Path) -> None:
    slot = Slot(tmp_path, operator(Log))
    slot.take((0, "a", 7), (0, "b", 1))
    slot.take((0, "a", 8), fold=True)
    assert len(slot.segments) == 1
    assert dict(slot.state().select("k.word", "s.seen").rows()) == {"a": [7, 8], "b": [1]}
    assert sorted(slot.output(slot.close(8))) == [("a", -2), ("a", -1), ("b", -1)]


def test_removed_keys_are_gone_once_everything_is_folded(tmp_path: Path) -> None:
    slot = Slot(tmp_path, operator(lambda rows, state: (None, None, state.select("word")) if len(state) else (None, A)))
    slot.take((0, "a", 1))
    slot.take((0, "a", 1))
    assert [s.rows for s in slot.segments] == [1, 1]
    assert slot.state().is_empty()
    slot.take(fold=True)
    assert slot.segments == []


def test_timers_are_called_once(tmp_path: Path) -> None:
    slot = Slot(tmp_path, operator(Log))
    slot.take((0, "a", 10), (0, "b", 20), (0, "a", 30))
    assert slot.output(slot.close(9)) == []
    assert sorted(slot.output(slot.close(20))) == [("a", -1), ("b", -1)]
    slot.take(fold=True)
    assert slot.output(slot.close(99)) == [("a", -2)]
    assert slot.output(slot.close(100)) == []


def test_rows_are_in_the_order_that_was_asked_for(tmp_path: Path) -> None:
    slot = Slot(tmp_path, replace(operator(Log), order=("n",)))
    slot.take((0, "a", 7), (0, "a", 3), (0, "a", 5))
    assert slot.state()["s.seen"].to_list() == [[3, 5, 7]]


def by_event_time(ttl: int) -> Process:
    return replace(operator(Log), ttl=ttl, clock="event")


def test_by_event_time_a_key_is_as_old_as_its_newest_row(tmp_path: Path) -> None:
    slot = Slot(tmp_path, by_event_time(10))
    slot.take((50, "a", 999), (40, "a", 999), (45, "b", 999))
    assert dict(slot.state().select("k.word", TOUCHED).rows()) == {"a": 50, "b": 45}
    assert slot.state(now=55)["k.word"].to_list() == ["a"]
    slot.close(60)
    slot.take((1, "a", 999), now=60)  # a late row counts as of the watermark
    assert slot.state(now=60).select("k.word", "s.seen", TOUCHED).rows() == [("a", [999], 60)]


def test_by_event_time_a_timer_does_not_make_a_key_older(tmp_path: Path) -> None:
    slot = Slot(tmp_path, by_event_time(100))
    slot.take((0, "z", 999))
    slot.close(5)
    slot.take((90, "a", 10), now=5)
    slot.close(20, now=5)
    assert slot.state().filter(pl.col("k.word") == "a")[TOUCHED].to_list() == [90]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
        )
        for name in ("hash", "sequence", "max_time")
    ]
    + ["arrival", "start", "granule", "feed"],
)
def test_a_stream_may_have_columns_of_any_name(tmp_path: Path, name: str) -> None:
    def look(rows: pl.DataFrame, state: pl.DataFrame) -> Any:
        assert rows.columns == ["word", name]
        return None, rows.select("word", total=pl.lit(1))

    slot = Slot(tmp_path, operator(look, inputs={"words": {"word": "string", name: "bigint"}}))
    slot.take((0, "a", 7))
    assert slot.state()["k.word"].to_list() == ["a"]


def test_streams_with_and_without_event_time_meet() -> None:
    state = pl.DataFrame({"hash": [1], TOUCHED: [0]})
    rows = {
        "timeless": pl.DataFrame({"hash": [1], "max_time": [None]}, schema={"hash": pl.Int64, "max_time": pl.Int64}),
        "timed": pl.DataFrame({"hash": [1], "max_time": [90]}),
    }
    assert touch_by_event_time(CallResult(None, state), state, 5, rows).state[TOUCHED].to_list() == [90]
    older = state.with_columns(pl.lit(100, dtype=pl.Int64).alias(TOUCHED))
    assert touch_by_event_time(CallResult(None, state), older, 5, rows).state[TOUCHED].to_list() == [100]


def test_timestamps_come_in_the_zone_of_the_session() -> None:
    process = operator(print, by=("day",), inputs={"days": {"day": "timestamp"}})
    berlin = pa.table({"hash": [1], "r.day": pa.array([0], pa.timestamp("us", tz="Europe/Berlin"))})
    typed = cast_stream(process, "days", berlin)
    assert typed.schema.field("r.day").type == pa.timestamp("us", tz="UTC")
    assert typed.column("r.day").cast(pa.int64()).to_pylist() == [0]
