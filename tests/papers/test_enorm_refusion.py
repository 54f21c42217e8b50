"""Fusion that follows the traffic: what refining keeps and gains, and when a plan changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.enorm.testbed.random_jobs import large_job
from papers.enorm.testbed.refusion import Patience, Watch, moved_operators, observe, refine
from rheostat.errors import TopologyError
from rheostat.planning.enorm.fusion import (
    FusedComponent,
    fuse,
    inter_component_traffic,
    score_by_attributes,
    score_by_rate,
)
from tests.planning.enorm.jobs import Job, check, groups, jobs, least_traffic, shared

ATTRIBUTES = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("y")}
WITH_B = (FusedComponent(("a", "b"), frozenset("x")), FusedComponent(("c",), frozenset("y")))
TO_B, TO_C = {("a", "b"): 9.0, ("a", "c"): 1.0}, {("a", "b"): 1.0, ("a", "c"): 9.0}


@settings(max_examples=100, deadline=None)
@given(jobs(most=7))
def test_refining_keeps_a_fusion_and_never_adds_traffic(job: Job) -> None:
    attributes, rates = job
    alone = [FusedComponent((n,), a) for n, a in attributes.items()]
    for before in (alone, fuse(attributes, rates, score_by_attributes), fuse(attributes, rates, score_by_rate(rates))):
        after = refine(before, attributes, rates)
        check(after, attributes)
        traffic = inter_component_traffic(after, rates)
        assert least_traffic(attributes, rates) <= traffic <= inter_component_traffic(before, rates)
        assert groups(refine(after, attributes, rates)) == groups(after)


@settings(max_examples=100, deadline=None)
@given(jobs(most=7))
def test_after_refining_no_single_operator_would_be_better_elsewhere(job: Job) -> None:
    attributes, rates = job
    parts = groups(refine(fuse(attributes, rates, score_by_attributes), attributes, rates))

    def apart(of: set[frozenset[str]]) -> float:
        return sum(r for (a, b), r in rates.items() if not any(a in p and b in p for p in of))

    for name in attributes:
        (home,) = (p for p in parts if name in p)
        for other in parts - {home}:
            if shared([*other, name], attributes):
                assert apart({*parts - {home, other}, home - {name}, other | {name}}) >= apart(parts)


def test_less_than_the_least_is_not_worth_a_change() -> None:
    assert groups(refine(WITH_B, ATTRIBUTES, TO_C, least=8.0)) == groups(WITH_B)
    assert groups(refine(WITH_B, ATTRIBUTES, TO_C, least=7.9)) == {frozenset("ac"), frozenset("b")}


def test_components_that_are_no_longer_connected_are_separated() -> None:
    attributes = {"a": frozenset("xy"), "hub": frozenset("xy"), "c": frozenset("x"), "d": frozenset("y")}
    before = [FusedComponent(("a", "hub", "c"), frozenset("x")), FusedComponent(("d",), frozenset("y"))]
    rates = {("a", "hub"): 1.0, ("hub", "c"): 1.0, ("hub", "d"): 9.0}
    # Once the hub has gone, the first operator shares its attributes again and follows.
    assert groups(refine(before, attributes, rates)) == {frozenset({"a", "hub", "d"}), frozenset("c")}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_operators_move_only_if_their_company_changes(parts: list[int], data: st.DataObject) -> None:
    others = data.draw(st.lists(st.integers(0, 4), min_size=len(parts), max_size=len(parts)))

    def components(of: list[int]) -> list[FusedComponent]:
        return [FusedComponent(tuple(str(i) for i, p in enumerate(of) if p == k), frozenset()) for k in set(of)]

    assert moved_operators(components(parts), components(parts)) == frozenset()
    moved = moved_operators(components(parts), components(others))
    assert moved <= {str(i) for i in range(len(parts))}
    assert bool(moved) == (groups(components(parts)) != groups(components(others)))


def follow(watch: Watch, traffic: list[dict[tuple[str, str], float]], patience: Patience) -> list[Watch]:
    found = [watch]
    for rates in traffic:
        found.append(observe(found[-1], ATTRIBUTES, rates, patience))
    return found


def changes(found: list[Watch]) -> list[int]:
    """The observations that led to another plan, counted from 1."""
    return [i for i in range(1, len(found)) if groups(found[i].components) != groups(found[i - 1].components)]


def test_a_lasting_change_is_followed_once_and_not_at_once() -> None:
    patience = Patience(times=3, smoothing=1.0)
    assert changes(follow(Watch(WITH_B), [TO_B] * 5 + [TO_C] * 40, patience)) == [8]
    assert changes(follow(Watch(WITH_B), [TO_C] * 2 + [TO_B] * 20, patience)) == []


def test_oscillating_traffic_does_not_change_the_plan() -> None:
    assert changes(follow(Watch(WITH_B), [TO_C, TO_C, TO_B] * 30, Patience(times=3, smoothing=1.0))) == []
    assert changes(follow(Watch(WITH_B), [TO_C, TO_B] * 50, Patience(least=0.1))) == []


def test_after_a_change_it_rests() -> None:
    patience = Patience(times=1, rest=10, smoothing=1.0)
    found = follow(Watch(WITH_B), [TO_C] + [TO_B] * 30, patience)
    assert changes(found) == [1, 12]
    assert found[5].reason == "resting after a change"


def test_expensive_state_is_not_moved() -> None:
    watch, patience = Watch(WITH_B), Patience(times=1, smoothing=1.0, horizon=10)
    dear, cheap = ({"a": v, "b": v, "c": v} for v in (81.0, 79.0))
    assert observe(watch, ATTRIBUTES, TO_C, patience, dear).components == WITH_B
    assert observe(watch, ATTRIBUTES, TO_C, patience, cheap).components != WITH_B


def test_noise_alone_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    job = large_job(20, rng)
    watch = Watch(tuple(refine(fuse(job.attributes, job.rates, score_by_rate(job.rates)), job.attributes, job.rates)))
    for _ in range(50):
        noisy = {e: v * float(rng.lognormal(0, 0.1)) for e, v in job.rates.items()}
        after = observe(watch, job.attributes, noisy)
        assert after.components == watch.components
        watch = after


def test_nothing_seen_changes_nothing() -> None:
    assert observe(Watch(WITH_B), ATTRIBUTES, {}).components == WITH_B
    with pytest.raises(TopologyError, match="least must be from 0 to below 1"):
        Patience(least=1.0)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({("a", "q"): 1.0}, "rows go from 'a' to 'q', but there is no operator 'q'"),
        ({("a", "b"): float("nan"), ("a", "c"): 9.0}, "the rate from 'a' to 'b' is nan"),
        ({("a", "b"): -1.0}, "the rate from 'a' to 'b' is -1"),
    ],
)
def test_impossible_traffic_is_refused(rates: dict[tuple[str, str], float], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        refine(WITH_B, ATTRIBUTES, rates)
    with pytest.raises(TopologyError, match=message):
        observe(Watch(WITH_B, resting=3), ATTRIBUTES, rates)


def test_components_of_other_operators_are_refused() -> None:
    for components in (WITH_B[:1], (*WITH_B, WITH_B[1]), (*WITH_B, FusedComponent(("d",), frozenset()))):
        with pytest.raises(TopologyError, match="must be in exactly one component: check (c|d)$"):
            refine(components, ATTRIBUTES, TO_B)
