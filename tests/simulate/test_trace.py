"""The figures of a trace: means over time, and which intervals count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheostat.simulate.trace import Trace


def trace(**columns: Any) -> Trace:
    size = len(columns["time"])
    plain = {name: np.zeros(size) for name in ("offered", "admitted", "latency", "p99", "nodes", "remote", "migrated")}
    columns.setdefault("seconds", np.diff(columns["time"], prepend=0.0))
    given = {"throughput": np.ones(size), "operator_latency": {}, "slots": {}, **plain, **columns}
    return Trace(policy="any", decisions=(), decision_seconds=np.zeros(0), **given)


def test_only_intervals_that_end_after_the_warm_up_count() -> None:
    seen = trace(time=np.array([1.0, 2.0, 3.0, 4.0]), throughput=np.array([100.0, 10.0, 20.0, 30.0]))
    assert seen.after(1.0).tolist() == [False, True, True, True]
    assert seen.mean_throughput() == 40.0
    assert seen.mean_throughput(1.0) == 20.0
    assert seen.mean_throughput(2.9) == 25.0


def test_mean_latency_is_that_of_a_row() -> None:
    seen = trace(
        time=np.arange(1.0, 5.0),
        throughput=np.array([0.0, 10.0, 30.0, 0.0]),
        latency=np.array([np.nan, 1.0, 2.0, np.nan]),
    )
    assert seen.mean_latency() == pytest.approx(1.75)
    assert trace(time=np.ones(1), throughput=np.zeros(1), latency=np.full(1, np.nan)).mean_latency() == np.inf


def test_slots_of_one_operator_and_of_all() -> None:
    seen = trace(time=np.arange(1.0, 5.0), slots={"a": np.array([1.0, 1, 3, 3]), "b": np.full(4, 2.0)})
    assert (seen.mean_slots("a"), seen.mean_slots(), seen.mean_slots("a", 2.0)) == (2.0, 4.0, 3.0)


def test_success_is_that_of_the_first_operator_or_of_the_one_named() -> None:
    seen = trace(time=np.ones(1), success={"a": np.array([1.0, 0.5]), "b": np.array([0.0])})
    assert (seen.mean_success(), seen.mean_success("b")) == (0.75, 0.0)
    assert seen.summary()["success"] == 0.375


def test_a_summary_says_only_what_was_measured() -> None:
    found = trace(time=np.arange(1.0, 3.0), slots={"a": np.ones(2)}).summary()
    assert "success" not in found
    assert "end_to_end_success" not in found
    assert found["throughput"] == 1.0
    assert trace(time=np.ones(1), end_to_end=0.5).summary()["end_to_end_success"] == 0.5


def test_the_mean_throughput_is_rows_over_seconds() -> None:
    """No row in an epoch of 0.1 seconds, then 900 rows in one of 0.9 seconds: 900 rows a second."""
    seen = trace(time=np.array([0.1, 1.0]), throughput=np.array([0.0, 1000.0]))
    assert seen.mean_throughput() == pytest.approx(900.0)
