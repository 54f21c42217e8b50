"""Fusing instances: busy pairs share a group as long as its load fits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.enorm.testbed.instances import Instance, Traffic, fuse_instances
from rheostat.errors import TopologyError

Case = tuple[Traffic, dict[Instance, float], float, float]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Two operators, uneven traffic, a capacity that is at least every instance, and a threshold."""
    left = [("a", i) for i in range(draw(st.integers(1, 5)))]
    right = [("b", i) for i in range(draw(st.integers(1, 5)))]
    traffic = {(a, b): float(draw(st.integers(0, 100))) for a in left for b in right}
    loads = {i: float(draw(st.integers(1, 10))) for i in (*left, *right)}
    return traffic, loads, float(draw(st.integers(10, 40))), float(draw(st.integers(0, 50)))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_groups_stay_within_the_capacity_and_traffic_is_counted(case: Case) -> None:
    traffic, loads, capacity, least = case
    found = fuse_instances(traffic, loads, capacity, least)
    tied = [i for group in found.groups for i in group]
    assert len(tied) == len(set(tied))
    assert all(len(group) > 1 for group in found.groups)
    places = [*found.groups, *(frozenset({i}) for i in loads if i not in tied)]
    assert found.largest == max(sum(loads[i] for i in place) for place in places)
    assert found.largest <= capacity
    local = sum(v for pair, v in traffic.items() if any(set(pair) <= group for group in found.groups))
    assert found.local == pytest.approx(local / sum(traffic.values()) if any(traffic.values()) else 0.0)


@settings(max_examples=200, deadline=None)
@given(cases())
def test_busy_pairs_that_fit_share_a_group(case: Case) -> None:
    traffic, loads, capacity, least = case
    found = fuse_instances(traffic, loads, capacity, least)
    home = {i: g for g in found.groups for i in g}
    for (a, b), rate in traffic.items():
        here, there = home.get(a, frozenset({a})), home.get(b, frozenset({b}))
        if rate > least and here != there:
            assert sum(loads[i] for i in here | there) > capacity
    # The busiest pair that fits at all is the first to be put together.
    fitting = [pair for pair, v in traffic.items() if v > least and loads[pair[0]] + loads[pair[1]] <= capacity]
    if fitting:
        first = min(fitting, key=lambda pair: (-traffic[pair], pair))
        assert any(set(first) <= group for group in found.groups)


def test_an_instance_without_load_is_named() -> None:
    with pytest.raises(TopologyError, match=r"instance \('b', 0\)"):
        fuse_instances({(("a", 0), ("b", 0)): 1.0}, {("a", 0): 1.0})
    assert fuse_instances({}, {}).largest == 0.0


def test_nan_traffic_and_loads_are_refused() -> None:
    a, b = ("a", 0), ("b", 0)
    with pytest.raises(TopologyError, match="the traffic of .* is nan"):
        fuse_instances({(a, b): float("nan")}, {a: 1.0, b: 1.0})
    with pytest.raises(TopologyError, match=r"the load of \('b', 0\) is -1.0"):
        fuse_instances({(a, b): 1.0}, {a: 1.0, b: -1.0})
