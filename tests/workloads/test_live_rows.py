"""Schedules of rows: as many as the rates say, evenly spread, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import ConfigurationError
from rheostat.workloads.live_rows import HotKey, live_rows

RATES = st.lists(st.floats(0.0, 500.0), min_size=1, max_size=12)


@given(RATES, st.sampled_from([0.5, 1.0, 3.0]))
def test_every_step_has_its_rows(rates: list[float], step: float) -> None:
    rows = live_rows(rates, step=step)
    assert abs(len(rows) - sum(rates) * step) <= 1
    assert (np.diff(rows.times) >= 0).all()
    edges = np.arange(len(rates) + 1) * step
    so_far = np.searchsorted(rows.times, edges, side="right")
    assert np.abs(so_far - np.concatenate([[0], np.cumsum(rates)]) * np.r_[0, np.full(len(rates), step)]).max() <= 1.01


def test_the_same_seed_gives_the_same_rows() -> None:
    hot = HotKey(0.3, 2.0)
    one, two, other = (live_rows([200] * 10, hot=hot, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.keys, two.keys)
    assert not np.array_equal(one.keys, other.keys)


def test_the_hot_key_has_its_share_and_wanders() -> None:
    rows = live_rows([1_000] * 30, keys=500, hot=HotKey(share=0.2, every=10.0))
    tops = []
    for era in range(3):
        counts = np.bincount(rows.keys[(rows.times > era * 10) & (rows.times < era * 10 + 10)], minlength=500)
        tops.append(int(counts.argmax()))
        assert 0.15 < counts.max() / counts.sum() < 0.25
        assert np.sort(counts)[-2] < 0.02 * counts.sum()
    assert len(set(tops)) == 3


@pytest.mark.parametrize("rates", [[], [-1.0], [np.nan], [np.inf]])
def test_rates_that_are_none(rates: list[float]) -> None:
    with pytest.raises(ConfigurationError, match="rates"):
        live_rows(rates)
