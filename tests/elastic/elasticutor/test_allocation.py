"""Cores for executors: the paper's greedy loop, every possible allocation of small cases, and absurd measurements."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.elastic.elasticutor.allocation import Allocation, allocate, share
from rheostat.elastic.model.queueing import mmk_sojourn, queue_length
from tests.elastic.model.laws import jackson_sojourn

Case = tuple[list[float], list[float]]

RATES = st.sampled_from([0.0, 10.0, 90.0, 100.0, 150.0, 199.0]) | st.floats(0, 400)
SPEEDS = st.sampled_from([50.0, 100.0]) | st.floats(20, 200)
ABSURD = st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 0.0, 5e-324, 1e-300, 1.0, 1e9, 1e300])


def cases(rates: st.SearchStrategy[float], speeds: st.SearchStrategy[float], most: int) -> st.SearchStrategy[Case]:
    return st.integers(1, most).flatmap(
        lambda n: st.tuples(st.lists(rates, min_size=n, max_size=n), st.lists(speeds, min_size=n, max_size=n))
    )


def response(case: Case, cores: tuple[int, ...] | list[int], external: float = 100.0) -> float:
    return jackson_sojourn(external, case[0], mmk_sojourn(case[0], case[1], np.array(cores)))


def paper(case: Case, cores: int, bound: float) -> list[int] | None:
    """The loop of section 4.1, word for word; None if cores do not suffice to begin with."""
    k = [math.floor(rate / speed) + 1 for rate, speed in zip(*case, strict=True)]
    if sum(k) > cores:
        return None
    while response(case, k) > bound and sum(k) < cores:
        tries = [response(case, [n + (i == j) for i, n in enumerate(k)]) for j in range(len(k))]
        k[tries.index(min(tries))] += 1
    return k


@settings(max_examples=150, deadline=None)
@given(cases(RATES, SPEEDS, 5), st.integers(1, 25), st.floats(0.001, 0.2))
def test_it_is_the_papers_loop(case: Case, cores: int, bound: float) -> None:
    found, expected = allocate(*case, cores, bound, external=100.0), paper(case, cores, bound)
    if expected is None:
        assert found.stable > cores
        assert found.overloaded
        assert not found.met
        return
    assert found.response == pytest.approx(response(case, found.cores.tolist()))
    assert found.met == (found.response <= bound * (1 + 1e-9))
    assert found.response <= response(case, expected) * (1 + 1e-6) or found.met
    assert found.cores.sum() <= sum(expected)


@settings(max_examples=60, deadline=None)
@given(cases(RATES, SPEEDS, 3), st.integers(1, 10), st.floats(0.005, 0.1))
def test_no_allocation_is_better(case: Case, cores: int, bound: float) -> None:
    found = allocate(*case, cores, bound, external=100.0)
    everything = [k for k in product(range(1, cores + 1), repeat=len(case[0])) if sum(k) <= cores]
    times = {k: response(case, k) for k in everything}
    enough = [sum(k) for k, time in times.items() if time <= bound]
    if enough:
        assert found.met
        assert found.cores.sum() == min(enough)
    elif found.stable <= cores:
        assert found.response <= min(times.values()) * (1 + 1e-6)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=4), st.integers(0, 12))
def test_too_few_cores_are_shared_as_evenly_as_can_be(wanted: list[float], cores: int) -> None:
    found = share(wanted, cores)
    assert found.sum() == cores
    if cores < len(wanted):
        assert found.max(initial=0) <= 1
        return
    assert found.min() >= 1
    everything = [k for k in product(range(1, cores + 1), repeat=len(wanted)) if sum(k) == cores]
    best = min(max(w / k for w, k in zip(wanted, ks, strict=True)) for ks in everything)
    assert max(w / k for w, k in zip(wanted, found, strict=True)) == pytest.approx(best)


def test_a_trace_to_follow_by_hand() -> None:
    """Loads of 1.5 and 0.9 cores. With 2 and 1 cores, 1.93 and 8.1 rows wait; a core more leaves 0.24 and 0.23."""
    case = ([150.0, 90.0], [100.0, 100.0])

    def at(bound: float, cores: int = 99) -> list[int]:
        return [int(k) for k in allocate(*case, cores, bound, external=150.0).cores]

    assert at(bound=0.083) == [2, 1]  # 12.43 rows inside: 0.0829 s
    assert at(bound=0.0305) == [2, 2]  # 4.56 rows: 0.0304 s
    assert at(bound=0.0303) == [3, 2]  # 2.87 rows: 0.0191 s
    assert at(bound=0.0303, cores=4) == [2, 2]
    assert at(bound=0.0303, cores=2) == [1, 1]
    short = allocate(*case, 2, 0.0303, external=150.0)
    assert (short.stable, short.overloaded, round(short.sustained, 3)) == (3, (0,), 0.667)


@settings(max_examples=60, deadline=None)
@given(cases(RATES, SPEEDS, 6), st.floats(0.001, 0.2))
def test_more_cores_are_never_worse(case: Case, bound: float) -> None:
    found = [allocate(*case, cores, bound, external=100.0) for cores in range(40)]
    for less, more in pairwise(found):
        assert more.response <= less.response * (1 + 1e-9)
        assert more.sustained >= less.sustained
        assert more.met or not less.met


@settings(max_examples=200, deadline=None)
@given(
    cases(ABSURD | RATES, ABSURD | SPEEDS, 8),
    st.integers(-3, 60),
    ABSURD | st.floats(0, 1),
    st.none() | ABSURD,
)
def test_absurd_measurements_still_give_a_plan(case: Case, cores: int, bound: float, external: float | None) -> None:
    found = allocate(*case, cores, bound, external)
    assert len(found.cores) == len(case[0])
    assert found.cores.min() >= 0
    assert found.cores.sum() <= max(cores, 0)
    assert found.cores.min() >= 1 or cores < len(case[0])
    assert not math.isnan(found.response)
    assert 0 <= found.sustained <= 1
    again = allocate(*case, cores, bound, external)
    assert same(found, again)
    for rate, cannot in zip(case[0], (e in found.unmeasured for e in range(len(case[0]))), strict=True):
        assert cannot or (math.isfinite(rate) and rate >= 0)


def same(one: Allocation, other: Allocation) -> bool:
    return one.cores.tolist() == other.cores.tolist() and one.reason == other.reason


def test_an_executor_that_has_completed_nothing_counts_as_fast_as_the_others() -> None:
    found = allocate([300.0, 300.0], [100.0, math.nan], cores=20, bound=1.0, external=300.0)
    assert found.cores.tolist() == [4, 4]
    assert found.unmeasured == (1,)
    # If nothing is known of any, each gets a core to be measured with.
    assert allocate([300.0, 300.0], [0.0, math.nan], cores=20, bound=1.0).cores.tolist() == [1, 1]


def test_as_many_cores_as_the_bound_takes_and_no_more() -> None:
    case = ([150.0, 90.0, 0.0], [100.0, 100.0, 100.0])
    for bound in (0.2, 0.083, 0.0305, 0.02, 0.0161):
        found = allocate(*case, 1_000, bound, external=150.0)
        cores = int(found.cores.sum())
        assert found.met
        assert allocate(*case, cores, bound, external=150.0).met
        assert not allocate(*case, cores - 1, bound, external=150.0).met
    # 2.4 rows are in service at any time, so no row takes less than 0.016 s.
    assert not allocate(*case, 1_000, 0.0159, external=150.0).met


def test_a_bound_out_of_reach_takes_no_cores_that_do_not_help() -> None:
    found = allocate([50.0], [100.0], cores=10_000, bound=0.0, external=50.0)
    assert not found.met
    assert found.cores[0] < 20
    assert found.response == pytest.approx(0.01)


def test_an_executor_at_the_brink_does_not_hide_the_others() -> None:
    """Its queue of 10**16 rows is so long that beside it, a row more or less is lost in rounding."""
    case = ([90.0, math.nextafter(400.0, 0)], [50.0, 100.0])
    assert allocate(*case, 8, 0.15, external=100.0).cores.tolist() == [3, 5]
    assert paper(case, 8, 0.15) == [3, 5]


def test_nothing_to_do() -> None:
    assert allocate([], [], 4, 1.0).cores.tolist() == []
    assert allocate([0.0, 0.0], [1.0, 1.0], 4, 1.0).met
    assert allocate([1.0, 1.0], [1.0, 1.0], 0, 1.0).cores.tolist() == [0, 0]


def test_thousands_of_executors() -> None:
    rng = np.random.default_rng(5)
    services = rng.uniform(50, 500, 20_000)
    arrivals = rng.lognormal(0, 1, 20_000) * services
    found = allocate(arrivals, services, 120_000, 0.0, float(arrivals.sum()))
    assert found.cores.sum() == 120_000
    # The last core of everyone gained at least as much as one more would gain for anyone.
    offered = arrivals / services
    with np.errstate(invalid="ignore"):
        last = queue_length(found.cores - 1, offered) - queue_length(found.cores, offered)
    following = queue_length(found.cores, offered) - queue_length(found.cores + 1, offered)
    assert last.min() >= following.max() * (1 - 1e-6)
