"""Observations on Spark: what tasks report, as policies see it."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.elastic.baselines.static import Static
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.spark.observer import Observer
from tests.spark.loops import SHARDS, Epochs, report


def test_loads_are_summed_over_the_slots_of_a_component() -> None:
    query = Epochs(Static())
    query.end(report({0: 1.0, 1: 2.0}), report({1: 3.0}, slot=1), report({1: 7.0}, "by user @1"))
    loads, seen = query.observer.loads, query.observer.newest
    assert loads["by area"].to_pairs() == ((0, 1.0), (1, 5.0))
    assert loads["by user @1"].to_pairs() == ((1, 7.0),)
    assert loads["global"].to_pairs() == ()
    assert seen.operators["by area"].work.tolist() == [1.0, 5.0, 0, 0, 0, 0, 0, 0]
    assert seen.operators["by area"].useful.tolist() == [3.0, 3.0]
    assert (seen.epoch, seen.external, set(seen.operators)) == (0, 20.0, {"by area", "by user @1"})


def test_what_tasks_do_not_report_is_not_a_number() -> None:
    query = Epochs(Static())
    query.end(report({0: 1.0}))
    seen = query.observer.newest.operators["by area"]
    for values in (seen.arrived, seen.completed, seen.latency, seen.traffic, seen.state):
        assert len(values) == SHARDS
        assert np.isnan(values).all()
    counted = {"by area": {0: 3, 5: 2}}
    query.end(report({0: 1.0}), counted=counted)
    query.end(report({0: 1.0}), counted=counted)
    seen = query.observer.newest.operators["by area"]
    assert seen.arrived.tolist() == seen.completed.tolist() == [6, 0, 0, 0, 0, 4, 0, 0]


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
    observer = Observer(SHARDS, {"by area": ((1, 2.5),)}, began=1e6)
    plan = Plan({"by area": OperatorPlan.even(SHARDS, 2)}, 1)
    seen = observer.observe([report({0: 1.0})], {}, plan, epoch=0, time=1e6 + 2.0, seconds=1.5, rows=10)
    assert (Observer(SHARDS, {}, began=1e6).newest.time, seen.time) == (0.0, 2.0)


def test_before_the_first_epoch_there_is_what_the_checkpoint_remembers() -> None:
    observer = Observer(SHARDS, {"by area": ((1, 2.5),), "by user @1": ()})
    assert set(observer.newest.operators) == {"by area"}
    assert observer.newest.operators["by area"].work.tolist() == [0, 2.5, 0, 0, 0, 0, 0, 0]
    assert observer.hottest == {}


def test_rows_that_are_counted_belong_to_the_epoch_that_begins() -> None:
    observer = Observer(SHARDS, {"by area": (), "by user @1": ()})
    seen = observer.before({"by area": {3: 7}})
    assert seen.operators["by area"].coming.tolist() == [0, 0, 0, 7, 0, 0, 0, 0]
    assert len(seen.operators["by area"].work) == 0
    assert observer.newest.operators == {}
    assert observer.expected({"by area": {3: 7}})["by area"].tolist() == [0, 0, 0, 7, 0, 0, 0, 0]
    assert observer.expected({})["by area"].tolist() == [0] * SHARDS
