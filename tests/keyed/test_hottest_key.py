"""The key that caused the most work in a task, by measured seconds or by rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.elastic.routing.table import shards_of
from rheostat.keyed.call_result import CallResult
from rheostat.spark.tasks.hottest_key import hottest_key
from tests.keyed.builders import WORDS, Run, operator, spread

SHARDS = 16


def unused(rows: Any, state: Any) -> Any:
    raise AssertionError("the function is not called")


def shard_of(word: str) -> int:
    return int(shards_of(np.array([spread((word,))]), SHARDS)[0])


def test_work_is_counted_in_rows_where_time_is_not_measured() -> None:
    run = Run(operator(unused))
    rows = {"words": run.frame([("a", 1), ("b", 1), ("b", 2), ("b", 3)], "words")}
    assert hottest_key(run.process, rows, CallResult(None, run.state), SHARDS) == (shard_of("b"), "word='b'", 0.75)


def test_measured_seconds_come_before_rows() -> None:
    run = Run(operator(unused))
    rows = {"words": run.frame([("a", 1), ("b", 1), ("b", 2)], "words")}
    costs = np.array([spread(("a",)), spread(("b",))]), np.array([0.75, 0.25])
    result = CallResult(None, run.state, costs=costs)
    assert hottest_key(run.process, rows, result, SHARDS) == (shard_of("a"), "word='a'", 0.75)


def test_a_key_with_rows_in_the_second_stream_only_is_named() -> None:
    run = Run(operator(unused, inputs={"words": WORDS, "more": WORDS}))
    rows = {"words": run.frame([("a", 1)], "words"), "more": run.frame([("b", 1), ("b", 2), ("b", 3)], "more")}
    assert hottest_key(run.process, rows, CallResult(None, run.state), SHARDS) == (shard_of("b"), "word='b'", 0.75)
    costs = np.array([spread(("a",)), spread(("b",))]), np.array([0.25, 0.75])
    result = CallResult(None, run.state, costs=costs)
    assert hottest_key(run.process, rows, result, SHARDS) == (shard_of("b"), "word='b'", 0.75)
