"""What travels between the driver and its tasks arrives as it was sent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import rheostat as rh
from rheostat.planning.feeds import StreamSql, plan_feeds
from rheostat.planning.physical import plan_physical
from rheostat.spark.stage.report_wire import LENGTH, from_lines, to_lines
from rheostat.spark.stage.spec_wire import decode, encode
from rheostat.spark.stage.specs import StageSpec, WindowTableSpec
from rheostat.spark.stage.task_reports import PartReport, TableReport
from rheostat.state.files import Folder
from rheostat.state.segments import Segment
from tests.spark.streams import Batches


@pytest.mark.parametrize("shards", [1, 100, 8192])
def test_a_report_of_any_size_arrives_in_short_lines(shards: int) -> None:
    rng = np.random.default_rng(1)
    reports = [PartReport("by key", slot, fetched=slot, tables={"t": TableReport(rows=7, late=1)}) for slot in range(3)]
    for report in reports:
        numbers = np.arange(shards)
        report.tally.receive("s", numbers, arrival=rng.random(shards) * 1e12, size=shards)
        report.tally.spend(numbers, 0.5)
    lines = [line for report in reports for line in to_lines(report)]
    assert max(len(line) for line in lines) <= LENGTH
    found = list(from_lines(lines))
    assert [(r.slot, r.fetched, r.tables["t"]) for r in found] == [(r.slot, r.fetched, r.tables["t"]) for r in reports]
    for sent, came in zip(reports, found, strict=True):
        assert came.shards.tobytes() == sent.tally.records().tobytes()


def test_instructions_name_tables_and_arrive_whole(spark: SparkSession, tmp_path: Path) -> None:
    stream = Batches.of([(0, "a", 1)]).stream(spark, tmp_path)
    graph = rh.Topology("t")
    graph.source(stream, event_time="ts").aggregate("w", by="key", windows=rh.tumbling("1 minute"), n=rh.count()).sink(
        rh.sinks.memory()
    )
    plan = plan_physical(graph)
    (table,) = plan.tables.values()
    segment = Segment(file="f", epoch=3, rows=5, bytes=9, spans={0: (1, 2)}, shards=(0, 7))
    given = WindowTableSpec(table=table, folder=Folder("/state"), segments=(segment,), fold=(segment,), before=4)
    spec = StageSpec(
        epoch=5,
        parts=(("by key", 0), ("by key", 1)),
        routing={"by key": (0, 1) * 4},
        tables={"by key": (given,)},
        keyed={"by key": ()},
        feeds=tuple(plan_feeds(plan, 0, {table.upstream: StreamSql("v")})),
        staging={"w": Folder("/results")},
    )
    text = encode(spec)
    assert decode(text, {table.name: table}) == spec
    assert decode(text, {table.name: table}).tables["by key"][0].table is table
