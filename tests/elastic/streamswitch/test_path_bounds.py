"""An end-to-end bound over a path: whatever is measured, its parts add up, and the operator that is late gets more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.streamswitch.path_bounds import PathBounds
from rheostat.elastic.streamswitch.readings import Readings

NAMES = ("a", "b", "c")
LATENCIES = st.sampled_from([0.0, 0.01, 0.2, 0.5, 0.7, 3.0, np.nan, np.inf])
SHARDS = st.lists(st.tuples(LATENCIES, st.sampled_from([0.0, 5.0])), min_size=1, max_size=4)


def reading(*latencies: float, arrival: float = 5.0, problem: str = "") -> Readings:
    routing, count = tuple(range(len(latencies))), len(latencies)
    found = Readings.of(routing, (arrival,) * count, (99.0,) * count, (0.0,) * count, latencies)
    object.__setattr__(found, "problem", problem)
    return found


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 50), st.sampled_from(NAMES), SHARDS), max_size=30), st.floats(0.1, 10))
def test_the_parts_always_add_up(events: list[tuple[float, str, list[tuple[float, float]]]], total: float) -> None:
    path, now = PathBounds.equal(total, NAMES), 0.0
    for seconds, name, shards in events:
        now += seconds
        latency, arrival = zip(*shards, strict=True)
        slots = (0.0,) * len(shards)
        seen = Readings.of(range(len(shards)), arrival, slots, slots, latency)
        path = path.after(now, {name: seen}, every=20.0)
        assert sum(path.bounds.values()) == pytest.approx(total)
        assert min(path.bounds.values()) > 0


def test_bounds_change_only_after_their_time_and_then_by_what_was_seen_since() -> None:
    path = PathBounds.equal(3.0, NAMES)
    seen = {"a": reading(2.0, 0.5), "b": reading(0.5, 0.5), "c": reading(0.5, 0.5)}
    for second in range(60):
        path = path.after(float(second), seen, every=60.0)
        assert path.bounds == {"a": 1.0, "b": 1.0, "c": 1.0}
    # The first interval only says when counting begins.
    assert (path.kept["a"], path.read["a"]) == (59.0, 118.0)
    path = path.after(60.0, seen, every=60.0)
    assert path.bounds["a"] > 1.0 > path.bounds["b"] == path.bounds["c"]
    assert (path.kept["a"], path.read["a"], path.since) == (0.0, 0.0, 60.0)


def test_what_cannot_be_trusted_or_has_no_rows_says_nothing() -> None:
    path = PathBounds.equal(2.0, NAMES[:2]).after(0.0, {}, every=10.0)
    for seen in (reading(9.0, problem="invalid"), reading(9.0, arrival=0.0), reading(np.nan)):
        assert path.after(1.0, {"a": seen}, every=10.0).read["a"] == 0
    assert path.after(np.nan, {"a": reading(9.0)}, every=10.0) is path
    assert path.after(-5.0, {"a": reading(9.0)}, every=10.0).since == -5.0
