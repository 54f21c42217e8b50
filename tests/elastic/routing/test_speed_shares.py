"""Work follows the speed of slots: near the ideal share, never worse than before, every slot keeps a shard."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rheostat.elastic.routing.speed_shares import TOLERANCE, share_by_speed, slot_times


@given(
    speeds=st.lists(st.sampled_from([0.25, 0.5, 1.0, 2.0]), min_size=2, max_size=6),
    seed=st.integers(0, 10_000),
    shards=st.integers(60, 200),
)
def test_many_light_shards_follow_the_speed(speeds: list[float], seed: int, shards: int) -> None:
    random = np.random.default_rng(seed)
    rates, loads = np.array(speeds), random.uniform(0.5, 1.5, shards)
    routing = np.r_[np.arange(len(rates)), random.integers(0, len(rates), shards - len(rates))]
    found = share_by_speed(routing, loads, rates)
    ideal = loads.sum() / rates.sum()
    times = slot_times(routing if found is None else found, loads, rates)
    assert times.max() <= TOLERANCE * ideal + 1.5 / rates.min()
    assert np.unique(routing if found is None else found).tolist() == list(range(len(rates)))


@given(
    loads=st.lists(st.floats(0.0, 100.0), min_size=3, max_size=40),
    speeds=st.lists(st.floats(0.125, 8.0), min_size=2, max_size=3),
    seed=st.integers(0, 1000),
)
def test_the_longest_time_never_grows_and_idle_shards_stay(loads: list[float], speeds: list[float], seed: int) -> None:
    work, rates = np.array(loads), np.array(speeds)
    routing = np.random.default_rng(seed).permutation(np.arange(len(work)) % len(rates))
    found = share_by_speed(routing, work, rates)
    if found is not None:
        assert slot_times(found, work, rates).max() < slot_times(routing, work, rates).max()
        assert (found[work == 0] == routing[work == 0]).all()
        assert len(np.unique(found)) == len(rates)
