"""Observations on Spark: what tasks report, as policies see it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from rheostat.elastic.baselines.static import Static
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.routing.shard_load import ShardLoads
from rheostat.spark.epoch.clocks import BatchStart
from rheostat.spark.observer import Observer
from rheostat.spark.stage.task_reports import NO_SLOT, TaskUsage
from tests.spark.loops import SHARDS, Epochs, report

NONE, SOME = ShardLoads.none(SHARDS), ShardLoads.of(SHARDS, [(1, 2.5)])


def test_loads_are_summed_over_the_slots_of_a_component() -> None:
    query = Epochs(Static())
    query.end(report({0: 1.0, 1: 2.0}), report({1: 3.0}, slot=1), report({1: 7.0}, "by user @1"))
    loads, seen = query.observer.loads, query.observer.newest
    assert loads["by area"].seconds.tolist() == [1.0, 5.0, 0, 0, 0, 0, 0, 0]
    assert loads["by user @1"].seconds.tolist() == [0, 7.0, 0, 0, 0, 0, 0, 0]
    assert not loads["global"].seconds.any()
    assert seen.operators["by area"].work.tolist() == [1.0, 5.0, 0, 0, 0, 0, 0, 0]
    assert seen.operators["by area"].useful.tolist() == [3.0, 3.0]
    assert (seen.epoch, seen.external, set(seen.operators)) == (0, 20.0, {"by area", "by user @1"})


def test_what_tasks_do_not_report_is_not_a_number() -> None:
    query = Epochs(Static())
    query.end(report({0: 1.0}))
    seen = query.observer.before({})
    for values in (seen.operators["by area"].latency, seen.operators["by area"].p99, seen.operators["by area"].state):
        assert len(values) == SHARDS
        assert np.isnan(values).all()
    for value in (seen.busy, seen.committed, seen.span, seen.behind, seen.wanted, seen.cpus, seen.next_rows):
        assert np.isnan(value)
    assert (seen.latency.rows, seen.operators["by area"].hosts) == (0, ("", ""))
    assert np.isnan(seen.operators["by area"].cpu_seconds).all()


def test_rows_add_up_since_the_start() -> None:
    query = Epochs(Static())
    for _ in range(2):
        query.end(report({0: 1.0, 5: 1.0}, rows=[3, 2]))
    seen = query.observer.newest.operators["by area"]
    assert seen.rows.tolist() == [3, 0, 0, 0, 0, 2, 0, 0]
    assert seen.arrived.tolist() == seen.completed.tolist() == [6, 0, 0, 0, 0, 4, 0, 0]


def test_slots_of_the_plan_may_have_gaps() -> None:
    observer = Observer(SHARDS, {"by area": NONE})
    plan = Plan({"by area": OperatorPlan(np.array([0, 0, 2, 2, 2, 4, 4, 4]), np.array([0, -1, 0, -1, 0]))}, 1)
    usage = TaskUsage(cpu=0.5, queued=0.2, memory=7e6, host="h", executor="3", machine="m", processors=8)
    reports = [report({2: 1.0}, slot=1, usage=usage), report({5: 3.0}, slot=2, usage=replace(usage, machine="n"))]
    reports.append(report({2: 1.0}, slot=1, usage=usage))  # a task that closes windows
    reports.append(report({0: 9.0}, slot=NO_SLOT, rows=[5]))  # a task that reads rows of all shards
    seen = observer.observe(reports, {}, plan, epoch=0, time=2.0, rows=0)
    area = seen.operators["by area"]
    assert area.useful.tolist() == [0, 0, 2.0, 0, 3.0]
    assert area.work.tolist() == [0, 0, 2.0, 0, 0, 3.0, 0, 0]
    assert area.rows.tolist() == [5, 0, 0, 0, 0, 0, 0, 0]
    assert area.cpu_seconds.tolist()[2::2] == [1.0, 0.5]
    assert area.cpu.tolist()[2::2] == [0.5, 0.25]  # of two seconds
    assert (area.hosts, area.executors) == (("", "", "h", "", "h"), ("", "", "3", "", "3"))
    assert (seen.cpus, np.nanmax(area.memory)) == (16, 7e6)


def test_an_epoch_is_complete_when_the_next_one_begins() -> None:
    observer = Observer(SHARDS, {"by area": NONE}, cores=2)
    plan = Plan({"by area": OperatorPlan.even(SHARDS, 2)}, 1)
    ends = iter([5, 25, 100])

    def start(second: float) -> BatchStart:
        return BatchStart(int(second * 1e6), (f'{{"a":{{"0":{next(ends)}}}}}',))

    def progress(epoch: int, end: int, latest: int) -> str:
        source = {"description": "KafkaV2[a]", "endOffset": {"a": {"0": end}}, "latestOffset": {"a": {"0": latest}}}
        return json.dumps({"batchId": epoch, "durationMs": {"triggerExecution": 500}, "sources": [source]})

    observer.before({}, start(1000.0))
    observer.observe([report({0: 0.2, 4: 0.1}, rows=[4, 1])], {}, plan, epoch=0, time=1.0, rows=5)
    seen = observer.commit(1000.4e6)
    assert seen.committed == pytest.approx(0.4)
    observer.follow(lambda _: progress(0, end=5, latest=5))
    seen = observer.before({}, start(1001.0))
    assert (seen.busy, seen.behind, seen.wanted, seen.next_rows, seen.next_span) == (0.5, 0, 5.0, 20, 1.0)
    assert np.isnan([seen.span, seen.expected]).all()  # the law knew no cost of a row yet
    assert seen.law is not None
    assert seen.law.epochs == 1
    assert seen.law.tail == pytest.approx(0.1)
    assert seen.operators["by area"].cost[0] == pytest.approx(0.05, rel=0.2)
    observer.observe([report({0: 0.2, 4: 0.1}, rows=[4, 1])], {}, plan, epoch=1, time=3.0, rows=20)
    observer.commit(1001.4e6)
    observer.follow(lambda _: progress(1, end=25, latest=65))
    seen = observer.before({}, start(1001.5))
    assert (seen.span, seen.behind, seen.external, seen.wanted) == (1.0, 40, 10.0, 30.0)
    assert (seen.next_rows, seen.next_span) == (75, 0.5)
    assert 0 < seen.expected < 1
    assert seen.expected_latency == pytest.approx(0.5 + seen.expected - 0.1)
    observer.observe([], {}, plan, epoch=2, time=4.0, rows=75)
    observer.commit(1001.9e6)
    seen = observer.before({})  # Spark's progress is still that of epoch 1
    assert seen.busy == seen.committed == pytest.approx(0.4)
    assert np.isnan([seen.behind, seen.wanted, seen.next_rows]).all()


def test_the_progress_of_an_epoch_is_fetched_as_soon_as_spark_has_it() -> None:
    observer, asked = Observer(SHARDS, {}), list[int | None]()

    def answer(epoch: int | None) -> str | None:
        asked.append(epoch)
        return json.dumps({"batchId": 7, "durationMs": {"triggerExecution": 250}, "sources": []}) if asked[1:] else None

    observer.follow(answer)
    observer.observe([], {}, Plan({}, 1), epoch=7, time=1.0, rows=0)
    observer.commit(1e6)
    observer.fetch(threading.Event())
    assert asked == [7, 7]
    assert observer.before({}).busy == 0.25
    assert asked == [7, 7]
    observer.before({})
    assert asked == [7, 7, None]


def test_nothing_is_fetched_any_more_when_the_next_epoch_begins() -> None:
    observer, wanted, asked = Observer(SHARDS, {}), threading.Event(), list[int | None]()
    observer.follow(asked.append)
    wanted.set()
    observer.fetch(wanted)
    assert asked == []


def test_the_hottest_key_is_that_with_most_work_of_all() -> None:
    query = Epochs(Static())
    query.end(
        report({0: 1.0}, hottest=(0, "area='small'", 1.0)),
        report({5: 3.0}, hottest=(5, "area='large'", 0.5)),
        report({6: 1.0}),
    )
    key, share = query.observer.hottest["by area"]
    assert key == "area='large'"
    assert share == pytest.approx(0.3)
    query.end(report({0: 1.0}))
    assert query.observer.hottest == {}


def test_times_count_from_the_start_of_the_query() -> None:
    """A change decided before the first epoch is not as old as the machine."""
    observer = Observer(SHARDS, {"by area": SOME}, began=1e6)
    plan = Plan({"by area": OperatorPlan.even(SHARDS, 2)}, 1)
    seen = observer.observe([report({0: 1.0})], {}, plan, epoch=0, time=1e6 + 2.0, seconds=1.5, rows=10)
    assert (Observer(SHARDS, {}, began=1e6).newest.time, seen.time) == (0.0, 2.0)


def test_before_the_first_epoch_there_is_what_the_checkpoint_remembers() -> None:
    observer = Observer(SHARDS, {"by area": SOME, "by user @1": NONE})
    assert set(observer.newest.operators) == {"by area"}
    assert observer.newest.operators["by area"].work.tolist() == [0, 2.5, 0, 0, 0, 0, 0, 0]
    assert observer.hottest == {}


def test_rows_that_are_counted_belong_to_the_epoch_that_begins() -> None:
    observer = Observer(SHARDS, {"by area": NONE, "by user @1": NONE})
    seen = observer.before({"by area": {3: 7}})
    assert seen.operators["by area"].coming.tolist() == [0, 0, 0, 7, 0, 0, 0, 0]
    assert len(seen.operators["by area"].work) == 0
    assert observer.newest.operators == {}
    assert observer.expected({"by area": {3: 7}})["by area"].tolist() == [0, 0, 0, 7, 0, 0, 0, 0]
    assert observer.expected({})["by area"].tolist() == [0] * SHARDS
