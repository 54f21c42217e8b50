"""The scores of fusion, the baseline, and the traffic that is left: against slow definitions and brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.enorm.testbed.random_jobs import fast_job, large_job
from rheostat.planning.enorm.fusion import (
    fuse,
    fuse_baseline,
    fusion_steps,
    inter_component_traffic,
    score_by_attributes,
    score_by_component_rate,
    score_by_rate,
)
from tests.planning.enorm.jobs import Job, algorithm_1, check, groups, jobs, least_traffic


@settings(max_examples=150, deadline=None)
@given(jobs(), st.integers(0, 9))
def test_every_method_puts_every_operator_into_one_component_that_shares_attributes(job: Job, seed: int) -> None:
    attributes, rates = job
    for score in (score_by_rate(rates), score_by_component_rate(rates), score_by_attributes):
        check(fuse(attributes, rates, score), attributes)
    for join in (True, False):
        check(fuse_baseline(attributes, rates, np.random.default_rng(seed), join), attributes)


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_comm_is_the_papers_listing(job: Job) -> None:
    attributes, rates = job
    assert groups(fuse(attributes, rates, score_by_rate(rates))) == algorithm_1(attributes, rates)


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_the_first_step_has_the_best_score_of_all_that_is_possible(job: Job) -> None:
    attributes, rates = job
    possible = [(a, b) for a, b in rates if attributes[a] & attributes[b]]
    by_rate = [rates[e] for e in possible]
    by_commonness = [
        sum(x in s for x in attributes[a] & attributes[b] for s in attributes.values()) for a, b in possible
    ]
    for score, values in (
        (score_by_rate(rates), by_rate),
        (score_by_component_rate(rates), by_rate),  # at first, components are single operators
        (score_by_attributes, by_commonness),
    ):
        step = next(fusion_steps(attributes, rates, score), None)
        assert (step is None) == (not possible)
        if step is not None:
            assert step.score == max(values)
            assert values[possible.index(step.edge)] == step.score
            assert set(step.component.operators) == set(step.edge)


@settings(max_examples=60, deadline=None)
@given(jobs(most=6))
def test_no_method_beats_the_best_of_all_fusions_and_traffic_is_counted_once(job: Job) -> None:
    attributes, rates = job
    best = least_traffic(attributes, rates)
    for score in (score_by_rate(rates), score_by_component_rate(rates), score_by_attributes):
        components = fuse(attributes, rates, score)
        apart = sum(r for (a, b), r in rates.items() if not any({a, b} <= set(c.operators) for c in components))
        assert best <= inter_component_traffic(components, rates) == apart <= sum(rates.values())


def test_edges_of_low_rate_between_two_components_count_together() -> None:
    attributes = {"a": frozenset("x"), "b": frozenset("x"), "c": frozenset("xy"), "d": frozenset("y")}
    rates = {("a", "b"): 9.0, ("a", "c"): 3.0, ("b", "c"): 3.0, ("c", "d"): 5.0}
    single = groups(fuse(attributes, rates, score_by_rate(rates)))
    whole = groups(fuse(attributes, rates, score_by_component_rate(rates)))
    assert single == {frozenset("ab"), frozenset("cd")}
    assert whole == {frozenset("abc"), frozenset("d")}


def test_the_baseline_may_or_may_not_join_what_is_fused_already() -> None:
    attributes = {"a": frozenset("x"), "b": frozenset("x"), "c": frozenset("x")}
    rates = {("a", "c"): 1.0, ("b", "c"): 1.0}
    joined, apart = (fuse_baseline(attributes, rates, np.random.default_rng(0), join) for join in (True, False))
    assert groups(joined) == {frozenset("abc")}
    assert groups(apart) == {frozenset("ac"), frozenset("b")}


def test_the_baseline_follows_the_seed_and_nothing_else() -> None:
    job = large_job(40, np.random.default_rng(3))
    found = [groups(fuse_baseline(job.attributes, job.rates, np.random.default_rng(s))) for s in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_the_fast_job_becomes_one_component() -> None:
    job = fast_job()
    assert len(fuse(job.attributes, job.rates, score_by_rate(job.rates))) == 1


def test_a_component_counts_once_among_what_can_still_be_fused() -> None:
    attributes = {**dict.fromkeys("abc", frozenset("x")), "g": frozenset("xy"), **dict.fromkeys("deh", frozenset("y"))}
    edges = [("a", "b"), ("b", "c"), ("c", "g"), ("g", "d")]
    # Both attributes are equally common at first. Once a and b are one, y is the more common one.
    found = groups(fuse(attributes, edges, score_by_attributes))
    assert found == {frozenset("abc"), frozenset("gd"), frozenset("e"), frozenset("h")}
