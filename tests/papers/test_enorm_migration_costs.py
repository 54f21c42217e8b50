"""The cost of migrations: what the paper says of each strategy, and counting keys for real."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.enorm.testbed.migration_costs import (
    KeyCosts,
    ShardState,
    Strategy,
    choose_strategy,
    expanded_keys,
    migration_cost,
)
from rheostat.errors import TopologyError

N, S, D = Strategy.INSTANT, Strategy.SMOOTH, Strategy.DISRUPTIVE
COSTS = KeyCosts(serialise=3e-6, deserialise=5e-6, network=2e-6, switch=0.01)
SHARD = ShardState(50_000, rate=100.0, execute=1e-4, remaining=300.0)
NUMBERS = st.floats(0, 1e6)
SHARDS = st.builds(ShardState, NUMBERS, st.integers(1, 60), NUMBERS, st.floats(0, 1), NUMBERS, st.booleans())
ALL_COSTS = st.builds(KeyCosts, *[st.floats(0, 1)] * 4)


def test_by_hand() -> None:
    instant, smooth, disruptive = (migration_cost(s, SHARD, COSTS) for s in (N, S, D))
    assert (instant.pause, instant.completion, instant.cpu) == pytest.approx((0.01, 0.01, 0.4))
    assert (smooth.pause, smooth.completion, smooth.cpu, smooth.duplicated) == pytest.approx((0, 300.01, 0, 0))
    assert (disruptive.pause, disruptive.completion, disruptive.cpu) == pytest.approx((0.51, 0.51, 0.4))
    twice = migration_cost(S, replace(SHARD, overlapping=True), COSTS)
    assert (twice.duplicated, twice.cpu) == pytest.approx((30_000, 3.0))
    combined = migration_cost(D, replace(SHARD, copies=20), COSTS)
    assert (combined.pause, combined.cpu) == pytest.approx((10.01, 8.0))


@given(SHARDS, ALL_COSTS)
def test_what_the_paper_says_of_the_strategies(shard: ShardState, costs: KeyCosts) -> None:
    instant, smooth, disruptive = (migration_cost(s, shard, costs) for s in (N, S, D))
    larger = replace(shard, keys=shard.keys * 2 + 1)
    assert instant.pause == migration_cost(N, larger, costs).pause <= disruptive.pause
    assert disruptive.pause <= migration_cost(D, larger, costs).pause
    assert smooth.pause == 0
    assert smooth.completion >= shard.remaining
    # Sending one partial more for every key costs what sending its state costs (section 7.4).
    assert instant.cpu == migration_cost(D, replace(shard, copies=1), costs).cpu


@given(SHARDS, ALL_COSTS, st.sets(st.sampled_from(Strategy), min_size=1), st.floats(0, 1e6))
def test_the_choice_is_the_quickest_within_the_bound(
    shard: ShardState, costs: KeyCosts, allowed: set[Strategy], bound: float
) -> None:
    priced = {s: migration_cost(s, shard, costs) for s in allowed}
    chosen = choose_strategy(allowed, shard, costs, bound)
    within = [s for s in allowed if priced[s].pause <= bound]
    if within:
        assert chosen in within
        assert priced[chosen].completion == min(priced[s].completion for s in within)
    else:
        assert priced[chosen].pause == min(c.pause for c in priced.values())


@pytest.mark.parametrize(("rows", "moved_at"), [(200, 0.5), (2000, 0.5), (2000, 0.1), (20_000, 0.9)])
def test_keys_with_two_partials_are_those_with_rows_on_both_sides(rows: int, moved_at: float) -> None:
    rng = np.random.default_rng(1)
    counted = []
    for _ in range(200):
        keys = rng.integers(0, 1000, rows)
        cut = int(rows * moved_at)
        counted.append(len(np.intersect1d(keys[:cut], keys[cut:])))
    assert expanded_keys(1000, rows, moved_at) == pytest.approx(np.mean(counted), rel=0.03, abs=0.5)


def test_limits_and_invalid_parameters() -> None:
    assert expanded_keys(0, 100, 0.5) == expanded_keys(10, 0, 0.5) == expanded_keys(10, 100, 1.0) == 0
    with pytest.raises(TopologyError, match="no strategy is allowed"):
        choose_strategy((), SHARD, COSTS)
    with pytest.raises(TopologyError, match="every cost must be a number of seconds, 0 or more"):
        KeyCosts(-1.0, 0.0)
