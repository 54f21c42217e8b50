"""Cores by the micro-batch law: enough, the fewest, and the best use of too few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.epoch_allocation import allocate_epochs
from rheostat.elastic.model.queueing import epoch_latency

LOADS = st.lists(st.floats(0, 40), min_size=1, max_size=6)


@settings(deadline=None)
@given(LOADS, st.floats(0.05, 0.5), st.floats(1.0, 10.0))
def test_the_fewest_cores_that_keep_the_bound(loads: list[float], overhead: float, bound: float) -> None:
    found = allocate_epochs(loads, np.ones(len(loads)), 10_000, bound, overhead)
    assert found.met
    for place, cores in enumerate(found.cores):
        assert epoch_latency(overhead, loads[place] / cores) <= bound * (1 + 1e-6)
        # One fewer would be too few.
        assert cores == 1 or epoch_latency(overhead, loads[place] / (cores - 1)) > bound * (1 - 1e-6)


@settings(deadline=None)
@given(LOADS, st.integers(1, 30))
def test_too_few_cores_are_shared_and_never_exceeded(loads: list[float], cores: int) -> None:
    found = allocate_epochs(loads, np.ones(len(loads)), cores, 1.0, 0.4)
    assert found.cores.sum() <= cores
    assert np.isfinite(found.cores).all()


def test_absurd_rates_are_survived() -> None:
    found = allocate_epochs([np.nan, np.inf, -1.0, 5.0], [0.0, 1.0, np.nan, 1.0], 16, 1.0, 0.4)
    assert found.cores.sum() <= 16


def test_a_bound_that_an_empty_epoch_breaks_says_so() -> None:
    found = allocate_epochs([1.0], [1.0], 8, bound=0.1, overhead=0.4)
    assert (found.met, found.cores.tolist()) == (False, [2])
    assert "even an epoch without rows takes longer" in found.reason
    assert found.response == pytest.approx(1.2)
