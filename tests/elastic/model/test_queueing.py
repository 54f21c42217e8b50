"""Queueing formulas against sums of fractions, against each other, and against values that no queue has."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.arrays import Floats
from rheostat.elastic.model import queueing as q
from tests.elastic.model.laws import mm1_sojourn

ABSURD = [math.nan, -math.inf, -1.0, 0.0, 5e-324, 1e-300, 1e-9, 0.5, 1.0, 3.0, 1e9, 1e300, math.inf]
RATES = st.floats(1e-3, 1e4)


def fractions_c(servers: int, offered: Fraction) -> Fraction:
    """Erlang's C as textbooks write it."""
    terms = [offered**n / math.factorial(n) for n in range(servers + 1)]
    last = terms.pop() * servers / (servers - offered)
    return last / (sum(terms) + last)


def logs_c(servers: int, offered: float) -> float:
    """The same through logarithms, for many servers."""
    logs = [n * math.log(offered) - math.lgamma(n + 1) for n in range(servers + 1)]
    logs[-1] += math.log(servers / (servers - offered))
    top = max(logs)
    return math.exp(logs[-1] - top) / sum(math.exp(v - top) for v in logs)


@given(st.integers(1, 30), st.fractions(0, 1, max_denominator=1000))
def test_erlang_c_is_the_textbook_sum(servers: int, rho: Fraction) -> None:
    offered = servers * rho
    expected = fractions_c(servers, offered) if rho < 1 else Fraction(1)
    assert float(q.erlang_c(servers, float(offered))) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize(
    ("servers", "offered"),
    [(100, 99.9), (1000, 1.0), (1000, 700.0), (3000, 2999.999), (5000, 4990.0), (20_000, 19_900.0)],
)
def test_erlang_c_stays_exact_with_thousands_of_servers(servers: int, offered: float) -> None:
    assert float(q.erlang_c(servers, offered)) == pytest.approx(logs_c(servers, offered), rel=1e-8, abs=1e-300)


def test_more_servers_than_anyone_has_take_no_time() -> None:
    assert q.erlang_c([10**9, 10**15, 10**9], [1e4, 1.0, 1e12]).tolist() == [0.0, 0.0, 1.0]
    assert float(q.erlang_b(10**9, 2e9)) == pytest.approx(0.5)


def test_arrays_give_what_numbers_give() -> None:
    servers, offered = np.arange(1, 200), np.linspace(0, 210, 199)
    apart = [float(q.erlang_c(int(k), float(a))) for k, a in zip(servers, offered, strict=True)]
    assert q.erlang_c(servers, offered).tolist() == pytest.approx(apart, rel=1e-9)
    assert q.mmk_wait(np.ones((3, 1)), 2.0, [1, 2]).shape == (3, 2)


@given(RATES, RATES)
def test_one_server_is_m_m_1(arrivals: float, service: float) -> None:
    found = float(q.mmk_sojourn(arrivals, service, 1))
    assert found == pytest.approx(mm1_sojourn(arrivals, service), rel=1e-6)


@given(RATES, RATES, st.integers(1, 60))
def test_little_holds_and_another_server_never_hurts(arrivals: float, service: float, servers: int) -> None:
    offered = float(q.offered_load(arrivals, service))
    wait, more = q.mmk_wait(arrivals, service, [servers, servers + 1])
    assert more <= wait
    if offered < servers:
        assert arrivals * wait == pytest.approx(float(q.queue_length(servers, offered)), rel=1e-9)
    else:
        assert wait == math.inf


def test_queues_are_convex_in_servers() -> None:
    """Why the greedy allocation is optimal."""
    for offered in (0.1, 0.99, 7.3, 63.9, 500.5):
        least = int(offered) + 1
        lengths = q.queue_length(np.arange(least, least + 40), offered)
        gains = -np.diff(lengths)
        assert (np.diff(gains) <= 1e-12 * gains[0]).all()


def test_two_absurd_values_give_no_error() -> None:
    for arrivals, service in product(ABSURD, repeat=2):
        assert_sensible(float(q.offered_load(arrivals, service)), arrivals, service)


@pytest.mark.parametrize("formula", [q.mmk_wait, q.mmk_sojourn])
def test_three_absurd_values_give_no_error(formula: Callable[[float, float, float], Floats]) -> None:
    for arrivals, service, third in product(ABSURD, repeat=3):
        if third >= 0:
            assert_sensible(float(formula(arrivals, service, third)), arrivals, service, third)


def assert_sensible(value: float, *given: float) -> None:
    """Never negative, and unknown only if something endless or unknown went in."""
    assert not value < 0, given
    assert not math.isnan(value) or any(not math.isfinite(g) for g in given), given


def test_absurd_servers_and_loads() -> None:
    for servers, offered in product(ABSURD, repeat=2):
        if not math.isinf(servers):
            for value in (q.erlang_b(servers, offered), q.erlang_c(servers, offered), q.queue_length(servers, offered)):
                assert_sensible(float(value), servers, offered)


@given(st.floats(1e-3, 10), st.floats(0, 0.999))
def test_epochs_and_their_inverse(overhead: float, rho: float) -> None:
    latency = float(q.epoch_latency(overhead, rho))
    assert latency == pytest.approx(1.5 * overhead / (1 - rho))
    assert q.largest_rho(overhead, latency) == pytest.approx(rho, abs=1e-9)


def test_absurd_epochs() -> None:
    for overhead, rho in product(ABSURD, repeat=2):
        q.epoch_latency(overhead, rho)
        q.largest_rho(overhead, rho)
    assert q.epoch_seconds(0.1, 1.0).tolist() == math.inf
