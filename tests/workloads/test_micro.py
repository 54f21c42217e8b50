"""The micro-benchmark has the paper's keys, and shuffles them when it should."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheostat.errors import ConfigurationError
from rheostat.workloads import micro
from rheostat.workloads.draws import zipf
from rheostat.workloads.micro import Micro


def test_defaults_are_the_papers() -> None:
    workload = Micro(1_000.0)
    assert workload.shards == 32 * 256 == 8192
    assert (workload.keys, workload.skew, workload.omega) == (10_000, 0.5, 2.0)
    assert (micro.COST, micro.TUPLE_BYTES, micro.SHARD_STATE_BYTES) == (0.001, 128, 32_768)
    assert workload.seconds == math.inf


@pytest.mark.parametrize("omega", [1, 2, 7, 16, 0.5])
def test_frequencies_are_shuffled_omega_times_a_minute(omega: float) -> None:
    workload, period = Micro(100.0, omega), 60 / omega
    for shuffles in range(3):
        begin = shuffles * period
        during = workload.rates(begin, begin + period)
        assert np.allclose(workload.rates(begin, begin + 1e-3), during, rtol=1e-9)
        assert np.allclose(workload.rates(begin + period - 1e-3, begin + period), during, rtol=1e-9)
        after = workload.rates(begin + period, begin + period + 1e-3)
        assert np.corrcoef(during, after)[0, 1] < 0.8  # shards with several keys remain heavier
        assert np.abs(during - after).sum() > 0.3 * during.sum()


@pytest.mark.parametrize("omega", [7, 9, 11])
def test_shuffles_do_not_come_late_by_rounding(omega: int) -> None:
    workload = Micro(40_000.0, omega, executors=2, shards_per_executor=5, keys=10)
    for shuffles in range(200):
        begin = shuffles * (60 / omega)
        expected = np.bincount(workload.shard_of, workload.frequencies(shuffles), 10) * 40_000
        assert workload.rates(begin, begin + 0.5) == pytest.approx(expected)


@pytest.mark.parametrize("poisson", [True, False])
def test_rows_change_shards_at_the_very_moment(poisson: bool) -> None:
    workload = Micro(30_000.0, 6, executors=2, shards_per_executor=5, keys=10, skew=3.0, poisson=poisson)
    for shuffles in (1, 2, 3):
        for begin, number in ((shuffles * 10 - 0.2, shuffles - 1), (shuffles * 10.0, shuffles)):
            counted = np.bincount(workload.between(begin, begin + 0.2).shards, minlength=10)
            shares = np.bincount(workload.shard_of, workload.frequencies(number), 10)
            assert counted / counted.sum() == pytest.approx(shares, abs=0.03)


def test_without_omega_nothing_ever_changes() -> None:
    workload = Micro(100.0, omega=0)
    assert np.allclose(workload.rates(1e6, 1e6 + 1), workload.rates(0, 1))


def test_shuffles_only_swap_frequencies() -> None:
    workload = Micro(100.0)
    for shuffles in (0, 1, 99):
        assert np.array_equal(np.sort(workload.frequencies(shuffles))[::-1], zipf(10_000, 0.5))
    assert not np.array_equal(workload.frequencies(0), workload.frequencies(1))
    assert workload.frequencies(0)[0] != workload.frequencies(0).max()
    assert not np.array_equal(workload.frequencies(0), Micro(100.0, seed=2).frequencies(0))


def test_rates_sum_up_over_the_keys_of_a_shard() -> None:
    workload = Micro(1_000.0, executors=3, shards_per_executor=4, keys=50)
    by_hand = np.zeros(12)
    for key, share in enumerate(workload.frequencies(0)):
        by_hand[workload.shard_of[key]] += 1_000 * share
    assert workload.rates(0.0, 30.0) == pytest.approx(by_hand)


def test_an_executor_keeps_its_keys_whatever_its_shards() -> None:
    fine, coarse = Micro(1.0), Micro(1.0, shards_per_executor=16)
    executor, within = np.divmod(fine.shard_of, 256)
    assert np.array_equal(executor, coarse.shard_of // 16)
    assert np.array_equal(fine.shard_of, Micro(1.0, seed=9, omega=0).shard_of)
    # Both levels spread keys, independently of each other.
    for level, count in ((executor, 32), (within, 256), (executor * 8 + within // 32, 256)):
        counts = np.bincount(level, minlength=count)
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < count + 4 * math.sqrt(2 * count)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Micro(-1.0), "rate"),
        (lambda: Micro(1.0, omega=-1), "omega"),
        (lambda: Micro(1.0, omega=math.inf), "omega"),
        (lambda: Micro(1.0, executors=0), "executors"),
        (lambda: Micro(1.0, shards_per_executor=0), "shards_per_executor"),
        (lambda: Micro(1.0, keys=0), "keys"),
        (lambda: Micro(1.0, skew=-0.1), "skew"),
        (lambda: Micro(1.0, seconds=-1), "seconds"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        make()


def test_all_keys_may_belong_to_one_shard() -> None:
    one = Micro(1_000.0, executors=1, shards_per_executor=1)
    assert set(one.between(0.0, 2.0).shards.tolist()) == {0}
