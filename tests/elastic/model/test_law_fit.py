"""The calibration of the micro-batch law: it finds the values that epochs were made with, and predicts the next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.arrays import Floats
from rheostat.elastic.model.epoch_law import EpochLaw
from rheostat.elastic.model.law_fit import LawFit
from rheostat.elastic.model.observation import Observation, OperatorObservation
from rheostat.elastic.model.plan import OperatorPlan
from rheostat.elastic.model.row_costs import RowCosts

SHARDS = 16


def epoch(
    truth: EpochLaw,
    number: int,
    rows: Floats,
    costs: Floats,
    slots: int,
    noise: float = 1.0,
    cpu: float = 0.0,
    crowding: float = 1.0,
) -> Observation:
    """An epoch that follows a law; ``crowding`` is how many times as long tasks take because they share processors."""
    plan, work = OperatorPlan.even(SHARDS, slots), rows * costs
    useful = np.bincount(plan.routing, weights=work, minlength=slots).astype(np.float64)
    busy = float(truth.seconds(useful, float(rows.sum()))) * noise
    count = OperatorObservation(
        plan=plan,
        arrived=rows,
        completed=rows,
        useful=useful * crowding,
        work=work * crowding,
        rows=rows,
        cpu_seconds=useful * cpu,
    )
    return Observation(
        time=float(number),
        seconds=1.0,
        operators={"count": count},
        cores=np.array([16]),
        external=float(rows.sum()),
        epoch=number,
        busy=busy,
        committed=busy - truth.tail,
        span=1.0,
        cpus=2.0,
    )


@settings(max_examples=40)
@given(st.floats(0.1, 1.0), st.floats(0.005, 0.06), st.floats(0.0, 2e-5), st.integers(0, 1000))
def test_a_law_is_found_again_after_twenty_epochs(overhead: float, task: float, reading: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = EpochLaw(overhead=overhead, task=task, reading=reading, parallelism=16, tail=0.04)
    costs = rng.uniform(0.0005, 0.004, SHARDS)
    fit, errors = LawFit.start(), []
    for number in range(60):
        rows = rng.poisson(rng.uniform(20, 400), SHARDS).astype(np.float64)
        seen = epoch(truth, number, rows, costs, int(rng.integers(1, 17)), float(np.exp(rng.normal(0, 0.05))))
        if number >= 20:
            errors.append(abs(fit.expected(seen) - seen.busy) / seen.busy)
        fit = fit.after(seen)
    assert np.median(errors) < 0.15
    assert fit.law.tail == pytest.approx(0.04, abs=0.03)
    assert fit.law.epochs == 60


def test_tasks_that_share_processors_do_not_look_like_more_capacity() -> None:
    fit, rows, costs = LawFit.start(), np.full(SHARDS, 100.0), np.full(SHARDS, 0.001)
    truth = EpochLaw(overhead=0.3, task=0.02, parallelism=2)
    for number in range(20):
        # 16 tasks that only compute, on 2 processors: each takes 8 times as long as its own work.
        fit = fit.after(epoch(truth, number, rows, costs, 16, cpu=1.0, crowding=8.0))
    assert fit.law.parallelism == pytest.approx(2.0)
    assert fit.costs["count"].mean == pytest.approx(0.001)
    expected = fit.law.length([0.1] * 16) / fit.law.length([0.8] * 2)
    assert expected > 1, "16 slots are no better than 2 there"


def test_tasks_that_wait_can_all_run_at_once() -> None:
    fit, rows, costs = LawFit.start(), np.full(SHARDS, 100.0), np.full(SHARDS, 0.001)
    for number in range(20):
        fit = fit.after(epoch(EpochLaw(parallelism=16), number, rows, costs, 16, cpu=0.02))
    assert fit.law.parallelism == 16


@pytest.mark.parametrize("busy", [float("nan"), 0.0, -1.0, float("inf")])
def test_epochs_of_unknown_length_teach_nothing(busy: float) -> None:
    seen = Observation(time=1.0, seconds=1.0, operators={}, cores=np.array([2]), busy=busy)
    fit = LawFit.start()
    assert fit.after(seen) is fit


def test_nothing_is_expected_of_operators_that_were_never_seen() -> None:
    seen = epoch(EpochLaw(), 0, np.full(SHARDS, 9.0), np.full(SHARDS, 0.001), 2)
    assert np.isnan(LawFit.start().expected(seen))


@given(st.lists(st.tuples(st.floats(0, 1e3), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_costs_are_never_negative_and_between_those_that_were_measured(epochs: list[tuple[float, int]]) -> None:
    costs = RowCosts.none(2)
    for seconds, rows in epochs:
        costs = costs.after(np.array([seconds, 0.0]), np.array([rows, 0.0]))
    measured = [seconds / rows for seconds, rows in epochs if rows > 0]
    if measured:
        # An epoch far above the others counts less, so only the largest is a bound of its own.
        assert min(measured) * (1 - 1e-9) <= costs.per_row[0] <= max(measured) * (1 + 1e-9)
        assert costs.per_row[1] == pytest.approx(costs.mean)


def test_more_slots_are_better_until_their_own_cost_is_larger() -> None:
    law = EpochLaw(overhead=0.2, task=0.03, parallelism=8)
    lengths = [float(law.length([0.8 / k] * k)) for k in range(1, 33)]
    best = int(np.argmin(lengths)) + 1
    assert 2 <= best <= 8
    assert lengths[-1] > lengths[best - 1]


def test_latency_is_an_epoch_and_a_half_less_the_tail() -> None:
    assert EpochLaw(tail=0.1).latency_at(1.0) == pytest.approx(1.4)
    assert EpochLaw(trigger=4.0).latency_at(1.0) == pytest.approx(3.0)
    assert EpochLaw().length([1.2]) == np.inf
