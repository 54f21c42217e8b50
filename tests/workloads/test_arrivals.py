"""All workloads: rows are sorted, do not depend on the spans asked for, and match the expected rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigurationError
from rheostat.workloads.arrivals import Arrivals, Constant, RateCurve, Workload, scaled
from rheostat.workloads.cells import Cells
from rheostat.workloads.draws import zipf
from rheostat.workloads.exchange import Exchange
from rheostat.workloads.market import SaturatedMarket, TradingDay
from rheostat.workloads.micro import Micro
from rheostat.workloads.nexmark import Nexmark
from rheostat.workloads.sinusoid import Sinusoid
from rheostat.workloads.wordcount import WordCount

DAY = Exchange(20_000, seconds=60, stocks=50)
STEPS = [300.0, 0.0, 800.0, 50.0, 0.0, 0.0, 1_200.0] * 9  # of 0.7 s

Make = Callable[[int, bool], Cells]
KINDS: dict[str, Make] = {
    "constant": lambda seed, poisson: Constant(400.0, [5, 0, 3, 1], seed=seed, poisson=poisson),
    "constant in short cells": lambda seed, poisson: Constant(90_001.0, np.ones(9), 4.0, seed=seed, poisson=poisson),
    "curve": lambda seed, poisson: RateCurve(STEPS, 0.7, zipf(8, 1.0), seed=seed, poisson=poisson),
    "sinusoid": lambda seed, poisson: Sinusoid(500, 500, 11.0, 16, 1.0, seed=seed, poisson=poisson),
    "micro": lambda seed, poisson: Micro(700.0, 7.0, 4, 32, 200, 1.0, seed=seed, poisson=poisson),
    "bids": lambda seed, poisson: Nexmark("q5", 600, 300, 7.0, 32, seed=seed, poisson=poisson),
    "persons and auctions": lambda seed, poisson: Nexmark("q8", 600, 0, 60.0, 32, seed=seed, poisson=poisson),
    "sentences": lambda seed, poisson: WordCount(600, 150, 30, seed=seed, poisson=poisson),
    "market": lambda seed, poisson: TradingDay(DAY, 16, seed=seed, poisson=poisson),
    "faster market, hashed": lambda seed, poisson: TradingDay(DAY, 90, True, 1.7, 1.3, seed=seed, poisson=poisson),
    "saturated market": lambda seed, poisson: SaturatedMarket(
        500.0, 2.3, day=DAY, shards=90, seed=seed, poisson=poisson
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS)
times = st.floats(0, 40) | st.integers(0, 40).map(float) | st.integers(0, 400).map(lambda n: n / 10)


def same(one: Arrivals, *parts: Arrivals) -> bool:
    """True if the parts, one after the other, are the rows of the first argument."""
    times, shards = [part.times for part in parts], [part.shards for part in parts]
    return np.array_equal(one.times, np.concatenate(times)) and np.array_equal(one.shards, np.concatenate(shards))


@kinds
@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(times, min_size=2, max_size=8, unique=True), poisson=st.booleans(), pick=st.randoms())
def test_rows_do_not_depend_on_how_time_is_cut(kind: str, cuts: list[float], poisson: bool, pick: object) -> None:
    ends = sorted(cuts)
    whole = KINDS[kind](1, poisson).between(ends[0], ends[-1])
    asked = KINDS[kind](1, poisson)
    spans = list(pairwise(ends))
    pick.shuffle(spans)  # type: ignore[attr-defined]
    pieces = {span: asked.between(*span) for span in spans}
    assert same(whole, *(pieces[span] for span in sorted(pieces)))
    for (begin, end), piece in pieces.items():
        assert not len(piece) or begin <= piece.times[0] <= piece.times[-1] < end
    assert (np.diff(whole.times) >= 0).all()
    assert not len(whole) or 0 <= whole.shards.min() <= whole.shards.max() < asked.shards
    assert (whole.times.dtype.name, whole.shards.dtype.name) == ("float64", "int32")


@kinds
def test_small_steps_give_the_rows_of_a_long_one(kind: str) -> None:
    workload = KINDS[kind](1, True)
    steps = [workload.between(step * 0.1, (step + 1) * 0.1) for step in range(150)]
    assert same(KINDS[kind](1, True).between(0.0, 150 * 0.1), *steps)


@kinds
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shards_get_what_they_are_expected_to(kind: str, seed: int) -> None:
    workload: Workload = KINDS[kind](seed, True)
    begin, end = 1.3, min(28.9, workload.seconds)
    counted = np.bincount(workload.between(begin, end).shards, minlength=workload.shards)
    expected = workload.rates(begin, end) * (end - begin)
    assert counted[expected == 0].sum() == 0
    # Sums of neighbours, so that each has rows enough for the normal distribution.
    groups = np.minimum(np.cumsum(expected) // max(30.0, expected.sum() / 40), 39).astype(int)
    seen, mean = np.bincount(groups, counted), np.bincount(groups, expected)
    chi = ((seen - mean)[mean > 0] ** 2 / mean[mean > 0]).sum()
    assert chi < (mean > 0).sum() + 4 * math.sqrt(2 * (mean > 0).sum())


@kinds
def test_even_rows_are_as_many_as_expected_at_any_moment(kind: str) -> None:
    workload = KINDS[kind](1, False)
    for end in (0.4, 1.0, 2.95, 17.3):
        expected = workload.rates(0.0, end).sum() * end
        # A row may lie at the very end, and a sine is straight for a little while.
        tolerance = 1.2 if kind != "faster market, hashed" else 5 * math.sqrt(1 + 0.3 * expected)
        assert abs(len(workload.between(0.0, end)) - expected) <= tolerance


@kinds
def test_expected_rows_add_up(kind: str) -> None:
    workload = KINDS[kind](1, True)
    cuts = [0.0, 0.35, 0.7, 3.0, 3.1, 8.6, 25.0]
    pieces = [workload.rates(a, b) * (b - a) for a, b in pairwise(cuts)]
    assert sum(pieces) == pytest.approx(workload.rates(0.0, 25.0) * 25.0)
    assert (workload.rates(0.0, 25.0) >= 0).all()


@kinds
def test_seeds_differ(kind: str) -> None:
    one, again, other = (KINDS[kind](seed, True).between(2.0, 4.0) for seed in (1, 1, 2))
    assert same(one, again)
    assert len(one) > 100
    assert not np.isin(one.times, other.times).any()


@kinds
def test_callers_may_change_what_they_get(kind: str) -> None:
    workload = KINDS[kind](1, True)
    first = workload.between(0.0, 2.0)
    first.times[:], first.shards[:] = -1.0, 0
    assert same(workload.between(0.0, 2.0), KINDS[kind](1, True).between(0.0, 2.0))


@kinds
def test_a_scale_multiplies_rows(kind: str) -> None:
    workload = KINDS[kind](1, True)
    tripled = scaled(workload, 3.0)
    span = (1.0, 3.7)
    assert tripled.rates(*span).sum() == pytest.approx(3 * workload.rates(*span).sum())
    expected = tripled.rates(*span).sum() * 2.7
    assert len(tripled.between(*span)) == pytest.approx(expected, abs=5 * math.sqrt(expected))
    none = scaled(workload, 0.0)
    assert len(none.between(*span)) == 0
    assert none.rates(*span).tolist() == [0.0] * none.shards


@kinds
def test_nothing_arrives_outside_the_workload(kind: str) -> None:
    workload = KINDS[kind](1, True)
    assert len(workload.between(-3.0, 0.0)) == len(workload.between(5.0, 5.0)) == 0
    assert same(workload.between(-3.0, 1.0), workload.between(0.0, 1.0))
    assert workload.rates(-3.0, 1.0) == pytest.approx(workload.rates(0.0, 1.0) / 4)
    end = workload.seconds
    if end < math.inf:
        assert len(workload.between(end, end + 10)) == 0
        assert same(workload.between(end - 1, math.inf), workload.between(end - 1, end))
        assert workload.rates(end, end + 10).tolist() == [0.0] * workload.shards
    else:
        with pytest.raises(ConfigurationError, match="^end=inf"):
            workload.between(0.0, math.inf)


@kinds
@pytest.mark.parametrize("span", [(2.0, 1.0), (math.nan, 1.0), (0.0, math.nan)])
def test_a_span_begins_before_it_ends(kind: str, span: tuple[float, float]) -> None:
    workload = KINDS[kind](1, True)
    for ask in (workload.between, workload.rates):
        with pytest.raises(ConfigurationError, match="^begin="):
            ask(*span)
    with pytest.raises(ConfigurationError, match="^begin="):
        workload.rates(1.0, 1.0)


# The trading day itself is no such process: it fixes how many rows a second has.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("market", "faster market, hashed")])
def test_moments_are_those_of_a_poisson_process(kind: str) -> None:
    workload = KINDS[kind](4, True)
    begin, end = 0.0, min(30.0, workload.seconds)
    arrived = workload.between(begin, end).times
    # On a clock that runs with the expected rows, gaps are exponential with mean 1.
    ticks = np.linspace(begin, end, 3_001)
    upto = np.cumsum([0.0] + [workload.rates(a, b).sum() * (b - a) for a, b in pairwise(ticks)])
    gaps = np.sort(np.diff(np.interp(arrived, ticks, upto)))
    assert np.abs(1 - np.exp(-gaps) - np.arange(len(gaps)) / len(gaps)).max() < 2 / math.sqrt(len(gaps))


@settings(max_examples=60, deadline=None)
@given(
    curve=st.lists(st.integers(0, 20), min_size=1, max_size=12),
    step=st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(30)]),
)
def test_even_rows_follow_any_curve(curve: list[int], step: Fraction) -> None:
    """Compared with a walk along the curve in exact fractions."""
    expected: list[Fraction] = []
    so_far = Fraction(0)
    for number, rate in enumerate(curve):
        if rate:
            first, last = math.ceil(so_far), math.ceil(so_far + rate * step)
            expected += [number * step + (k - so_far) / rate for k in range(first, last)]
        so_far += rate * step
    workload = RateCurve(curve, float(step), poisson=False)
    drawn = workload.between(0.0, math.inf).times
    assert len(drawn) == len(expected)
    assert drawn == pytest.approx([float(time) for time in expected], abs=1e-9)
    assert workload.seconds == len(curve) * step


def test_rows_are_drawn_in_cells_of_a_fair_size() -> None:
    """Cells that are too small are slow; cells that are too large need too much memory."""
    for rate in (0.001, 1.0, 1_000.0, 100_000.0, 1e7):
        drawn: list[int] = []

        class Counted(Constant):
            def _draw(self, index: int) -> Arrivals:
                drawn.append(index)  # noqa: B023
                return super()._draw(index)

        workload = Counted(rate)
        arrived = sum(len(workload.between(n * 0.01, (n + 1) * 0.01)) for n in range(10))
        assert drawn == list(range(len(drawn)))
        assert arrived / len(drawn) < 120_000
        assert len(drawn) <= 1 + rate * 0.1 / 50_000


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Constant(-1.0), "rate"),
        (lambda: Constant(math.nan), "rate"),
        (lambda: Constant(1.0, [1, -1]), "weights"),
        (lambda: Constant(1.0, []), "weights"),
        (lambda: Constant(1.0, seconds=0.0), "seconds"),
        (lambda: Constant(1.0, scale=-1.0), "scale"),
        (lambda: Constant(1.0, seed=-1), "seed"),
        (lambda: RateCurve([]), "curve"),
        (lambda: RateCurve([1.0, -1.0]), "curve"),
        (lambda: RateCurve([[1.0]]), "curve"),
        (lambda: RateCurve([math.inf]), "curve"),
        (lambda: RateCurve([1.0], step=0.0), "step"),
        (lambda: RateCurve([1.0], weights=[0.0]), "weights"),
        (lambda: scaled(Constant(1.0), -2.0), "factor"),
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}[=:]"):
        make()
