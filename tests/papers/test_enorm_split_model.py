"""Split or combined: decisions against the paper's formulas written out again."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.enorm.testbed.split_model import ComponentLoad, best_change, choose_form, form_cost
from rheostat.errors import TopologyError
from rheostat.planning.enorm.splitting import Form

SPLIT, COMBINED = Form.SPLIT, Form.COMBINED
NUMBERS = st.floats(0, 1e4)
MEASURED = st.builds(ComponentLoad, *[NUMBERS] * 8)
BOUNDS = st.one_of(st.just(inf), st.floats(0, 1e4))
EXAMPLE = ComponentLoad(1000, 0.01, windows=4, partials=20, shards=60, moves=10, shard_cost=0.1, shard_pause=0.5)


def by_the_paper(m: ComponentLoad) -> dict[Form, tuple[float, float]]:
    """Section 5.1.1: CPU and latency of both forms, in its symbols."""
    t, e, w, pw, keygroups, mk, k1, latency = asdict(m).values()
    return {
        SPLIT: (t * e + pw * k1 * keygroups + mk * k1, 0.0),
        COMBINED: (t * w * e + mk * k1 * pw, mk * latency),
    }


@given(MEASURED)
def test_costs_are_the_papers(m: ComponentLoad) -> None:
    for form, (cpu, latency) in by_the_paper(m).items():
        assert form_cost(form, m).cpu == pytest.approx(cpu)
        assert form_cost(form, m).latency == pytest.approx(latency)


@given(MEASURED, st.sampled_from(Form), BOUNDS)
def test_the_choice_is_the_cheapest_form_within_the_bound(m: ComponentLoad, now: Form, bound: float) -> None:
    costs = {form: form_cost(form, m) for form in Form}
    within = [form for form in Form if costs[form].latency <= bound]
    chosen = choose_form(m, now, bound)
    assert chosen.form in within  # there always is one: a split component pauses nothing
    assert costs[chosen.form].cpu == min(costs[form].cpu for form in within)
    assert chosen.saved == costs[now].cpu - costs[chosen.form].cpu


@given(MEASURED, st.sampled_from(Form), st.floats(0, 1), st.floats(0, 100))
def test_a_change_has_to_earn_its_margin_and_its_cost(m: ComponentLoad, now: Form, margin: float, cost: float) -> None:
    chosen = choose_form(m, now, margin=margin, change_cost=cost)
    here, there = form_cost(now, m).cpu, form_cost(now.other, m).cpu
    assert (chosen.form is now.other) == (here - there > margin * here + cost)


@given(MEASURED, st.floats(0.01, 0.5), st.floats(-0.005, 0.005))
def test_with_a_margin_small_changes_do_not_change_the_form(m: ComponentLoad, margin: float, noise: float) -> None:
    for now in Form:
        changed = choose_form(m, now, margin=margin)
        if changed.form is not now:
            again = replace(m, execute=m.execute * (1 + noise * margin))
            assert choose_form(again, changed.form, margin=margin).form is changed.form


def test_a_form_that_exceeds_the_bound_is_left_at_any_cost() -> None:
    dear = replace(EXAMPLE, shard_cost=10.0)
    assert choose_form(dear, COMBINED).form is COMBINED
    kept = choose_form(dear, COMBINED, latency_bound=4.9, margin=0.9, change_cost=1e9)
    assert (kept.form, kept.saved < 0) == (SPLIT, True)
    assert "combined exceeds the latency bound" in kept.reason
    assert choose_form(dear, SPLIT, latency_bound=4.9).form is SPLIT


def test_of_all_components_the_most_helpful_change_comes_first() -> None:
    cheap, dear = replace(EXAMPLE, rows=100), replace(EXAMPLE, rows=10)
    measured, now = {"C1": cheap, "C2": dear, "C3": EXAMPLE}, dict.fromkeys(("C1", "C2", "C3"), SPLIT)
    saved = {n: choose_form(m, SPLIT).saved for n, m in measured.items()}
    found = best_change(measured, now)
    assert found is not None
    assert (found.component, found.saved) == (max(saved, key=lambda n: saved[n]), max(saved.values()))
    urgent = best_change({**measured, "C4": EXAMPLE}, {**now, "C4": COMBINED}, latency_bound=1.0)
    assert urgent is not None
    assert (urgent.component, urgent.form) == ("C4", SPLIT)
    assert best_change(measured, dict.fromkeys(measured, COMBINED)) is None


def test_invalid_parameters_are_refused() -> None:
    with pytest.raises(TopologyError, match="moves=-1"):
        replace(EXAMPLE, moves=-1)
    with pytest.raises(TopologyError, match="execute=nan"):
        replace(EXAMPLE, execute=float("nan"))
