"""What an operator learns of costs: from every report once, in any order of slots, and through drift."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.arrays import Floats, Ints
from rheostat.elastic.posg import learned_costs
from rheostat.elastic.posg.array_sketch import estimated_costs, sketch_of
from rheostat.elastic.posg.cost_choice import ENTER, LEAVE, choose_dealing, routing_seconds
from rheostat.elastic.posg.learned_costs import (
    COLUMNS,
    RECENT,
    ROWS,
    LearnedCosts,
    SlotCosts,
    expected_excess,
    explained_spread,
)
from rheostat.errors import ConfigurationError

QUICK = settings(deadline=None, max_examples=40)
COSTS = np.array([0.025, 0.005, 0.001])


def measured(items: Ints, seconds: Floats, slots: int) -> list[SlotCosts]:
    """The reports of an epoch whose rows are dealt in turn."""
    return [SlotCosts(s, sketch_of(items[s::slots], seconds[s::slots], ROWS, COLUMNS)) for s in range(slots)]


def epoch(rng: np.random.Generator, costs: Floats, rows: int, slots: int, noise: float = 0.0) -> list[SlotCosts]:
    items = rng.integers(0, len(costs), rows)
    return measured(items, costs[items] * (1 + noise * rng.random(rows)), slots)


def taught(costs: Floats, *, slots: int = 4, rows: int = 2_000, epochs: int = 3, noise: float = 0.0) -> LearnedCosts:
    rng, learned = np.random.default_rng(1), LearnedCosts.start(slots)
    for _ in range(epochs):
        learned = learned.after(epoch(rng, costs, rows, slots, noise), slots)
    return learned


@QUICK
@given(st.permutations(range(5)), st.integers(0, 4))
def test_the_order_of_reports_does_not_matter(order: list[int], lost: int) -> None:
    """Slots that sent no report are just not learned from."""
    rng = np.random.default_rng(2)
    reports = epoch(rng, COSTS, 500, 5)[lost:]
    one = LearnedCosts.start(5).after(reports, 5)
    other = LearnedCosts.start(5).after(sorted(reports, key=lambda r: order[r.slot]), 5)
    assert one.rows == other.rows == sum(report.sketch.executions for report in reports)
    assert (one.sketch.frequencies == other.sketch.frequencies).all()
    assert one.sketch.times == pytest.approx(other.sketch.times)


def test_a_repeated_report_is_refused() -> None:
    reports = epoch(np.random.default_rng(3), COSTS, 100, 2)
    with pytest.raises(ConfigurationError, match="two reports of one slot: an execution would count twice"):
        LearnedCosts.start(2).after([*reports, reports[0]], 2)


def test_costs_are_learned() -> None:
    assert estimated_costs(taught(COSTS).sketch, [0, 1, 2]) == pytest.approx(COSTS)


def test_a_changed_cost_is_known_within_few_executions() -> None:
    learned, changed = taught(COSTS, epochs=50), np.array([0.001, 0.005, 0.001])
    before = estimated_costs(learned.sketch, [0])[0]
    learned = learned.after(epoch(np.random.default_rng(4), changed, 6 * RECENT, 4), 4)
    after = estimated_costs(learned.sketch, [0])[0]
    assert before == pytest.approx(0.025)
    assert after < 0.011, "two thirds of the executions that decide are new"
    for _ in range(5):
        learned = learned.after(epoch(np.random.default_rng(5), changed, 6 * RECENT, 4), 4)
    assert estimated_costs(learned.sketch, [0])[0] == pytest.approx(0.001, rel=0.05)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_costs, "MEMORY", 1_000)
    learned = taught(COSTS, epochs=20, rows=500)
    assert learned.sketch.executions <= 1_500 + 3
    assert estimated_costs(learned.sketch, [0, 1, 2]) == pytest.approx(COSTS)


def test_what_is_not_seen_any_more_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_costs, "MEMORY", 100)
    learned = LearnedCosts.start(2).after(measured(np.array([7] * 4), np.full(4, 9.0), 2), 2)
    for _ in range(20):
        learned = learned.after(epoch(np.random.default_rng(6), COSTS, 400, 2), 2)
    assert estimated_costs(learned.sketch, [7])[0] < 1.0


@pytest.mark.parametrize("slow", [0, 3])
def test_a_slow_slot_is_known(slow: int) -> None:
    rng, learned = np.random.default_rng(7), LearnedCosts.start(4)
    for _ in range(20):
        reports = epoch(rng, COSTS, 800, 4)
        sketch = reports[slow].sketch
        reports[slow] = SlotCosts(slow, replace(sketch, times=sketch.times * 2))
        learned = learned.after(reports, 4)
    ratios = np.array(learned.factors) / np.delete(np.array(learned.factors), slow).mean()
    assert ratios[slow] == pytest.approx(2.0, rel=0.05)
    assert estimated_costs(learned.sketch, [0, 1, 2]) / COSTS == pytest.approx(np.full(3, 1.25), rel=0.05), "the mean"


def test_small_differences_of_speed_are_noise() -> None:
    learned = replace(taught(COSTS), factors=(1.04, 0.97, 1.3, 0.9))
    assert learned.speeds == (1.0, 1.0, 1.3, 0.9)


def test_other_numbers_of_slots_forget_speeds_only() -> None:
    learned = replace(taught(COSTS), factors=(1.3, 0.9, 0.9, 0.9)).with_slots(2)
    assert learned.factors == (1.0, 1.0)
    assert estimated_costs(learned.sketch, [0, 1, 2]) == pytest.approx(COSTS)


def test_it_is_read_as_it_was_written() -> None:
    learned = replace(taught(COSTS), tilt=1.5)
    again = LearnedCosts.from_json(json.loads(json.dumps(learned.to_json())))
    assert (again.factors, again.spread, again.rows, again.tilt) == (
        tuple(round(f, 4) for f in learned.factors),
        learned.spread,
        learned.rows,
        1.5,
    )
    assert (again.sketch.frequencies == learned.sketch.frequencies).all()
    assert again.sketch.times == pytest.approx(learned.sketch.times, rel=1e-6)


def test_noise_is_no_difference_between_items() -> None:
    rng = np.random.default_rng(8)
    noisy = [epoch(rng, np.full(100, 0.01), 4_000, 2, noise=4.0) for _ in range(20)]
    spreads = [explained_spread(one.sketch, other.sketch) for one, other in noisy]
    total = float(np.var(1 + 4 * rng.random(100_000)) / 9)
    assert np.mean(spreads) < total / 50
    real = taught(COSTS, rows=4_000).spread
    assert real == pytest.approx(COSTS.var() / COSTS.mean() ** 2, rel=0.1)


@QUICK
@given(st.integers(2, 12), st.integers(100, 4_000))
def test_the_expected_excess_is_what_chance_gives(slots: int, rows: int) -> None:
    rng = np.random.default_rng(rows)
    costs = COSTS[rng.integers(0, 3, (400, rows - rows % slots))]
    loads = costs.reshape(400, -1, slots).sum(axis=1)
    excess = float((loads.max(axis=1) / loads.mean(axis=1) - 1).mean())
    assert expected_excess(COSTS.var() / COSTS.mean() ** 2, rows, slots) == pytest.approx(excess, rel=0.25)


def test_rows_that_come_in_step_with_the_slots_are_noticed() -> None:
    """Every fourth row is expensive, so that dealing in turn gives all of them to one slot."""
    items = np.tile([0, 2, 2, 2], 500)
    learned = LearnedCosts.start(4)
    for _ in range(10):
        learned = learned.after(measured(items, COSTS[items], 4), 4)
    assert learned.tilt > 5
    assert choose_dealing(learned, 4, by_cost=False).by_cost


def test_uniform_costs_are_dealt_in_turn_and_the_reason_says_so() -> None:
    learned = taught(np.full(50, 0.005), noise=0.2)
    choice = choose_dealing(learned, 4, by_cost=True)
    assert not choice.by_cost
    assert choice.reason.startswith("costs hardly differ by item: dealing 2,000 rows by cost would save ")


def test_different_costs_are_dealt_by_cost_again_when_they_differ_again() -> None:
    by_cost, rng, learned, seen = False, np.random.default_rng(9), LearnedCosts.start(4), []
    for costs in (COSTS, np.full(3, 0.01), COSTS):
        for _ in range(15):
            learned = learned.after(epoch(rng, costs, 2_000, 4), 4, in_turn=not by_cost)
            by_cost = choose_dealing(learned, 4, by_cost=by_cost).by_cost
        seen.append(by_cost)
    assert seen == [True, False, True]


@QUICK
@given(st.floats(0, 10), st.floats(1, 1e7), st.integers(2, 64), st.floats(1e-6, 1.0))
def test_dealing_by_cost_begins_only_where_it_pays_and_goes_on_while_it_does(
    spread: float, rows: float, slots: int, mean: float
) -> None:
    sketch = sketch_of([1, 2], [mean, mean], ROWS, COLUMNS)
    learned = LearnedCosts(sketch, (1.0,) * slots, spread=spread, rows=rows)
    new, old = (choose_dealing(learned, slots, by_cost=now) for now in (False, True))
    assert new.saving == old.saving
    assert new.by_cost == (new.saving > ENTER * routing_seconds(rows))
    assert old.by_cost == (old.saving > LEAVE * routing_seconds(rows))
    assert old.by_cost or not new.by_cost, "what is worth beginning is worth going on with"


def test_a_slow_slot_alone_is_a_reason() -> None:
    learned = replace(taught(np.full(50, 0.005)), factors=(0.8, 0.8, 0.8, 1.6))
    assert choose_dealing(learned, 4, by_cost=False).by_cost


@pytest.mark.parametrize(
    ("learned", "slots", "reason"),
    [
        (LearnedCosts.start(1), 1, "there is only one slot"),
        (LearnedCosts.start(4), 4, "nothing is known of costs yet"),
    ],
)
def test_nothing_to_decide(learned: LearnedCosts, slots: int, reason: str) -> None:
    choice = choose_dealing(learned, slots, by_cost=False)
    assert (choice.by_cost, choice.reason) == (False, reason)
